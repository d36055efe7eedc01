"""The command line: ``btflow list | run | sweep | link | export | calibrate | schema | bench | explore | lab``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from btflow import __version__
from btflow.bars import SHARE, bar
from btflow.errors import InputError, SimulationError
from btflow.explore.commandline import explore, lab
from btflow.paths.command import calibrate
from btflow.pictures import figure_path
from btflow.termination import INTERRUPTED, stopped

if TYPE_CHECKING:
    import xarray

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
        code = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except SimulationError as error:
        _complain(str(error))
        code = 1
    except MemoryError:
        code = _complain(
            "out of memory: take fewer leechers, a lower upload_limit, or larger or fewer pieces; "
            "for a link, fewer flows, smaller windows, a shorter duration or a longer sample period"
        )
    except OSError as error:
        code = _failed(error)
    sys.exit(stopped() if code == INTERRUPTED else code or 0)


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
    fields: Annotated[bool, typer.Option("--fields", help="List every field of the model that can be set.")] = False,
) -> None:
    """List the models, access links and congestion controls, or one model's parameters with unit, default, meaning."""
    from btflow import listing

    if fields and model is None:
        raise InputError("--fields", None, "is given without a model", "btflow list MODEL --fields")
    read = listing.fields if fields else listing.parameters
    typer.echo(listing.everything() if model is None else read(model))


