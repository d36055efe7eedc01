"""A widget that plays a trace: in a notebook, and in the page."""

from typing import Any

import anywidget
import traitlets

from btflow.motion import trace as traces


class Motion(anywidget.AnyWidget):
    """Plays a recorded run, as wide as what it is in; nothing is shown while there is no trace.

    Args:
        trace: What ``btflow.motion.record`` returns; or None.

    Attributes:
        time: The simulated time that is shown [s]; both sides set it. While it plays it is told ten times a second.
        playing: Whether it plays; both sides set it. It does not start if the visitor prefers less motion.
    """

    _esm = traces.script()
    _css = traces.style()

    packed = traitlets.Bytes().tag(sync=True)
    """The trace, as ``Trace.packed`` has it."""
    time = traitlets.Float().tag(sync=True)
    playing = traitlets.Bool().tag(sync=True)

    def __init__(self, trace: traces.Trace | None = None, **options: Any) -> None:
        super().__init__(layout={"width": "100%"}, **options)
        self._trace: traces.Trace | None = None
        self.trace = trace

    @property
    def trace(self) -> traces.Trace | None:
        """What is played. Another trace is shown from the same simulated time on, or from its start."""
        return self._trace

    @trace.setter
    def trace(self, trace: traces.Trace | None) -> None:
        self._trace = trace
        with self.hold_sync():
            if trace is not None and not 0.0 <= self.time - trace.about["start"] <= trace.about["length"]:
                self.time = float(trace.about["start"])
            self.packed = b"" if trace is None else trace.packed()
