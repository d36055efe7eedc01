"""``btflow list``: models, links and congestion controls, or the parameters and fields of one model."""

from __future__ import annotations

from typing import Annotated

import typer

from btflow.errors import InputError


def list_models(
    model: Annotated[str | None, typer.Argument(help="Model whose parameters to list.")] = None,
    fields: Annotated[bool, typer.Option("--fields", help="List every field of the model that can be set.")] = False,
) -> None:
    """List the models, access links and congestion controls, or one model's parameters with unit, default, meaning."""
    from btflow.cli import listing

    if fields and model is None:
        raise InputError("--fields", None, "is given without a model", "btflow list MODEL --fields")
    read = listing.fields if fields else listing.parameters
    typer.echo(listing.everything() if model is None else read(model))
