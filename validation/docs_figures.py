"""``python -m validation.docs_figures [NAME]...``: draws figures of the documentation; needs Chromium."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import plotly.graph_objects as go
import typer

import btflow
from btflow import plots
from btflow.errors import InputError
from validation.command import application, run_app

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
ADSL: dict[str, Any] = {"rate": "1 Mbit/s", "rtt": "50 ms", "buffer": "200 packets"}

app = application()


def tutorial() -> go.Figure:
    """When leechers complete, without and with distance: the two swarms of the tutorial."""
    swarm = btflow.load("rao2010", leechers=50, file_size="10 MB")
    runs = {f"round-trip time {rtt}": btflow.simulate(swarm.set(rtt=rtt), seed=1) for rtt in ("0 ms", "400 ms")}
    return plots.completion_cdf(runs).update_layout(title_text="Fifty downloads of 10 MB, near and far")


def yields() -> go.Figure:
    """LEDBAT's rate while an upload by CUBIC comes and goes."""
    run = btflow.simulate_link(**ADSL, flows=["ledbat", "cubic:1@30s,size=4 MB"], duration="120 s", warmup="0 s")
    return plots.rates(run).update_layout(title_text="LEDBAT makes way for CUBIC, and comes back")


def latecomer() -> go.Figure:
    """Two LEDBAT flows, of which the second begins when the first has filled its target."""
    run = btflow.simulate_link(
        **ADSL, flows=["ledbat:1,name=first", "ledbat:1@30s,name=second"], duration="120 s", warmup="0 s"
    )
    return plots.rates(run).update_layout(title_text="The latecomer takes it all")


def queues() -> go.Figure:
    """How often a queue is how long, by discipline, under two uploads."""
    kinds = {"drop-tail": "drop-tail", "CoDel": "codel", "PIE": "pie", "FQ-CoDel": "fq-codel", "CAKE": "cake"}
    runs = {
        name: btflow.simulate_link(**ADSL | {"buffer": "40 packets"}, flows="cubic:2", aqm=aqm, duration="300 s")
        for name, aqm in kinds.items()
    }
    return plots.queue_ccdf(runs).update_layout(title_text="Two CUBIC uploads behind five queue disciplines")


def sweeps() -> go.Figure:
    """A grid of upload limits and round-trip times."""
    swarm = btflow.load("rao2010", leechers=50, file_size="10 MB")
    vary: dict[str | tuple[str, ...], object] = {
        "upload_limit": "lin(10 kB/s, 100 kB/s, 10)",
        "rtt": ["0 ms", "400 ms", "1 s"],
    }
    found = btflow.sweep(swarm, vary, replicas=5, seed=1, progress=False)
    drawn = plots.response_curve(found, "completion_mean", "upload_limit", by="rtt")
    drawn.update_layout(title_text="Thirty points of a sweep", legend_title_text="round-trip time")
    return drawn.update_yaxes(
        type="log", range=[2.2, 3.5], tickvals=[200, 500, 1000, 2000], title_text="mean completion time [s] (log scale)"
    )


FIGURES: dict[str, Callable[[], go.Figure]] = {
    drawn.__name__: drawn for drawn in (tutorial, yields, latecomer, queues, sweeps)
}


@app.command()
def render(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help=", ".join(FIGURES))] = None,
    folder: Annotated[Path, typer.Option("--to", metavar="DIR", help="Where the figures go.")] = FOLDER,
) -> None:
    """Draw figures of the documentation, all unless some are named."""
    from btflow.files import replacing

    for name in names or FIGURES:
        if name not in FIGURES:
            raise InputError("NAME", name, "is no figure", ", ".join(FIGURES))
        with replacing(folder / f"{name}.svg") as partial:
            FIGURES[name]().write_image(partial, format="svg")
        typer.echo(f"figure: {folder / name}.svg")


if __name__ == "__main__":
    sys.exit(run_app(app, "docs_figures"))
