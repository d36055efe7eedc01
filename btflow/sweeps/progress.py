"""How far a sweep is: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from btflow.sweeps.parts import Part
from btflow.units.formatting import counted

PERIOD = 10.0
"""Time between two lines where there is no terminal [s]."""


class Progress:
    """Says nothing; a context manager, as those are that do."""

    def __init__(self, total: int, done: int, failed: int, noun: str = "swarms") -> None:
        self.noun, self.total, self.done, self.failed, self.before = noun, total, done, failed, done
        self.begun = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End what is shown."""

    def add(self, part: Part) -> None:
        """Count a part."""
        self.done += part.count
        self.failed += part.failed

    def look(self) -> None:
        """Show how far it is; called a few times a second."""

    @property
    def rate(self) -> float:
        """Runs per second since this run began."""
        return (self.done - self.before) / max(time.perf_counter() - self.begun, 1e-9)


class Lines(Progress):
    """A line on stderr every few seconds."""

    _said = 0.0

    def look(self) -> None:
        """Print a line if the last one is old enough."""
        now = time.perf_counter() - self.begun
        if now - self._said >= PERIOD:
            self._said = now
            self._print(f", {_time((self.total - self.done) / self.rate)} left" if self.rate else "")

    def __exit__(self, *_: Any) -> None:
        if self._said:
            self._print(f", {_time(time.perf_counter() - self.begun)}")

    def _print(self, end: str) -> None:
        failed = f", {self.failed:,} failed" if self.failed else ""
        of = counted(self.total, self.noun.removesuffix("s"))
        text = f"btflow: {self.done:,} of {of}{failed}, {self.rate:.3g} {self.noun}/s{end}"
        print(text, file=sys.stderr, flush=True)


class Bar(Progress):
    """A bar on a terminal (tqdm)."""

    def __enter__(self) -> Self:
        from tqdm import tqdm

        form = "{percentage:3.0f}% of {total_fmt}{unit} |{bar}| {elapsed}, {remaining} left, {rate_fmt}{postfix}"
        unit = f" {self.noun}" if self.total != 1 else f" {self.noun.removesuffix('s')}"
        self.bar = tqdm(
            total=self.total, initial=self.done, bar_format=form, unit=unit, dynamic_ncols=True, smoothing=0.1
        )
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.close()

    def look(self) -> None:
        """Draw the bar."""
        if self.failed:
            self.bar.set_postfix_str(f"{self.failed:,} failed", refresh=False)
        self.bar.update(self.done - self.bar.n)


def progress(shown: bool, total: int, done: int, failed: int, noun: str = "swarms") -> Progress:
    """Return what shows how far a sweep is, if anything is to be shown."""
    kind = (Bar if sys.stderr.isatty() else Lines) if shown else Progress
    return kind(total, done, failed, noun)


def _time(seconds: float) -> str:
    """Return a time as ``1:02:03``, without the hours if there are none."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
