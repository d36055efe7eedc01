"""The link panel: congestion controls, a link and its queue; all moves as the inputs do.

An experiment takes tens of milliseconds, so it is computed while the message of the slider is handled. The browser
holds back further messages of a slider meanwhile and sends the newest one then: values in between are left out.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace

import ipywidgets as widgets
import xarray as xr

from btflow.explore import link_figure, link_text
from btflow.explore.fields import Form
from btflow.explore.link_presets import presets
from btflow.explore.link_state import LinkState, command, preset, scenario, why_no_fluid
from btflow.explore.live import framed
from btflow.explore.panel import SHOWN, Commands, Observed, in_flow
from btflow.explore.tables import of_link
from btflow.explore.toml import to_toml
from btflow.link.scenario import LinkScenario
from btflow.link.simulation import simulate_link

STEPS = 400
"""Places of the cursor."""

_LINK = ("model", "rate", "rtt", "buffer", "aqm", "loss")
_FLOWS = ("cc1", "n1", "start1", "cc2", "n2", "start2", "cc3", "n3", "start3", "call")
_RUN = ("duration", "seed", "fluid")


class LinkPanel(Observed):
    """One link; see btflow.explore.panel for its attributes.

    Attributes:
        fluid: What flow has for the same experiment; None if it is not asked for, or flow refuses it.
    """

    def __init__(self, state: LinkState | None = None) -> None:
        super().__init__()
        self.result: xr.Dataset | None = None
        self.fluid: xr.Dataset | None = None
        self._form = Form(state or LinkState(), self._change)
        self.figure = link_figure.empty()
        self._numbers, self._moment = widgets.HTML(), widgets.HTML()
        self._refused = widgets.HTML(layout={"display": "none"})
        self._refused.add_class("btflow-error")
        self._cursor = widgets.IntSlider(
            value=0, max=STEPS, description="Time", readout=False, tooltip="Where the cursor is"
        )
        self._time = widgets.Label()
        self._time.add_class("btflow-time")
        self._play = widgets.Play(min=0, max=STEPS, step=1, interval=150, description="Play", show_repeat=False)
        widgets.jslink((self._play, "value"), (self._cursor, "value"))
        self._cursor.observe(lambda _: self._show_moment(), "value")
        self._shown = self._form.state.model
        self.presets = presets()
        self.widget = self._layout()
        self._form.show(self._form.state)

    @property
    def state(self) -> LinkState:
        """The last state that was accepted."""
        return self._form.state

    def set_state(self, state: LinkState) -> None:
        """Show a state and simulate it."""
        self._shown = state.model
        self._form.show(state)

    def scenario(self) -> LinkScenario:
        """Return the experiment of the state."""
        return scenario(self.state)

    def commands(self) -> Commands:
        """Return the command line that gives the same result; with a fluid beside the packets one of each."""
        found = {"": command(self.state)}
        return found if self.fluid is None else {"Packets": found[""], "Fluid": in_flow(found)[""]}

    def files(self) -> Mapping[str, str]:
        """Return the experiment as TOML and its time series as CSV, those of the fluid in a file of their own."""
        drawn = [result for result in (self.result, self.fluid) if result is not None]
        fidelities = ", the fidelities full and flow" if self.fluid is not None else ""
        note = f"# The seed of the random numbers was {self.state.seed}{fidelities}.\n"
        found = {"btflow-link.toml": note + to_toml(self.scenario())}
        return found | {name: text for result in drawn for name, text in of_link(result).items()}

    def about(self) -> str:
        """Return what the command line gives."""
        return SHOWN  # a link is simulated at once, or refused

    def _layout(self) -> widgets.Widget:
        boxes = [self._form.box(part) for part in (_LINK, _FLOWS, _RUN)]
        inputs = widgets.VBox([*boxes, self._refused])
        inputs.add_class("btflow-inputs")
        player = widgets.HBox([self._play, self._cursor, self._time])
        player.add_class("btflow-player")
        views = widgets.VBox([framed(self.figure), player, self._moment, self._numbers])
        views.add_class("btflow-views")
        both = widgets.HBox([inputs, views])
        both.add_class("btflow-panel")
        return both

    def _change(self, state: LinkState) -> None:
        """Simulate a state, which is the published one when another experiment is chosen."""
        if state.model != self._shown:
            self._shown = state.model
            state = replace(preset(state.model), fluid=state.fluid)
            self._form.show(state)
            return
        wanted, refused = state.fluid == "true", why_no_fluid(state) if state.fluid == "true" else ""
        model, seed = scenario(state), int(state.seed)
        result = simulate_link(model, seed=seed)
        self.fluid = simulate_link(model, seed=seed, fidelity="flow") if wanted and not refused else None
        self.result = result
        link_figure.draw(self.figure, self.result, self.fluid)
        self._refused.value = refused and f'<span role="alert">Packets only. {html.escape(refused)}</span>'
        self._refused.layout.display = None if refused else "none"
        self._numbers.value = link_text.numbers(self.result, self.fluid)
        self._show_moment()
        self._tell()

    def _show_moment(self) -> None:
        """Show the cursor and what there is at its time; not before it was first moved."""
        if self.result is None:
            return
        moved = self._cursor.value > 0
        index = round(self._cursor.value / STEPS * (self.result.sizes["time"] - 1))
        link_figure.mark(self.figure, float(self.result["time"][index]) if moved else None)
        self._time.value = f"{float(self.result['time'][index]):.2f} s"
        self._moment.value = link_text.moment(self.result, index, self.fluid) if moved else ""
