"""The what-if panel: its state, two settings, and presets of them; both side by side, and the difference of pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import ipywidgets as widgets
import xarray as xr

from btflow.errors import InputError
from btflow.explore import comparison, link_state, panel as panels, swarm_panel
from btflow.explore.comparison import Compared, Model
from btflow.explore.form import Form, Panel
from btflow.explore.inputs import Amount, Choice, Line, value
from btflow.explore.limits import check_swarm
from btflow.explore.link_state import LinkState
from btflow.explore.saved import of_pairs, to_toml
from btflow.explore.swarm_panel import CLUSTER, PAPERS, SwarmState, less
from btflow.explore.views import Seen
from btflow.link.scenario import LinkScenario
from btflow.swarm.scenario import Scenario
from btflow.units.formatting import counted

Setting = SwarmState | LinkState
"""The state of the panel that one of the two settings could have."""

_FEW = SwarmState(leechers="30")
BEGIN: Mapping[str, tuple[Setting, Setting]] = {
    "swarm": (replace(_FEW, utp_share="0%"), replace(_FEW, utp_share="100%")),
    "link": (LinkState(), replace(LinkState(), aqm="codel")),
}
"""By what is compared: the settings that an empty text stands for."""


def _reads(text: str) -> None:
    """Raise an InputError if a text names no values, or two of one name."""
    allowed = "such as leechers=30&rtt=400+ms"
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=100)
    except ValueError:
        raise InputError("setting", text, "names no values", allowed) from None
    if len(dict(pairs)) < len(set(pairs)):
        raise InputError("setting", text, "has two values of one name", allowed)


@dataclass(frozen=True)
class WhatIfState:
    """The inputs of the what-if panel, as texts; a setting is what differs from the one to begin with."""

    of: str = value(Choice("Compare", ("swarm", "link"), "swarm", ("two swarms", "two links")))
    pairs: str = value(
        Amount("Pairs", "count", "10", "2", "40", minimum="1", maximum="200", help="runs of each, with the same luck")
    )
    a: str = value(Line("Setting A", "", _reads))
    b: str = value(Line("Setting B", "", _reads))

    def mended(self) -> tuple[WhatIfState, tuple[InputError, ...]]:
        """Return the state without those values of both settings that are refused, and what was wrong with each."""
        found = [_mended(side, getattr(self, side), begin) for side, begin in zip("ab", BEGIN[self.of], strict=True)]
        (a, of_a), (b, of_b) = found
        return replace(self, a=a, b=b), (*of_a, *of_b)


class Settings(NamedTuple):
    """Both settings."""

    a: Setting
    b: Setting


def settings(state: WhatIfState) -> Settings:
    """Return both settings of a state, with one seed; an InputError of ``a`` or ``b`` if one is wrong."""
    begin = BEGIN[state.of]
    a = _read("a", state.a, begin[0])
    return Settings(a, replace(_read("b", state.b, begin[1]), seed=a.seed))


def state_of(of: str, found: Settings, pairs: str) -> WhatIfState:
    """Return the state with two settings."""
    return WhatIfState(
        of,
        pairs,
        *(panels.written(panels.differences(one, first)) for one, first in zip(found, BEGIN[of], strict=True)),
    )


def scenario_of(setting: Setting) -> Scenario | LinkScenario:
    """Return what a setting stands for.

    Raises:
        InputError: It is none, or more than one visitor may ask for; the field is an input's.
    """
    if isinstance(setting, LinkState):
        return link_state.scenario(setting)
    found = swarm_panel.scenario_of(setting)
    check_swarm(found)
    return found


def command_of(setting: Setting, pairs: str) -> str:
    """Return the command line that runs a setting; of a swarm all of its replicas."""
    if isinstance(setting, LinkState):
        return link_state.command(setting)
    return f"{swarm_panel.command_of(setting)} --replicas {pairs}"


def _read(field: str, text: str, begin: Setting) -> Setting:
    given = dict(parse_qsl(text, keep_blank_values=True))
    try:
        panels.checked(type(begin), given)
    except InputError as error:
        raise InputError(field, text, str(error).replace("\n", "; ")) from None
    return _with(begin, given)


def _with(begin: Setting, texts: Mapping[str, str]) -> Setting:
    """Return a setting with other values of some inputs."""
    return replace(begin, **texts)  # type: ignore[arg-type]  # both are dataclasses of texts


def _mended(side: str, text: str, begin: Setting) -> tuple[str, list[InputError]]:
    """Return the text of a setting without what is refused, and why it is, called by side and label."""
    kept: dict[str, str] = {}
    problems: list[InputError] = []
    for name, given in parse_qsl(text, keep_blank_values=True):
        try:
            kept[name] = getattr(panels.checked(type(begin), {name: given}), name)
        except InputError as error:
            problems.append(error)
    while kept and (problem := _refused(begin, kept)) is not None:
        problems.append(problem)
        del kept[problem.field]
    told = [InputError(f"setting {side.upper()}: {_label(begin, p.field)}", *p.args[1:]) for p in problems]
    return (panels.written(panels.differences(_with(begin, kept), begin)) if told else text), told


def _refused(begin: Setting, kept: Mapping[str, str]) -> InputError | None:
    """Return why the values of a setting do not go together, as an error of the one to leave out; None if they do."""
    try:
        scenario_of(_with(begin, kept))
    except InputError as error:
        for problem in error.problems:
            if problem.field in kept:
                return problem
        for name in kept:  # what is wrong is an input that the link leaves as it is: because of which value?
            if _refused(begin, {n: text for n, text in kept.items() if n != name}) is None:
                break
        reason = f"does not go with {_label(begin, error.field)} = {error.value}: {error.reason}"
        return InputError(name, kept[name], reason, error.allowed)
    return None


def _label(setting: Setting, name: str) -> str:
    known = panels.specs(setting)
    return known[name].label if name in known else name


def commands(both: Settings, pairs: str) -> panels.Commands:
    """Return the command lines that run both settings."""
    return {side: command_of(setting, pairs) for side, setting in zip("AB", both, strict=True)}


def _preset(paper: str, figure: str, title: str, both: Settings, *, beyond: bool = False) -> panels.Preset:
    of, pairs = "link" if isinstance(both.a, LinkState) else "swarm", WhatIfState.pairs
    return panels.Preset(paper, figure, title, state_of(of, both, pairs), commands(both, pairs), beyond=beyond)


def _swarms(
    model: str, figure: str, title: str, a: dict[str, str], b: dict[str, str], *, beyond: bool = False
) -> panels.Preset:
    both = Settings(*(swarm_panel.state_of(model, "pairs", **side) for side in (a, b)))
    whole = Settings(*(swarm_panel.whole(side) for side in both if isinstance(side, SwarmState)))
    found = _preset(PAPERS[model], figure, title, both, beyond=beyond)
    note = less(swarm_panel.state_of(model, "pairs", **a), "so that ten pairs take seconds")
    return replace(found, note=note, commands=commands(whole, WhatIfState.pairs))


def _limited(limit: str) -> SwarmState:
    return SwarmState(leechers="30", buffer="1 s", upload_limit=limit)


def _links(model: str, title: str, a: dict[str, str], b: dict[str, str], *, beyond: bool = False) -> panels.Preset:
    both = Settings(*(replace(link_state.preset(model), **side) for side in (a, b)))
    return _preset(link_state.PAPERS[model], "", title, both, beyond=beyond)


_LIMITS = "upload limits of half the uplink's rate, or five times"

PRESETS = (
    _preset(panels.OWN, "", "a flash crowd, all with TCP or all with uTP", settings(WhatIfState())),
    _preset(panels.OWN, "", "drop-tail or CoDel at the bottleneck", settings(WhatIfState("link"))),
    _preset(panels.OWN, "", "a LEDBAT or a CUBIC upload", Settings(LinkState(n1="0"), LinkState(n2="0"))),
    *(_swarms(**each) for each in panels.PUBLISHED["whatif"]),
    _preset(CLUSTER, "Fig. 1", _LIMITS, Settings(_limited("62.5 kB/s"), _limited("625 kB/s")), beyond=True),
    *(_links(**each) for each in panels.PUBLISHED["whatif_links"]),
)
"""Every comparison that the panel has a preset for."""

_SIDE_BY_SIDE = {"grid_template_columns": "repeat(auto-fit, minmax(230px, 1fr))", "grid_gap": "0 14px"}

_FIRST_PAIR = "The numbers of the first pair (each further one has the next --seed)"


def _compared(state: WhatIfState) -> Compared:
    both = settings(state)
    return Compared(scenario_of(both.a), scenario_of(both.b), int(both.a.seed), int(state.pairs))


class WhatIfPanel(Panel):
    """Two settings.

    Attributes:
        controls: The inputs that both settings have in common, and those of each.
        sides: The inputs of each setting.
        canvas: The figures.
        views: They, and what is above them.
    """

    presets: tuple[panels.Preset, ...] = PRESETS

    def __init__(self, state: WhatIfState = PRESETS[0].state) -> None:
        super().__init__()
        self.canvas = comparison.canvas(self._tell)
        self._columns = widgets.GridBox(layout=_SIDE_BY_SIDE)
        self._columns.add_class("btflow-sides")
        self._shown: tuple[str, Settings] | None = None
        self.sides: tuple[Form[Any], ...] = ()
        self.form = Form(state, self._change, self._refused)
        self.controls, self.views = widgets.VBox([self.form.widget, self._columns]), self.canvas.stage.widget
        self.set_state(state)
        self.canvas.first()

    @property
    def result(self) -> xr.Dataset | None:
        """The paired difference that is shown, None before the first one."""
        return self.canvas.seen.result if self.canvas.seen else None

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

    def commands(self) -> panels.Commands:
        """Return the command lines that run both settings; in flow only if its figures stay: full was cancelled."""
        whole, found = self._whole(), commands(settings(self.state), self.state.pairs)
        stays = whole is not None and whole.fidelity == "flow" and not self.canvas.busy
        return panels.in_flow(found) if stays else found

    def about(self) -> str:
        """Return what the command lines give."""
        if not self.canvas.busy and self._whole() is None:
            return panels.NOT_SHOWN
        return panels.SHOWN if self.state.of == "swarm" else _FIRST_PAIR

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
        self._arrange()
        self.canvas.ask(asked)
        self._tell()

    def _show(self, of: str, both: Settings) -> None:
        """Show the inputs of both settings, new ones if others were shown."""
        if self._shown != (of, both):
            self.sides = tuple(Form(setting, self._entered(side), self._refused) for side, setting in enumerate(both))
            titles = [widgets.HTML(f"<b>Setting {side}</b>") for side in "AB"]
            boxes = [widgets.VBox([t, form.widget]) for t, form in zip(titles, self.sides, strict=True)]
            for box in boxes:
                box.add_class("btflow-side")
            self._columns.children = boxes
            self._shown = of, both
        for number, (form, setting) in enumerate(zip(self.sides, both, strict=True)):
            used = swarm_panel.inputs(setting) if isinstance(setting, SwarmState) else tuple(form.fields)
            matter = swarm_panel.FIRST[setting.model] if isinstance(setting, SwarmState) else link_state.FIRST
            without = {"fluid"} | ({"seed"} if number == 1 else set())  # both have the same random numbers
            differ = [name for name in used if getattr(both.a, name) != getattr(both.b, name)]
            shown = [name for name in (differ or matter) if name in used and name not in without]
            form.arrange(shown, [name for name in used if name not in without and name not in shown])

    def _used(self) -> Sequence[str]:
        return "of", "pairs"

    def _refused(self, _labels: str) -> None:
        """Say of all inputs which are refused."""
        known = [(form.fields, panels.specs(form.state)) for form in (self.form, *self.sides)]
        labels = [spec[name].label for fields, spec in known for name, field in fields.items() if field.refused]
        self.canvas.stage.refuse(", ".join(dict.fromkeys(labels)))

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
