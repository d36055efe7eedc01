"""Command lines of this package: the options that several have, one message per error, and the exit code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from btflow.errors import InputError, SimulationError

OUT = Path(__file__).parent / "report"
"""Where reports go, and what has been run is kept."""
JOBS = min(2, os.cpu_count() or 1)
GOES_ON = "interrupted; what has been run is kept, and the next call goes on from there"
"""Message for Ctrl-C of a command that keeps what it has run."""

Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the report, and of what has been run.")]
Jobs = Annotated[int, typer.Option(min=1, help="Swarms at once.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run all again, even what an earlier call has run.")]


def application(**settings: Any) -> typer.Typer:
    """Return a command line without commands as yet, whose errors `run_app` prints."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **settings)


def chosen(option: str, said: str, known: Iterable[str], kind: str) -> list[str]:
    """Return the names of a comma-separated list, in the order of those that are known; all of these for an empty one.

    Raises:
        InputError: A name is not known, or the list has none; `kind` says what a name stands for.
    """
    wanted, known = [name.strip() for name in said.split(",") if name.strip()], list(known)
    unknown = [name for name in wanted if name not in known] if wanted or not said else [said]
    if unknown:
        raise InputError(option, unknown[0], f"is not {kind}", ", ".join(known))
    return [name for name in known if not wanted or name in wanted]


def run_app(app: typer.Typer, name: str, interrupted: str = "interrupted") -> int:
    """Run a command and return its exit code: 1 for what failed, 2 for a wrong option, 130 for Ctrl-C.

    Args:
        app: The command.
        name: Its name in messages.
        interrupted: Message for Ctrl-C.
    """
    message = ""
    try:
        code = int(app(standalone_mode=False) or 0)
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except InputError as error:
        message, code = f"error: {error}", 2
    except (SimulationError, OSError) as error:
        message, code = f"error: {error}", 1
    except Exception as error:
        if not hasattr(error, "format_message"):  # not a usage error of typer's
            raise
        message, code = f"error: {error.format_message()}", 2
    if message or code == 130:
        typer.echo(f"{name}: {message or interrupted}", err=True)
    return code