@app.command()
def run(
    model: Model,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help='Set a parameter, such as rtt="400 ms", or any field.'),
    ] = None,
    replicas: Annotated[str, typer.Option(metavar="NUMBER", help="Independent repetitions.")] = "1",
    seed: Annotated[str, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")] = "0",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    out: Annotated[list[str] | None, typer.Option(metavar="FILE.nc", help="Write the result.")] = None,
    plot: Plot = None,
) -> None:
    """Simulate a swarm and print when its peers complete."""
    from btflow import options
    from btflow.catalog import load

    count = options.parse_whole_number("--replicas", replicas, 1, options.MAX_REPLICAS)
    number = options.parse_whole_number("--seed", seed, 0, options.MAX_SEED)
    result_file = options.output_path("--out", out, ".nc")
    figure_file = figure_path("--plot", plot)
    scenario = load(model, **options.parse_settings(settings or ()))

    from btflow import output, report
    from btflow.simulation import simulate

    with _progress(count, shown=not as_json and sys.stderr.isatty()) as progress:
        result = simulate(scenario, seed=number, replicas=count, progress=progress)
    typer.echo(output.to_json(report.summary(result)) if as_json else report.as_text(result))
    _write(result, ((output.write_netcdf, result_file), (output.write_plot, figure_file)))


Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help='Set a parameter, such as rtt="400 ms", or any field.'),
]
Seed = Annotated[str, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Out = Annotated[list[str] | None, typer.Option(metavar="FILE.nc", help="Write the result.")]
Plot = Annotated[
    list[str] | None, typer.Option(metavar="FILE.html|.png|.svg|.pdf", help="Write a figure; a picture needs Chromium.")
]
Text = str | None


@app.command()
def sweep(
    model: Model,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SPEC",
            help="Vary a parameter: rtt=0ms,400ms or upload_limit=lin(10 kB/s, 100 kB/s, 10) or loss=log(0.1%,5%,8); "
            'several together: "rtt,loss=(0ms,0%),(400ms,5%)". With --sample also uniform(a, b), loguniform(a, b), '
            "lognormal(median, sigma), choice(a, b, ...), iplane.",
        ),
    ] = None,
    settings: Settings = None,
    sample: Annotated[
        Text,
        typer.Option(
            metavar="KIND:N",
            help="Points drawn in place of a grid: sobol:4096, lhs:100, random:100, saltelli:1024.  [grid]",
        ),
    ] = None,
    replicas: Annotated[Text, typer.Option(metavar="NUMBER", help="Swarms of each point.  [1]")] = None,
    seed: Annotated[Text, typer.Option(metavar="NUMBER", help="Seed of the random numbers.  [0]")] = None,
    common: Annotated[
        bool | None, typer.Option("--common/--no-common", help="The same random numbers at all points.  [no]")
    ] = None,
    keep: Annotated[Text, typer.Option(metavar="peers,series", help="Arrays of each swarm to keep, too.")] = None,
    out: Annotated[list[str] | None, typer.Option(metavar="FILE.zarr", help="Where the results go.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Run what --out does not have yet.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: run again what failed, too.")
    ] = False,
    jobs: Annotated[Text, typer.Option(metavar="NUMBER", help="Swarms at once.  [all cores]")] = None,
    backend: Annotated[
        Text, typer.Option(metavar="NAME", help="threads or processes.  [whichever is done sooner]")
    ] = None,
    dask: Annotated[Text, typer.Option(metavar="ADDRESS", help="Run on the cluster of this Dask scheduler.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="More than a million swarms are meant.")] = False,
    as_json: Json = False,
) -> None:
    """Simulate a swarm or a link over values of its parameters: thousands of runs in one dataset.

    Ctrl-C and SIGTERM keep what is finished. A swarm that fails is recorded with its reason; the others go on.
    """
    from btflow import output
    from btflow.sweeps import commandline

    given = commandline.Given(
        model=model,
        vary=vary or [],
        settings=settings or [],
        sample=sample,
        replicas=replicas,
        seed=seed,
        common=common,
        keep=keep,
        out=out or [],
        resume=resume,
        retry_failed=retry_failed,
        yes=yes,
        jobs=jobs,
        backend=backend,
        dask=dask,
    )
    found = commandline.run(given, show=not as_json)
    typer.echo(output.to_json(found) if as_json else commandline.as_text(found))
    if not found["done"]:
        raise typer.Exit(1)


@app.command()
def link(
    model: Annotated[
        Text, typer.Argument(help="Name of a link model, or path of a .toml file; or give options.")
    ] = None,
    rate: Annotated[Text, typer.Option(metavar="RATE", help='Of the uplink, or "unlimited".  [1 Mbit/s]')] = None,
    buffer: Annotated[
        Text,
        typer.Option(
            metavar="BUFFER", help='Of the uplink: "100 packets", "150 kB", "200 ms" or "1.5 BDP".  [100 packets]'
        ),
    ] = None,
    reverse_rate: Annotated[Text, typer.Option(metavar="RATE", help="Of the downlink.  [as --rate]")] = None,
    reverse_buffer: Annotated[Text, typer.Option(metavar="BUFFER", help="Of the downlink.  [as --buffer]")] = None,
    aqm: Annotated[
        Text, typer.Option(metavar="NAME", help="drop-tail, codel, fq-codel or pie, both ways.  [drop-tail]")
    ] = None,
    access: Annotated[
        Text, typer.Option(metavar="NAME", help="Access link, such as adsl, that the options above change.")
    ] = None,
    rtt: Annotated[Text, typer.Option(metavar="TIME", help="Base round-trip time, without queues.  [50 ms]")] = None,
    rtt_spread: Annotated[
        Text, typer.Option(metavar="TIME", help="Each flow's RTT is longer by up to this.  [2 ms]")
    ] = None,
    loss: Annotated[Text, typer.Option(metavar="SHARE", help="Data packets lost in the core.  [0%]")] = None,
    ack_loss: Annotated[Text, typer.Option(metavar="SHARE", help="ACKs lost in the core.  [0%]")] = None,
    flow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CC[:COUNT][@START][,KEY=VALUE]...",
            help="Flows, such as cubic:3 or ledbat:1@10s. Keys: size (bytes to send), rate (of the application), "
            "on and off (mean lengths of its periods), start, stop, spread (of the starts), rtt, window (most bytes "
            "on the way), mss, name, direction (up or down).  [direction=up]",
        ),
    ] = None,
    voip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODEC[:COUNT][@START][,KEY=VALUE]...",
            help="One direction of voice calls, such as g729:1. Keys: frames (in a packet), start, stop, spread, rtt, "
            "name, direction.",
        ),
    ] = None,
    probe: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE@PERIOD[,KEY=VALUE]...",
            help='Small messages, such as "100 B@1s". Keys: cc, start, stop, spread, rtt, window, mss, name, '
            "direction.  [cc=cubic]",
        ),
    ] = None,
    duration: Annotated[Text, typer.Option(metavar="TIME", help="Simulated time.  [60 s]")] = None,
    warmup: Annotated[
        Text,
        typer.Option(
            metavar="TIME",
            help="Statistics begin here.  [a fifth of the duration, at most 60 s; 0 s if every flow has a size]",
        ),
    ] = None,
    sample: Annotated[
        Text, typer.Option(metavar="TIME", help="Period of the time series.  [a 2000th of the duration]")
    ] = None,
    settings: Settings = None,
    seed: Seed = "0",
    as_json: Json = False,
    out: Out = None,
    plot: Plot = None,
) -> None:
    """Simulate flows over access links: a model, or one user's link given by options alone.

    The user is behind the access link `home`; the other side, the internet, is never the bottleneck. Flows go up
    unless they say direction=down. `btflow list` shows link models, access links and congestion controls.
    """
    from btflow import options
    from btflow.link import commandline, report

    given = {
        "rate": rate,
        "buffer": buffer,
        "reverse_rate": reverse_rate,
        "reverse_buffer": reverse_buffer,
        "aqm": aqm,
        "access": access,
        "rtt": rtt,
        "rtt_spread": rtt_spread,
        "loss": loss,
        "ack_loss": ack_loss,
        "flows": flow,
        "voip": voip,
        "probes": probe,
        "duration": duration,
        "warmup": warmup,
        "sample": sample,
    }
    number = options.parse_whole_number("--seed", seed, 0, options.MAX_SEED)
    result_file = options.output_path("--out", out, ".nc")
    figure_file = figure_path("--plot", plot)
    scenario = commandline.scenario(model, settings or (), given)
    if figure_file is not None and not scenario.queues:
        raise InputError(
            "--plot", str(figure_file), "has nothing to show: no queue has a limited rate", "a limited rate"
        )

    from btflow import output
    from btflow.link.simulation import simulate_link

    with _progress(1, shown=not as_json and sys.stderr.isatty()) as progress:
        result = simulate_link(scenario, seed=number, progress=progress)
    typer.echo(output.to_json(report.summary(result)) if as_json else report.as_text(result))
    _write(result, ((output.write_netcdf, result_file), (output.write_link_plot, figure_file)))


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
    sweep = open_store("STORE", store)
    with bar(SHARE, 1, shown=sys.stderr.isatty()) as progress:
        rows = write_table(sweep, path, per="peer" if peers else "swarm", progress=progress)
    typer.echo(f"{rows} rows in {file}")


