"""What if: two settings side by side, compared in pairs that have the same random numbers."""

import html
import json
import math
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from statistics import fmean
from typing import Any, NamedTuple, cast

import ipywidgets as widgets
import numpy as np
import plotly.graph_objects as go
import xarray as xr

from btflow import plots
from btflow.analysis import paired_difference
from btflow.analysis.effect import ratio
from btflow.errors import InputError, SimulationError
from btflow.explore import still
from btflow.explore.views import FLOW_SAYS, Canvas, Seen, has_flow, marked, off_by
from btflow.explore.warm import wait_for_swarms
from btflow.explore.work import Look
from btflow.link.results import to_dataset as link_dataset
from btflow.link.scenario import LinkScenario
from btflow.options import MAX_SEED, Fidelity, whole_number
from btflow.plots.style import COLOURS, figure, line, translucent
from btflow.swarm.results import to_dataset
from btflow.swarm.scenario import Scenario
from btflow.sweeps.link_figures import replica_seed
from btflow.sweeps.results import DONE
from btflow.sweeps.runs import kind_of
from btflow.units.formatting import counted, interval_in_words, ratio_in_words

Model = Scenario | LinkScenario

SIDES = ("A", "B")
BETWEEN = 0.3
"""Least time between two drawings [s]."""

NAMES = ("both", "pairs")
"""Names of the figures."""

COMPARED = {
    "completion_mean": ("takes", "longer", "less time", "as long"),
    "bottleneck_delay_mean": ("has", "more queueing delay", "less queueing delay", "as much queueing delay"),
}
"""By statistic: the verb, and how more, less and a multiple of it are told."""
_WHAT = {"completion_mean": "mean completion time", "bottleneck_delay_mean": "mean queueing delay"}
_MOST_ROWS = 20
"""Swarms whose downloads are in the figure of both."""


class Compared(NamedTuple):
    """What is compared: two settings, the seed of the first pair, and how many pairs."""

    a: Model
    b: Model
    seed: int = 0
    pairs: int = 10


Values = tuple[list[float], list[float]]
"""The statistic of each pair, in setting A and in setting B."""


class _Side:
    """One setting and what was found of it, replica by replica, as a sweep with common random numbers finds it."""

    def __init__(self, scenario: Model, fidelity: Fidelity) -> None:
        self.scenario = scenario
        self.kind = cast("Any", kind_of(type(scenario)))
        self.program: Any = self.kind.compile(scenario, fidelity)
        self.kind.check_memory(scenario, self.kind.bytes(self.program))
        self._figures: Any = self.kind.figures(scenario, self.program)
        self._common: Any = self.kind.common(scenario, self.program, self._figures)
        self._index = [s.name for s in self._figures.tables[0].statistics].index(statistic(scenario))
        self._rows: list[Any] = []
        self.values: list[float] = []

    def run(self, seed: int, replica: int, look: Look, share: float) -> None:
        """Run a replica."""
        state = self.kind.run(self.program, seed, replica, lambda: look(share))
        row = self.kind.collect(self.program, state, series=True)
        self.values.append(float(self._figures.of(self._common, row)[self._index]))
        if len(self._rows) < (1 if isinstance(self.scenario, LinkScenario) else _MOST_ROWS):
            self._rows.append(row)

    def result(self, seed: int) -> xr.Dataset:
        """Return what is drawn of it: the first swarms, or the first experiment."""
        if isinstance(self.scenario, LinkScenario):
            return link_dataset(self.scenario, self.program, self._rows[0], replica_seed(seed, 0), 0.0)
        return to_dataset(self.scenario, self.program, self._rows, seed)


def statistic(scenario: Model) -> str:
    """Return the statistic that is compared."""
    return "bottleneck_delay_mean" if isinstance(scenario, LinkScenario) else "completion_mean"


def compare(asked: Compared, look: Look) -> Iterator[Seen]:
    """Add pair after pair of two settings of one kind and yield what is to be seen: what a ``Work`` runs.

    Swarms that flow can run are first compared in flow.
    """
    flow: Values | None = None
    if not isinstance(asked.a, LinkScenario):
        wait_for_swarms(look)
    if has_flow(asked.a, asked.b):
        with suppress(SimulationError):  # full may finish, or says why it does not
            flow = yield from _pairs(asked, look, "flow")
            look.rest()
    yield from _pairs(asked, look, "full", flow)


