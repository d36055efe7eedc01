"""What a panel of the explorer is: the page puts presets, links and downloads around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import ipywidgets as widgets
import xarray as xr

SHOWN = "The same numbers"
NOT_SHOWN = "The numbers of these inputs, which the figures do not show"

OWN = "btflow's own"
"""In place of a paper."""

Commands = Mapping[str, str]
"""Command lines: of a what-if by the side that each runs, A and B; of a link with its fluid by what each gives; of
anything else one, by an empty text."""


def in_flow(commands: Commands) -> Commands:
    """Return the command lines that run the same swarms in flow."""
    return {side: f"{text} --fidelity flow" for side, text in commands.items()}


@dataclass(frozen=True)
class Preset:
    """A published or teaching experiment, as one state of a panel.

    Attributes:
        paper: The paper with its year, or OWN: what the first menu has.
        figure: The paper's figure or table; empty for none.
        title: One line for people; figure and title together are of one preset of the paper only.
        state: What the panel shows.
        commands: The command lines that run the whole of it.
        note: What differs from the experiment because of the page's limits; empty if nothing does.
        beyond: Whether the paper has no such experiment.
    """

    paper: str
    figure: str
    title: str
    state: Any
    commands: Commands
    note: str = ""
    beyond: bool = False

    @property
    def entry(self) -> str:
        """What the menu of the paper's experiments has for it."""
        figure = f"{self.figure}: " if self.figure else ""
        return figure + self.title + " (beyond the paper)" * self.beyond


class Observed:
    """What calls those who want to know that it changes."""

    def __init__(self) -> None:
        self._observers: list[Callable[[], None]] = []

    def on_change(self, call: Callable[[], None]) -> None:
        """Have something called after each new state, and when work in the background ends."""
        self._observers.append(call)

    def _tell(self) -> None:
        for call in self._observers:
            call()


class Panel(Protocol):
    """A part of the page that turns a state into a result and figures of it."""

    presets: tuple[Preset, ...]
    """What the page offers to begin with."""
    widget: widgets.Widget
    """Inputs and figures."""

    @property
    def state(self) -> Any:
        """The last state that was accepted."""

    @property
    def result(self) -> xr.Dataset | None:
        """What the figures show, None before the first one."""

    def set_state(self, state: Any) -> None:
        """Show a state and simulate it; what is refused is said next to its input."""

    def scenario(self) -> Any:
        """Return the Scenario or LinkScenario of the state (of a what-if the first one)."""

    def files(self) -> Mapping[str, str]:
        """Return what can be saved, by file name: scenarios as TOML, data as CSV."""

    def commands(self) -> Commands:
        """Return the command lines that give the same result."""

    def about(self) -> str:
        """Return what the command line gives: SHOWN, or another text where the figures are of other inputs."""

    def on_change(self, call: Callable[[], None]) -> None:
        """Have something called after each new state; and when work in the background ends."""
