"""The command line: ``btflow list | run | sweep | link | export | calibrate | schema | bench | explore | lab``."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated, NoReturn

import typer

from btflow import __version__
from btflow.cli.calibrate import calibrate
from btflow.cli.common import (
    SHARE,
    FidelityOption,
    Json,
    Model,
    Out,
    Plot,
    Seed,
    Settings,
    bar,
    complain,
    complain_of,
    progress,
    write,
    write_plot,
)
from btflow.cli.explore import explore, lab
from btflow.cli.link import link
from btflow.errors import InputError, SimulationError
from btflow.files import figure_path
from btflow.sweeps.command import sweep
from btflow.termination import INTERRUPTED, stopped
from btflow.units.formatting import counted

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


def main() -> NoReturn:
    """Run the command line; every error is one message on stderr, bad input exits with 2."""
    try:
        code = app(prog_name="btflow", standalone_mode=False)
    except _UsageError as error:
        code = complain(str(error.format_message()))  # type: ignore[attr-defined]  # that base has it
    except InputError as error:
        code = complain(*str(error).splitlines())
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


@app.command("list")
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


@app.command()
def run(
    model: Model,
    settings: Settings = None,
    replicas: Annotated[str, typer.Option(metavar="NUMBER", help="Independent repetitions.")] = "1",
    seed: Seed = "0",
    fidelity: FidelityOption = "full",
    as_json: Json = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Simulate a swarm and print when its peers complete."""
    from btflow import options
    from btflow.config.catalog import load
    from btflow.options import fidelity_of

    count = options.parse_whole_number("--replicas", replicas, 1, options.MAX_REPLICAS)
    number = options.parse_whole_number("--seed", seed, 0, options.MAX_SEED)
    result_file = options.output_path("--out", out, ".nc")
    figure_file = figure_path("--plot", plot)
    which = fidelity_of("--fidelity", fidelity)
    scenario = load(model, **options.parse_settings(settings or ()))

    from btflow import files
    from btflow.swarm import report
    from btflow.swarm.run import simulate

    with progress(count, shown=not as_json and sys.stderr.isatty()) as update:
        result = simulate(scenario, seed=number, replicas=count, fidelity=which, progress=update)
    typer.echo(files.to_json(report.summary(result)) if as_json else report.as_text(result))
    write(result, ((files.write_netcdf, result_file), (write_plot, figure_file)))


app.command()(sweep)
app.command()(link)


@app.command()
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
    with bar(SHARE, 1, shown=sys.stderr.isatty()) as update:
        rows = write_table(opened, path, per="peer" if peers else "swarm", progress=update)
    typer.echo(f"{counted(rows, 'row')} in {file}")


@app.command()
def schema(
    kind: Annotated[str, typer.Argument(help="Kind of model: swarm or link.")] = "swarm",
) -> None:
    """Print the JSON Schema of a model file."""
    from btflow import files
    from btflow.config import schema as json_schema

    typer.echo(files.to_json(json_schema.schema(kind)))


@app.command()
def bench(
    cold: Annotated[bool, typer.Option("--cold", help="Also time a first run, which compiles the kernels.")] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Also run 1,008 mixed swarms, up to 100,000 peers, a sweep of 100,000.")
    ] = False,
    fidelity: Annotated[str, typer.Option(metavar="full|flow|both", help="How the swarms are run.")] = "both",
) -> None:
    """Measure swarms per second, CPU time against peers, pieces and file size, memory, start-up, and links."""
    from btflow.errors import InputError
    from btflow.options import FIDELITIES

    if fidelity not in (*FIDELITIES, "both"):
        raise InputError("--fidelity", fidelity, "is no fidelity", "full, flow or both")
    chosen = [known for known in FIDELITIES if fidelity in (known, "both")]

    # They are beside the package in a checkout (tools/benchmarks) and in it in a wheel.
    import_module("btflow.benchmarks.command").main(cold=cold, large=scale, fidelities=chosen)


app.command()(calibrate)
app.command()(explore)
app.command()(lab)
