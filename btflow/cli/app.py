"""The command line: ``btflow COMMAND``, a function for each command."""

import os
import sys
from typing import Annotated, NoReturn

import typer

from btflow import __version__
from btflow.cli.bench import bench
from btflow.cli.calibrate import calibrate
from btflow.cli.common import complain, complain_of, in_options
from btflow.cli.explore import explore, handout, lab
from btflow.cli.export import export
from btflow.cli.link import link
from btflow.cli.list import list_models
from btflow.cli.run import run
from btflow.cli.schema import schema
from btflow.cli.sweep import merge, sweep
from btflow.errors import InputError, SimulationError
from btflow.termination import INTERRUPTED, stopped

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

_NO_WHAT_IF = {f"No such command '{name}'." for name in ("compare", "what-if", "whatif")}
_WHAT_IF = ' In Python it is scenario.compare(rtt="400 ms"), in btflow explore the tab What if.'


def main() -> NoReturn:
    """Run the command line; every error is one message on stderr, bad input exits with 2."""
    try:
        code = app(prog_name="btflow", standalone_mode=False)
    except _UsageError as error:
        message = str(error.format_message())  # type: ignore[attr-defined]  # that base has it
        code = complain(message + _WHAT_IF * (message in _NO_WHAT_IF))
    except InputError as error:
        code = complain(*map(in_options, str(error).splitlines()))
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
    sys.exit(stopped() if code == INTERRUPTED else code or 0)


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


for command in (list_models, run, sweep, merge, link, export, calibrate, schema, bench, explore, lab, handout):
    line = str(command.__doc__).partition("\n")[0]  # in full, where click would cut it
    app.command("list" if command is list_models else None, short_help=line)(command)
