"""What `btflow sweep` does with its options."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from btflow import options
from btflow.catalog import any_document
from btflow.errors import InputError, SimulationError
from btflow.sweeps import api, spec
from btflow.sweeps.paths import check_path
from btflow.sweeps.running import Running
from btflow.sweeps.signals import leave, terminable
from btflow.sweeps.table import declaration
from btflow.termination import INTERRUPTED, TERMINATED
from btflow.words import counted

_OPTIONS = {"vary", "sample", "replicas", "seed", "keep", "out", "jobs", "backend", "dask", "retry_failed"}


@dataclass(frozen=True)
class Given:
    """The options as they were given."""

    model: str
    vary: list[str]
    settings: list[str]
    sample: str | None
    replicas: str | None
    seed: str | None
    common: bool | None
    keep: str | None
    out: list[str]
    resume: bool
    retry_failed: bool
    yes: bool
    jobs: str | None
    backend: str | None
    dask: str | None


def run(given: Given, *, show: bool) -> dict[str, Any]:
    """Run a sweep and return what is said of it: the path, how many swarms are done and failed, why they failed.

    Raises:
        InputError: Something is wrong with the options; the field is the option's name.
    """
    try:
        with terminable():
            return _run(given, show)
    except InputError as error:
        if error.field in _OPTIONS:
            error.field = "--" + error.field.replace("_", "-")
        raise
    except (KeyboardInterrupt, SystemExit) as error:
        code = TERMINATED if isinstance(error, SystemExit) else INTERRUPTED
        _say(("interrupted" if code == INTERRUPTED else "terminated") + _kept(given))
        leave(code)
    except (SimulationError, OSError):
        if kept := _kept(given):
            _say(kept.removeprefix(": "))
        raise


def _run(given: Given, show: bool) -> dict[str, Any]:
    out, how = _path(given), _how(given, show)
    check_path(out, given.resume)
    vary, fixed = spec.parse_options(given.vary), options.parse_settings(given.settings)
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
    declared = api.declare(any_document(given.model), {}, said, keep=keep, yes=given.yes)
    done, failed = api.execute(declared, out, how, resume=given.resume)
    found: dict[str, Any] = {"out": str(out), declared.job.noun: declared.units, "done": done, "failed": failed}

    from btflow.sweeps.causes import causes  # imports the engine

    return found | {"reasons": causes(out, declared) if failed else {}}


def _kept(given: Given) -> str:
    """Return where what was finished is, if there is anything."""
    there = len(given.out) == 1 and Path(given.out[0]).exists()
    return f": what was finished is in {given.out[0]}; --resume goes on with it" if there else ""


def _say(line: str) -> None:
    print(f"btflow: {line}", file=sys.stderr, flush=True)


def as_text(found: dict[str, Any]) -> str:
    """Return what is said of a sweep as a few lines for people."""
    noun = "experiments" if "experiments" in found else "swarms"
    of = counted(found[noun], noun.removesuffix("s"))
    lines = [f"{found['out']}: {found['done']:,} of {of} done, {found['failed']:,} failed"]
    for reason, number in found["reasons"].items():
        lines.append(f"  {number:,} failed{', such as' * (number > 1)}: {reason}")
    return "\n".join(lines)


def _path(given: Given) -> Path:
    if not given.out:
        raise InputError("--out", None, "is missing: where the results go", "a path ending in .zarr")
    if len(given.out) > 1:
        raise InputError("--out", given.out[1], "is a second path", "one --out")
    return Path(given.out[0])


def _how(given: Given, show: bool) -> Running:
    how = Running(_number("--jobs", given.jobs, 1, 1024), given.backend, given.dask, show, given.retry_failed)
    how.check(resume=given.resume)
    return how


def _number(option: str, text: str | None, least: int, most: int) -> int | None:
    return None if text is None else options.parse_whole_number(option, text, least, most)
