"""Live figures in a notebook: ``scenario.explore()``."""

from typing import Any

import ipywidgets as widgets
import xarray as xr

from btflow.errors import InputError
from btflow.explore import still
from btflow.explore.figure import beside
from btflow.explore.form import Form
from btflow.explore.inputs import inputs, renamed
from btflow.explore.views import LINK, LINKED, Asked, Canvas, see
from btflow.explore.watch import Run
from btflow.link.scenario import LinkScenario
from btflow.options import MAX_SEED, whole_number
from btflow.swarm.scenario import Scenario


class Explorer(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A model's parameters beside its figures, which follow them.

    Attributes:
        scenario: The model with what was set last.
        form: The inputs.
        canvas: The figures.
    """

    def __init__(self, scenario: Scenario | LinkScenario, seed: int = 0) -> None:
        self.scenario = scenario
        self._seed = seed
        self._first = scenario
        state, self._names = inputs(scenario)
        self.canvas: Canvas[Asked] = Canvas(see, LINK if isinstance(scenario, LinkScenario) else LINKED, run=self._run)
        self.form: Form[Any] = Form(state, self._change, self.canvas.stage.refuse)
        super().__init__([beside(self.form.box(), self.canvas.stage.widget)])
        self.canvas.ask(Asked(scenario, seed))
        self.canvas.first()

    def __repr__(self) -> str:
        return f"<Explorer {self.scenario.name}> {self.scenario.size()}: a widget, which a notebook shows"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return still.beside(super()._repr_mimebundle_(**options), self.canvas)

    @property
    def result(self) -> xr.Dataset | None:
        """What the figures show; None before the first."""
        return self.canvas.seen.result if self.canvas.seen else None

    def _run(self) -> Run:
        return Run(self.scenario, self._seed, {})

    def _change(self, state: Any) -> None:
        """Simulate with what differs from the model that was given, but not with what has no effect then.

        That keeps its value, out of sight until it has one again: an `rtt` while there is an `internet`.
        """
        given = {name: getattr(state, field) for field, name in self._names.items()}
        changed = {name: text for name, text in given.items() if text != self._first.parameters[name]}
        try:
            outdated = self._first.document.assigner.outdated
            without = {name for by, text in changed.items() for name in outdated(changed, {by: text})}
            self.scenario = self._first.set(**{n: text for n, text in changed.items() if n not in without})
        except InputError as error:
            fields = {name: field for field, name in self._names.items()}
            raise renamed(error, fields) from None
        for field, name in self._names.items():
            self.form.fields[field].widget.layout.display = None if name in self.scenario.parameters else "none"
        self.canvas.ask(Asked(self.scenario, self._seed))


def checked(scenario: object, seed: object) -> tuple[Scenario | LinkScenario, int]:
    """Return what is to be explored; InputError if it cannot be."""
    if not isinstance(scenario, Scenario | LinkScenario):
        raise InputError("scenario", scenario, "is not a scenario", 'such as btflow.load("rao2010")')
    return scenario, whole_number("seed", seed, 0, MAX_SEED)
