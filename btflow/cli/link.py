"""``btflow link``: its options."""

from typing import Annotated

import typer

from btflow.cli import common
from btflow.errors import InputError
from btflow.files import figure_path


def link(
    model: Annotated[
        common.Text, typer.Argument(help="Name of a link model, or path of a .toml file; or give options.")
    ] = None,
    rate: Annotated[
        common.Text,
        common.takes(
            "RATE",
            'Of the uplink, or "unlimited"; by steps: "20 Mbit/s, 5 Mbit/s@30s"; trace:FILE: as mahimahi has it.  '
            "[1 Mbit/s]",
        ),
    ] = None,
    buffer: Annotated[
        common.Text,
        common.takes("BUFFER", 'Of the uplink: "100 packets", "150 kB", "200 ms" or "1.5 BDP".  [100 packets]'),
    ] = None,
    reverse_rate: Annotated[common.Text, common.takes("RATE", "Of the downlink.  [as --rate]")] = None,
    reverse_buffer: Annotated[common.Text, common.takes("BUFFER", "Of the downlink.  [as --buffer]")] = None,
    aqm: Annotated[
        common.Text,
        common.takes(
            "NAME[:KEY=VALUE,...]",
            "drop-tail, codel, fq-codel, pie or cake, both ways. Keys: target, interval, quantum (of fq-codel), "
            "update, burst, alpha and beta (of pie), isolation (of cake).  [drop-tail]",
        ),
    ] = None,
    framing: Annotated[
        common.Text, common.takes("SIZE", 'Added to each packet: "18 B", or "atm:40 B", in cells.  [0 B]')
    ] = None,
    shaper: Annotated[
        common.Text, common.takes("NAME", "line, or tbf or htb of a Linux host, whose queue sees super-packets.")
    ] = None,
    access: Annotated[
        common.Text, common.takes("NAME", "Access link, such as adsl, that the options above change.")
    ] = None,
    rtt: Annotated[
        common.Text, common.takes("TIME", 'Base round-trip time; by steps: "30 ms, 80 ms@20s".  [50 ms]')
    ] = None,
    rtt_spread: Annotated[common.Text, common.takes("TIME", "Each flow's RTT is longer by up to this.  [2 ms]")] = None,
    loss: Annotated[common.Text, common.takes("SHARE", "Data packets lost in the core.  [0%]")] = None,
    ack_loss: Annotated[common.Text, common.takes("SHARE", "ACKs lost in the core.  [0%]")] = None,
    flow: Annotated[
        list[str] | None,
        common.takes(
            "CC[:COUNT][@START][,KEY=VALUE]...",
            "Flows, such as cubic:3 or ledbat:1@10s. Keys: size (bytes to send), rate (of the application), "
            "on and off (mean lengths of its periods), start, stop, spread (of the starts), rtt, window (most bytes "
            "on the way), mss, target (of LEDBAT and uTP), gain (of LEDBAT, segments a round trip), max_gain (of uTP, "
            "bytes a round trip), name, host (at home, for cake), direction (up or down).  [direction=up]",
        ),
    ] = None,
    voip: Annotated[
        list[str] | None,
        common.takes(
            "CODEC[:COUNT][@START][,KEY=VALUE]...",
            "One direction of voice calls, such as g729:1. Keys: frames (in a packet), start, stop, spread, rtt, "
            "name, host, direction.",
        ),
    ] = None,
    probe: Annotated[
        list[str] | None,
        common.takes(
            "SIZE@PERIOD[,KEY=VALUE]...",
            'Small messages, such as "100 B@1s". Keys: cc, start, stop, spread, rtt, window, mss, name, '
            "host, direction.  [cc=cubic]",
        ),
    ] = None,
    duration: Annotated[common.Text, common.takes("TIME", "Simulated time.  [60 s]")] = None,
    warmup: Annotated[
        common.Text,
        common.takes(
            "TIME", "Statistics begin here.  [a fifth of the duration, at most 60 s; 0 s if every flow has a size]"
        ),
    ] = None,
    sample: Annotated[
        common.Text, common.takes("TIME", "Period of the time series.  [a 2000th of the duration]")
    ] = None,
    settings: common.Settings = None,
    seed: common.Seed = "0",
    fidelity: Annotated[
        str, common.takes("full|flow", "full: every packet an event; flow: windows and queues move without packets.")
    ] = "full",
    as_json: common.Json = False,
    out: common.Out = None,
    plot: common.Plot = None,
    motion: common.Motion = None,
    motion_start: Annotated[common.Text, common.takes("TIME", "Simulated time from which it plays.  [0 s]")] = None,
    motion_length: Annotated[
        common.Text, common.takes("TIME", "How much of it.  [3000 packets of the bottleneck, or 20 round trips]")
    ] = None,
    overwrite: common.Overwrite = False,
) -> None:
    """Simulate flows over access links: a model, or one user's link given by options alone.

    The user is behind the access link `home`; the other side, the internet, is never the bottleneck. Flows go up
    unless they say direction=down. `btflow list` shows link models, access links and congestion controls.
    """
    from btflow import options
    from btflow.link import report
    from btflow.link.options import OPTIONS, experiment
    from btflow.options import fidelity_of

    given = {name: value for name, value in locals().items() if name in OPTIONS}
    given |= {"flows": flow, "probes": probe}
    number = options.parse_whole_number("--seed", seed, 0, options.MAX_SEED)
    result_file = options.output_path("--out", out, ".nc")
    figure_file = figure_path("--plot", plot)
    motion_file = options.output_path("--motion", motion, ".html")
    options.check_new(overwrite, model, access, out=out, plot=plot, motion=motion)
    which = fidelity_of("--fidelity", fidelity)
    scenario = experiment(model, settings or (), given)
    if figure_file is not None and not scenario.queues:
        raise InputError(
            "--plot", str(figure_file), "has nothing to show: no queue has a limited rate", "a limited rate"
        )
    part = {"start": motion_start, "length": motion_length}
    common.check_motion(motion_file, scenario, fidelity=which, **part)

    from btflow import files
    from btflow.link.run import simulate_link

    with common.bar(common.SHARE, 1, shown=not as_json) as update:
        result = simulate_link(scenario, seed=number, fidelity=which, progress=update)
    common.echo(report.summary(result) if as_json else report.as_text(result))
    played = common.motion_writer(scenario, shown=not as_json, seed=number, **part)
    common.write(result, ((files.write_netcdf, result_file), (common.write_plot, figure_file), (played, motion_file)))
