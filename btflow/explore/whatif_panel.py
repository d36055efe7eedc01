"""The what-if panel: two settings side by side, and the difference within pairs, with its interval in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as widgets
import xarray as xr

from btflow.explore import comparison, swarm_state
from btflow.explore.comparison import Compared, Model
from btflow.explore.figure import beside
from btflow.explore.form import Form
from btflow.explore.panel import NOT_SHOWN, SHOWN, Commands, Observed, Preset, in_flow
from btflow.explore.saved import of_pairs, to_toml
from btflow.explore.swarm_state import SwarmState
from btflow.explore.views import Seen
from btflow.explore.whatif_state import (
    PRESETS,
    Setting,
    Settings,
    WhatIfState,
    commands,
    scenario_of,
    settings,
    state_of,
)
from btflow.units.formatting import counted

_SIDE_BY_SIDE = {"grid_template_columns": "repeat(auto-fit, minmax(230px, 1fr))", "grid_gap": "0 14px"}

_FIRST_PAIR = "The numbers of the first pair (each further one has the next --seed)"


def _compared(state: WhatIfState) -> Compared:
    both = settings(state)
    return Compared(scenario_of(both.a), scenario_of(both.b), int(both.a.seed), int(state.pairs))


class WhatIfPanel(Observed):
    """Two settings; see ``btflow.explore.panel.Panel``.

    Attributes:
        widget: Inputs and figures.
        form: The inputs that both settings have in common.
        sides: The inputs of each setting.
        canvas: The figures.
    """

    presets: tuple[Preset, ...] = PRESETS

    def __init__(self, state: WhatIfState = PRESETS[0].state) -> None:
        super().__init__()
        self.canvas = comparison.canvas(self._tell)
        self._columns = widgets.GridBox(layout=_SIDE_BY_SIDE)
        self._shown: tuple[str, Settings] | None = None
        self.sides: tuple[Form[Any], ...] = ()
        self.form = Form(state, self._change)
        controls = [self.form.box(("of", "pairs")), self.canvas.status.widget, self._columns]
        self.widget = beside(widgets.VBox(controls), self.canvas.views)
        self.widget.add_class("btflow-wide")
        self.set_state(state)
        self.canvas.first()

    @property
    def state(self) -> WhatIfState:
        """The last state that was accepted."""
        return self.form.state

    @property
    def result(self) -> xr.Dataset | None:
        """The paired difference that is shown, None before the first one."""
        return self.canvas.seen.result if self.canvas.seen else None

    def set_state(self, state: WhatIfState) -> None:
        """Show a state and simulate it; what is refused is said next to its input."""
        self.form.show(state)

    def scenario(self) -> Model:
        """Return what setting A stands for."""
        return scenario_of(settings(self.state).a)

    def files(self) -> Mapping[str, str]:
        """Return what can be saved, by file name: both settings as TOML, as CSV what is drawn if it is theirs."""
        asked, shown = _compared(self.state), self.canvas.seen
        if shown is not None and shown.asked[:3] != asked[:3]:
            shown = None  # it is of other settings, as after a run that was cancelled
        note = f"# The seed of the random numbers was {asked.seed}, of {counted(asked.pairs, 'pair')}"
        fidelity = f", the fidelity {shown.fidelity if shown else 'full'}" if self.state.of == "swarm" else ""
        models = zip("ab", (asked.a, asked.b), strict=True)
        found = {f"{side}.toml": f"{note}{fidelity}.\n{to_toml(model)}" for side, model in models}
        return found | of_pairs(shown) if shown is not None else found

    def commands(self) -> Commands:
        """Return the command lines that run both settings; in flow only if its figures stay: full was cancelled."""
        whole, found = self._whole(), commands(settings(self.state), self.state.pairs)
        stays = whole is not None and whole.fidelity == "flow" and not self.canvas.busy
        return in_flow(found) if stays else found

    def about(self) -> str:
        """Return what the command lines give."""
        if not self.canvas.busy and self._whole() is None:
            return NOT_SHOWN
        return SHOWN if self.state.of == "swarm" else _FIRST_PAIR

    def _whole(self) -> Seen | None:
        """Return what is shown if it is of these settings and has all pairs."""
        seen = self.canvas.seen
        return seen if seen is not None and seen.asked == _compared(self.state) else None

    def _change(self, state: WhatIfState) -> None:
        """Simulate a state; with what it begins with if something else is to be compared."""
        if self._shown is not None and state.of != self._shown[0]:
            of, both = self._shown
            if state == replace(state_of(of, both, state.pairs), of=state.of) != WhatIfState(state.of, state.pairs):
                self.form.show(WhatIfState(state.of, state.pairs))
                return
        asked = _compared(state)
        self._show(state.of, settings(state))
        self.canvas.ask(asked)
        self._tell()

    def _show(self, of: str, both: Settings) -> None:
        """Show the inputs of both settings, new ones if others were shown."""
        if self._shown != (of, both):
            self.sides = tuple(Form(setting, self._entered(side)) for side, setting in enumerate(both))
            titles = [widgets.HTML(f"<b>Setting {side}</b>") for side in "AB"]
            boxes = [widgets.VBox([t, form.box()]) for t, form in zip(titles, self.sides, strict=True)]
            for box in boxes:
                box.add_class("btflow-side")
            self._columns.children = boxes
            self._shown = of, both
        for number, (form, setting) in enumerate(zip(self.sides, both, strict=True)):
            used = swarm_state.inputs(setting) if isinstance(setting, SwarmState) else form.fields.keys() - {"fluid"}
            for name, field in form.fields.items():
                hidden = name not in used or (name == "seed" and number == 1)  # both have the same random numbers
                field.widget.layout.display = "none" if hidden else None

    def _entered(self, side: int) -> Callable[[Any], None]:
        """Return what takes a setting that was entered."""

        def entered(setting: Setting) -> None:
            scenario_of(setting)
            assert self._shown is not None
            of, both = self._shown
            found = Settings(setting, both.b) if side == 0 else Settings(both.a, setting)
            self._shown = of, found
            self.form.show(state_of(of, found, self.state.pairs))

        return entered
