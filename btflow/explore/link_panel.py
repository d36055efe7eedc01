"""The link panel: congestion controls, a link and its queue; figure, tables and words move as the inputs do.

An experiment of some 100,000 packets takes tens of milliseconds, so it is computed while the message of the slider is
handled. The browser holds back further messages of a slider meanwhile and sends the newest one then: values in between
are left out. One of more packets is drawn from flow, and its packets in the background once the inputs rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import ipywidgets as widgets
import xarray as xr

from btflow.errors import ScenarioError
from btflow.explore.figure import framed
from btflow.explore.form import Form, Panel
from btflow.explore.limits import AT_ONCE, packets
from btflow.explore.link_figure import draw, empty, numbers, point_at
from btflow.explore.link_state import FIRST, LinkState, command, meanings, preset, presets, scenario, why_no_fluid
from btflow.explore.panel import NOT_SHOWN, SHOWN, Commands, in_flow
from btflow.explore.saved import of_link, to_toml
from btflow.explore.spots import Spot
from btflow.explore.views import FLOW_SAYS, RUNNING, Background, Stage, paragraph
from btflow.explore.watch import Run
from btflow.explore.work import Listeners, Look, Work
from btflow.link.run import simulate_link
from btflow.link.scenario import LinkScenario
from btflow.options import Fidelity, fidelity_of
from btflow.plots.verdict import verdict


class Asked(NamedTuple):
    """What is simulated: an experiment, its seed, and whether flow is drawn beside its packets."""

    scenario: LinkScenario
    seed: int
    fluid: bool


class Found(NamedTuple):
    """What there is of it: of packets, or of flow until they are there; and of flow beside the packets.

    Packets that come after flow was shown have what it said, too.
    """

    asked: Asked
    result: xr.Dataset
    fluid: xr.Dataset | None = None
    before: xr.Dataset | None = None

    @property
    def fidelity(self) -> Fidelity:
        """That of the result."""
        return fidelity_of("fidelity", self.result.attrs["fidelity"])

    @property
    def words(self) -> str:
        """What is said beside the verdict: how far to trust it, or what flow had said."""
        if self.fidelity == "flow":
            return f"{FLOW_SAYS}."
        return f"Packet by packet. {FLOW_SAYS}, said: {verdict(self.before)}" if self.before is not None else ""


def find(asked: Asked, look: Look) -> Iterator[Found]:
    """Simulate: what a ``Work`` runs. What takes long is shown from flow until the inputs rest, if flow has it."""
    model, seed, wanted = asked
    fluid = None
    if wanted or not at_once(model):
        with suppress(ScenarioError):
            fluid = simulate_link(model, seed=seed, fidelity="flow", progress=lambda _: look(0.0))
    if not at_once(model):
        if fluid is not None:
            yield Found(asked, fluid)
        look.rest()
    before = None if at_once(model) else fluid
    yield Found(asked, simulate_link(model, seed=seed, progress=look), fluid if wanted else None, before)


def at_once(model: LinkScenario) -> bool:
    """Return whether an experiment is simulated while an input moves."""
    return packets(model) <= AT_ONCE


class LinkPanel(Panel, Background[Asked, Found]):
    """One link.

    Attributes:
        figure: The figure.
        views: It, what is above it, and the tables below it.
    """

    whole = "Packets"

    def __init__(self, state: LinkState | None = None) -> None:
        super().__init__()
        self.figure = empty()
        self.figure.fills = True
        self._numbers = widgets.HTML()
        drawn = widgets.VBox([framed(self.figure), self._numbers])
        self.stage = Stage(drawn, self.cancel, self._run)
        self.views = self.stage.widget
        self._ended = self._tell
        self._work = Work(find, Listeners(self._show, self._fail, self.stage.progress, self._busy))
        self.form = Form(state or LinkState(), self._change, self.stage.refuse)
        self.controls = self.form.widget
        self._model = ""
        self.presets = presets()
        self.set_state(self.form.state)

    @property
    def result(self) -> xr.Dataset | None:
        """What is drawn; None before the first."""
        return self.seen and self.seen.result

    @property
    def fluid(self) -> xr.Dataset | None:
        """What flow has for the same experiment; None if it is not asked for, or flow refuses it."""
        return self.seen and self.seen.fluid

    def set_state(self, state: LinkState) -> None:
        """Show a state and simulate it."""
        self._model = state.model
        self.form.show(state)

    def point(self, spot: Spot | None, said: str = "") -> None:
        """Point at a place of the figure and write something there; or at none."""
        if spot is None or self.result is None:
            self.figure.point()
            return
        point_at(self.figure, self.result, spot, said)

    def scenario(self) -> LinkScenario:
        """Return the experiment of the state."""
        return scenario(self.state)

    def commands(self) -> Commands:
        """Return the command line that gives the same result; with a fluid beside the packets one of each."""
        found = {"": command(self.state)}
        if self.seen is not None and self.seen.fidelity == "flow" and not self.busy:
            return in_flow(found)  # the packets were cancelled
        return found if self.fluid is None else {"Packets": found[""], "Fluid": in_flow(found)[""]}

    def files(self) -> Mapping[str, str]:
        """Return the experiment as TOML and, if they are its, time series as CSV; the fluid's in one of their own."""
        drawn = [result for result in (self.result, self.fluid) if result is not None and self._belongs()]
        fidelities = ", the fidelities full and flow" if self.fluid is not None else ""
        note = f"# The seed of the random numbers was {self.state.seed}{fidelities}.\n"
        found = {"btflow-link.toml": note + to_toml(self.scenario())}
        return found | {name: text for result in drawn for name, text in of_link(result).items()}

    def about(self) -> str:
        """Return what the command line gives."""
        return SHOWN if self.busy or self._belongs() else NOT_SHOWN

    def _run(self) -> Run:
        return Run(self.scenario(), int(self.state.seed), self._part)

    def _used(self) -> Sequence[str]:
        flows = {f"{name}{i}" for i in (1, 2, 3) if getattr(self.state, f"n{i}") == "0" for name in ("cc", "start")}
        return tuple(name for name in self.form.fields if name not in flows)

    def _first(self) -> Sequence[str]:
        return FIRST

    def _change(self, state: LinkState) -> None:
        """Simulate a state, which is the published one when another experiment is chosen."""
        if state.model != self._model:
            self._model = state.model
            state = replace(preset(state.model), fluid=state.fluid)
            self.form.show(state)
            return
        wanted = state.fluid == "true"
        refused = why_no_fluid(state) if wanted else ""
        asked = Asked(scenario(state), int(state.seed), wanted and not refused)
        if at_once(asked.scenario):
            self._work.cancel()
            (found,) = find(asked, Look())
            self._asked = asked
            self._show(found)
        else:
            self._asked = asked
            self.stage.late(RUNNING)
            self._work.ask(asked)
        self.stage.follow()
        self.form.fields["fluid"].warn(f"Packets only. {refused}" if refused else "")
        self._arrange()
        self.form.explain(meanings(state.model))
        self._tell()

    def _show(self, found: Found) -> None:
        self.seen = found
        draw(self.figure, found.result, found.fluid)
        self._numbers.value = numbers(found.result, found.fluid)
        self.stage.words.value = paragraph(verdict(found.result), found.words)
        self.stage.late("" if self._belongs() else RUNNING)
