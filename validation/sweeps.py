"""The swarms of the reports: run by `btflow.sweep` and kept, so that an interrupted call goes on from there.

So are all swarms of the claims, of flow against full and on paths of the Internet. Links, swarms beside packets, and
the predictions of real clients take seconds to minutes and are run by `simulate` and `simulate_link` where they stand.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btflow.errors import InputError, SimulationError
from btflow.options import Fidelity
from btflow.sweeps.database import Database, connected, of_store
from btflow.sweeps.store import is_store

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
        return base(self.model).set(**self.settings)

    @property
    def sweep(self) -> tuple[str, Fidelity, int, tuple[str, ...]]:
        """What it has in common with others that are points of one sweep."""
        return self.model, self.fidelity, self.replicas, tuple(self.settings)

    @property
    def point(self) -> tuple[Any, ...]:
        """What is varied in the sweep."""
        return (*self.settings.values(), self.seed)


@cache
def base(model: str) -> Scenario:
    """Return a model as it is, read once."""
    from btflow import load

    return load(model)


Error = InputError | SimulationError
"""Why there is no result of a run: flow does not run it, or a swarm did not finish."""


Where = Mapping[tuple[str, int, Fidelity], tuple[Path, int]]
"""The store, and how many replicas it has, by digest of the scenario, seed and fidelity."""


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

        self.path = self.out / f"{self.name}-{_digest(sorted(versions().items()))}"
        for other in self.out.glob(f"{self.name}-*"):
            left = _FOLDER.fullmatch(other.name.removeprefix(f"{self.name}-")) and other.is_dir()
            if left and (other != self.path or self.fresh) and all(path.suffix == ".zarr" for path in other.iterdir()):
                shutil.rmtree(other)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"cannot be written: {error.strerror}"
            raise InputError("--out", str(self.out), reason, "a folder that can be written") from None

    def results(self, runs: Sequence[Run]) -> Iterator[xr.Dataset | Error]:
        """Give what `btflow.simulate` gives of each run, or the error that it raises, in their order."""
        from btflow import open_swarms

        errors: dict[int, Error] = {n: error for n, run in enumerate(runs) if (error := _refusal(run)) is not None}
        digests = {n: run.scenario().digest() for n, run in enumerate(runs) if n not in errors}
        known = self._known()
        missing = {n: run for n, run in enumerate(runs) if n in digests and not _has(known, digests[n], run)}
        errors |= self._swept(missing)
        known = self._known() if missing else known
        for n, run in enumerate(runs):
            if n in errors:
                yield errors[n]
                continue
            store, _ = known[digests[n], run.seed, run.fidelity]
            try:
                yield open_swarms(store, run.scenario(), seed=run.seed, replicas=run.replicas)
            except InputError as error:
                raise InputError("--out", str(store), f"is damaged: {error}", "--fresh, which runs all again") from None

    def result(self, run: Run) -> xr.Dataset:
        """Return what `btflow.simulate` gives of a run, or raise the error that it raises."""
        (found,) = self.results([run])
        if isinstance(found, Error):
            raise found
        return found

    def _known(self) -> Where:
        """Return what is there; of two stores the one that has more."""
        found: dict[tuple[str, int, Fidelity], tuple[Path, int]] = {}
        for path in filter(is_store, sorted(self.path.glob("*.zarr"))):
            try:
                with of_store(path), closing(connected(path)) as connection:
                    store = Database(connection, path)
                    kept = store.kept()
            except InputError:  # it is damaged: what it had runs again
                shutil.rmtree(path)
                continue
            for (digest, seed), number in kept.items():
                key = digest, seed, store.layout.attributes["fidelity"]
                found[key] = max(found.get(key, (path, 0)), (path, number), key=lambda one: one[1])
        return found

    def _swept(self, missing: Mapping[int, Run]) -> dict[int, Error]:
        """Run what is missing, and return the errors of what does not finish."""
        together: dict[Any, dict[int, Run]] = {}
        for n, run in missing.items():
            together.setdefault(run.sweep, {})[n] = run
        errors: dict[int, Error] = {}
        for runs in together.values():
            points = {repr(run.point): run for run in runs.values()}  # settings may be tables
            failures = self._sweep(list(points.values()))
            failed = dict(zip(points, failures, strict=True))
            errors |= {n: SimulationError(why) for n, run in runs.items() if (why := failed[repr(run.point)])}
        return errors

    def _sweep(self, points: Sequence[Run]) -> list[str]:
        """Run points of one sweep, those that failed in an earlier call too; return why each fails, empty if not."""
        from btflow import sweep

        of, names, rows = points[0], tuple(points[0].settings), [run.point for run in points]
        digest = _digest([base(of.model).digest(), of.replicas, names, rows])
        store = self.path / f"{Path(of.model).stem}-{of.fidelity}-{digest}.zarr"
        if store.exists() and not is_store(store):
            shutil.rmtree(store)
        found = sweep(
            base(of.model),
            {(*names, "seed"): rows} if names else {"seed": [run.seed for run in points]},
            replicas=of.replicas,
            keep="swarms",
            fidelity=of.fidelity,
            out=store,
            resume=store.exists(),
            retry_failed=store.exists(),
            jobs=self.jobs,
        )
        failures = found["failure"].values.reshape(len(rows), of.replicas)
        return [next((str(text) for text in texts if text), "") for texts in failures]


_FOLDER = re.compile("[0-9a-f]{12}")


def _has(known: Where, digest: str, run: Run) -> bool:
    """Return whether all of a run is there."""
    return known.get((digest, run.seed, run.fidelity), (None, 0))[1] >= run.replicas


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
