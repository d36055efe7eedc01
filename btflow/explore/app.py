"""The page of the explorer: lessons to choose from, panels, and around them presets, link and files."""

import html
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as widgets

from btflow.errors import InputError
from btflow.explore.form import Panel
from btflow.explore.guide import Guide
from btflow.explore.lesson import Lesson, read, texts
from btflow.explore.link_panel import LinkPanel
from btflow.explore.link_state import LinkState
from btflow.explore.panel import VERSION, Commands, Opened, Preset, from_query, to_query
from btflow.explore.saved import Share
from btflow.explore.swarm_panel import SwarmPanel, SwarmState
from btflow.explore.whatif_panel import WhatIfPanel, WhatIfState, scenario_of, settings

_OWN = "your own"
"""Of a state that is no preset's."""


class Frame:
    """A panel: a lesson or presets and its inputs on the left, its figures on the right, its command line below.

    Attributes:
        panel: The panel.
        guide: The lesson.
        widget: All of it.
    """

    def __init__(self, panel: Panel, leave: Callable[[], None], moved: Callable[[], None]) -> None:
        self.panel = panel
        self.guide = Guide(panel, leave, moved)
        self._presets: dict[str, dict[str, Preset]] = {}
        for preset in panel.presets:
            self._presets.setdefault(preset.paper, {})[preset.entry] = preset
        self._papers = widgets.Dropdown(options=list(self._presets), description="From", layout={"width": "100%"})
        self._menu = widgets.Dropdown(options=[_OWN], description="Preset", layout={"width": "100%"})
        self._note, self._command = widgets.HTML(), widgets.HTML()
        self._begin = widgets.VBox([self._papers, self._menu, self._note])
        left = widgets.VBox([self.guide.widget, self._begin, panel.controls])
        both = widgets.HBox([left, panel.views])
        self.widget = widgets.VBox([both, self._command])
        for part, name in ((self._begin, "presets"), (left, "left"), (both, "panel"), (self._command, "command")):
            part.add_class(f"btflow-{name}")
        self._quiet = False
        self._offer(self._papers.value)
        self._papers.observe(self._opened, "value")
        self._menu.observe(self._chosen, "value")
        panel.on_change(self._changed)
        self._changed()

    def teach(self, lesson: Lesson | None, number: int = 1) -> None:
        """Give a step of a lesson, or no lesson: then there are presets."""
        self.guide.teach(lesson, number)
        self._begin.layout.display = "none" if lesson else None

    def _opened(self, change: dict[str, str]) -> None:
        """Show the first preset of a paper that was chosen."""
        if not self._quiet:
            self.panel.set_state(next(iter(self._presets[change["new"]].values())).state)

    def _chosen(self, change: dict[str, str]) -> None:
        found = self._presets[self._papers.value].get(change["new"])
        if found is not None and not self._quiet:
            self.panel.set_state(found.state)

    def _offer(self, paper: str) -> None:
        """Have the presets of a paper in the menu."""
        options = (_OWN, *self._presets[paper])
        if self._menu.options != options:
            self._menu.options = options

    def _changed(self) -> None:
        """Name the preset that is shown, if any, and the command line, and follow the lesson."""
        shown = next((preset for preset in self.panel.presets if preset.state == self.panel.state), None)
        self._quiet = True
        try:
            if shown:
                self._papers.value = shown.paper
            self._offer(self._papers.value)
            self._menu.value = shown.entry if shown else _OWN
        finally:
            self._quiet = False
        note = shown.note if shown else ""
        whole = f" {_told('All of it', shown.commands)}" if shown and note else ""
        self._note.value = f"<p>{html.escape(note)}{whole}</p>" if note else ""
        self._command.value = f"<p>{_told(self.panel.about(), self.panel.commands())}</p>"
        self.guide.follow()


def _told(about: str, commands: Commands) -> str:
    """Return command lines as HTML: one on the line of what it is, several below it, each with its side."""
    lines = [f"{side}: " * bool(side) + f"<code>{html.escape(text)}</code>" for side, text in commands.items()]
    return f"{about}: {lines[0]}" if len(lines) == 1 else "<br>".join([f"{about}:", *lines])


PANELS: Mapping[str, tuple[str, type[Any], Callable[[Any], Panel]]] = {
    "link": ("One link", LinkState, LinkPanel),
    "swarm": ("One swarm", SwarmState, SwarmPanel),
    "whatif": ("What if", WhatIfState, WhatIfPanel),
}
"""Title, state and maker of each panel, by its name in links."""

LESSONS = "lessons"
"""Name of the page that lists them."""

_WELCOME = (
    "<p>Choose a question: each has a few steps, and a link or a swarm that you can change while you read. "
    "Or take <b>One link</b>, <b>One swarm</b> or <b>What if</b> and ask your own.</p>"
)


def _checked(found: Opened) -> Opened:
    """Return what a link opens; refused, and as it is without its values, if these do not go together."""
    both = settings(found.state) if isinstance(found.state, WhatIfState) else (found.state,)
    try:
        for setting in both if found.chosen else ():
            scenario_of(setting)
    except InputError as error:
        problems = (*found.problems, f"The link's {error.describe()}")
        without = found.lesson.steps[found.step - 1].state if found.lesson else PANELS[found.panel][1]()
        return replace(found, state=without, problems=problems, refused=True)
    return found


