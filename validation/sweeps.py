"""The swarms of the reports: run by `btflow.sweep` and kept, so that an interrupted call goes on from there."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError, SimulationError
from btflow.options import Fidelity

if TYPE_CHECKING:
    import xarray as xr

    from btflow.swarm.scenario import Scenario


@dataclass(frozen=True)
class Run:
    """Some replicas of a swarm."""

    model: str
    """The model."""
    settings: Mapping[str, Any]
    """Parameters and fields of it that are set."""
    seed: int
    """Seed of the replicas' random numbers."""
    replicas: int = 1
    """How many there are."""
    fidelity: Fidelity = "full"
    """How they are run."""

    def scenario(self) -> Scenario:
        """Return what is simulated."""
        return _base(self.model).set(**self.settings)

    @property
    def sweep(self) -> tuple[str, Fidelity, int, tuple[str, ...]]:
        """What it has in common with others that are points of one sweep."""
        return self.model, self.fidelity, self.replicas, tuple(self.settings)

    @property
    def point(self) -> tuple[Any, ...]:
        """What is varied in the sweep."""
        return (*self.settings.values(), self.seed)


@cache
def _base(model: str) -> Scenario:
    from btflow import load

    return load(model)


Error = InputError | SimulationError
"""Why there is no result of a run: flow does not run it, or a swarm did not finish."""


@dataclass
class Sweeps:
    """The stores of a report, in a folder of this version of btflow: the results of another are run again."""

    out: Path
    """Folder of the reports."""
    name: str
    """Name of this one's stores."""
    jobs: int = 1
    """Swarms at once."""
    fresh: bool = False
    """Whether what is there is run again, too."""
    path: Path = field(init=False)
    """The folder of the stores."""

    def __post_init__(self) -> None:
        """Make the folder; what other versions have left goes."""
        from btflow.sweeps.plan import versions

        version = _digest(sorted(versions().items()))
        self.path = self.out / f"{self.name}-{version}"
        for other in self.out.glob(f"{self.name}-{'?' * len(version)}"):
            if other != self.path or self.fresh:
                shutil.rmtree(other)
        self.path.mkdir(parents=True, exist_ok=True)

    def results(self, runs: Sequence[Run]) -> Iterator[xr.Dataset | Error]:
        """Give what `btflow.simulate` gives of each run, or the error that it raises, in their order."""
        from btflow import open_swarms

        refused = {number: why for number, run in enumerate(runs) if (why := _refusal(run)) is not None}
        stores = self._stores([run for number, run in enumerate(runs) if number not in refused])
        for number, run in enumerate(runs):
            if number in refused:
                yield refused[number]
                continue
            store, failures = stores[run.sweep]
            failure = failures.get(repr(run.point))
            yield SimulationError(failure) if failure else open_swarms(store, run.scenario(), run.seed)

    def result(self, run: Run) -> xr.Dataset:
        """Return what `btflow.simulate` gives of a run, or raise the error that it raises."""
        (found,) = self.results([run])
        if isinstance(found, Error):
            raise found
        return found

    def _stores(self, runs: Sequence[Run]) -> dict[Any, tuple[Path, dict[str, str]]]:
        """Run what is missing; return the store of each sweep, and why those of its points that failed did."""
        found: dict[Any, dict[str, Run]] = {}
        for run in runs:
            found.setdefault(run.sweep, {})[repr(run.point)] = run  # settings may be tables
        return {sweep: self._swept(list(points.values())) for sweep, points in found.items()}

    def _swept(self, points: Sequence[Run]) -> tuple[Path, dict[str, str]]:
        from btflow import sweep

        of, names, rows = points[0], tuple(points[0].settings), [run.point for run in points]
        store = self.path / f"{Path(of.model).stem}-{of.fidelity}-{_digest([of.replicas, names, rows])}.zarr"
        found = sweep(
            _base(of.model),
            {(*names, "seed"): rows} if names else {"seed": [run.seed for run in points]},
            replicas=of.replicas,
            keep="swarms",
            fidelity=of.fidelity,
            out=store,
            resume=store.exists(),
            jobs=self.jobs,
            progress=sys.stderr.isatty(),
        )
        failures = found["failure"].values.reshape(len(rows), of.replicas)
        failed = {repr(row): [str(text) for text in texts if text] for row, texts in zip(rows, failures, strict=True)}
        return store, {point: texts[0] for point, texts in failed.items() if texts}


def _refusal(run: Run) -> InputError | None:
    """Return the error for a swarm that flow does not run."""
    from btflow.swarm.flow_limits import check_flow

    if run.fidelity == "full":
        return None
    try:
        check_flow(run.scenario())
    except InputError as error:
        return error
    return None


def _digest(of: object) -> str:
    return hashlib.sha256(repr(of).encode()).hexdigest()[:12]
