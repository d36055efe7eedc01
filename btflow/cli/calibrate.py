"""``btflow calibrate``: a path model or an access link of one's own measurements."""

from __future__ import annotations

import codecs
import math
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from btflow.cli import line
from btflow.cli.common import SHARE, Json, Overwrite, Text, bar, echo, takes
from btflow.errors import InputError, brief
from btflow.files import DamagedError, as_utf8, figure_path, open_file
from btflow.units.formatting import counted

if TYPE_CHECKING:
    from pathlib import Path

    from btflow.paths.fitting import Fitted
    from btflow.paths.measured import Measured
    from btflow.paths.model import PathModel

Progress = Callable[[float], None] | None

_COLUMNS = "--rtt, --rtt-unit, --loss, --loss-unit, --src, --dst and --separator"
_RENAMED = {"losses": "--iplane-loss", "csv": "FILE"}
"""Arguments of functions that are options, or the argument, of another name here."""

_READING = 0.5
"""Share of the work that is done when a CSV file is read."""


_OF_PATHS = ("iplane", "iplane_loss", "checksum", "rtt", "rtt_unit", "loss", "loss_unit", "src", "dst", "separator")
"""Options that go with measured paths: arguments of functions of the same names."""


def calibrate(
    measured_files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Of one line: flent files, ping logs, iperf3 --json, pcaps of an upload, together. "
            "Or a CSV file of paths: columns rtt_ms, loss or both.",
        ),
    ] = None,
    out: Annotated[
        list[str] | None,
        takes("FILE.toml", "The access link or the path model to write; an access link may be left out."),
    ] = None,
    form: Annotated[
        Text, typer.Option("--format", metavar="NAME", help="Line: flent, ping, iperf3 or capture.  [by what is in it]")
    ] = None,
    rate: Annotated[Text, takes("RATE", "Line: where the files do not give it.")] = None,
    way: Annotated[Text, takes("up|down", "Line: the way of --rate.  [up]")] = None,
    base_rtt: Annotated[Text, takes("TIME", "Line: where the files do not give it.")] = None,
    buffer: Annotated[Text, takes("BUFFER", "Line: where the files do not give it.")] = None,
    cc: Annotated[Text, takes("NAME", "Line: congestion control of the simulated load.  [as measured]")] = None,
    iplane: Annotated[Text, takes("FILE", "Paths: iPlane's inter_pop_links.txt, in place of a CSV file.")] = None,
    iplane_loss: Annotated[Text, takes("FILE", "Paths: losses of iPlane's links, of the same form.")] = None,
    checksum: Annotated[Text, takes("SHA256", "Paths: of the file given by --iplane.")] = None,
    drop_unmeasured: Annotated[
        bool, typer.Option("--drop-unmeasured", help="Paths: leave out links of iPlane's with a negative value.")
    ] = False,
    rtt: Annotated[Text, takes("COLUMN", "Paths: of round-trip times.  [rtt]")] = None,
    rtt_unit: Annotated[Text, takes("UNIT", "Paths: us, ms or s.  [as the column's name says]")] = None,
    loss: Annotated[Text, takes("COLUMN", "Paths: of losses.  [loss]")] = None,
    loss_unit: Annotated[Text, takes("UNIT", "Paths: fraction or %.  [as the column's name says]")] = None,
    src: Annotated[Text, takes("COLUMN", "Paths: names one peer.  [src]")] = None,
    dst: Annotated[Text, takes("COLUMN", "Paths: names the other.  [dst]")] = None,
    separator: Annotated[Text, takes("NAME", "Paths: comma, semicolon, tab or space.  [comma]")] = None,
    plot: Annotated[list[str] | None, takes("FILE.html|.png|.svg|.pdf", "Write a figure.")] = None,
    as_json: Json = False,
    overwrite: Overwrite = False,
) -> None:
    """Fit an access link to what was measured on your line, for `btflow link --access` and swarms.

    Or make a path model of measured round-trip times and losses, for swarms whose paths are drawn from it. What the
    files are is seen from what is in them.
    """
    from btflow import options

    given = {name: value for name, value in locals().items() if name in _OF_PATHS and value is not None}
    of_line = {"format": form, "way": way, "rate": rate, "base_rtt": base_rtt, "buffer": buffer, "cc": cc}
    target = options.output_path("--out", out, ".toml")
    figure = figure_path("--plot", plot)
    options.check_new(overwrite, *(measured_files or ()), iplane, iplane_loss, out=out, plot=plot)
    if _of_a_line(measured_files or [], of_line):
        if given or drop_unmeasured:
            option = f"--{(*given, 'drop_unmeasured')[0].replace('_', '-')}"
            raise InputError(option, None, "goes with measured paths", "a CSV file of paths, or --iplane")
        line.calibrate(measured_files or [], of_line, target, figure, as_json)
        return
    file = measured_files[0] if measured_files else None
    if measured_files and measured_files[1:]:
        raise InputError("FILE", measured_files[1], "is a second file of paths", "one CSV file, or files of one line")
    columns = {name: value for name, value in given.items() if name not in ("iplane", "iplane_loss", "checksum")}
    if file is None and iplane is None:
        allowed = "files measured on a line, a CSV file of paths, or --iplane FILE"
        raise InputError("FILE", None, "is not given", allowed)
    if file is not None and iplane is not None:
        raise InputError("FILE", file, "is given beside --iplane", "one of the two")
    if iplane is not None and columns:
        raise InputError("--iplane", iplane, "is not a CSV file", f"no {_COLUMNS}")
    if target is None:
        from btflow.lines.files import READABLE

        why = f"{brief(file)} is taken for paths, not {READABLE}" if file is not None else "--iplane is given"
        raise InputError("--out", None, f"is missing: a path model needs it; {why}", "a file ending in .toml")
    if iplane is None and (checksum is not None or iplane_loss is not None or drop_unmeasured):
        raise InputError("FILE", file, "is not iPlane's", "--checksum, --iplane-loss, --drop-unmeasured with --iplane")
    fitted: Fitted | None
    with _named_as_options(), bar(SHARE, 1, shown=not as_json) as progress:
        if iplane is not None:
            measured, model, fitted = _of_iplane(iplane, iplane_loss, checksum, drop_unmeasured, progress)
        else:
            measured, model, fitted = _of_csv(str(file), columns, progress)
    notes = [_as_options(note) for note in measured.notes]
    model.save(target)
    if figure is not None:
        _draw(model, measured, figure)
    found = {"model": str(target)} | describe(model, measured, fitted)
    echo(found | {"notes": notes} if as_json else as_text(found, notes))


