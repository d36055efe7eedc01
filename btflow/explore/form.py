"""Inputs with their error next to them, and a form of all the inputs of a panel's state.

A slider and a text show the same value; the text takes any unit. What is refused stays in its field, with the reason
right below, and the form keeps the last good state. The inputs that matter first are on top, the others folded.
"""

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log10
from typing import Any, Generic, TypeVar

import ipywidgets as widgets
import xarray as xr

from btflow.errors import InputError, SimulationError
from btflow.explore.inputs import STEPS, Amount, Choice, Spec, renamed
from btflow.explore.panel import Commands, Observed, Preset, specs
from btflow.explore.spots import Spot
from btflow.explore.work import text_of

State = TypeVar("State")

_SLIDER = {"readout": False, "continuous_update": True}


class Field:
    """An input: its label, its control or controls, a line for what is wrong, and one on what it is.

    Attributes:
        widget: All of it.
    """

    def __init__(self, spec: Spec, entered: Callable[[], None]) -> None:
        self._spec, self._entered = spec, entered
        self._problems: list[str] = []
        self._warning = ""
        self._quiet = False
        self._control = _control(spec)
        self._slider: Any = _slider(spec) if isinstance(spec, Amount) else None
        self._shown, self._read = 0.0, spec.default
        self._error = widgets.HTML(layout={"display": "none"})
        self._error.add_class("btflow-error")
        self._help = widgets.HTML(layout={"display": "none"})
        self._help.add_class("btflow-help")
        self._control.observe(self._typed, "value")
        if self._slider is not None:
            self._slider.observe(self._slid, "value")
        self.widget = widgets.VBox()
        self.widget.add_class("btflow-field")
        self._lay()
        self.explain(spec.help)

    @property
    def text(self) -> str:
        """What it shows, whether accepted or not."""
        return str(self._control.value)

    def show(self, text: str) -> None:
        """Show a value; nothing is entered by that."""
        self._quiet = True
        try:
            self._control.value = text
            self._move(text)
        finally:
            self._quiet = False

    def explain(self, text: str) -> None:
        """Say in a line what it is, or nothing."""
        self._help.value, self._help.layout.display = html.escape(text), None if text else "none"

    def _lay(self) -> None:
        parts = (self._control, self._error, self._slider, self._help)
        self.widget.children = [part for part in parts if part is not None]

    def refuse(self, *problems: InputError) -> None:
        """Say what is wrong, a line each: with the value, called by its label, or with what is no input; or nothing."""
        self._problems = [problem.describe() for problem in problems]
        self._say()
        (self._control.add_class if problems else self._control.remove_class)("btflow-refused")

    @property
    def refused(self) -> bool:
        """Whether something is said to be wrong."""
        return bool(self._problems)

    def warn(self, text: str) -> None:
        """Say what becomes of a value that is accepted, or nothing."""
        self._warning = text
        self._say()

    def _say(self) -> None:
        lines = self._problems or ([self._warning] if self._warning else [])
        shown = f'<span role="alert">{"<br>".join(html.escape(line) for line in lines)}</span>' if lines else ""
        if shown != self._error.value:
            self._error.value, self._error.layout.display = shown, None if shown else "none"

    def _typed(self, _change: object) -> None:
        if not self._quiet:
            self.show(self.text)
            self._entered()

    def _slid(self, change: dict[str, Any]) -> None:
        assert isinstance(self._spec, Amount)
        if not self._quiet and not self._same_place(change["new"]):
            self._quiet = True
            try:
                self._control.value = self._spec.written(change["new"], self._read)
            finally:
                self._quiet = False
            self._entered()

    def _move(self, text: str) -> None:
        """Move the slider to a value, or to the nearest that it can show."""
        if self._slider is None or not isinstance(self._spec, Amount):
            return
        try:
            number = self._spec.slid(text)
        except InputError:
            return
        if number is not None:
            self._read = text
            self._span(*self._spec.span(text))
            self._slider.value = _place(self._slider, number)
            self._shown = self._slider.value

    def _span(self, low: float, high: float, step: float) -> None:
        """Have a slider between these ends, which differ with the unit of a buffer.

        A browser moves a slider that gets other ends from its old place to between them, and tells that as a new value.
        """
        before = self._slider
        if isinstance(before, widgets.FloatLogSlider) or (before.min, before.max) == (low, high):
            return
        self._slider = type(before)(value=low, min=low, max=high, step=step, **_SLIDER)
        self._slider.observe(self._slid, "value")
        self._lay()
        before.close()

    def _same_place(self, number: float) -> bool:
        """Return whether the slider stands where it was put: a browser tells that once more, rounded."""
        same = abs(_step(self._slider, number) - _step(self._slider, self._shown)) < 0.5
        self._shown = self._shown if same else number
        return same


