"""A lesson as one page to hand out: its steps with their figures, and runs to watch, without a server or a network."""

import base64
import html
import json
import zlib
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import xarray as xr

from btflow import motion
from btflow.errors import InputError
from btflow.explore.app import PANELS
from btflow.explore.figure import arrow, fitted
from btflow.explore.lesson import Lesson, Step, read, texts
from btflow.explore.link_figure import draw, empty, point_at
from btflow.explore.link_state import scenario as link_of
from btflow.explore.spots import SPOTS
from btflow.explore.still import packed
from btflow.explore.swarm_panel import scenario_of as swarm_of
from btflow.explore.views import views
from btflow.files import replacing
from btflow.link.run import simulate_link
from btflow.link.scenario import LinkScenario
from btflow.motion import trace as traces
from btflow.options import output_file
from btflow.plots.style import CONFIG
from btflow.plots.verdict import verdict
from btflow.swarm.run import simulate

MOST_BYTES = 3_000_000
"""Most bytes of a page: it can be mailed, and put on any site. Plotly takes two thirds of them."""

HEIGHT = 560
_SHOWN = ("completion", "pieces")
"""Figures of a swarm that a page has."""


def save(name: str, path: str | Path, site: str = "") -> None:
    """Write a lesson as one HTML page.

    Args:
        name: Of the lesson.
        path: A file ending in .html.
        site: Where the documentation's site is, seen from the page: it leads there. Empty for nowhere.

    Raises:
        InputError: There is no such lesson, the page would be larger than MOST_BYTES, or no such file can be written.
        OSError: The file cannot be written; what was there before is kept.
    """
    check(name)
    file = output_file("path", path, ".html")
    content = page(read(name, PANELS[texts()[name]["panel"]][1]), site)
    with replacing(file) as partial:
        partial.write_bytes(content)


def page(lesson: Lesson, site: str = "") -> bytes:
    """Return the page of a lesson; InputError if it is larger than MOST_BYTES."""
    steps = [_step(lesson, step) for step in lesson.steps]
    template = _read("handout.html")
    parts = {
        "TITLE": html.escape(lesson.title),
        "ABOUT": html.escape(lesson.about),
        "FURTHER": _further(lesson, site),
        "FIGURE": _read("figure.js").partition("export default")[0],
        "STYLE": traces.style(),
        "SCRIPT": traces.script(),
        "STEPS": json.dumps(steps).replace("</", "<\\/"),
        "CONFIG": json.dumps(CONFIG),
        "PLOTLY": packed(),
    }
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    content = template.encode()
    if len(content) > MOST_BYTES:
        reason = f"makes a page of {len(content) / 1e6:.1f} MB"
        raise InputError("lesson", lesson.name, reason, f"{MOST_BYTES / 1e6:g} MB: fewer steps to watch")
    return content


def _further(lesson: Lesson, site: str) -> str:
    """Return where it goes on, with links if there is a site."""
    notebook, chapter = lesson.notebook, lesson.docs
    if site:
        notebook = f'<a href="{html.escape(site)}notebooks/{notebook}.html">{notebook}</a>'
        chapter = f'<a href="{html.escape(site)}{chapter}.html">{chapter}</a>'
    return f"It goes on in the notebook {notebook} and in the chapter {chapter} of btflow's documentation."


def _step(lesson: Lesson, step: Step) -> dict[str, Any]:
    """Return what a page has of a step: its texts, its figures, and the run to watch."""
    seed = int(step.state.seed)
    scenario = link_of(step.state) if lesson.panel == "link" else swarm_of(step.state)
    result = simulate_link(scenario, seed=seed) if isinstance(scenario, LinkScenario) else simulate(scenario, seed=seed)
    found = list(_figures(result, step))
    part = step.watch or {}
    watched = None
    if step.watch is not None:
        watched = motion.record(scenario, seed=seed, start=part.get("start"), length=part.get("length"))
    return {
        "ask": step.ask,
        "notice": step.notice,
        "why": step.why,
        "verdict": verdict(result),
        "figures": [json.loads(figure.to_json()) for figure in found],
        "motion": base64.b64encode(zlib.compress(watched.packed(), 9)).decode() if watched else "",
    }


def _figures(result: xr.Dataset, step: Step) -> Iterator[go.Figure]:
    """Return the figures of a result, with an arrow to what the step points at."""
    spot = SPOTS[step.spot](result) if step.spot else None
    if "peer" not in result.dims:
        widget = empty()
        draw(widget, result)
        if spot is not None:
            point_at(widget, result, spot, step.said)
        yield widget.shown.update_layout(height=HEIGHT)
        return
    for name in _SHOWN:
        drawn = views(result)[name](result)
        shown = go.Figure(drawn.data, fitted(drawn, HEIGHT // 2))
        if spot is not None and spot.part == name:
            shown.add_annotation(arrow(spot.x, spot.y, step.said))
        yield shown


def _read(name: str) -> str:
    return (files("btflow.explore") / "page" / name).read_text(encoding="utf-8")


def save_all(folder: Path, names: Iterable[str] = (), site: str = "") -> Iterator[tuple[Path, int]]:
    """Write the pages of some lessons, or of all, into a folder, as `save`; give each file and its size [B]."""
    chosen = tuple(names) or tuple(texts())
    for name in chosen:
        check(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("FOLDER", str(folder)[:200], f"cannot be made: {error.strerror}", "a folder") from None
    for name in chosen:
        file = folder / f"{name}.html"
        save(name, file, site)
        yield file, file.stat().st_size


def check(name: str) -> None:
    """Raise an InputError if there is no lesson of a name."""
    if name not in texts():
        raise InputError("lesson", name, "is none", ", ".join(texts()))
