"""The steps of a lesson beside its panel: what to do, a button that does it, and then what is to be seen and why."""

import html
from collections.abc import Callable

import ipywidgets as widgets

from btflow.explore.form import Panel
from btflow.explore.lesson import Lesson, Step
from btflow.explore.panel import differences, specs
from btflow.explore.spots import SPOTS


class Guide:
    """Leads through a lesson; hidden while there is none.

    What is to be seen is told once the inputs are those of the step, whoever has set them.

    Attributes:
        widget: All of it.
        lesson: The lesson that is given, None for none.
        number: Of its step, from 1 on.
    """

    def __init__(self, panel: Panel, leave: Callable[[], None], moved: Callable[[], None]) -> None:
        """Make it; `leave` is called when the reader wants another lesson, `moved` at another step."""
        self._panel, self._moved = panel, moved
        self.lesson: Lesson | None = None
        self.number = 1
        self._text, self._told = widgets.HTML(), widgets.HTML()
        self._do = _button("", self.do)
        self._back, self._next = _button("Back", lambda: self.go(-1)), _button("Next", lambda: self.go(1))
        self._all = _button("All lessons", leave)
        ways = widgets.HBox([self._back, self._next, self._all])
        self._do.add_class("btflow-do")
        self.widget = widgets.VBox([self._text, self._do, self._told, ways], layout={"display": "none"})
        for part, name in ((self.widget, "guide"), (self._told, "told"), (ways, "ways")):
            part.add_class(f"btflow-{name}")

    @property
    def step(self) -> Step:
        """The step that is given."""
        assert self.lesson is not None
        return self.lesson.steps[self.number - 1]

    def teach(self, lesson: Lesson | None, number: int = 1) -> None:
        """Give a step of a lesson, or no lesson."""
        self.lesson, self.number = lesson, number
        self.widget.layout.display = None if lesson else "none"
        self._panel.focus(lesson.inputs if lesson else ())
        self.follow()

    def go(self, by: int) -> None:
        """Go to another step; what the inputs have stays, so that there is something to guess."""
        assert self.lesson is not None
        self.number = min(max(self.number + by, 1), len(self.lesson.steps))
        if by < 0:
            self.do()
        self.follow()
        self._moved()

    def do(self) -> None:
        """Set the inputs of the step."""
        self._panel.set_state(self.step.state)

    def follow(self) -> None:
        """Tell what is to be seen if the inputs are those of the step, and point at it once it is drawn."""
        if self.lesson is None:
            self._panel.point(None)
            self._panel.watch({})
            return
        step, done = self.step, self._panel.state == self.step.state
        self._panel.watch(step.watch or {})
        count = len(self.lesson.steps)
        self._text.value = (
            f"<h2>{html.escape(self.lesson.title)}</h2>"
            f'<p class="btflow-ask"><b>Step {self.number} of {count}.</b> {html.escape(step.ask)}</p>'
        )
        self._do.description = self._says(step)
        self._do.layout.display = "none" if done else None
        said = f"<p><b>See:</b> {html.escape(step.notice)}</p><p><b>Why:</b> {html.escape(step.why)}</p>"
        said += "<p><b>Motion</b>, above the figures, has it to watch.</p>" if step.watch is not None else ""
        self._told.value = f'<div role="status">{said}{self._further()}</div>' if done else ""
        self._back.disabled, self._next.disabled = self.number == 1, self.number == count
        result = self._panel.result
        spot = SPOTS[step.spot](result) if done and step.spot and result is not None else None
        self._panel.point(spot, step.said)

    def _says(self, step: Step) -> str:
        """Return what the button does: the inputs that it sets."""
        known, differ = specs(step.state), differences(step.state, self._panel.state)
        if len(differ) > 2:
            return "Set it up"
        return "Do it: " + ", ".join(f"{known[name].label} {text}" for name, text in differ.items())

    def _further(self) -> str:
        """Return where it goes on, after the last step."""
        assert self.lesson is not None
        if self.number < len(self.lesson.steps):
            return ""
        notebook, docs = self.lesson.notebook, self.lesson.docs
        return (
            f"<p>It goes on in the notebook {_link('notebooks', notebook)} (<code>btflow lab</code> runs it) and in "
            f"the chapter {_link('docs', docs)} of the documentation. Change any input and see what follows.</p>"
        )


def _link(kind: str, name: str) -> str:
    """Return a link to what the server has to read."""
    return f'<a href="read/{kind}/{name}.html" target="_blank">{name}</a>'


def _button(text: str, act: Callable[[], None]) -> widgets.Button:
    made = widgets.Button(description=text)
    made.on_click(lambda _: act())
    return made
