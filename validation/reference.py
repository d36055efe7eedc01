"""The published figures and claims that the simulator is judged by."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from validation.cases import Case
from validation.experiments import COLUMNS

FOLDER = Path(__file__).parent / "reference"
_COLUMN_NAMES = ("tso_off_loss0_s", "tso_on_loss0_s", "tso_off_loss5_s")


@dataclass(frozen=True)
class Published:
    """A claim as published, in our own words."""

    id: str
    """Short name, such as R01."""
    paper: str
    """Authors, title, venue."""
    where: str
    """Table, figure or section."""
    kind: str
    """number, bound, order or shape."""
    text: str
    """What is claimed."""
    tolerance: str = ""
    """What counts as reproduced, where the text does not say."""


@cache
def claims(file: str = "claims.toml") -> dict[str, Published]:
    """Return the claims of a file of this folder by their short names, in the order of the file."""
    content = tomllib.loads((FOLDER / file).read_text(encoding="utf-8"))
    papers = content["papers"]
    return {entry["id"]: Published(**entry | {"paper": papers[entry["paper"]]}) for entry in content["claim"]}


@cache
def table4() -> dict[Case, float]:
    """Return the mean completion time [s] of each of the 36 cells of Table IV."""
    cells: dict[Case, float] = {}
    for row in _rows("rao2010_table4.csv"):
        for name, (tso, loss) in zip(_COLUMN_NAMES, COLUMNS.values(), strict=True):
            cells[Case(int(row["upload_rate_kBps"]), int(row["rtt_ms"]), loss, tso)] = float(row[name])
    return cells


@cache
def geni_iperf() -> dict[tuple[str, int], float]:
    """Return the throughput of iperf [Mbit/s] by the seeds' transport and their number."""
    return {(row["transport"], int(row["seeds"])): float(row["iperf_mbps"]) for row in _rows("geni_iperf.csv")}


@cache
def spearman() -> dict[tuple[str, str, int, int], float]:
    """Return the correlations of Table III of the paper of 2012.

    Keys: homogeneous or heterogeneous; multi or mono (both clients, mainline only); quantile of the completion time;
    quantile of the buffer occupancy [%].
    """
    return {
        (row["scenario"], clients, int(row["time_quantile"]), quantile): float(row[f"{clients}_B{quantile}"])
        for row in _rows("testa2012_table3_spearman.csv")
        for clients in ("multi", "mono")
        for quantile in (50, 90)
    }


@cache
def as_rtt() -> dict[tuple[str, str, str], float]:
    """Return the figures of Tables I-III [ms] by kind of row, row and AS."""
    rows = _rows("rao2010_tables1-3_rtt.csv")
    return {
        (row["kind"], row["from"], name): float(value)
        for row in rows
        for name, value in row.items()
        if name not in ("kind", "from")
    }


@cache
def planetlab() -> dict[float, float]:
    """Return quantiles of PlanetLab's round-trip times [ms] by cumulative share."""
    return {float(row["share_percent"]) / 100: float(row["rtt_ms"]) for row in _rows("planetlab490_rtt.csv")}


def _rows(name: str) -> list[dict[str, str]]:
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))
