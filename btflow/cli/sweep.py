"""``btflow sweep``, ``merge`` and ``export``: their options, and what is done with them and said of it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from btflow import options
from btflow.cli.common import SHARE, FidelityOption, Json, Model, Settings, Text, bar, echo, say, takes
from btflow.columns import paragraph
from btflow.errors import InputError, unknown
from btflow.termination import INTERRUPTED, TERMINATED
from btflow.units import UNITS
from btflow.units.formatting import counted

if TYPE_CHECKING:
    from btflow.sweeps.plan import Plan
    from btflow.sweeps.running import Running

CAUSES = 3
"""Most causes of failures that are shown."""

_UNITS = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
_NUMBER = re.compile(rf"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?(?: ?(?:{_UNITS})(?![\w/]))?")


def sweep(
    model: Model,
    vary: Annotated[
        list[str] | None,
        takes(
            "NAME=SPEC",
            "Vary a parameter: rtt=0ms,400ms or upload_limit=lin(10 kB/s, 100 kB/s, 10) or loss=log(0.1%,5%,8); "
            'several together: "rtt,loss=(0ms,0%),(400ms,5%)". With --sample also uniform(a, b), loguniform(a, b), '
            "lognormal(median, sigma), choice(a, b, ...), iplane.",
        ),
    ] = None,
    settings: Settings = None,
    sample: Annotated[
        Text,
        takes("KIND:N", "Points drawn in place of a grid: sobol:4096, lhs:100, random:100, saltelli:1024.  [grid]"),
    ] = None,
    replicas: Annotated[Text, takes("NUMBER", "Swarms of each point.  [1]")] = None,
    seed: Annotated[Text, takes("NUMBER", "Seed of the random numbers.  [0]")] = None,
    common: Annotated[
        bool | None, typer.Option("--common/--no-common", help="The same random numbers at all points.  [no]")
    ] = None,
    keep: Annotated[Text, takes("peers,series,swarms", "What else to keep of each swarm.")] = None,
    fidelity: FidelityOption = "full",
    check: Annotated[
        Text,
        takes("NUMBER", "With --fidelity flow: run one swarm of so many points in full, too, and print the error."),
    ] = None,
    statistics: Annotated[
        Text,
        takes(
            "NAME,...",
            "Statistics to compare with full.  [of swarms: completion_mean, completion_p10, completion_p90, "
            "seed_copies; of links: goodput, jain_index, bottleneck_utilisation, _delay_mean, _delay_p95]",
        ),
    ] = None,
    part: Annotated[Text, takes("K/N", "Run part K of N, on one machine of many; btflow merge joins them.")] = None,
    out: Annotated[list[str] | None, takes("FILE.zarr", "Where the results go.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Run what --out does not have yet.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="With --resume: run again what failed, too.")
    ] = False,
    jobs: Annotated[Text, takes("NUMBER", "Swarms at once.  [all cores]")] = None,
    backend: Annotated[Text, takes("NAME", "threads or processes.  [by the number of swarms]")] = None,
    dask: Annotated[Text, takes("ADDRESS", "Run on the cluster of this Dask scheduler.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="More than a million swarms are meant.")] = False,
    as_json: Json = False,
) -> None:
    """Simulate a swarm or a link over values of its parameters: thousands of runs in one dataset.

    Ctrl-C and SIGTERM keep what is finished. A swarm that fails is recorded with its reason; the others go on.
    """
    found = run_given(SimpleNamespace(**locals()), show=not as_json)
    echo(found if as_json else as_text(found))
    if not found["done"]:
        raise typer.Exit(1)


def run_given(given: SimpleNamespace, *, show: bool) -> dict[str, Any]:
    """Run a sweep and return what is said of it: the path, how many swarms are done and failed, why they failed.

    Raises:
        InputError: Something is wrong with the options; the field is the option's name.
    """
    from btflow.sweeps.running import terminable
    from btflow.termination import leave

    try:
        with terminable():
            return _run(given, show)
    except InputError as error:
        if error.field in vars(given).keys() - {"model"}:
            error.field = "--" + error.field.replace("_", "-")
        raise
    except (KeyboardInterrupt, SystemExit) as error:
        code = TERMINATED if isinstance(error, SystemExit) else INTERRUPTED
        _say(("interrupted" if code == INTERRUPTED else "terminated") + _kept(given))
        leave(code)
    except (RuntimeError, MemoryError, OSError):
        if kept := _kept(given):
            _say(kept.removeprefix(": "))
        raise


def _run(given: SimpleNamespace, show: bool) -> dict[str, Any]:
    from btflow.config.catalog import any_document
    from btflow.sweeps import api
    from btflow.sweeps.declare import MOST_CHECKED, declaration, declare, parse_options
    from btflow.sweeps.store import check_path

    out, how = _path(given), _how(given, show)
    check_path(out, given.resume)
    vary, fixed = parse_options(given.vary or []), options.parse_settings(given.settings or [])
    said = declaration(
        vary,
        fixed,
        "--vary",
        sample=given.sample,
        seed=_number("--seed", given.seed, 0, options.MAX_SEED),
        replicas=_number("--replicas", given.replicas, 1, options.MAX_REPLICAS),
        common=given.common,
    )
    keep = [] if given.keep is None else [name.strip() for name in given.keep.split(",")]
    fidelity, check = options.fidelity_of("fidelity", given.fidelity), _number("--check", given.check, 1, MOST_CHECKED)
    declared = declare(
        any_document(given.model), {}, said, keep=keep, yes=given.yes, fidelity=fidelity, check=check, part=given.part
    )
    statistics = _statistics(given.statistics, declared)
    done, failed = api.execute(declared, out, how, resume=given.resume)
    return _found(out, declared.identity(), declared.job.noun, done, failed, statistics)


def _found(
    out: Path, about: Mapping[str, Any], noun: str, done: int, failed: int, statistics: list[str] | None = None
) -> dict[str, Any]:
    """Return what is said of a store all of whose runs are done or have failed."""
    found: dict[str, Any] = {"out": str(out), noun: done + failed, "done": done, "failed": failed}
    if about["fidelity"] == "flow":
        found["fidelity"] = about["fidelity"]
    if "part" in about:
        found["part"] = about["part"]
    found["reasons"] = _causes(out) if failed else {}
    if about["check"] and "part" not in about:  # which is of the whole sweep
        found["check"] = _checked(out, about["check"], statistics)
    return found


def merge(
    out: Annotated[str, typer.Argument(metavar="OUT.zarr", help="Where the whole sweep goes.")],
    parts: Annotated[list[str], typer.Argument(metavar="PART.zarr...", help="What btflow sweep --part wrote, all N.")],
    as_json: Json = False,
) -> None:
    """Put the parts of a sweep together that were run on several machines: the same bits as the whole run at once."""
    from btflow.sweeps.merge import merge as merged
    from btflow.sweeps.results import DONE, FAILED

    try:
        ds = merged(out, parts, progress=not as_json)
    except InputError as error:
        error.field = {"out": "OUT", "parts": "PART"}.get(error.field, error.field)
        raise
    status = [ds[name].values for name in ("status", "full_status") if name in ds]
    done, failed = (sum(int((each == kind).sum()) for each in status) for kind in (DONE, FAILED))
    found = _found(Path(out), ds.attrs, ds.attrs.get("runs", "swarms"), done, failed)
    echo(found if as_json else as_text(found))


def export(
    store: Annotated[str, typer.Argument(metavar="STORE.zarr", help="What a sweep wrote.")],
    file: Annotated[str, typer.Argument(metavar="FILE.csv|FILE.parquet", help="The table to write.")],
    peers: Annotated[
        bool, typer.Option("--peers", help="A row for each peer, of a sweep that kept per-peer arrays.")
    ] = False,
) -> None:
    """Write a sweep as a long table, one row for each swarm, in SI units."""
    from btflow.analysis.table import table_path, write_table
    from btflow.sweeps.store import open_store

    path = table_path("FILE", file)
    opened = open_store(store, "STORE")
    with bar(SHARE, 1, shown=True) as update:
        try:
            rows = write_table(opened, path, per="peer" if peers else "swarm", progress=update)
        except InputError as error:
            raise InputError("--peers", None, error.reason, error.allowed) if error.field == "per" else error from None
    say(f"{counted(rows, 'row')} in {file}")


def _statistics(text: str | None, declared: Plan) -> list[str] | None:
    """Return the statistics that are compared with full; None for the default ones."""
    if text is None:
        return None
    if not declared.checked:
        raise InputError("statistics", text, "is of a check, and there is none", "--check NUMBER too")
    known = [s.name for table in declared.job.tables if not table.dimension for s in table.statistics]
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            if name in declared.job.statistics.only_full:
                raise InputError(
                    "statistics",
                    name,
                    "is not known at flow fidelity",
                    f"{', '.join(known)}; or a sweep in full, without --check",
                )
            raise unknown(name, known, f"statistic of {declared.job.noun}", "statistics")
    return names


def _checked(out: Path, points: int, statistics: list[str] | None) -> dict[str, Any]:
    """Return by how much flow differs from full, and warn of what differs by more than the sweep is about."""
    from btflow.analysis.against_full import flow_error
    from btflow.sweeps.database import open_arrays

    table = flow_error(open_arrays(out), statistics)
    rows = {
        str(name): {str(column): _plain(table[column].sel(statistic=name).item()) for column in table}
        for name in table["statistic"].values
    }
    if exceed := [f"{name} ({_share(row['effect'])})" for name, row in rows.items() if row["exceeds"]]:
        what = "the difference of flow from full may be greater than what a statistic varies by over the sweep"
        _say(paragraph(f"warning: {what}: {', '.join(exceed)}", "  "))
    return {"points": points, "confidence": table.attrs["confidence"], "statistics": rows}


def _causes(out: Path) -> dict[str, int]:
    """Return how many swarms of a store failed of each of the most frequent causes, by the first text of each."""
    from btflow.sweeps.database import failures

    found, examples = Counter[str](), dict[str, str]()
    for text, number in failures(out):
        found[cause(text)] += number
        examples.setdefault(cause(text), text)
    return {examples[kind]: number for kind, number in found.most_common(CAUSES)}


def cause(text: str) -> str:
    """Return what texts of one cause have in common: all but numbers and their units."""
    return _NUMBER.sub("#", text)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it, in which there is no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _share(value: float | None, sign: str = "") -> str:
    """Return a share in percent, of which two digits at least are shown."""
    if value is None:
        return "unknown"
    percent = 100 * value
    return f"{percent:{sign}.{0 if abs(percent) >= 10 else 1 if abs(percent) >= 1 else 2}f}%"


def _kept(given: SimpleNamespace) -> str:
    """Return where what was finished is, if there is anything."""
    there = len(given.out or []) == 1 and Path(given.out[0]).exists()
    return f": what was finished is in {given.out[0]}; --resume goes on with it" if there else ""


def _say(line: str) -> None:
    say(f"btflow: {line}", err=True)


def as_text(found: dict[str, Any]) -> str:
    """Return what is said of a sweep as a few lines for people."""
    noun = "experiments" if "experiments" in found else "swarms"
    of = counted(found[noun], noun.removesuffix("s"))
    by = f" at {found['fidelity']} fidelity" if "fidelity" in found else ""
    if "check" in found:
        by = f" ({found['check']['points']:,} of them in full, the others{by})"
    of += f" of part {found['part']}" if "part" in found else ""
    lines = [f"{found['out']}: {found['done']:,} of {of}{by} done, {found['failed']:,} failed"]
    for reason, number in found["reasons"].items():
        lines.append(f"  {number:,} failed{', such as' * (number > 1)}: {reason}")
    if "check" in found:
        lines += _check_lines(found["check"])
    return "\n".join(lines)


def _check_lines(check: dict[str, Any]) -> Iterator[str]:
    """Give what is said of the difference of flow from full, a line for each statistic."""
    level = f"{100 * check['confidence']:g}% interval"
    yield f"flow against full, at {counted(check['points'], 'checked point', 'checked points')}:"
    for name, row in check["statistics"].items():
        found = f"  {name}: bias {_share(row['bias'], '+')}"
        if row["points"] > 1:
            found += f" ({level} {_share(row['bias_low'], '+')} to {_share(row['bias_high'], '+')})"
        found += f", spread of one swarm {_share(row['spread'])}, effect of the sweep {_share(row['effect'])}"
        fewer = f"; values in both at {counted(row['points'], 'point')}" if row["points"] < check["points"] else ""
        yield paragraph(found + fewer, "    ")


def _path(given: SimpleNamespace) -> Path:
    if not given.out:
        raise InputError("--out", None, "is missing: where the results go", "a path ending in .zarr")
    if len(given.out) > 1:
        raise InputError("--out", given.out[1], "is a second path", "one --out")
    return Path(given.out[0])


def _how(given: SimpleNamespace, show: bool) -> Running:
    from btflow.sweeps.running import MAX_JOBS, Running

    how = Running(_number("--jobs", given.jobs, 1, MAX_JOBS), given.backend, given.dask, show, given.retry_failed)
    how.check(resume=given.resume)
    return how


def _number(option: str, text: str | None, least: int, most: int) -> int | None:
    """Return a whole number that was given; of a wrong one Typer says neither what it is nor all that is allowed."""
    return None if text is None else options.parse_whole_number(option, text, least, most)
