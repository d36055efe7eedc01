"""``btflow run``: simulate a swarm."""

from typing import Annotated

import typer

from btflow.cli import common
from btflow.files import figure_path
from btflow.units.formatting import counted


def run(
    model: common.Model,
    settings: common.Settings = None,
    replicas: Annotated[str, typer.Option(metavar="NUMBER", help="Independent repetitions.")] = "1",
    seed: common.Seed = "0",
    fidelity: common.FidelityOption = "full",
    as_json: common.Json = False,
    out: common.Out = None,
    plot: common.Plot = None,
    motion: common.Motion = None,
    overwrite: common.Overwrite = False,
) -> None:
    """Simulate a swarm and print when its peers complete."""
    from btflow import options
    from btflow.config.catalog import load
    from btflow.options import fidelity_of

    count = options.parse_whole_number("--replicas", replicas, 1, options.MAX_REPLICAS)
    number = options.parse_whole_number("--seed", seed, 0, options.MAX_SEED)
    result_file = options.output_path("--out", out, ".nc")
    figure_file = figure_path("--plot", plot)
    motion_file = options.output_path("--motion", motion, ".html")
    options.check_new(overwrite, model, out=out, plot=plot, motion=motion)
    which = fidelity_of("--fidelity", fidelity)
    scenario = load(model, **options.parse_settings(settings or ()))
    common.check_motion(motion_file, scenario, fidelity=which)

    from btflow import files
    from btflow.swarm import report
    from btflow.swarm.run import simulate

    form = "{percentage:3.0f}% of " + counted(count, "replica") + " |{bar}| {elapsed}, {remaining} left"
    with common.bar(form, count, shown=not as_json) as update:
        result = simulate(scenario, seed=number, replicas=count, fidelity=which, progress=update)
    common.echo(report.summary(result) if as_json else report.as_text(result))
    played = common.motion_writer(scenario, shown=not as_json, seed=number, fidelity=which)
    common.write(result, ((files.write_netcdf, result_file), (common.write_plot, figure_file), (played, motion_file)))
