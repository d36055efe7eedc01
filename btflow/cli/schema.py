"""``btflow schema``: the JSON Schema of a model file."""

from typing import Annotated

import typer


def schema(
    kind: Annotated[str, typer.Argument(help="Kind of model: swarm or link.")] = "swarm",
) -> None:
    """Print the JSON Schema of a model file."""
    from btflow import files
    from btflow.config import schema as json_schema

    typer.echo(files.to_json(json_schema.schema(kind)))
