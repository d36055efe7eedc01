"""The swarm panel: peers, caps, mix and stay; when downloads complete, how long queues are, and why it was slow."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets as widgets
import xarray as xr

from btflow.explore.canvas import Canvas
from btflow.explore.figure import beside
from btflow.explore.form import Form
from btflow.explore.limits import check_swarm
from btflow.explore.panel import NOT_SHOWN, SHOWN, Commands, Observed, Preset, in_flow
from btflow.explore.saved import of_swarm, to_toml
from btflow.explore.swarm_state import PRESETS, SwarmState, command_of, inputs, scenario_of
from btflow.explore.views import LINKED, Asked, Seen, see
from btflow.swarm.scenario import Scenario


class SwarmPanel(Observed):
    """One swarm; see ``btflow.explore.panel.Panel``.

    Attributes:
        widget: Inputs and figures.
        form: The inputs.
        canvas: The figures.
    """

    presets: tuple[Preset, ...] = PRESETS

    def __init__(self, state: SwarmState = PRESETS[0].state) -> None:
        super().__init__()
        self.canvas: Canvas[Asked] = Canvas(see, LINKED, self._tell)
        self.form = Form(state, self._change)
        controls = widgets.VBox([self.form.box(), self.canvas.status.widget])
        self.widget = beside(controls, self.canvas.views)
        self.set_state(state)
        self.canvas.first()

    @property
    def state(self) -> SwarmState:
        """The last state that was accepted."""
        return self.form.state

    @property
    def result(self) -> xr.Dataset | None:
        """What the figures show, None before the first one."""
        return self.canvas.seen.result if self.canvas.seen else None

    def set_state(self, state: SwarmState) -> None:
        """Show a state and simulate it; what is refused is said next to its input."""
        self.form.show(state)

    def scenario(self) -> Scenario:
        """Return the swarm of the state."""
        return scenario_of(self.state)

    def files(self) -> Mapping[str, str]:
        """Return what can be saved, by file name: the swarm as TOML, as CSV what is drawn if it is its."""
        shown = self._shown()
        fidelity = shown.fidelity if shown is not None else "full"
        note = f"# The seed of the random numbers was {self.state.seed}, the fidelity {fidelity}.\n"
        found = {f"{self.state.model}.toml": note + to_toml(self.scenario())}
        return found | of_swarm(shown) if shown is not None else found

    def about(self) -> str:
        """Return what the command line gives."""
        return SHOWN if self.canvas.busy or self._shown() is not None else NOT_SHOWN

    def _shown(self) -> Seen | None:
        """Return what is shown if it is of the inputs, not of earlier ones as after a run that was cancelled."""
        asked, seen = Asked(scenario_of(self.state), int(self.state.seed)), self.canvas.seen
        return seen if seen is not None and seen.asked == asked else None

    def commands(self) -> Commands:
        """Return the command line that gives the same result; in flow only if its figures stay: full was cancelled."""
        shown, found = self._shown(), {"": command_of(self.state)}
        stays = shown is not None and shown.fidelity == "flow" and not self.canvas.busy
        return in_flow(found) if stays else found

    def _change(self, state: SwarmState) -> None:
        scenario = scenario_of(state)
        check_swarm(scenario)
        for name, field in self.form.fields.items():
            field.widget.layout.display = None if name in inputs(state) else "none"
        self.canvas.ask(Asked(scenario, int(state.seed)))
        self._tell()
