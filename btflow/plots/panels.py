"""Panels of a figure on paper: how many are side by side, their sizes, and what is around them.

Panels that are too narrow side by side are stacked. What a panel has above its axes, from below: an axis on top, the
legend, the panel's title. All lengths are pixels of 1/96 inch; those of texts are on the generous side.
"""

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from btflow.plots.style import wrapped

POINT = 96 / 72
FONT, SMALL = 8 * POINT, 7 * POINT
"""Sizes of titles, and of ticks and legends: those of most journals' figures."""
LETTER = 0.56
"""Width of a letter, in sizes of its font."""
LINE = 1.25
"""Height of a line of text, likewise."""
NARROW = 265.0
"""Least width of a panel beside another, with what is around it: 70 mm."""

_HIGHEST = 265.0
"""Most height of a panel: 70 mm."""
_ABOVE, _TOP_AXIS, _TITLE, _COLOUR_BAR, _TICKS = 6.0, 34.0, 18.0, 48.0, 26.0
"""Room at the top, for an axis there, for a panel's title, for the scale of colours, and for numbers beside an axis."""
_SAMPLE = 46.0
"""Width of a legend's sample of a line, with the room around it."""

Spec = dict[str, Any]


class _Panel(NamedTuple):
    """Axes that lie in one place, and what is above them."""

    axes: list[str]
    """Their names, ``xaxis2``."""
    left: float
    top: float
    width: float
    """Shares of the figure's axes that they have."""
    legends: dict[str, list[str]]
    """What each legend names."""
    titles: list[Spec]
    """Annotations above it."""
    rows: list[str]
    """Words on its left, for want of numbers: what its bars or boxes are of."""


class _At(NamedTuple):
    """Where a panel is among the axes of its figure [px]."""

    left: float
    width: float
    bottom: float
    height: float


def arrange(layout: Spec, data: list[Spec], width: float, height: float | None) -> None:
    """Place panels, with their legends and titles above them, and set the size [px]."""
    panels = _panels(layout, data)
    rows, alike = _rows(layout, panels, width)
    columns = len(rows[0])
    about = min(_HIGHEST, 0.5 * width / columns)
    gap = max(_left(layout, panel, about) + _right(layout, panel, about) for panel in panels)
    scales = [trace["colorbar"] for trace in data if "colorbar" in trace]
    beside = (_wrapped(_title_of(one), 0.62 * (width - gap), SMALL).count("<br>") for one in scales)
    scale = max((_COLOUR_BAR + LINE * SMALL * breaks for breaks in beside), default=0.0)
    inner = width - gap - scale
    each = (inner - gap * (columns - 1)) / columns if alike else inner
    rooms = [inner if sum(len(panel.legends) for panel in row) == 1 else each for row in rows]
    above = [max(_head(layout, panel, room, inner) for panel in row) for row, room in zip(rows, rooms, strict=True)]
    below = [max(_below(layout, panel, each) for panel in row) for row in rows]
    high = [max(_height(panel, each + scale) for panel in row) for row in rows]
    total = _ABOVE + sum(above) + sum(high) + sum(below)
    if height is not None:
        high, total = [of_row * max(0.2, 1 + (height - total) / sum(high)) for of_row in high], height
    _widen(layout, data, each)
    for one in scales:
        one["title"]["text"] = _wrapped(_title_of(one), max(high), SMALL)
    size = inner, sum(high) + sum(above[1:]) + sum(below[:-1])
    top = size[1]
    for row, room, head, tall, under in zip(rows, rooms, above, high, below, strict=True):
        top -= head if row is not rows[0] else 0.0
        for column, panel in enumerate(row):
            left, own = (column * (each + gap), each) if alike else (panel.left * inner, panel.width * inner)
            at = _At(left, own, top - tall, tall)
            _place(layout, panel, at, size)
            _place_head(layout, panel, at, size, room, head)
            _fit(layout, panel, at)
        top -= tall + under
    layout.update(width=width, height=total, margin={"l": 4, "r": 10, "t": _ABOVE + above[0], "b": 4, "pad": 0})


