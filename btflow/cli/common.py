"""What commands have in common: options, progress bars, files written, complaints."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from btflow.errors import InputError, visible

if TYPE_CHECKING:
    import xarray


SHARE = "{percentage:3.0f}% |{bar}| {elapsed}, {remaining} left"
"""How a bar looks, in tqdm's form."""


@contextmanager
def bar(form: str, total: int, *, shown: bool) -> Iterator[Callable[[float], None] | None]:
    """Give a function to call with how much of the total is done, if shown."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    from btflow.kernels.compiler.cache import SELDOM, Line

    if not sys.stderr.isatty():
        line = Line(time.monotonic() + SELDOM)
        yield lambda done: line(f"btflow: {done / total:.0%} done")
        return
    with tqdm(total=total, bar_format=form, leave=False, delay=0.5) as drawn:
        yield lambda done: drawn.update(done - drawn.n) and None


Model = Annotated[str, typer.Argument(help="Name of a model (see `btflow list`) or path of a .toml file.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help='Set a parameter, such as rtt="400 ms", or any field.'),
]
Seed = Annotated[str, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")]
FidelityOption = Annotated[
    str,
    typer.Option(
        "--fidelity",
        metavar="full|flow",
        help="full: every block and message an event; flow: uploads in closed form, some four times cheaper.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Out = Annotated[list[str] | None, typer.Option(metavar="FILE.nc", help="Write the result.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files of --out, --plot and --motion that exist.")]
Plot = Annotated[
    list[str] | None, typer.Option(metavar="FILE.html|.png|.svg|.pdf", help="Write a figure; a picture needs Chromium.")
]
Motion = Annotated[list[str] | None, typer.Option(metavar="FILE.html", help="Write a page that plays it.")]
Text = str | None


def takes(metavar: str, text: str) -> Any:
    """Return an option that takes a value, by the value's name and the help."""
    return typer.Option(metavar=metavar, help=text)


_AS_OPTIONS = {
    "resume=True": "--resume",
    "yes=True": "--yes",
    'fidelity="flow"': "--fidelity flow",
    'sample="KIND:N"': "--sample KIND:N",
    'keep=["peers"]': "--keep peers",
    '{"rtt": ["0 ms", "400 ms"]}': "rtt=0ms,400ms",
}
"""What messages say of Python's arguments, and the option of each."""


def in_options(message: str) -> str:
    """Return a message of the package in terms of the command line."""
    for argument, option in _AS_OPTIONS.items():
        message = message.replace(argument, option)
    return message


_LONGEST = 1500
"""Letters of the longest error that is printed whole: usage errors repeat arguments, which may be of any length."""


def say(text: str, *, err: bool = False) -> None:
    """Print a text: names of files, and words in them, do not reach the terminal as commands to it."""
    typer.echo(visible(text), err=err)


def complain(*messages: str) -> int:
    """Print errors and return the exit code of bad input."""
    for message in messages:
        say(f"btflow: error: {message[:_LONGEST]}{'...' * (len(message) > _LONGEST)}", err=True)
    return 2


def complain_of(error: OSError) -> int:
    """Print what the system refused and return the exit code."""
    complain(in_options(f"{error.filename or 'output'}: {error.strerror or error}"))
    return 1


FORMAT = 1
"""Of the JSON objects that commands print: it counts up when a key goes or means something else (docs/output.md)."""


def echo(found: dict[str, Any] | str) -> None:
    """Print what a command found: a text, or one JSON object."""
    from btflow.files import to_json

    say(found if isinstance(found, str) else to_json({"format": FORMAT} | found))


def write(result: xarray.Dataset, files: Iterable[tuple[Callable[[xarray.Dataset, Path], None], Path | None]]) -> None:
    """Write each file that is asked for, the others too if one fails."""
    failed = 0
    for writer, file in files:
        if file is not None:
            try:
                writer(result, file)
            except OSError as error:
                failed = complain_of(error)
    if failed:
        raise typer.Exit(failed)


def write_plot(result: xarray.Dataset, path: Path) -> None:
    """Write the overview of a swarm or a link: an HTML page that needs no network, or a picture, by the ending."""
    from btflow import plots

    plots.save(plots.link_overview(result) if "queue" in result.dims else plots.overview(result), path)


def check_motion(path: Path | None, scenario: Any, **given: Any) -> None:
    """Raise an InputError that names the option if no trace can be recorded as asked for, before any work is done."""
    if path is None:
        for name in ("start", "length"):
            if given.get(name) is not None:
                raise InputError(f"--motion-{name}", given[name], "is of no use without --motion", "--motion FILE.html")
        return
    from btflow import motion

    try:
        motion.check(scenario, **given)
    except InputError as error:
        option = "--motion" if error.field not in ("start", "length") else f"--motion-{error.field}"
        value = str(path) if option == "--motion" else error.value
        reason = f"{error.field} {error.reason}" if error.field in ("fidelity", "leechers") else error.reason
        raise InputError(option, value, reason, error.allowed) from None


def motion_writer(scenario: Any, *, shown: bool, **given: Any) -> Callable[[xarray.Dataset, Path], None]:
    """Return what runs a scenario once more, records it and writes a page that plays it; with a bar if shown."""

    def write_motion(_: xarray.Dataset, path: Path) -> None:
        from btflow import motion

        with bar(f"motion {SHARE}", 1, shown=shown) as update:
            trace = motion.record(scenario, progress=update, **given)
        motion.save(trace, path)

    return write_motion
