"""Processes in namespaces that take lines and answer by lines."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import IO, Any

from btflow.errors import SimulationError
from validation.clients.network import inside

ROOT = Path(__file__).parents[2]
"""Where Python finds the drivers."""


class Child:
    """A process in a namespace, in a session of its own: a Ctrl-C is for the test bed alone."""

    def __init__(self, name: str, namespace: str, command: list[str], log: IO[str]) -> None:
        """Start it.

        Args:
            name: What it is called in messages.
            namespace: Where it runs.
            command: Program and arguments.
            log: Takes what it says on standard error.
        """
        self.name = name
        self._log = log
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            inside(namespace, *command),
            stdin=pipe,
            stdout=pipe,
            stderr=log,
            text=True,
            start_new_session=True,
            cwd=ROOT,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self.output = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """Number of the process; ``ip netns exec`` becomes the program."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def tell(self, lines: str) -> None:
        """Send it some lines."""
        try:
            self._input.write(lines + "\n")
            self._input.flush()
        except BrokenPipeError:
            raise self.fault() from None

    def line(self) -> str:
        """Return its next line.

        Raises:
            SimulationError: It has ended.
        """
        line = self.output.readline()
        if not line:
            raise self.fault()
        return line

    def message(self) -> dict[str, Any]:
        """Return its next line, which is JSON."""
        return dict(json.loads(self.line()))

    def rest(self) -> str:
        """Return all that it still says, once it has ended."""
        return self.output.read()

    def fault(self) -> SimulationError:
        """Return the error that it has ended before its time, with the last words of all processes."""
        self._log.flush()
        said = Path(self._log.name).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return SimulationError(f"{self.name} ended before its time: {said[-1] if said else 'it said nothing'}")