class Form(Generic[State]):
    """The inputs of a state; every change is offered to the panel, which may refuse it.

    Attributes:
        state: The last state that was accepted.
        fields: The inputs by name.
        widget: All of them, as they were arranged last: those that matter first, and a button that shows the others.
    """

    def __init__(
        self, state: State, change: Callable[[State], None], refused: Callable[[str], None] = lambda _: None
    ) -> None:
        """Make the inputs.

        Args:
            state: What they show at first; it is not offered to `change`.
            change: Takes a new state, or refuses it with an InputError whose field is one of the inputs; what else
                goes wrong in a simulation is told beside the input that was changed.
            refused: Called after each entry with the labels of what is refused, nothing if all is accepted.
        """
        self.state = state
        self._change, self._refused = change, refused
        self.fields = {name: Field(spec, partial(self._enter, name)) for name, spec in specs(state).items()}
        self._first, self._rest = widgets.VBox(), widgets.VBox(layout={"display": "none"})
        self._fold = widgets.Button(layout={"display": "none"})
        self._fold.on_click(lambda _: self.unfold(self._rest.layout.display == "none"))
        for part, name in ((self._first, "form"), (self._rest, "form"), (self._fold, "fold")):
            part.add_class(f"btflow-{name}")
        self.widget = widgets.VBox([self._first, self._fold, self._rest])
        self.widget.add_class("btflow-inputs")
        self._show(state)

    def box(self, names: Iterable[str] = ()) -> widgets.VBox:
        """Return some of the inputs, or all, one below the other."""
        boxed = widgets.VBox([self.fields[name].widget for name in (names or self.fields)])
        boxed.add_class("btflow-form")
        return boxed

    def arrange(self, first: Iterable[str], rest: Iterable[str]) -> None:
        """Have some inputs on top and others behind a button; what is in neither is not shown."""
        for box, names in ((self._first, first), (self._rest, rest)):
            children = tuple(self.fields[name].widget for name in names)
            if box.children != children:
                box.children = children
        self._fold.layout.display = None if self._rest.children else "none"
        self.unfold(self._rest.layout.display is None)

    def explain(self, texts: Mapping[str, str]) -> None:
        """Say in a line what each input is, by name."""
        for name, text in texts.items():
            self.fields[name].explain(text)

    @property
    def shown(self) -> list[str]:
        """The inputs that there are, on top or behind the button."""
        arranged = (*self._first.children, *self._rest.children)
        return [name for name, field in self.fields.items() if field.widget in arranged]

    def unfold(self, shown: bool) -> None:
        """Show the inputs that are behind the button, or hide them."""
        self._rest.layout.display = None if shown else "none"
        self._fold.description = "Fewer inputs" if shown else f"{len(self._rest.children)} more inputs"

    def show(self, state: State) -> None:
        """Show a state and offer it to the panel, as if it were entered."""
        self._show(state)
        self._offer(next(iter(self.fields)), self._accepted())

    def _show(self, state: State) -> None:
        for name, field in self.fields.items():
            field.show(getattr(state, name))

    def _enter(self, name: str) -> None:
        """Offer what the inputs show, unless it is what there is: then only what is wrong was said."""
        state = self._accepted()
        if state != self.state:
            self._offer(name, state)
        else:
            self._tell()

    def _accepted(self) -> State:
        """Return what the inputs show, the last good value of those that hold a bad one."""
        texts = {}
        for name, spec in specs(self.state).items():
            try:
                texts[name] = spec.check(name, self.fields[name].text)
                self.fields[name].refuse()
            except InputError as error:
                self._refuse(name, [error])
        return replace(self.state, **texts)  # type: ignore[type-var]

    def _offer(self, entered: str, state: State) -> None:
        before, self.state = self.state, state  # who is told of the change looks at it
        try:
            self._change(state)
        except InputError as error:
            self.state = before
            found: dict[str, list[InputError]] = {}
            for problem in error.problems:
                found.setdefault(problem.field if problem.field in self.fields else entered, []).append(problem)
            for name, problems in found.items():
                self._refuse(name, problems)
        except (SimulationError, MemoryError) as error:  # of a panel that simulates at once
            self.state = before
            self._refuse(entered, [InputError(entered, self.fields[entered].text, text_of(error))])
        self._tell()

    def _tell(self) -> None:
        known = specs(self.state)
        self._refused(", ".join(known[name].label for name, field in self.fields.items() if field.refused))

    def _refuse(self, name: str, problems: Iterable[InputError]) -> None:
        """Say next to an input what is wrong with it, or with what it made wrong."""
        labels = {name: spec.label for name, spec in specs(self.state).items()}
        self.fields[name].refuse(*(renamed(problem, labels) for problem in problems))
        if self.fields[name].widget in self._rest.children:
            self.unfold(True)


