"""``btflow sweep``: its options."""

from __future__ import annotations

from typing import Annotated

import typer

from btflow.cli.common import FidelityOption, Json, Model, Settings, Text


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
    keep: Annotated[Text, typer.Option(metavar="peers,series,swarms", help="What else to keep of each swarm.")] = None,
    fidelity: FidelityOption = "full",
    check: Annotated[
        Text,
        typer.Option(
            metavar="NUMBER",
            help="With --fidelity flow: run one swarm of so many points in full, too, and print the error.",
        ),
    ] = None,
    statistics: Annotated[
        Text,
        typer.Option(
            metavar="NAME,...",
            help="Statistics to compare with full.  [of swarms: completion_mean, completion_p10, completion_p90, "
            "seed_copies; of links: goodput, jain_index, bottleneck_utilisation, _delay_mean, _delay_p95]",
        ),
    ] = None,
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
    from btflow import files
    from btflow.cli import sweep_run

    given = sweep_run.Given(
        model=model,
        vary=vary or [],
        settings=settings or [],
        sample=sample,
        replicas=replicas,
        seed=seed,
        common=common,
        keep=keep,
        fidelity=fidelity,
        check=check,
        statistics=statistics,
        out=out or [],
        resume=resume,
        retry_failed=retry_failed,
        yes=yes,
        jobs=jobs,
        backend=backend,
        dask=dask,
    )
    found = sweep_run.run_given(given, show=not as_json)
    typer.echo(files.to_json(found) if as_json else sweep_run.as_text(found))
    if not found["done"]:
        raise typer.Exit(1)
