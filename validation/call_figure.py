"""``python -m validation.call_figure``: draws the README's moving picture, a call beside an upload behind three queues.

It is an SVG that moves by itself, or is drawn whole where it may not; it brings its own paper, light or dark.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from btflow import simulate_link
from validation.command import application, run_app

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "call.svg"
LINK: dict[str, Any] = {
    "rate": "1 Mbit/s",
    "rtt": "50 ms",
    "flows": "cubic:1@5s",
    "voip": "g711",
    "duration": "60 s",
    "sample": "100 ms",
}
QUEUES: dict[str, dict[str, Any]] = {
    "a buffer of 200 packets": {"buffer": "200 packets"},
    "a buffer of 20 packets": {"buffer": "20 packets"},
    "200 packets, FQ-CoDel": {"buffer": "200 packets", "aqm": "fq-codel"},
}
"""What stands at the uplink, by what it is called."""

LEFT, WIDE, TOP, ROW, HIGH = 44, 540, 78, 118, 84  # where axes are, and how large [px]
WORST = 2.0  # queueing delay at the top of an axis [s]
PLAYS = 12  # seconds that the picture takes for a minute

app = application()

_HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 430" role="img" aria-label="{said}">
<style>
text {{ font: 15px Arial, Helvetica, sans-serif; fill: #222; }}
.title {{ font-size: 20px; font-weight: bold; }}
.small {{ font-size: 13px; fill: #555; }}
.score {{ font-size: 34px; font-weight: bold; fill: #B34700; }}
.paper {{ fill: #fff; stroke: #d0d7de; }}
.axis {{ stroke: #888; }}
.queue {{ fill: #0072B2; fill-opacity: 0.25; stroke: #0072B2; stroke-width: 1.8; }}
.now {{ stroke: #B34700; stroke-width: 2; visibility: hidden; }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #e6e8eb; }}
  .small {{ fill: #a9b0b8; }}
  .paper {{ fill: #17191c; stroke: #3a4046; }}
  .queue {{ fill: #4ba3db; stroke: #4ba3db; }}
  .score {{ fill: #ff9d5c; }}
  .now {{ stroke: #ff9d5c; }}
}}
@media (prefers-reduced-motion: no-preference) {{
  .shown {{ animation: show {plays}s linear infinite; }}
  .now {{ visibility: visible; animation: move {plays}s linear infinite; }}
}}
@keyframes show {{ from {{ transform: scaleX(0); }} 85%, to {{ transform: scaleX(1); }} }}
@keyframes move {{ from {{ transform: translateX(0); }} 85%, to {{ transform: translateX({wide}px); }} }}
</style>
<rect class="paper" x="0.5" y="0.5" width="859" height="429" rx="8"/>
<text class="title" x="24" y="36">One upload, one call, 1 Mbit/s. Only the queue differs.</text>
<text class="small" x="24" y="60">queue at the uplink [s]; an upload by CUBIC begins after 5 s</text>
<text class="small" x="608" y="60">how the call sounds, of 4.5</text>
<text class="small" x="44" y="416">0</text>
<text class="small" x="584" y="416" text-anchor="end">60 s</text>
<clipPath id="c"><rect class="shown" width="{wide}" height="{high}" y="-{high}"/></clipPath>
"""

_ROW = """<g transform="translate({left} {base})">
<path class="axis" fill="none" d="M0 -{high}V0H{wide}"/>
<text class="small" x="-8" y="4" text-anchor="end">0</text>
<text class="small" x="-8" y="-{text}" text-anchor="end">2</text>
<path class="queue" clip-path="url(#c)" d="{path}"/>
<path class="now" d="M0 0V-{high}"/>
<text x="{wide}" y="-{text}" text-anchor="end">{name}</text>
<text class="score" x="564" y="-38">{score:.1f}</text>
<text x="626" y="-40">{words}</text>
<text class="small" x="564" y="-12">queue {wait}</text>
<text class="small" x="564" y="6">upload {rate:.2f} Mbit/s</text>
</g>
"""


class Found(NamedTuple):
    """What came out behind a queue."""

    time: NDArray[np.float64]
    delay: NDArray[np.float64]
    """That a packet would wait at each time [s]."""
    score: float
    """The call's mean opinion score."""
    rate: float
    """The upload's goodput [Mbit/s]."""


@app.command()
def render(out: Annotated[Path, typer.Option(metavar="FILE.svg", help="The picture.")] = FIGURE) -> None:
    """Draw the picture."""
    from btflow.files import replacing

    with replacing(out) as partial:
        partial.write_text(svg(), encoding="utf-8")
    typer.echo(f"figure: {out}")


def found(queue: str) -> Found:
    """Simulate the link with one of the queues."""
    run = simulate_link(**LINK, **QUEUES[queue])
    delay = run.queue_delay.sel(queue=run.attrs["bottleneck"])
    return Found(run.time.values, delay.values, float(run.voip_mos[0]), 8e-6 * float(run.goodput[0]))


def svg() -> str:
    """Return the picture."""
    rows = {queue: found(queue) for queue in QUEUES}
    said = "; ".join(f"{queue}: call {row.score:.1f} of 4.5" for queue, row in rows.items())
    parts = [_HEAD.format(said=said, plays=PLAYS, wide=WIDE, high=HIGH)]
    for number, (queue, row) in enumerate(rows.items()):
        parts.append(_row(queue, row, TOP + HIGH + ROW * number))
    return "".join(parts) + "</svg>\n"


def _row(queue: str, row: Found, base: int) -> str:
    x = WIDE * row.time / row.time[-1]
    points = " ".join(f"{a:.1f} {-b:.1f}" for a, b in zip(x, HIGH * row.delay / WORST, strict=True))
    late = float(row.delay[row.time >= 12].mean())  # the figures of the run are from 12 s on
    wait = f"{late:.1f} s" if late >= 1 else f"{1000 * late:.0f} ms"
    return _ROW.format(
        left=LEFT, base=base, high=HIGH, text=HIGH - 14, wide=WIDE, path=f"M0 0L{points} {WIDE} 0Z",
        name=queue, score=row.score, words=words(row.score), wait=wait, rate=row.rate,
    )  # fmt: skip


def words(score: float) -> str:
    """Return a score in the words of ITU-T G.107, annex B."""
    limits = {4.34: "very satisfied", 4.03: "satisfied", 3.6: "some dissatisfied", 3.1: "many dissatisfied"}
    limits |= {2.58: "nearly all dissatisfied"}
    return next((words for limit, words in limits.items() if score >= limit), "unusable")


if __name__ == "__main__":
    sys.exit(run_app(app, "call_figure"))
