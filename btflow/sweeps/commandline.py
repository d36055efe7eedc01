"""What `btflow sweep` does with its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btflow import options
from btflow.catalog import load
from btflow.errors import InputError
from btflow.sweeps import api, spec
from btflow.sweeps.store import check_path, open_store


@dataclass(frozen=True)
class Given:
    """The options as given."""

    model: str
    vary: list[str]
    settings: list[str]
    sample: str | None
    replicas: str | None
    seed: str | None
    common: bool
    keep: str | None
    out: list[str]
    resume: bool
    yes: bool


def run(given: Given, how: api.Running) -> dict[str, Any]:
    """Run a sweep and return what `--json` prints of it."""
    out = _path(given)
    check_path(out, given.resume)
    vary = spec.parse_options(given.vary)
    settings = options.parse_settings(given.settings)
    scenario = load(given.model, **settings)
    declared = api.declare(
        scenario,
        vary,
        sample=given.sample,
        seed=options.parse_whole_number("--seed", given.seed or "0", 0, options.MAX_SEED),
        replicas=options.parse_whole_number("--replicas", given.replicas or "1", 1, options.MAX_REPLICAS),
        common=given.common,
        keep=[name.strip() for name in (given.keep or "").split(",") if name.strip()],
        yes=given.yes,
    )
    done, failed = api.execute(declared, open_store(out, declared, resume=given.resume), how)
    return {"out": str(out), "swarms": declared.units, "done": done, "failed": failed}


def _path(given: Given) -> Path:
    if not given.out:
        raise InputError("--out", None, "is missing: where the results go", "a path ending in .zarr")
    if len(given.out) > 1:
        raise InputError("--out", given.out[1], "is a second path", "one --out")
    return Path(given.out[0])
