"""Runs the grids: ``python -m validation.packet_level.run --help``.

Every grid gives a table with one row per run; those of the bottleneck give another with one row per flow, that of the
swarm gives one with a row per leecher and one with a row per class.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import date
from pathlib import Path

from validation.packet_level import tables, toolchain
from validation.packet_level.grids import GRIDS, Grid, Inputs
from validation.packet_level.toolchain import HERE, Ns3, ToolchainError

RERUN = HERE / "rerun"
QUICK_RUNS = 8
"""How many runs of a grid `--quick` makes."""
OPTIONS = {"rate_bps": "rate", "rtt_ms": "rtt", "buffer_packets": "buffer", "duration_s": "duration"}
OPTIONS |= {"warmup_s": "warmup", "piece_bytes": "piece", "rto_slack_ms": "rto-slack"}
"""Inputs of a run whose option has another name: the column has the unit as well."""

Row = dict[str, str | float | None]
Results = dict[str, list[Row]]
"""The rows of one run: `run` has one, other parts one for each flow, leecher or class."""


def simulate(program: Path, inputs: Inputs) -> Results:
    """Make one run and return its rows, which begin with its inputs."""
    options = [f"--{OPTIONS.get(name, name)}={value}" for name, value in inputs.items() if value != ""]
    done = subprocess.run([str(program), *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        told = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{program.name} {' '.join(options)}: {told[-1]}")
    results = json.loads(done.stdout)
    key = {name: value for name, value in inputs.items() if name not in ("probe", "voip", "duration_s", "warmup_s")}
    if "flows" in results:
        results["flows"] = [{"flow": index, **row} for index, row in enumerate(results["flows"])]
    parts = {part: [{**key, **row} for row in rows] for part, rows in results.items() if part != "run"}
    return {"run": [{**inputs, **results["run"]}], **parts}


def write(path: Path, fill: Callable[[Path], None]) -> None:
    """Write a file that is complete whenever it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.partial.{os.getpid()}")
    try:
        fill(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_table(path: Path, rows: list[Row]) -> None:
    """Write rows that have the same columns."""

    def fill(unfinished: Path) -> None:
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)

    write(path, fill)


def run_grid(name: str, grid: Grid, program: Path, out: Path, jobs: int, quick: bool) -> list[Row]:
    """Run a grid, write its tables and return the rows of its runs."""
    runs = list(grid.runs())
    if quick:
        runs = runs[:: max(1, len(runs) // QUICK_RUNS)]
    done: dict[int, Results] = {}
    with ThreadPoolExecutor(jobs) as pool:
        pending = {pool.submit(simulate, program, inputs): index for index, inputs in enumerate(runs)}
        try:
            for future in as_completed(pending):
                done[pending[future]] = future.result()
                print(f"\r{name}: {len(done)}/{len(runs)}", end="", file=sys.stderr, flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        finally:
            print(file=sys.stderr)
    made = {part: [row for index in range(len(runs)) for row in done[index].get(part, [])] for part in grid.tables}
    for part, rows in made.items():
        if rows:
            write_table(out / grid.folder / f"{name}{grid.tables[part]}.csv", rows)
    return made["run"]


def manifest_entry(name: str, grid: Grid, rows: list[Row], ns3: Ns3) -> str:
    """Return what the manifest says about a grid, in TOML."""
    seeds = sorted({int(row["seed"] or 0) for row in rows})
    cpu = [float(row["cpu_s"] or 0) for row in rows]
    return "\n".join(
        [
            f"[{name}]",
            f'what = "{grid.what}"',
            f'program = "{grid.program}"',
            f'ns3 = "{ns3.release}"',
            f'compiler = "{toolchain.compiler()} {" ".join(toolchain.FLAGS)}"',
            f"date = {date.today().isoformat()}",
            f"runs = {len(rows)}",
            f"seeds = [{seeds[0]}, {seeds[-1]}]  # first and last",
            f"cpu_s = {sum(cpu):.0f}  # user CPU time of all runs",
            "",
        ]
    )


def write_manifest(out: Path, entries: dict[str, str]) -> None:
    """Replace the entries of these grids in the manifest and keep the others."""
    path = out / "manifest.toml"
    kept: dict[str, str] = {}
    if path.exists():
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            if block.startswith("["):
                kept[block[1 : block.index("]")]] = block.strip() + "\n"
    kept |= entries
    text = "\n".join(kept[name] for name in GRIDS if name in kept)

    def fill(unfinished: Path) -> None:
        unfinished.write_text(text, encoding="utf-8")

    write(path, fill)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a table without the CPU times, which differ between machines."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: value for name, value in row.items() if name != "cpu_s"} for row in csv.DictReader(file)]


def compare(out: Path, names: Iterable[str], release: str) -> None:
    """Say for each table how many of its rows are frozen in the same words: of this version, or of the newest."""
    frozen = tables.folder(release if release in tables.EARLIER else tables.RELEASE)
    if out.resolve() == frozen.resolve():
        return
    for name in names:
        grid = GRIDS[name]
        for table in (Path(grid.folder, f"{name}{suffix}.csv") for suffix in grid.tables.values()):
            if not (out / table).exists() or not (frozen / table).exists():
                continue
            kept = {tuple(row.items()) for row in read_rows(frozen / table)}
            rows = read_rows(out / table)
            same = sum(tuple(row.items()) in kept for row in rows)
            print(f"{table}: {same} of {len(rows)} rows as {frozen.relative_to(HERE)}")


def arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(prog="validation.packet_level.run", description="Runs the packet-level grids.")
    parser.add_argument("grids", nargs="*", metavar="grid", help=f"of {', '.join(GRIDS)}; all of them if none is given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time (default: one per core)")
    parser.add_argument("--quick", action="store_true", help=f"only about {QUICK_RUNS} runs of each grid")
    parser.add_argument("--out", type=Path, default=RERUN, help="folder for the tables (default: rerun/ here)")
    prefix = os.environ.get(toolchain.PREFIX, "")
    text = f"folder that ns-3 was installed to (default: ${toolchain.PREFIX}, or else the wheel {toolchain.WHEEL})"
    parser.add_argument("--ns3", metavar="DIR", help=text)
    chosen = parser.parse_args()
    unknown = [name for name in chosen.grids if name not in GRIDS]
    if unknown:
        parser.error(f"no grid is called {', '.join(unknown)}")
    if chosen.jobs < 1:
        parser.error("--jobs must be at least 1")
    if chosen.ns3 is not None and not chosen.ns3.strip():
        parser.error("--ns3 needs the folder that ns-3 was installed to")
    chosen.ns3 = prefix if chosen.ns3 is None else chosen.ns3
    return chosen


def main() -> int:
    """Build, run, write and compare."""
    chosen = arguments()
    names = chosen.grids or list(GRIDS)
    try:
        ns3 = toolchain.find(chosen.ns3)
        programs = toolchain.build(ns3)
        for name in names:
            grid = GRIDS[name]
            rows = run_grid(name, grid, programs[grid.program], chosen.out, chosen.jobs, chosen.quick)
            write_manifest(chosen.out, {name: manifest_entry(name, grid, rows, ns3)})
    except (ToolchainError, RuntimeError, OSError) as error:
        print(f"packet-level: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("packet-level: interrupted; the finished tables are complete", file=sys.stderr)
        return 130
    compare(chosen.out, names, ns3.release)
    return 0


if __name__ == "__main__":
    sys.exit(main())
