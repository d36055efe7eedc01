"""What whoever runs the server is told."""

from __future__ import annotations

import typer


def say(text: str) -> None:
    """Write a line."""
    typer.echo(text, err=True)
