"""Shared settings: one Hypothesis profile, since the first call of a kernel compiles for seconds."""

from __future__ import annotations

import pytest
from hypothesis import settings

from btflow import load
from btflow.scenario import Scenario

settings.register_profile("btflow", deadline=None)
settings.load_profile("btflow")


@pytest.fixture(scope="session")
def rao2010() -> Scenario:
    """Return the 2010 cluster experiment with its defaults."""
    return load("rao2010")
