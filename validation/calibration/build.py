"""Makes the quantile tables and the path model of PlanetLab's matrix, the published points and the kept losses."""

from __future__ import annotations

import csv
import hashlib
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow.files import replacing
from btflow.paths import model as model_files
from btflow.paths.fitting import fit_structure
from btflow.paths.model import PathModel
from validation.calibration.raw import rows

Floats = NDArray[np.float64]

MEASURED_TO = 0.95
"""Share up to which the round-trip times are PlanetLab's as measured."""

LOWEST = (0.001, 0.005)
"""Shares below the first percent: PlanetLab's nodes of one site, through which paths can go at nearly no cost."""

PEERS = 24_000
"""In all matrices together that are drawn to fit the detours: shares of violations are then known to half a point."""

LOGS, IN_COMMON = "loss-logs.csv", "loss-in-common.csv"
SHIPPED = (IN_COMMON, LOGS, "published.csv", "quantiles.csv", "raw.csv")

COMMENT = """\
Made by `make calibrate RAW=folder`, do not edit. SYNTHETIC: see data/iplane/README.md."""
TITLE = "Internet paths with the round-trip times and losses published of iPlane (synthetic)"
SOURCE = (
    "iPlane's points as in Rao, Legout, Dabbous, P2P'10, figure 1; round-trip times below and the structure: "
    "PlanetLab (Zhu et al., ToN 25, 2017); losses: ping logs of 2016; see data/iplane/README.md"
)


class Point(NamedTuple):
    """A point of a quantile table."""

    quantity: str
    unit: str
    share: float
    value: float
    basis: str


def quantiles(matrix: Floats, data: Path) -> list[Point]:
    """Return the tables.

    Args:
        matrix: PlanetLab's round-trip times [ms].
        data: Folder with the published points and the ping logs' losses.
    """
    published = {
        (row["quantity"], float(row["share_below"])): float(row["threshold"]) for row in rows(data / "published.csv")
    }
    logs = {float(row["cumulative_share"]): float(row["value"]) for row in rows(data / LOGS)}
    return [*_rtt(matrix[np.triu_indices(len(matrix), 1)], published), *_loss(logs, published)]


def _rtt(measured: Floats, published: dict[tuple[str, float], float]) -> list[Point]:
    """Return PlanetLab's quantiles, stretched from 95% on so as to meet the published point, and those above it."""
    (first, low), (last, high) = sorted((share, value) for (name, share), value in published.items() if name == "rtt")
    stretch = low / float(np.quantile(measured, first)) - 1.0
    points = []
    for share in (*LOWEST, *(percent / 100 for percent in range(1, round(100 * first)))):
        more = max(0.0, (share - MEASURED_TO) / (first - MEASURED_TO))
        basis = f"planetlab490 x {1.0 + more * stretch:.4f}" if more else "planetlab490"
        value = round(float(np.quantile(measured, share)) * (1.0 + more * stretch), 3)
        points.append(Point("rtt", "ms", share, float(value), basis))
    power = np.log(high / low) / np.log((1.0 - first) / (1.0 - last))
    between = round(float(low * ((1.0 - first) / 0.01) ** power), 1)
    return [
        *points,
        Point("rtt", "ms", first, low, "published (iPlane)"),
        Point("rtt", "ms", 0.99, between, "power law through the published points"),
        Point("rtt", "ms", last, high, "published (iPlane)"),
    ]


def _loss(logs: dict[float, float], published: dict[tuple[str, float], float]) -> list[Point]:
    """Return the ping logs' quantiles, but for the published point."""
    points = []
    for share, value in logs.items():
        known = published.get(("loss", share))
        basis = "indirectiondc2016" if known is None else f"published (iPlane); indirectiondc2016 has {value:g}"
        points.append(Point("loss", "fraction", share, value if known is None else known, basis))
    return points


def path_model(points: list[Point], matrix: Floats, data: Path) -> PathModel:
    """Return the model that the tables and PlanetLab's matrix [ms] make.

    Args:
        points: The tables.
        matrix: PlanetLab's round-trip times [ms].
        data: Folder with what losses have in common.
    """
    listed = {
        name: [
            {
                "share": point.share,
                "value": f"{point.value:.10g} ms" if name == "rtt" else point.value,
                "source": point.basis,
            }
            for point in points
            if point.quantity == name
        ]
        for name in ("rtt", "loss")
    }
    tail = max(point.share for point in points if point.quantity == "rtt" and point.basis.startswith("planetlab"))
    first = min(point.share for point in points if point.quantity == "rtt" and point.share > tail)
    shared = {row["name"]: float(row["value"]) for row in rows(data / IN_COMMON)}
    structure = {"regions": [ANYWHERE], "detour": 0.0} | shared
    head = {"name": "iplane", "title": TITLE, "source": SOURCE, "tail": first}
    model = model_files.parse(head | listed | {"structure": structure})
    return model.model_copy(update={"structure": fit_structure(matrix / 1e3, model, peers=PEERS).structure})


ANYWHERE = {"share": 1.0, "x": "0 ms", "y": "0 ms", "spread": "50 ms"}
"""A region that stands in until the regions are found."""


def as_csv(points: list[Point]) -> str:
    """Return the tables as a file."""
    text = StringIO()
    text.write("# SYNTHETIC, not a measurement: see README.md. Made by `make calibrate RAW=folder`.\n")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["quantity", "unit", "cumulative_share", "value", "basis"])
    table.writerows((p.quantity, p.unit, f"{p.share:g}", f"{p.value:.10g}", p.basis) for p in points)
    return text.getvalue()


def write(points: list[Point], model: PathModel, data: Path, models: Path) -> list[str]:
    """Write the tables, the model and the checksums; return the names of the files that have changed."""
    changed = [
        *_write(data / "quantiles.csv", as_csv(points)),
        *_write(models / "internet" / "iplane.toml", model_files.text(model, COMMENT)),
    ]
    return [*changed, *_write(data / "SHA256SUMS", sums(data))]


def sums(data: Path) -> str:
    """Return the checksums of the shipped tables, in the form of sha256sum."""
    return "".join(f"{hashlib.sha256((data / name).read_bytes()).hexdigest()}  {name}\n" for name in SHIPPED)


def _write(path: Path, content: str) -> list[str]:
    if path.is_file() and path.read_text(encoding="utf-8") == content:
        return []
    with replacing(path) as partial:
        partial.write_text(content, encoding="utf-8", newline="\n")
    return [path.name]
