"""Which units to hand out next, and how many at once: about a second's work, less towards the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from btflow.sweeps.parts import Part
from btflow.sweeps.plan import Plan
from btflow.sweeps.work import BUDGET, Task

GROWTH = 4.0
"""A task has at most so many times the units of the last one that came back."""


class Backlog:
    """The units that are left to run, in order; what came back undone goes first."""

    def __init__(self, plan: Plan, pending: Iterable[range], left: int) -> None:
        self._plan, self._pending = plan, iter(pending)
        self._again: deque[Task] = deque()
        self._rest: range = range(0)
        self._left = left
        self._size = 1.0

    @property
    def any(self) -> bool:
        """Whether anything is left to hand out."""
        return bool(self._again) or self._left > 0

    def next(self, workers: int) -> Task | None:
        """Return a task for one of so many workers; None if nothing is left."""
        if self._again:
            return self._again.popleft()
        if not self._rest:
            self._rest = next(self._pending, range(0))
        fair = -(-self._left // (2 * workers))
        count = min(len(self._rest), max(1, min(int(self._size), fair)))
        if count == 0:
            return None
        taken, self._rest = self._rest[:count], self._rest[count:]
        self._left -= count
        return self._plan.task(taken.start, count)

    def back(self, task: Task, part: Part) -> None:
        """Take back what a task has not done of its units, and learn from how long the others took."""
        if part.count:
            self._size = min(part.count * GROWTH, max(1.0, part.count * BUDGET / max(part.elapsed, 1e-6)))
        if part.count < task.count:
            self._again.append(task.part(task.first + part.count, task.count - part.count))

    def retry(self, task: Task) -> None:
        """Take back a task whose process went away: its units one by one, to find the one that is to blame."""
        for unit in range(task.first, task.end):
            self._again.append(task.part(unit, 1, task.tries + (task.count == 1)))
