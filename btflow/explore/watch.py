"""A run that is watched in place of its figures: recorded in the background when it is asked for, and then played."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import ipywidgets as widgets

from btflow import motion
from btflow.explore.motion import Motion
from btflow.explore.warm import wait_for_swarms
from btflow.explore.work import Listeners, Look, Work
from btflow.link.scenario import LinkScenario
from btflow.motion import Trace
from btflow.swarm.scenario import Scenario

FIGURES, MOTION = "Figures", "Motion"


class Run(NamedTuple):
    """What is recorded: a model, the seed of its random numbers, and which part of it, as `motion.record` takes it."""

    scenario: Scenario | LinkScenario
    seed: int
    part: Mapping[str, str]


class Watch:
    """Two buttons, for figures and for motion, and the player.

    Args:
        run: Returns what the inputs stand for.
        figures: What makes place for the player.
        said: Takes what went wrong, or nothing.
        progress: Takes the share done.
        busy: Takes whether something is recorded.

    Attributes:
        choice: The buttons.
        widget: The player.
    """

    def __init__(
        self,
        run: Callable[[], Run],
        figures: widgets.Widget,
        said: Callable[[str], None],
        progress: Callable[[float], None],
        busy: Callable[[bool], None],
    ) -> None:
        self._of_inputs, self._figures, self._said = run, figures, said
        self._recorded: Run | None = None
        self.choice = widgets.ToggleButtons(options=[FIGURES, MOTION], value=FIGURES)
        self.choice.add_class("btflow-choice")
        self.widget = Motion()
        self.widget.layout.display = "none"
        self.widget.add_class("btflow-player")
        self._work: Work[Run, tuple[Run, Trace]] = Work(_record, Listeners(self._play, said, progress, busy, said))
        self.choice.observe(lambda _: self.follow(), "value")

    @property
    def wanted(self) -> bool:
        """Whether motion is shown."""
        return bool(self.choice.value == MOTION)

    def follow(self) -> None:
        """Record the run of the inputs if it is watched and is another than before."""
        self._figures.layout.display = "none" if self.wanted else None
        self.widget.layout.display = None if self.wanted else "none"
        if not self.wanted:
            self.widget.playing = False
            self._work.cancel()
            self._said("")
        elif (run := self._of_inputs()) != self._recorded:
            self._said("")
            self.widget.add_class("btflow-late")  # what is there until then is of other inputs
            self._work.ask(run)
        else:
            self._work.cancel()
            self.widget.remove_class("btflow-late")

    def cancel(self) -> None:
        """End what is recorded."""
        self._work.cancel()

    def wait(self, timeout: float = 60.0) -> bool:
        """Wait until what was asked for is there; return whether that is so within a time [s]."""
        return self._work.wait(timeout)

    def _play(self, found: tuple[Run, Trace]) -> None:
        self._said("")
        self._recorded, self.widget.trace = found
        self.widget.remove_class("btflow-late")
        self.widget.playing = True


def _record(run: Run, look: Look) -> Iterator[tuple[Run, Trace]]:
    look(0.0)
    if not isinstance(run.scenario, LinkScenario):
        wait_for_swarms(look)
    start, length = (run.part.get(name) for name in ("start", "length"))
    yield run, motion.record(run.scenario, seed=run.seed, start=start, length=length, progress=look)
