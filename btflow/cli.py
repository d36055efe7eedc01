"""The command line: ``btflow list | run | schema | bench``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer

from btflow import __version__
from btflow.errors import InputError, SimulationError

app = typer.Typer(
    name="btflow",
    help="Simulate BitTorrent swarms, block by block.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# typer 0.29 has its own copy of click: this is the base of every usage error, whichever is used.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

Model = Annotated[str, typer.Argument(help="Name of a model (see `btflow list`) or path of a .toml file.")]


def main() -> NoReturn:
    """Run the command line; every error is one message on stderr, bad input exits with 2."""
    try:
        code = app(prog_name="btflow", standalone_mode=False)
    except _UsageError as error:
        code = _complain(str(error.format_message()))  # type: ignore[attr-defined]
    except InputError as error:
        code = _complain(*str(error).splitlines())
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except SimulationError as error:
        _complain(str(error))
        code = 1
    except MemoryError:
        code = _complain("out of memory: take fewer leechers, a lower upload_limit, or larger or fewer pieces")
    except OSError as error:
        code = _failed(error)
    if code == 130:
        typer.echo("btflow: interrupted", err=True)
    sys.exit(code or 0)


def _complain(*messages: str) -> int:
    for message in messages:
        typer.echo(f"btflow: error: {message}", err=True)
    return 2


def _failed(error: OSError) -> int:
    _complain(f"{error.filename or 'output'}: {error.strerror or error}")
    return 1


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
) -> None:
    """List the models, or one model's parameters with unit, default and meaning."""
    from btflow import listing

    typer.echo(listing.models() if model is None else listing.parameters(model))


@app.command()
def run(
    model: Model,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help='Set a parameter, such as rtt="400 ms".'),
    ] = None,
    replicas: Annotated[str, typer.Option(metavar="NUMBER", help="Independent repetitions.")] = "1",
    seed: Annotated[str, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    out: Annotated[list[str] | None, typer.Option(metavar="FILE.nc", help="Write the result.")] = None,
    plot: Annotated[list[str] | None, typer.Option(metavar="FILE.html", help="Write a figure.")] = None,
) -> None:
    """Simulate a swarm and print when its peers complete."""
    from btflow import options
    from btflow.catalog import load

    count = options.parse_whole_number("--replicas", replicas, 1, options.MAX_REPLICAS)
    number = options.parse_whole_number("--seed", seed, 0, options.MAX_SEED)
    result_file = options.output_path("--out", out, ".nc")
    figure_file = options.output_path("--plot", plot, ".html")
    scenario = load(model, **options.parse_settings(settings or ()))

    from btflow import output, report
    from btflow.simulation import simulate

    with _progress(count, shown=not as_json and sys.stderr.isatty()) as progress:
        result = simulate(scenario, seed=number, replicas=count, progress=progress)
    typer.echo(output.to_json(report.summary(result)) if as_json else report.as_text(result))
    failed = 0
    for write, file in ((output.write_netcdf, result_file), (output.write_plot, figure_file)):
        if file is not None:
            try:
                write(result, file)
            except OSError as error:
                failed = _failed(error)
    if failed:
        raise typer.Exit(failed)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a model file."""
    from btflow import jsonschema, output

    typer.echo(output.to_json(jsonschema.schema()))


@app.command()
def bench(
    cold: Annotated[bool, typer.Option("--cold", help="Also time a first run, which compiles the kernels.")] = False,
) -> None:
    """Measure the CPU time of a swarm, and how it grows with peers and pieces."""
    from btflow.bench import main as run_bench

    run_bench(cold=cold)


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Callable[[float], None] | None]:
    """Give a function to call with the number of replicas done so far, a share of the next included, if shown."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    replicas = f"{total} replica{'s' * (total > 1)}"
    form = "{percentage:3.0f}% of " + replicas + " |{bar}| {elapsed}, {remaining} left"
    with tqdm(total=total, bar_format=form, leave=False, delay=0.5) as bar:
        yield lambda done: bar.update(done - bar.n) and None
