"""``btflow calibrate``: a path model of one's own measurements."""

from __future__ import annotations

import math
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from btflow.cli.common import SHARE, bar
from btflow.errors import InputError
from btflow.files import figure_path
from btflow.units.formatting import counted

if TYPE_CHECKING:
    from pathlib import Path

    from btflow.paths.fitting import Fitted
    from btflow.paths.measured import Measured
    from btflow.paths.model import PathModel

Text = str | None

Progress = Callable[[float], None] | None

_COLUMNS = "--rtt, --rtt-unit, --loss, --loss-unit, --src, --dst and --separator"
_OPTIONS = ("rtt", "rtt_unit", "loss", "loss_unit", "src", "dst", "separator", "checksum", "iplane")
"""Arguments of functions that are options here, of the same name."""

_RENAMED = {"losses": "--iplane-loss"}
"""Those that are options of another name."""

_READING = 0.5
"""Share of the work that is done when a CSV file is read."""


def calibrate(
    file: Annotated[
        Text, typer.Argument(metavar="FILE.csv", help="Measured paths: columns rtt_ms, loss or both.")
    ] = None,
    out: Annotated[list[str] | None, typer.Option(metavar="FILE.toml", help="The path model to write.")] = None,
    iplane: Annotated[
        Text, typer.Option(metavar="FILE", help="iPlane's inter_pop_links.txt, in place of a CSV file.")
    ] = None,
    iplane_loss: Annotated[
        Text, typer.Option(metavar="FILE", help="Losses of iPlane's links, of the same form.")
    ] = None,
    checksum: Annotated[Text, typer.Option(metavar="SHA256", help="Of the file given by --iplane.")] = None,
    drop_unmeasured: Annotated[
        bool, typer.Option("--drop-unmeasured", help="Leave out links of iPlane's with a negative value.")
    ] = False,
    rtt: Annotated[Text, typer.Option(metavar="COLUMN", help="Of round-trip times.  [rtt]")] = None,
    rtt_unit: Annotated[Text, typer.Option(metavar="UNIT", help="us, ms or s.  [as the column's name says]")] = None,
    loss: Annotated[Text, typer.Option(metavar="COLUMN", help="Of losses.  [loss]")] = None,
    loss_unit: Annotated[Text, typer.Option(metavar="UNIT", help="fraction or %.  [as the column's name says]")] = None,
    src: Annotated[Text, typer.Option(metavar="COLUMN", help="Names one peer of a path.  [src]")] = None,
    dst: Annotated[Text, typer.Option(metavar="COLUMN", help="Names the other.  [dst]")] = None,
    separator: Annotated[
        Text, typer.Option(metavar="NAME", help="Between cells: comma, semicolon, tab or space.  [comma]")
    ] = None,
    plot: Annotated[list[str] | None, typer.Option(metavar="FILE.html|.png|.svg|.pdf", help="Write a figure.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Make a path model of measured round-trip times and losses, for swarms whose paths are drawn from it."""
    from btflow import files, options

    target = options.output_path("--out", out, ".toml")
    figure = figure_path("--plot", plot)
    if target is None:
        raise InputError("--out", None, "is not given", "a file ending in .toml")
    columns = {"rtt": rtt, "rtt_unit": rtt_unit, "loss": loss, "loss_unit": loss_unit, "src": src, "dst": dst}
    columns |= {"separator": separator}
    if file is None and iplane is None:
        raise InputError("FILE.csv", None, "is not given", "a CSV file, or --iplane FILE")
    if file is not None and iplane is not None:
        raise InputError("FILE.csv", file, "is given beside --iplane", "one of the two")
    if iplane is not None and any(value is not None for value in columns.values()):
        raise InputError("--iplane", iplane, "is not a CSV file", f"no {_COLUMNS}")
    if iplane is None and (checksum or iplane_loss or drop_unmeasured):
        raise InputError(
            "FILE.csv", file, "is not iPlane's", "--checksum, --iplane-loss, --drop-unmeasured with --iplane"
        )
    fitted: Fitted | None
    with _named_as_options(), bar(SHARE, 1, shown=not as_json and sys.stderr.isatty()) as progress:
        if iplane is not None:
            measured, model, fitted = _of_iplane(iplane, iplane_loss, checksum, drop_unmeasured, progress)
        else:
            given = {name: value for name, value in columns.items() if value is not None}
            measured, model, fitted = _of_csv(str(file), given, progress)
    notes = [_as_options(note) for note in measured.notes]
    model.save(target)
    if figure is not None:
        _draw(model, measured, figure)
    found = {"model": str(target)} | describe(model, measured, fitted)
    typer.echo(files.to_json(found | {"notes": notes}) if as_json else as_text(found, notes))


def _of_csv(file: str, columns: dict[str, str], progress: Progress) -> tuple[Measured, PathModel, Fitted | None]:
    from btflow.paths.fitting import fit_and_tell, too_lossy
    from btflow.paths.measured import read_csv

    measured = read_csv(file, **columns, progress=_part(progress, 0.0, _READING))
    model, fitted = fit_and_tell(measured, _part(progress, _READING, 1.0))
    lossy = () if measured.loss is None else too_lossy(measured.loss)
    unmet = () if fitted is None else fitted.notes
    return measured._replace(notes=(*measured.notes, *lossy, *unmet)), model, fitted


def _of_iplane(
    file: str, losses: str | None, checksum: str | None, drop: bool, progress: Progress
) -> tuple[Measured, PathModel, Fitted]:
    from btflow.paths.iplane import of_pops, pop_paths, read_iplane

    unmeasured: Literal["refuse", "drop"] = "drop" if drop else "refuse"
    links = read_iplane(file, checksum, unmeasured=unmeasured)
    lossy = None if losses is None else read_iplane(losses, quantity="loss", unmeasured=unmeasured)
    return of_pops(pop_paths(links, lossy), links, lossy, progress)


def _part(progress: Progress, begin: float, end: float) -> Progress:
    """Return what shows the progress of a part of the work, from one share of it to another."""
    return None if progress is None else lambda done: progress(begin + (end - begin) * done)


@contextmanager
def _named_as_options() -> Iterator[None]:
    """Let errors name the options that the arguments of functions are here."""
    try:
        yield
    except InputError as error:
        field = _option(error.field) if error.field in _OPTIONS else _RENAMED.get(error.field, error.field)
        raise InputError(field, error.value, _as_options(error.reason), _as_options(error.allowed)) from None


def _as_options(text: str) -> str:
    """Return a text with ``--loss lost --loss-unit %`` in place of ``loss="lost", loss_unit="%"``."""
    apart = re.sub(r'", (?=\w+=")', '" ', text)
    apart = apart.replace('unmeasured="drop"', "--drop-unmeasured")
    return re.sub(r'\b((?:separator|rtt|loss)=|(?:rtt|loss)_unit=?)("[^"]*")?', lambda found: _option(found[0]), apart)


def _option(argument: str) -> str:
    name, _, value = argument.replace('"', "").partition("=")
    return f"--{name.replace('_', '-')}" + (f" {shlex.quote(value)}" if value else "")


def describe(model: PathModel, measured: Measured, fitted: Fitted | None) -> dict[str, Any]:
    """Return the quantiles of the model beside the measured ones, and what paths have in common.

    ``violations`` are shares of the pairs of peers that are ``above`` their best path through another one by more than
    10% and by more than 25%: of measured times, of those of the model's table in their order, and of drawn ones.
    """
    import numpy as np

    from btflow.paths.fitting import ABOVE

    shares = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    found: dict[str, Any] = {"source": model.source, "shares": list(shares)}
    for name, at, values in (("rtt_s", model.rtt_at, measured.rtt), ("loss", model.loss_at, measured.loss)):
        found[name] = {"model": [float(value) for value in at(np.array(shares))]}
        if values is not None:
            found[name]["measured"] = [float(value) for value in np.quantile(values, shares)]
    structure = model.structure
    shared: dict[str, Any] = {"regions": len(structure.regions), "violations": None}
    shared |= {"detour": structure.detour, "detour_spread": structure.detour_spread}
    if fitted is not None:
        shared["violations"] = {
            "above": ABOVE,
            "measured": fitted.measured,
            "in_table": fitted.in_table,
            "model": fitted.drawn,
        }
    return found | shared


def as_text(found: dict[str, Any], notes: list[str]) -> str:
    """Return what was found as lines, and how to use it."""
    lines = [f"{found['model']}: {found['source']}", ""]
    lines.append("share of paths".ljust(28) + "".join(f"{share:.0%}".rjust(9) for share in found["shares"]))
    for name, title, scale in (("rtt_s", "rtt [ms]", 1e3), ("loss", "loss [%]", 1e2)):
        for kind, values in found[name].items():
            lines.append(f"{title} {kind}".ljust(28) + "".join(f"{scale * value:.4g}".rjust(9) for value in values))
    varies = f"{math.expm1(math.log(2.0) * found['detour']):.1%}"
    off = "" if varies == "0.0%" else f"; half of the paths are about {varies} or more off others as far"
    lines += ["", f"Peers are in {counted(found['regions'], 'region')}{off}."]
    if (shares := found["violations"]) is not None:
        for above, measured, drawn in zip(*(shares[name] for name in ("above", "measured", "model")), strict=True):
            best = f"more than {above:.0%} above their best path through another one"
            lines.append(f"Of the pairs of peers {measured:.1%} are {best}; of drawn ones {drawn:.1%}.")
    lines += [f"Note: {note}." for note in notes]
    path = found["model"]
    use = f'  btflow run rao2010 --set internet={shlex.quote(path)}\n  btflow.load("rao2010").set(internet={path!r})'
    return "\n".join([*lines, "", "Use it in a swarm:", use])


def _draw(model: PathModel, measured: Measured, file: Path) -> None:
    from btflow.plots import path_quantiles, save

    save(path_quantiles(model, measured.rtt, measured.loss), file)
