"""What ``btflow calibrate`` does with files that were measured on one's own line."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from btflow.cli.common import SHARE, bar, echo
from btflow.columns import paragraph, table
from btflow.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from btflow.lines.compared import Comparison
    from btflow.lines.line import Estimate, Line

_OPTIONS = {"way": "--way", "rate": "--rate", "rtt": "--base-rtt", "buffer": "--buffer", "format": "--format"}
_OPTIONS |= {"cc": "--cc", "file": "FILE"}
"""Options of the arguments of ``btflow.lines.fit``."""


def calibrate(
    given: list[str], options: dict[str, str | None], target: Path | None, figure: Path | None, as_json: bool
) -> None:
    """Fit an access link and say what was found; write it, if it is wanted, last: nothing is left if anything fails."""
    from btflow.lines.compared import compare, known
    from btflow.lines.fitting import fit

    if options["way"] is not None and options["rate"] is None:
        raise InputError("--way", options["way"], "is the way of --rate, which is not given", "--rate beside it")
    with _named_as_options(), bar(SHARE, 1, shown=not as_json) as progress:
        line = fit(
            *given,
            format=options["format"],
            way="up" if options["way"] is None else options["way"],  # type: ignore[arg-type]  # fit looks at it
            rate=options["rate"],
            rtt=options["base_rtt"],
            buffer=options["buffer"],
            progress=progress,
        )
        wanted = figure is not None or options["cc"] is not None or known(line)
        compared = compare(line, cc=options["cc"]) if wanted else None
    if target is not None:
        line.save(target)
    if figure is not None and compared is not None:
        from btflow.plots import measured_over_simulated, save

        save(measured_over_simulated(compared), figure)
    echo(describe(line, compared, target) if as_json else as_text(line, compared, target))


@contextmanager
def _named_as_options() -> Iterator[None]:
    """Let errors name the options that the arguments of functions are here."""
    try:
        yield
    except InputError as error:
        raise error.renamed(_OPTIONS.get(error.field, error.field)) from None


def describe(line: Line, compared: Comparison | None, target: Path | None) -> dict[str, Any]:
    """Return what was found; an end of an interval that is not known is None."""
    found: dict[str, Any] = {"access": target and str(target), "rtt_s": _interval(line.rtt)}
    for way, queue in line.ways:
        found[f"{way}link"] = {
            "rate_bps": _interval(queue.rate, 8),
            "full_queue_s": None if queue.wait is None else _interval(queue.wait),
            "buffer_bytes": None if queue.buffer is None else _interval(queue.buffer),
            "discipline": queue.discipline,
        }
    found["sources"] = [trace.text() for trace in line.traces]
    rows = () if compared is None else compared.figures
    found["compared"] = [
        {"figure": row.name, "unit": row.unit, "measured": row.measured, "simulated": row.simulated} for row in rows
    ]
    return found | {"notes": list(line.notes)}


def _interval(found: Estimate, scale: float = 1.0) -> dict[str, float | None]:
    """Return an estimate for JSON."""
    return {name: scale * end if math.isfinite(end) else None for name, end in found._asdict().items()}


def as_text(line: Line, compared: Comparison | None, target: Path | None) -> str:
    """Return what was found as lines, and how to use it."""
    sources = [paragraph(f"  {trace.text()}", "    ") for trace in line.traces]
    lines = [f"{target or 'An access link'}, fitted to", *sources, ""]
    lines += [*line.lines(), *(paragraph(f"Note: {note}.", "  ") for note in line.notes)]
    if compared is not None:
        figures = compared.figures
        rows = [(one.label, f"{one.measured:.4g}", f"{one.simulated:.4g}", f"{one.off:+.0%}") for one in figures]
        lines += ["", table([("", "measured", "simulated", "off"), *rows], right=(1, 2, 3)), "", compared.sentence()]
    if target is None:
        return "\n".join([*lines, "", "To use it, write it: --out mine.toml"])
    path = shlex.quote(str(target))
    use = [f"  btflow link --access {path} --flow cubic --voip g729"]
    up = line.uplink
    if up is not None and up.discipline == "drop-tail" and up.buffer and not up.given:
        packets = f"{up.buffer.value / up.packet:.0f} packets"  # calls fill its places, too
        use += [f'  btflow link --access {path} --buffer "{packets}" --flow cubic --voip g729']
    use += [f'  btflow run flashcrowd --set "classes.*.access={target}"']
    caveat = ", whose buffer may count packets," * (len(use) > 2)
    return "\n".join([*lines, "", f"Use it on a link{caveat} or for the peers of a swarm:", *use])
