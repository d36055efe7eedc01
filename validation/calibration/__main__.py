"""``python -m validation.calibration [RAW]``: builds the path model ``iplane``, compares it with what is published."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from validation.command import application, run_app

if TYPE_CHECKING:
    from validation.calibration.report import Measured

ROOT = Path(__file__).parents[2]
WHERE = """\
Without the measured files only the shipped tables are checked. To build them anew, give a folder (RAW=folder) with
PlanetLabData_1 to _18, from the folder PlanetLab of https://github.com/uofa-rzhu3/NetLatency-Data (MIT, commit
a5845579), or planetlab490_path_rtt.csv.gz, which has their medians: the round-trip times and the structure.
Checksums: data/iplane/raw.csv."""
COPIED = """\
Copied, not rebuilt: published.csv, typed in from the paper, and what is of losses, made once of ping logs."""

app = application()


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
    """Rebuild the tables and the path model; exit 1 if they are off what is published or measured."""
    from btflow.paths import load
    from validation.calibration import report

    measured = None if folder is None else _measured(folder, data)
    if measured is None:
        _check_sums(data)
    else:
        _rebuild(measured, data, models)
    model = load(models / "internet" / "iplane.toml")
    met = True
    for title, found in report.sections(model, data, measured):
        typer.echo(f"\n{report.as_text(title, found)}")
        met &= all(row.met for row in found)
    typer.echo(f"\n{WHERE if measured is None else COPIED}")
    raise typer.Exit(0 if met else 1)


def _measured(folder: Path, data: Path) -> Measured:
    """Read all measured files of a folder."""
    from validation.calibration import raw, report

    matrix = raw.planetlab(folder, data)
    samples = far = None
    if (folder / raw.IPLANE).is_file():
        samples, far = raw.iplane_samples(folder, data), raw.iplane_between(folder, *report.ENDS, data)
    return report.Measured(matrix, samples, far)


def _check_sums(data: Path) -> None:
    """Refuse tables that are not those that the checksums are of."""
    from btflow.errors import InputError
    from validation.calibration import build

    if (data / "SHA256SUMS").read_text(encoding="utf-8") != build.sums(data):
        raise InputError(
            "data", str(data), "has a table that SHA256SUMS is not of", "the shipped tables, or RAW=folder"
        )


def _rebuild(measured: Measured, data: Path, models: Path) -> None:
    """Write the tables and the model."""
    from validation.calibration import build

    typer.echo(f"PlanetLab: {len(measured.matrix)} nodes. Fitting takes some minutes.")
    points = build.quantiles(measured.matrix, data)
    model = build.path_model(points, measured.matrix, data)
    changed = build.write(points, model, data, models)
    typer.echo(
        f"Written anew: {', '.join(changed)}." if changed else "The tables and the model are the same as before."
    )


if __name__ == "__main__":
    sys.exit(run_app(app, "calibrate"))
