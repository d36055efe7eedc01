"""Runs settings by the oracle and by the simulator, and keeps the figures of both.

A prediction is written down before its setting is run by the oracle, and stays; a later one, of a changed simulator, is
a further generation beside it.
"""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from btflow.errors import SimulationError
from btflow.files import replacing
from validation.clients.figures import Figures, completion
from validation.libtorrent import toolchain
from validation.libtorrent.settings import Setting, model_text, oracle_text

HERE = Path(__file__).parent
TABLES = HERE / "tables"
REPLICAS = 8
"""Swarms that a prediction is the mean of."""
SEED = 20


@dataclass(frozen=True)
class Row:
    """One figure of a setting, of one run."""

    setting: str
    who: str
    """``oracle``, or ``btflow`` and the generation of the prediction."""
    commit: str
    """Version of the oracle or of the simulator."""
    date: str
    run: int
    figure: str
    value: float


def read(sample: str) -> list[Row]:
    """Return the rows that are kept of a sample."""
    path = TABLES / f"{sample}.csv"
    if not path.exists():
        return []
    kinds: dict[str, type] = {"int": int, "float": float}
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Row(**{f.name: kinds.get(str(f.type), str)(line[f.name]) for f in fields(Row)})
            for line in csv.DictReader(file)
        ]


def write(sample: str, rows: Sequence[Row]) -> None:
    """Write the rows of a sample, by setting, who and run."""
    TABLES.mkdir(exist_ok=True)
    path = TABLES / f"{sample}.csv"
    with replacing(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in sorted(rows, key=lambda one: (one.setting, one.who, one.run)))


def real(setting: Setting, seed: int, program: Path, log: Path | None = None, kinds: str = "") -> dict[str, Any]:
    """Run a setting by the oracle and return what it says; decisions go to a log.

    Raises:
        SimulationError: The oracle fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings"
        path.write_text(oracle_text(setting, seed), encoding="utf-8")
        asked = {"ORACLE_LOG": str(log.absolute()), "ORACLE_KINDS": kinds or "all"} if log else {}
        ended = subprocess.run([str(program), str(path)], env=asked, capture_output=True, text=True, check=False)
    if ended.returncode:
        told = (ended.stderr.strip() or f"ended with {ended.returncode}").splitlines()[-1]
        raise SimulationError(f"{setting.name}: oracle: {told}")
    try:
        found = json.loads(ended.stdout)
    except json.JSONDecodeError:
        raise SimulationError(f"{setting.name}: oracle: its answer is no JSON") from None
    if found["version"].split(".")[:3] != setting.version.split("."):
        raise SimulationError(f"{setting.name}: oracle: it is libtorrent {found['version']}, not {setting.version}")
    return dict(found)


def measured(setting: Setting, found: dict[str, Any]) -> Figures:
    """Return the figures of a run of the oracle, of `validation.clients.figures`.

    Raises:
        SimulationError: Not all leechers completed.
    """
    leechers = [peer for peer in found["peers"] if not peer["seed"]]
    if missing := sum(peer["done"] < 0 for peer in leechers):
        raise SimulationError(f"{setting.name}: {missing} of {len(leechers)} leechers did not complete")
    classes = {
        name: np.array([peer["done"] - peer["start"] for peer in leechers if peer["class"] == name])
        for name in setting.classes
    }
    figures = completion(classes)
    for name in ("seed", *setting.classes) if setting.links else ():
        figures[f"{name}.queue"] = float(np.mean([p["queue"] for p in found["peers"] if p["class"] == name]))
    figures["copies"] = sum(peer["up"] for peer in found["peers"] if peer["seed"]) / setting.file_size
    return figures


def simulated(setting: Setting, replicas: int = REPLICAS) -> list[Figures]:
    """Return the figures of the simulator's swarms of a setting."""
    import btflow

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{setting.name}.toml"
        path.write_text(model_text(setting), encoding="utf-8")
        result = btflow.simulate(btflow.load(str(path)), replicas=replicas, seed=SEED)
    runs = []
    classes = np.asarray(result["peer_class"].values, str)
    for replica in range(replicas):
        one = result.isel(replica=replica)
        times = one["completion_time"].values
        figures = completion({name: times[classes == name] for name in setting.classes})
        for name in ("seed", *setting.classes) if setting.links else ():
            counts = one["queue_delay_count"].sel(sender_class=name).values
            if counts.sum():
                figures[f"{name}.queue"] = float((counts * one["queue_delay"].values).sum() / counts.sum())
        figures["copies"] = float(one["seed_copies"])
        runs.append(figures)
    return runs


def rows_of(setting: Setting, who: str, commit: str, runs: Sequence[Figures], first: int = 1) -> list[Row]:
    """Return the rows of some runs, numbered from `first`."""
    date = time.strftime("%Y-%m-%d", time.gmtime())
    return [
        Row(setting.name, who, commit, date, number, name, round(value, 5))
        for number, run in enumerate(runs, first)
        for name, value in run.items()
    ]


def predict(settings: Sequence[Setting], sample: str, again: bool, replicas: int = REPLICAS) -> Iterator[str]:
    """Write down what the simulator says of settings that it said nothing of; yield a line of each.

    With `again` a further generation is written of all of them.
    """
    from validation.clients.predictions import commit

    known = read(sample)
    generation = max((int(one.who.split()[1]) for one in known if one.who != "oracle"), default=0) + again
    who = f"btflow {max(generation, 1)}"
    for setting in settings:
        if any(one.setting == setting.name and one.who == who for one in known):
            continue
        try:
            runs = simulated(setting, replicas)
        except SimulationError as error:
            yield f"{setting.name}: {error}"
            continue
        known += rows_of(setting, who, commit(), runs)
        write(sample, known)
        yield f"{setting.name}: mean {np.mean([run['mean'] for run in runs]):.1f} s"


def measure(settings: Sequence[Setting], sample: str, runs: int, jobs: int) -> Iterator[str]:
    """Run by the oracle what is missing of settings that have a prediction; yield a line of each run."""
    known = read(sample)
    predicted = {one.setting for one in known if one.who != "oracle"}
    for setting in settings:
        if setting.name not in predicted:
            yield f"{setting.name}: has no prediction yet, so it is not run"
    settings = [setting for setting in settings if setting.name in predicted]
    programs = {version: toolchain.build(version) for version in {setting.version for setting in settings}}
    todo = [
        (setting, seed)
        for seed in range(1, runs + 1)
        for setting in settings
        if not any((one.setting, one.who, one.run) == (setting.name, "oracle", seed) for one in known)
    ]

    def one(job: tuple[Setting, int]) -> tuple[Setting, int, Figures | str, float]:
        setting, seed = job
        began = time.monotonic()
        try:
            found: Figures | str = measured(setting, real(setting, seed, programs[setting.version]))
        except SimulationError as error:
            found = str(error)
        return setting, seed, found, time.monotonic() - began

    with ThreadPoolExecutor(jobs) as pool:
        for setting, seed, found, took in pool.map(one, todo):
            if isinstance(found, str):
                yield found
                continue
            known += rows_of(setting, "oracle", setting.version, [found], seed)
            write(sample, known)
            yield f"{setting.name}, run {seed}: mean {found['mean']:.1f} s ({took:.0f} s)"
