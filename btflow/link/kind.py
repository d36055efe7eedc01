"""Model files of link experiments."""

from __future__ import annotations

from btflow.config.kinds import ModelKind
from btflow.link.scenario import LinkScenario

LINKS = ModelKind(
    folder="links",
    noun="experiments",
    model=LinkScenario,
    references={"access.*": "access", "flows.*.cc": "congestion", "flows.*.codec": "codecs"},
    named={"access": ("access link", "home"), "flows": ("group of flows", "upload")},
)