def _of_a_line(given: list[str], options: dict[str, str | None]) -> bool:
    """Return whether files are of one's own line; InputError for its options if they are not."""
    from btflow.lines.files import READABLE, format_of

    if options["format"] is not None or any(format_of(file) is not None for file in given):
        return True
    for file in given:
        _check_text(file, f"{READABLE}; or a CSV file of paths")
    for name, value in options.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            if given:
                raise InputError("FILE", given[0], f"is of no line, with which {option} goes", READABLE)
            raise InputError(option, None, "needs a file of one's own line", READABLE)
    return False


def _check_text(file: str, allowed: str) -> None:
    """Raise an InputError for a file that is neither of a line nor the text of a CSV file."""
    try:
        with open_file(file) as stream:
            head = stream.read(2**12)
    except DamagedError:  # its reader says where
        return
    except OSError as error:
        raise InputError("FILE", file, f"cannot be read: {error.strerror}", allowed) from None
    if not head.strip():
        raise InputError("FILE", file, "is empty", allowed)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(as_utf8(head))  # it may end within a letter
    except UnicodeDecodeError:
        raise InputError("FILE", file, "is of no kind that is read here, and no text", allowed) from None


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
        field = _option(error.field) if error.field in _OF_PATHS else _RENAMED.get(error.field, error.field)
        allowed = _as_options(error.allowed)
        of_no_path = "none is rtt" in error.reason or "no comma" in error.reason
        if error.field == "csv" and of_no_path:
            from btflow.lines.files import READABLE

            allowed += f"{'; or ' * bool(allowed)}of one's own line {READABLE}"
        raise InputError(field, error.value, _as_options(error.reason), allowed) from None


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
