"""``python -m validation.libtorrent``: build the oracle, predict, measure, report, log and replay."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from validation.command import application, chosen, run_app
from validation.libtorrent.settings import Setting, draw

app = application(no_args_is_help=True)

Sample = Annotated[Literal["development", "judgement", "fresh"], typer.Option(help="Which settings.")]
Only = Annotated[str, typer.Option(metavar="A,B", help="Settings; all by default.")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs at once.")]


def _settings(sample: str, only: str) -> list[Setting]:
    drawn = {one.name: one for one in draw(sample)}
    return [drawn[name] for name in chosen("--only", only, drawn, "a setting of this sample")]


@app.command()
def build() -> None:
    """Fetch and compile both versions."""
    from validation.libtorrent import toolchain
    from validation.packet_level.toolchain import ToolchainError

    try:
        for version in toolchain.VERSIONS:
            typer.echo(f"libtorrent {version}: {toolchain.build(version)}")
    except ToolchainError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from None


@app.command()
def predict(sample: Sample, only: Only = "", again: bool = False, replicas: int = 8) -> None:
    """Write down what the simulator says of settings."""
    from validation.libtorrent import runs

    for line in runs.predict(_settings(sample, only), sample, again, replicas):
        typer.echo(line)


@app.command()
def measure(sample: Sample, only: Only = "", count: int = 2, jobs: Jobs = 2) -> None:
    """Run settings by the oracle."""
    from validation.libtorrent import runs

    for line in runs.measure(_settings(sample, only), sample, count, jobs):
        typer.echo(line)


@app.command()
def compare(sample: Sample, only: Only = "", generation: int = 0) -> None:
    """Print errors by setting; of the last generation of predictions, or of one."""
    from validation.libtorrent import compare as page, runs

    rows = runs.read(sample)
    said = sorted({one.who for one in rows if one.who != "oracle"}, key=lambda who: int(who.split()[1]))
    for line in page.table(_settings(sample, only), rows, f"btflow {generation}" if generation else said[-1]):
        typer.echo(line)


@app.command()
def log(sample: Sample, only: Only, out: Path, kinds: str = "", seed: int = 1) -> None:
    """Write the decisions of one run by the oracle to a file, a line of JSON each."""
    from validation.libtorrent import runs, toolchain

    (setting,) = _settings(sample, only)
    runs.real(setting, seed, toolchain.build(setting.version), out, kinds)


@app.command()
def trace(sample: Sample, only: Only, out: Path, seed: int = 1) -> None:
    """Write the decisions of one run by the simulator to a file, as `log` does of libtorrent's."""
    from validation.libtorrent import trace as traced

    (setting,) = _settings(sample, only)
    traced.write(setting, out, seed)


@app.command()
def beside(real: Path, ours: Path) -> None:
    """Compare a log with a trace: how many decisions, and how their distributions differ."""
    from validation.libtorrent import replay as logs, trace as traced

    for line in traced.beside(logs.read(real), logs.read(ours)):
        typer.echo(line)


@app.command()
def replay(sample: Sample, only: Only, path: Path) -> None:
    """Make the decisions of a log again by the simulator's rules: which come out alike, and the first that does not."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"  # Python calls the rules one by one
    from validation.libtorrent import replay as again

    (setting,) = _settings(sample, only)
    for found in again.replay(setting, path):
        typer.echo(found.text)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.libtorrent", "interrupted; what has been run is kept"))