def _rows(layout: Spec, panels: list[_Panel], width: float) -> tuple[list[list[_Panel]], bool]:
    """Return the panels row by row, so many side by side as there is room for, and whether all are of one width."""
    there = len({panel.left for panel in panels})
    alike = max(panel.width for panel in panels) < 1.2 * min(panel.width for panel in panels)
    columns = max(1, min(there, int(width // NARROW))) if alike else there
    if columns < there:
        # give panels that were side by side ticks and titles of their own
        for axis in (layout[key] for panel in panels for key in panel.axes if key.startswith("y")):
            first = layout.get(_key(axis.get("matches", "")), axis)
            if axis.pop("showticklabels", None) is False and not _title_of(axis):
                axis["title"] = dict(first.get("title", {}))
    return [panels[at : at + columns] for at in range(0, len(panels), columns)], alike


def _panels(layout: Spec, data: list[Spec]) -> list[_Panel]:
    """Return what lies where, row by row."""
    layout.setdefault("xaxis", {})
    layout.setdefault("yaxis", {})
    axes = [key for key in layout if key[1:5] == "axis"]
    pairs = [(trace.get("xaxis", "x"), trace.get("yaxis", "y")) for trace in data]
    found: dict[tuple[float, ...], _Panel] = {}
    for axis in axes:
        name = axis.replace("axis", "")
        over = layout[axis].get("overlaying", name)
        x, y = next((pair for pair in pairs if name in pair or over in pair), (over, over.replace("x", "y")))
        (left, right), (low, high) = (_domain(layout, one) for one in (x, y))
        panel = found.setdefault((left, right, low, high), _Panel([], left, high, right - left, {}, [], []))
        panel.axes.append(axis)
        if axis.startswith("y"):
            panel.rows.extend(_words(layout[axis].get("categoryarray", layout[axis].get("ticktext", ()))))
    for trace in data:
        owner = next(panel for panel in found.values() if _key(trace.get("xaxis", "x")) in panel.axes)
        legend = trace.get("legend", "legend")
        if trace["type"] in ("bar", "box") and not owner.rows:
            owner.rows.extend(dict.fromkeys(_words(trace.get("y", ()))))
        # a single trace is not named in its legend, unless it says so
        if trace.get("showlegend", layout.get("showlegend", len(data) > 1) and trace.get("name")):
            names = next((p.legends[legend] for p in found.values() if legend in p.legends), None)
            names = owner.legends.setdefault(legend, []) if names is None else names
            trace["name"] = wrapped(str(trace.get("name", "")), 44)
            names += [trace["name"]] * (trace["name"] not in names)
            if trace.get("mode") == "markers+text":
                trace["mode"] = "markers"
    for annotation in layout.get("annotations", []):
        if str(annotation.get("yref")) in ("paper", "y domain") and annotation.get("yanchor") == "bottom":
            at = annotation["x"] if annotation.get("xref") == "paper" else 0.0
            near = min(found.values(), key=lambda p: abs(p.top - annotation["y"]) + abs(p.left - at) / 2)
            near.titles.append(annotation)
    return sorted(found.values(), key=lambda panel: (-panel.top, panel.left))


def _key(name: str) -> str:
    """Return the key of an axis in a layout: ``xaxis2`` for ``x2``."""
    return f"{name[:1]}axis{name[1:]}"


def _domain(layout: Spec, name: str) -> tuple[float, float]:
    axis = layout.get(_key(name), {})
    if "overlaying" in axis:
        return _domain(layout, axis["overlaying"])
    low, high = axis.get("domain", (0.0, 1.0))
    return round(float(low), 6), round(float(high), 6)


def _second(panel: _Panel, way: str) -> bool:
    """Return whether a panel has an axis on the other side as well."""
    return sum(axis.startswith(way) for axis in panel.axes) > 1


def _head(layout: Spec, panel: _Panel, room: float, whole: float) -> float:
    """Return the height of what is above a panel's axes."""
    legends = _legend_height(layout, panel.legends, room, whole)
    return _TOP_AXIS * _second(panel, "x") + legends + _TITLE * bool(panel.titles)


def _legend_height(layout: Spec, legends: dict[str, list[str]], room: float, whole: float) -> float:
    """Return the height of legends as Plotly draws them: a title, rows of at least 16 px, 3 px apart, and a rim."""
    rows = (math.ceil(len(names) / _in_a_row(names, room, whole)) * _row(names) for names in legends.values())
    titles = (title for name in legends if (title := _legend_title(layout, name, room)))
    return sum(rows) + sum(LINE * SMALL * (title.count("<br>") + 1) for title in titles) + 9 * bool(legends)


def _legend_title(layout: Spec, name: str, room: float) -> str:
    """Return the title of a legend in lines, empty if it has none."""
    return _wrapped(_title_of(layout.get(name, {})), room, SMALL)


def _title_of(part: Spec) -> str:
    """Return the title of an axis, a legend or a scale of colours, empty if it has none."""
    return str(part.get("title", {}).get("text") or "")


def _row(names: list[str]) -> float:
    return max(16.0, 1.3 * SMALL * max(name.count("<br>") + 1 for name in names)) + 3


def _in_a_row(names: list[str], room: float, whole: float) -> int:
    """Return how many entries of a legend are side by side; beside another panel all or one, or they run into it."""
    fitting = max(1, int(room // (_SAMPLE + _breadth(names))))
    return fitting if room >= whole or fitting >= len(names) else 1


def _breadth(texts: list[str]) -> float:
    """Return about how wide the longest line of some small texts is."""
    return LETTER * SMALL * max((len(line) for text in texts for line in text.split("<br>")), default=0)


def _left(layout: Spec, panel: _Panel, height: float) -> float:
    """Return the room on the left of a panel of about some height: for a title, and ticks, which may be words."""
    axes = [key for key in panel.axes if key.startswith("y")]
    return 12 + max(_TICKS, _breadth(panel.rows)) + _title_height(layout, axes[:1], height)


def _right(layout: Spec, panel: _Panel, height: float) -> float:
    """Return the room on its right, where there may be another axis."""
    others = [key for key in panel.axes if key.startswith("y")][1:]
    return 12 + _TICKS * bool(others) + _title_height(layout, others, height)


def _title_height(layout: Spec, axes: list[str], room: float) -> float:
    """Return the height of the lines of the longest title of some axes."""
    titles = [text for key in axes if (text := _title_of(layout[key]))]
    return LINE * FONT * max((_wrapped(text, room).count("<br>") + 1 for text in titles), default=0)


def _height(panel: _Panel, width: float) -> float:
    """Return the height of a panel: of its rows if it has words on the left, else by its width."""
    return max(60.0, 28.0 * len(panel.rows)) if panel.rows else min(_HIGHEST, 0.62 * width)


def _place(layout: Spec, panel: _Panel, at: _At, size: tuple[float, float]) -> None:
    """Put the axes of a panel where it is, in a figure whose axes have some width and height."""
    ends = {"x": (at.left, at.left + at.width, size[0]), "y": (at.bottom, at.bottom + at.height, size[1])}
    for key in panel.axes:
        if "overlaying" not in layout[key]:
            low, high, of = ends[key[0]]
            layout[key]["domain"] = [max(0.0, low / of), min(1.0, high / of)]


def _place_head(layout: Spec, panel: _Panel, at: _At, size: tuple[float, float], room: float, head: float) -> None:
    """Put the legends and the title of a panel above it; a legend with the whole width for it begins on the left."""
    y = at.bottom + at.height + _TOP_AXIS * _second(panel, "x") + 2
    for name, names in panel.legends.items():
        place: Spec = {"x": 0.0 if room > at.width else at.left / size[0], "y": y / size[1]}
        place |= {
            "xanchor": "left",
            "yanchor": "bottom",
            "orientation": "h" if _in_a_row(names, room, size[0]) > 1 else "v",
        }
        if title := _legend_title(layout, name, room):
            side = "top left" if place["orientation"] == "h" else "top"
            place["title"] = {"text": title, "side": side, "font": {"size": SMALL}}
        y += _legend_height(layout, {name: names}, room, size[0])
        layout[name] = place | {"entrywidth": _breadth(names), "font": {"size": SMALL}, "traceorder": "normal"}
    for above in panel.titles:
        above.update(yref="paper", y=(at.bottom + at.height + head - _TITLE) / size[1], yshift=1, font={"size": FONT})
        if above.get("xref") == "paper":
            above.update(x=at.left / size[0], xanchor="left")


def _below(layout: Spec, panel: _Panel, width: float) -> float:
    """Return the room below a panel: for ticks and a title, which is broken if it is too long."""
    return 24 + _title_height(layout, [key for key in panel.axes if key.startswith("x")], width)


def _wrapped(title: str, room: float, size: float = FONT) -> str:
    return wrapped(title.replace("<br>", " "), int(room / (LETTER * size)))


def _fit(layout: Spec, panel: _Panel, at: _At) -> None:
    """Break texts of axes that are too long for a panel, and leave out ticks for which there is no room."""
    for key in panel.axes:
        axis, room = layout[key], at.width if key[0] == "x" else at.height
        if title := _title_of(axis):
            axis["title"]["text"] = _wrapped(title, room)
        if key[0] == "x" and axis.get("ticktext") is not None:
            ticks = _seen(axis)
            texts = [str(text).replace("<br>", " ") for _, text in ticks]
            if _words(texts):
                texts = [wrapped(text, int(room / len(ticks) / (LETTER * SMALL))) for text in texts]
            step = next(step for step in range(1, len(ticks) + 1) if _room_for(texts[::step], room * step / len(ticks)))
            kept = [n for n, (value, _) in enumerate(ticks) if axis.get("type") != "log" or math.log10(value) % 1 == 0]
            kept = kept if step > 1 and len(kept) > 1 else list(range(0, len(ticks), step))
            axis["tickvals"], axis["ticktext"] = [ticks[n][0] for n in kept], [texts[n] for n in kept]


def _room_for(texts: list[str], each: float) -> bool:
    """Return whether texts fit side by side, where each has some room that a long one may take of a short one."""
    widths = [_breadth([text]) for text in texts]
    return all((one + other) / 2 + SMALL <= each for one, other in pairwise(widths))


def _seen(axis: Spec) -> list[tuple[float, str]]:
    """Return the ticks of an axis that are in its range."""
    ticks = list(zip(axis["tickvals"], axis["ticktext"], strict=True))
    low, high = axis.get("range", (-math.inf, math.inf))
    place = math.log10 if axis.get("type") == "log" else float
    return [(value, text) for value, text in ticks if low <= place(value) <= high] or ticks


def _words(texts: Iterable[Any]) -> list[str]:
    """Return texts, none if they are numbers."""
    found = [str(text) for text in texts]
    return [] if all(text.replace(".", "").lstrip("-").isdigit() for text in found) else found


def _widen(layout: Spec, data: list[Spec], width: float) -> None:
    """Make room beside bars for what is written there: its letters are a larger share of a narrow figure."""
    letters = max(
        (len(str(text)) for trace in data if trace.get("mode") == "text" for text in trace["text"]), default=0
    )
    if letters and "range" in layout["xaxis"]:
        low, high = layout["xaxis"]["range"]
        more = (high - low) * letters * LETTER * FONT / width
        layout["xaxis"]["range"] = [low - more, high + more]