class App:
    """The whole page; panels are made when they are first opened.

    Attributes:
        widget: All of it.
    """

    def __init__(self) -> None:
        self._frames: dict[str, Frame] = {}
        self._problems = widgets.HTML()
        self._mended = widgets.Button(description="Open it without that")
        self._mended.on_click(lambda _: self._open(self._found))
        self._refused = widgets.VBox([self._problems, self._mended], layout={"display": "none"})
        self._refused.add_class("btflow-error")
        self._share = Share(self._files)
        self._share.observe(self._opened, "opened")
        titles = [("Lessons", LESSONS), *((title, name) for name, (title, _, _) in PANELS.items())]
        self._tabs = widgets.ToggleButtons(options=titles, value=LESSONS)
        self._tabs.observe(self._turned, "value")
        self._quiet = False
        self._found: Opened = Opened(LESSONS, None, ())
        head = widgets.HBox([widgets.HTML("<h1>btflow explorer</h1>"), self._tabs])
        self._list = self._lessons()
        self._body = widgets.VBox([self._list])
        self.widget = widgets.VBox([head, self._refused, self._body, self._share])
        for part, name in ((head, "head"), (self._tabs, "tabs"), (self._body, "body"), (self.widget, "page")):
            part.add_class(f"btflow-{name}")

    def _lessons(self) -> widgets.Widget:
        """Return the list of lessons: a question each, which begins it, and a line on it."""
        cards = []
        for name, said in texts().items():
            question = widgets.Button(description=said["title"])
            question.on_click(lambda _, name=name: self._teach(name))
            cards.append(widgets.VBox([question, widgets.HTML(f"<p>{html.escape(said['about'])}</p>")]))
            cards[-1].add_class("btflow-card")
        box = widgets.Box(cards)
        box.add_class("btflow-cards")
        return widgets.VBox([widgets.HTML(_WELCOME), box])

    def _teach(self, name: str, number: int = 1) -> None:
        """Begin a lesson."""
        lesson = read(name, PANELS[texts()[name]["panel"]][1])
        self._open(Opened(lesson.panel, lesson.steps[number - 1].state, (), lesson, number, chosen=True))

    @property
    def _name(self) -> str:
        """What is shown: the list of lessons, or the panel."""
        taught = [name for name, frame in self._frames.items() if frame.guide.lesson]
        return (taught or [LESSONS])[0] if self._tabs.value == LESSONS else str(self._tabs.value)

    def _frame(self, name: str, state: object = None, lesson: Lesson | None = None, step: int = 1) -> Frame:
        """Return a panel's frame, made in a state and with a step of a lesson if it is new.

        A browser tells each place of a slider that it draws: it must not be told one state after the other then. And it
        loses its place if inputs move while it makes them: they are where the lesson has them from the first moment.
        """
        if name not in self._frames:
            _, kind, make = PANELS[name]
            self._frames[name] = frame = Frame(make(state or kind()), self._leave, self._changed)
            frame.widget.layout.display = "none"
            frame.teach(lesson, step)
            frame.panel.on_change(self._changed)
            self._body.children = (*self._body.children, frame.widget)
        return self._frames[name]

    def _leave(self) -> None:
        """List all lessons."""
        self._end()
        self._show(LESSONS)

    def _end(self) -> None:
        """End the lesson that is given, if any."""
        for frame in self._frames.values():
            frame.teach(None)

    def _turned(self, change: dict[str, str]) -> None:
        if not self._quiet:
            self._end()
            self._show(change["new"])

    def _show(self, tab: str) -> None:
        """Show the list of lessons, or the lesson that is given, or a panel."""
        self._quiet = True
        try:
            self._tabs.value = tab
        finally:
            self._quiet = False
        name = self._name
        if name != LESSONS:
            self._frame(name)
        self._list.layout.display = None if name == LESSONS else "none"
        for each, frame in self._frames.items():
            frame.widget.layout.display = None if each == name else "none"
        self._share.saves = name != LESSONS
        self._changed()

    def _changed(self) -> None:
        """Bring the link up to date, once it is known how the page was opened."""
        if not self._share.opened:
            return
        if self._name == LESSONS:
            self._share.query = f"v={VERSION}"
        elif self._name in self._frames:
            frame = self._frames[self._name]
            guide = frame.guide
            self._share.query = to_query(self._name, frame.panel.state, guide.lesson, guide.number)

    def _opened(self, _change: object) -> None:
        """Show what the link of the page says; if some of it is refused, not before the reader wants the rest."""
        kinds = {name: kind for name, (_, kind, _) in PANELS.items()}
        self._found = _checked(from_query(self._share.opened.partition("?")[2], kinds))
        said = "".join(f"<p>{html.escape(problem)}</p>" for problem in self._found.problems)
        nothing = "<p>Nothing is drawn of it.</p>" if self._found.refused else ""
        self._problems.value = said and f'<div role="alert">{said}{nothing}</div>'
        self._mended.layout.display = None if nothing else "none"
        if not nothing:
            self._open(self._found)
        self._refused.layout.display = None if said else "none"

    def _open(self, found: Opened) -> None:
        """Show the list of lessons, a panel in a state, or a step of a lesson."""
        self._refused.layout.display = "none"
        if not found.chosen:
            self._end()
            self._show(LESSONS)
            return
        frame = self._frame(found.panel, found.state, found.lesson, found.step)
        for other in self._frames.values():
            if other is not frame:
                other.teach(None)
        if found.state != frame.panel.state:
            frame.panel.set_state(found.state)
        frame.teach(found.lesson, found.step)
        self._show(LESSONS if found.lesson else found.panel)

    def _files(self) -> Mapping[str, str]:
        return {} if self._name == LESSONS else self._frame(self._name).panel.files()