@app.command()
def schema(
    kind: Annotated[str, typer.Argument(help="Kind of model: swarm or link.")] = "swarm",
) -> None:
    """Print the JSON Schema of a model file."""
    from btflow import jsonschema, output

    typer.echo(output.to_json(jsonschema.schema(kind)))


@app.command()
def bench(
    cold: Annotated[bool, typer.Option("--cold", help="Also time a first run, which compiles the kernels.")] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Also run 1,008 mixed swarms, up to 100,000 peers, a sweep of 100,000.")
    ] = False,
) -> None:
    """Measure swarms per second, CPU time against peers, pieces and file size, memory, start-up, and links."""
    from btflow.benchmarks.command import main as run_bench

    run_bench(cold=cold, large=scale)


app.command()(calibrate)
app.command()(explore)
app.command()(lab)


def _write(result: xarray.Dataset, files: Iterable[tuple[Callable[[xarray.Dataset, Path], None], Path | None]]) -> None:
    """Write each file that is asked for, the others too if one fails."""
    failed = 0
    for write, file in files:
        if file is not None:
            try:
                write(result, file)
            except OSError as error:
                failed = _failed(error)
    if failed:
        raise typer.Exit(failed)


@contextmanager
def _progress(total: int, *, shown: bool) -> Iterator[Callable[[float], None] | None]:
    """Give a function to call with the number of replicas done so far, a share of the next included, if shown."""
    replicas = f"{total} replica{'s' * (total > 1)}"
    form = "{percentage:3.0f}% of " + replicas + " |{bar}| {elapsed}, {remaining} left"
    with bar(form, total, shown=shown) as update:
        yield update
