"""Adds up, over all processes of a test run, how long the notebooks took; together they have a limit."""

from __future__ import annotations

import pytest

NAME = "cpu_seconds"
"""Property in which each test of a notebook records its CPU time [s]."""
LONGEST = 480.0
"""CPU time of all notebooks together [s]: on a machine with nothing else to do, they are done sooner than that."""


class LessonTime:
    """A plugin of pytest that fails a run in which the notebooks took too long, and says how long they took."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what a test has recorded, in whichever process it ran."""
        if report.when == "call":
            self.seconds += [float(str(value)) for name, value in report.user_properties if name == NAME]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run that is all right otherwise."""
        if self.late and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how long the notebooks took."""
        if self.seconds:
            text = f"{len(self.seconds)} notebooks took {sum(self.seconds):.0f} s of CPU time together"
            terminalreporter.write_line(f"{text}; allowed: {LONGEST:.0f} s", red=self.late)

    @property
    def late(self) -> bool:
        """Whether they took longer than they may."""
        return sum(self.seconds) > LONGEST
