"""The ways to run a sweep, each of which finds the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from dask_made import local

from btflow.sweeps.running import Running


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Return a client of a Dask cluster of two processes."""
    with local(2) as client:
        yield client


@pytest.fixture(params=["threads", "processes", "dask"])
def how(request: pytest.FixtureRequest) -> Running:
    """Return each way to run a sweep."""
    if request.param == "dask":
        return Running(client=request.getfixturevalue("cluster"))
    return Running(jobs=2, backend=request.param)
