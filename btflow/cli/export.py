"""``btflow export``: a sweep as a table."""

from typing import Annotated

import typer

from btflow.cli.common import SHARE, bar, say
from btflow.errors import InputError
from btflow.units.formatting import counted


def export(
    store: Annotated[str, typer.Argument(metavar="STORE.zarr", help="What a sweep wrote.")],
    file: Annotated[str, typer.Argument(metavar="FILE.csv|FILE.parquet", help="The table to write.")],
    peers: Annotated[
        bool, typer.Option("--peers", help="A row for each peer, of a sweep that kept per-peer arrays.")
    ] = False,
) -> None:
    """Write a sweep as a long table, one row for each swarm, in SI units."""
    from btflow.analysis.table import open_store, table_path, write_table

    path = table_path("FILE", file)
    opened = open_store("STORE", store)
    with bar(SHARE, 1, shown=True) as update:
        try:
            rows = write_table(opened, path, per="peer" if peers else "swarm", progress=update)
        except InputError as error:
            raise InputError("--peers", None, error.reason, error.allowed) if error.field == "per" else error from None
    say(f"{counted(rows, 'row')} in {file}")
