"""``python -m validation.calibration [RAW]``: builds the path model ``iplane``, compares it with what is published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from validation.command import run_app

if TYPE_CHECKING:
    from validation.calibration.raw import Floats

ROOT = Path(__file__).parents[2]
WHERE = """\
Without the measured files only the shipped tables are checked. To build them anew, give a folder (RAW=folder) with
PlanetLabData_1 to _18, from the folder PlanetLab of https://github.com/uofa-rzhu3/NetLatency-Data (MIT, commit
a5845579), or with planetlab490_path_rtt.csv.gz, which has their medians. Checksums: data/iplane/raw.csv."""
COPIED = """\
Rebuilt from PlanetLab's files: the round-trip times and the structure. Copied, not rebuilt: published.csv, typed in
from the paper, and loss-logs.csv, quantiles as they came, without the ping logs that they were computed from; so
nothing here checks the losses but for the published point. What the losses of a peer's paths have in common
(loss, loss_with_rtt) is assumed."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def calibrate(
    folder: Annotated[
        Path | None, typer.Argument(metavar="RAW", exists=True, file_okay=False, help="Folder with the measured files.")
    ] = None,
    data: Annotated[
        Path, typer.Option(metavar="DIR", exists=True, file_okay=False, help="Folder of the tables.")
    ] = ROOT / "data" / "iplane",
    models: Annotated[
        Path, typer.Option(metavar="DIR", exists=True, file_okay=False, help="Folder of the models.")
    ] = ROOT / "models",
) -> None:
    """Rebuild the table of round-trip times and the path model; exit 1 if they are off what is published."""
    from btflow.paths import load
    from validation.calibration import raw, report

    matrix = None if folder is None else raw.planetlab(folder, data)
    if matrix is None:
        _check_sums(data)
    else:
        _rebuild(matrix, data, models)
    samples = far = None
    if folder is not None and (folder / raw.IPLANE).is_file():
        samples, far = raw.iplane_samples(folder, data), raw.iplane_between(folder, *report.ENDS, data)
    model = load(models / "internet" / "iplane.toml")
    met = True
    for title, found in report.sections(model, data, matrix, samples, far):
        typer.echo(f"\n{report.as_text(title, found)}")
        met &= all(row.met for row in found)
    typer.echo(f"\n{WHERE if matrix is None else COPIED}")
    raise typer.Exit(0 if met else 1)


def _check_sums(data: Path) -> None:
    """Refuse tables that are not those that the checksums are of."""
    from btflow.errors import InputError
    from validation.calibration import build

    if (data / "SHA256SUMS").read_text(encoding="utf-8") != build.sums(data):
        raise InputError(
            "data", str(data), "has a table that SHA256SUMS is not of", "the shipped tables, or RAW=folder"
        )


def _rebuild(matrix: Floats, data: Path, models: Path) -> None:
    """Write the tables and the model."""
    from validation.calibration import build

    typer.echo(f"PlanetLab: {len(matrix)} nodes. Fitting takes up to some minutes.")
    points = build.quantiles(matrix, data)
    changed = build.write(points, build.path_model(points, matrix), data, models)
    typer.echo(
        f"Written anew: {', '.join(changed)}." if changed else "The tables and the model are the same as before."
    )


if __name__ == "__main__":
    sys.exit(run_app(app, "calibrate"))
