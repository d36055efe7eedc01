"""At the end of a run: which tests were left out of it, and how to run them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest


class LeftOut:
    """A plugin of the process that starts the workers."""

    def __init__(self) -> None:
        self.tests: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker tells: all leave out the same."""
        self.tests = getattr(node, "workeroutput", {}).get("left_out", self.tests)  # a worker that crashed has none

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the files, with how many tests of each."""
        if not self.tests:
            return
        files = Counter(test.partition("::")[0] for test in self.tests)
        terminalreporter.section(f"{len(self.tests)} tests left out; make test-all runs them, too")
        terminalreporter.line(", ".join(f"{file} ({count})" for file, count in sorted(files.items())))
