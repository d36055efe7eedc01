"""``python -m validation.demo``: the paper's four swarms without latency, beside its figures, in seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from validation import reference
from validation.cases import MODEL, Case
from validation.command import application, run_app
from validation.experiments import LIMITS

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

WIDTHS = (14, 10, 22, 8)
app = application()


@app.command()
def demo(
    replicas: Annotated[int, typer.Option(min=1, max=1000, help="Swarms of each kind.")] = 2,
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Page with the figures.")] = Path("demo.html"),
) -> None:
    """Simulate 300 leechers and a seed at four upload limits, and compare with the published times."""
    typer.echo("300 leechers and one seed, 50 MB, no latency (Rao, Legout, Dabbous, P2P'10, Table IV).")
    typer.echo("The first run on a machine compiles the simulator, and says how far it is.\n")
    _row("upload limit", "paper [s]", "btflow [s]", "error")
    results: dict[int, xr.Dataset] = {}
    for limit in LIMITS:
        results[limit] = simulated(Case(limit), replicas)
        ours, paper = results[limit]["completion_time"].mean("peer"), reference.table4()[Case(limit)]
        mean, low, high = (float(value) for value in (ours.mean(), ours.min(), ours.max()))
        error = f"{100 * (mean / paper - 1):+.1f}%"
        _row(f"{limit} kB/s", f"{paper:.0f}", f"{mean:.0f} ({low:.0f} to {high:.0f})", error)
    write_figures(results, out)
    typer.echo(f"\nfigures: {out}")


def simulated(case: Case, replicas: int) -> xr.Dataset:
    """Return the result of a case."""
    from btflow import load, simulate

    return simulate(load(MODEL).set(**case.settings()), seed=case.seed, replicas=replicas)


def _row(*cells: str) -> None:
    typer.echo("".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)))


def write_figures(results: dict[int, xr.Dataset], path: Path) -> None:
    """Write a page with the completion times of all leechers, and their means beside the paper's."""
    from btflow.plots import completion_cdf
    from validation import page

    cdf = completion_cdf({f"{limit} kB/s": result for limit, result in results.items()})
    figures = [cdf.to_html(full_html=False), means(results).to_html(full_html=False, include_plotlyjs=False)]
    title = "btflow: a flash crowd of 300 leechers, simulated and published"
    page.frame(title, [f"<h1>{title}</h1>", *figures], path)


def means(results: dict[int, xr.Dataset]) -> go.Figure:
    """Return the mean completion time against the upload limit, with the paper's four points."""
    from btflow.plots.style import figure, line
    from validation.figures import bars
    from validation.statistics import spread

    drawn = figure(
        "Completion time at RTT 0, simulated and published",
        "upload limit [kB/s] (log scale)",
        "mean completion time [s] (log scale)",
        subtitle="bars: least and greatest replica",
    )
    found = [spread(result["completion_time"].mean("peer").values.tolist()) for result in results.values()]
    limits = list(results)
    drawn.add_scatter(
        x=limits, y=[s.mean for s in found], error_y=bars(found), name="btflow", mode="lines+markers", line=line(0)
    )
    drawn.add_scatter(
        x=limits,
        y=[reference.table4()[Case(limit)] for limit in limits],
        mode="markers",
        name="paper, Table IV",
        marker={"symbol": "square-open", "size": 14, "color": "black", "line": {"width": 1.5}},
    )
    drawn.update_xaxes(type="log", tickvals=limits, ticktext=[str(limit) for limit in limits])
    ticks = [500, 1000, 2000, 5000, 10000]
    drawn.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,}" for tick in ticks])
    return drawn


if __name__ == "__main__":
    sys.exit(run_app(app, "demo"))