class Panel(Observed, ABC):
    """A part of the page that turns a state, which is what a form shows, into a result and figures of it.

    Attributes:
        presets: What the page offers to begin with.
        form: The inputs.
        controls: They, as they are laid out.
        views: Figures, and what is above them.
    """

    presets: tuple[Preset, ...]
    form: Form[Any]
    controls: widgets.Widget
    views: widgets.Widget

    def __init__(self) -> None:
        super().__init__()
        self._focus: tuple[str, ...] = ()
        self._part: Mapping[str, str] = {}

    @property
    @abstractmethod
    def result(self) -> xr.Dataset | None:
        """What the figures show, None before the first one."""

    @abstractmethod
    def scenario(self) -> Any:
        """Return the Scenario or LinkScenario of the state (of a what-if the first one)."""

    @abstractmethod
    def files(self) -> Mapping[str, str]:
        """Return what can be saved, by file name: scenarios as TOML, data as CSV."""

    @abstractmethod
    def commands(self) -> Commands:
        """Return the command lines that give the same result."""

    @abstractmethod
    def about(self) -> str:
        """Return what the command line gives: SHOWN, or another text where the figures are of other inputs."""

    @property
    def state(self) -> Any:
        """The last state that was accepted."""
        return self.form.state

    def set_state(self, state: Any) -> None:
        """Show a state and simulate it; what is refused is said next to its input."""
        self.form.show(state)

    def focus(self, names: Iterable[str]) -> None:
        """Have these inputs on top, or without any those that matter first of what is shown."""
        self._focus = tuple(names)
        self._arrange()

    def watch(self, part: Mapping[str, str]) -> None:
        """Say which part of the run can be watched, as ``btflow.motion.record`` takes it."""
        self._part = part

    def point(self, spot: Spot | None, said: str = "") -> None:
        """Point at a place of the figures and write something there; or at none."""
        del spot, said  # a panel without lessons has no places

    def _arrange(self) -> None:
        used = self._used()
        first = [name for name in self._focus or self._first() if name in used]
        self.form.arrange(first, [name for name in used if name not in first])

    def _used(self) -> Sequence[str]:
        """Return the inputs that have an effect, in order."""
        return tuple(self.form.fields)

    def _first(self) -> Sequence[str]:
        """Return those that matter first."""
        return self._used()


def _control(spec: Spec) -> Any:
    """Return the menu of a choice, the text of anything else."""
    common = {"description": spec.label, "tooltip": spec.help or spec.label}
    if isinstance(spec, Choice):
        shown = list(zip(spec.shown or spec.options, spec.options, strict=True))
        return widgets.Dropdown(options=shown, value=spec.default, **common)
    return widgets.Text(value=spec.default, continuous_update=False, **common)


def _slider(spec: Amount) -> Any:
    low, high, step = spec.span(spec.default)
    if spec.log:
        ends = log10(low), log10(high)
        step = (ends[1] - ends[0]) / STEPS
        return widgets.FloatLogSlider(value=low, min=ends[0], max=ends[1], step=step, **_SLIDER)
    kind = widgets.IntSlider if spec.kind == "count" else widgets.FloatSlider
    return kind(value=low, min=low, max=high, step=step, **_SLIDER)


def _step(slider: Any, number: float) -> float:
    """Return how many steps from its left end a slider stands at a number."""
    if isinstance(slider, widgets.FloatLogSlider):
        return float((log10(max(number, 1e-300)) - slider.min) / slider.step)
    return float((number - slider.min) / slider.step)


def _place(slider: Any, number: float) -> float:
    """Return the nearest number at which a slider can stand."""
    most = round((slider.max - slider.min) / slider.step)
    at = slider.min + min(max(round(_step(slider, number)), 0), most) * slider.step
    return float(10**at if isinstance(slider, widgets.FloatLogSlider) else at)