def _pairs(
    asked: Compared, look: Look, fidelity: Fidelity, flow: Values | None = None
) -> Generator[Seen, None, Values]:
    """Add pair after pair at a fidelity; of full it is said how far flow was off. The progress is full's alone."""
    labels = labels_of(asked)
    sides = _Side(asked.a, fidelity), _Side(asked.b, fidelity)
    found = sides[0].values, sides[1].values
    shown = -math.inf
    for replica in range(asked.pairs):
        for number, side in enumerate(sides):
            share = (2 * replica + number) / (2 * asked.pairs) if fidelity == "full" else 0.0
            look(share)
            side.run(asked.seed, replica, look, share)
        if time.monotonic() - shown >= BETWEEN or replica == asked.pairs - 1:
            seen = _seen(asked, sides, labels)
            if fidelity == "flow":
                drawn = {name: marked(one) for name, one in seen.figures.items()}
                seen = seen._replace(figures=drawn, words=f"{FLOW_SAYS}: {seen.words}", fidelity="flow")
            elif flow is not None:
                seen = seen._replace(words=f"{seen.words}\n{_against_flow(statistic(asked.a), flow, found)}")
            yield seen
            shown = time.monotonic()
    return found


def _seen(asked: Compared, sides: tuple[_Side, _Side], labels: tuple[str, str]) -> Seen:
    name = statistic(asked.a)
    found = difference(name, sides[0].values, sides[1].values)
    results = {label: side.result(asked.seed) for label, side in zip(labels, sides, strict=True)}
    both = plots.queue_ccdf(results) if isinstance(asked.a, LinkScenario) else plots.completion_cdf(results)
    drawn = {"both": both, "pairs": differences(sides[0].values, sides[1].values, found, name)}
    return Seen(found, drawn, words(found, labels, name), asked._replace(pairs=len(sides[1].values)))


def _against_flow(name: str, flow: Values, full: Values) -> str:
    """Return in words what all pairs of flow said, and how far it was off in those pairs that full has so far."""
    in_flow, in_full = difference(name, *flow), difference(name, *full)
    said = f"that {_side_by_side(float(in_flow['mean_ratio']), name)}"
    if (in_flow["mean_ratio"] - 1.0) * (in_full["mean_ratio"] - 1.0) >= 0.0:
        said = f"Flow said {said}."
    elif in_full["mean_ratio_low"] > 1.0 or in_full["mean_ratio_high"] < 1.0:
        said = f"Flow had it the wrong way round: it said {said}."
    else:
        said = f"Flow said the opposite, {said}; these pairs are too few to say which is right."
    off = (off_by(fmean(a[: len(b)]), fmean(b), "full's") for a, b in zip(flow, full, strict=True))
    of_sides = ", ".join(f"{by} in {side}" for by, side in zip(off, SIDES, strict=True))
    return f"{said} Its {_WHAT[name]} is {of_sides}."


def difference(name: str, a: list[float], b: list[float]) -> xr.Dataset:
    """Return what btflow.analysis finds of pairs: values of a statistic in setting A and in setting B (pairs,)."""
    dims = ("setting", "replica")
    data = {name: (dims, np.array([a, b])), "status": (dims, np.full((2, len(a)), DONE, np.int8))}
    coords = {"setting": list(SIDES), "replica": np.arange(len(a))}
    attrs = {"varied": json.dumps({"setting": SIDES}), "common_random_numbers": 1}
    pairs = xr.Dataset(data, coords, attrs)
    return paired_difference(pairs, name, "setting", *SIDES).assign(pairs.drop_vars("status"))


def words(found: xr.Dataset, labels: tuple[str, str], name: str) -> str:
    """Return the paired difference with its interval, in words."""
    mean, low, high = (float(found[f"mean_ratio{end}"]) for end in ("", "_low", "_high"))
    verb, *told = COMPARED[name]
    count = counted(int(found["pairs"]), "pair")
    if not np.isfinite(mean):
        return f"There is nothing to compare; {count}."
    said = f"{labels[1]} {verb} {ratio_in_words(mean, *told, to=labels[0])}"
    if not np.isfinite([low, high]).all():
        return f"{said}; {count}, no interval yet."
    if low == high == 1.0:
        return f"{labels[0]} and {labels[1]} have the same {_WHAT[name]} in each of {count}."
    chance = "It may be chance: " if low <= 1.0 <= high else ""
    return f"{chance}{said}. 95% interval: {interval_in_words(max(0.0, low), high, *told)}, from {count}."


