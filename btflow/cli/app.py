"""The command line: ``btflow COMMAND``, a function for each command."""

import io
import os
import sys
from typing import Annotated, NoReturn

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]  # it is there without being declared

from btflow import __version__
from btflow.cli.bench import bench
from btflow.cli.calibrate import calibrate
from btflow.cli.common import complain, complain_of, in_options
from btflow.cli.completion import completed, completion
from btflow.cli.explore import explore, handout, lab
from btflow.cli.link import link
from btflow.cli.list import PARTS, list_models, schema
from btflow.cli.run import run
from btflow.cli.sweep import export, merge, sweep
from btflow.errors import InputError, SimulationError
from btflow.termination import INTERRUPTED, leave, release_output, stopped

app = typer.Typer(
    name="btflow",
    help="Simulate BitTorrent swarms, block by block, and the access links they share, packet by packet.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# typer 0.29 has its own copy of click: this is the base of every usage error, whichever is used.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

_EXAMPLES = {
    "run": "btflow run rao2010; btflow list has the models",
    "sweep": "btflow sweep rao2010 --vary rtt=0ms,400ms --out r.zarr; btflow list has the models",
    "merge": "btflow merge whole.zarr part1.zarr part2.zarr",
    "export": "btflow export r.zarr r.csv",
    "handout": "btflow handout lessons",
    "completion": 'eval "$(btflow completion bash)"',
}
"""Of the commands that need an argument."""

_NO_WHAT_IF = {f"No such command '{name}'." for name in ("compare", "what-if", "whatif")}
_WHAT_IF = ' In Python it is scenario.compare(rtt="400 ms"), in btflow explore the tab What if.'


def main() -> NoReturn:
    """Run the command line; every error is one message on stderr, bad input exits with 2."""
    for stream in (sys.stdout, sys.stderr):  # an encoding may lack letters of ours, and of a file's name
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    completion_init()
    asked = os.environ.get("_BTFLOW_COMPLETE", "")
    if "source" in asked:  # bash_source is Click's word, source_bash Typer's
        del os.environ["_BTFLOW_COMPLETE"]
        sys.argv = ["btflow", "completion", asked.replace("source", "").strip("_")]
    try:
        code = app(prog_name="btflow", standalone_mode=False)
        sys.stdout.flush()
    except _UsageError as error:
        message = str(error.format_message())  # type: ignore[attr-defined]  # that base has it
        if message.startswith("Missing argument"):
            message += f" Such as: {_EXAMPLES[error.ctx.info_name]}."  # type: ignore[attr-defined]
        code = complain(message + _WHAT_IF * (message in _NO_WHAT_IF))
    except InputError as error:
        code = complain(*map(in_options, str(error).splitlines()))
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        code = 1
    except SimulationError as error:
        complain(str(error))
        code = 1
    except MemoryError:
        code = complain(
            "out of memory: take fewer leechers, a lower upload_limit, or larger or fewer pieces; "
            "for a link, fewer flows, smaller windows, a shorter duration or a longer sample period"
        )
    except OSError as error:
        code = complain_of(error)
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        complain("no thread can be started: the limit of addresses or of processes is too low (ulimit -v, ulimit -u)")
        code = 1
    if code == INTERRUPTED:
        leave(stopped())
    release_output()
    sys.exit(code or 0)


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"btflow {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_LISTED = ("swarms", "links", *PARTS.values())
_MODELS = {"run": _LISTED[:1], "link": _LISTED[1:2], "sweep": _LISTED[:2]}

for command in (
    list_models,
    run,
    sweep,
    merge,
    link,
    export,
    calibrate,
    schema,
    bench,
    explore,
    lab,
    handout,
    completion,
):
    line = str(command.__doc__).partition("\n")[0]  # in full, where click would cut it
    name = "list" if command is list_models else command.__name__
    app.command(name, short_help=line)(completed(command, _MODELS.get(name, _LISTED)))
