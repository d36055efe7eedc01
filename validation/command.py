"""Runs a command line of this package: one message per error, and the exit code."""

from __future__ import annotations

import typer

from btflow.errors import InputError, SimulationError


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