def differences(a: list[float], b: list[float], found: xr.Dataset, name: str) -> go.Figure:
    """Return each pair's difference [%], and the interval of that of the means as a band."""
    change, low, high = (100 * (float(found[f"mean_ratio{end}"]) - 1.0) for end in ("", "_low", "_high"))
    drawn = figure("Differences within pairs", "pair", f"{_WHAT[name]}: B against A [%]")
    number = np.arange(1, len(a) + 1)
    ends = [0.5, len(a) + 0.5]
    edge: dict[str, Any] = {"x": ends, "mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    drawn.add_scatter(y=[low, low], showlegend=False, name="low", **edge)
    drawn.add_scatter(y=[high, high], name="95% interval", fill="tonexty", fillcolor=translucent(1), **edge)
    of_pairs = ratio(np.array(b), np.array(a))
    means, *said = (_side_by_side(float(one), name) for one in (found["mean_ratio"], *of_pairs))
    look = {"mode": "lines", "line": line(1), "hovertemplate": f"in the mean {means}<extra></extra>"}
    drawn.add_scatter(x=ends, y=[change, change], name="of the means", **look)
    marker = {"color": COLOURS[0], "size": 8}
    look = {"mode": "markers", "marker": marker, "text": said, "hovertemplate": "pair %{x}: %{text}<extra></extra>"}
    drawn.add_scatter(x=number, y=100 * (of_pairs - 1.0), name="pairs", **look)
    drawn.add_hline(y=0.0, line={"color": "#333333", "width": 1})
    drawn.update_xaxes(range=ends, dtick=1 if len(a) <= 10 else None)
    return drawn


def _side_by_side(b_over_a: float, name: str) -> str:
    verb, *told = COMPARED[name]
    return f"B {verb} {ratio_in_words(b_over_a, *told, to='A')}" if np.isfinite(b_over_a) else "nothing to compare"


def labels_of(asked: Compared) -> tuple[str, str]:
    """Return a short name of each setting: A and B, with what differs if that is short."""
    a, b = ({name.rpartition(".")[2]: text for name, text in m.parameters.items()} for m in (asked.a, asked.b))
    names = [name for name in {**a, **b} if a.get(name) != b.get(name)]
    found = []
    for side, given in zip(SIDES, (a, b), strict=True):
        text = ", ".join(f"{name} {given[name]}" for name in names if name in given)
        found.append(f"{side} ({text})" if 0 < len(text) <= 40 else side)
    return found[0], found[1]


MOST_PAIRS = 1000


def canvas(ended: Callable[[], None] = lambda: None) -> Canvas[Compared]:
    """Return what shows a comparison, pair after pair."""
    return Canvas(_lines_seen, NAMES, ended, subject=lambda asked: asked[:3])  # some pairs belong to all


def _lines_seen(asked: Compared, look: Look) -> Iterator[Seen]:
    for seen in compare(asked, look):
        first, *others = (html.escape(line) for line in seen.words.splitlines())
        yield seen._replace(words=f'<p role="status">{"<br>".join([f"<b>{first}</b>", *others])}</p>')


class WhatIf(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """The widget of ``btflow.explore.whatif``.

    Attributes:
        asked: What is compared.
        canvas: The figures.
        more: The button for more pairs.
    """

    def __init__(self, asked: Compared) -> None:
        self.asked = asked
        self.canvas = canvas()
        self.more = widgets.Button(description="Twice as many pairs", layout={"width": "180px"})
        self.more.on_click(self._double)
        shown = self.canvas
        super().__init__([shown.stage.widget, self.more])
        shown.ask(asked)
        shown.first()

    def __repr__(self) -> str:
        a, b = labels_of(self.asked)
        pairs = counted(self.asked.pairs, "pair")
        return f"<WhatIf {self.asked.a.name}> {b} against {a}, {pairs}: a widget, which a notebook shows"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return still.beside(super()._repr_mimebundle_(**options), self.canvas)

    def _double(self, _: object) -> None:
        self.asked = self.asked._replace(pairs=min(2 * self.asked.pairs, MOST_PAIRS))
        self.canvas.ask(self.asked)


def checked(a: object, b: object, pairs: int, seed: int) -> Compared:
    """Return what is to be compared; InputError if it cannot be."""
    for field, model in (("a", a), ("b", b)):
        if not isinstance(model, Scenario | LinkScenario):
            raise InputError(field, model, "is not a scenario", 'such as btflow.load("rao2010")')
    assert isinstance(a, Scenario | LinkScenario)
    assert isinstance(b, Scenario | LinkScenario)
    if isinstance(a, LinkScenario) != isinstance(b, LinkScenario):
        raise InputError("b", b.name, "is not of the kind of a", "two swarms or two link experiments")
    whole_number("pairs", pairs, 1, MOST_PAIRS)
    return Compared(a, b, whole_number("seed", seed, 0, MAX_SEED), pairs)
