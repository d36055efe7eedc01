"""The link to the state of a page, and the files that it saves: a small widget of our own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

_PAGE = files("btflow.explore") / "page"


class Share(anywidget.AnyWidget):
    """A field with the link, a button that copies it, and buttons that save files.

    Attributes:
        opened: The query string that the page was opened with, once the browser told it.
        query: The one that brings back what is shown.
    """

    _esm = (_PAGE / "share.js").read_text(encoding="utf-8")
    opened = traitlets.Unicode("").tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)

    def __init__(self, files_of: Callable[[], Mapping[str, str]]) -> None:
        """Make the widget; `files_of` returns what there is to save, by file name."""
        super().__init__()
        self._files_of = files_of
        self.on_msg(self._asked)

    def _asked(self, _widget: object, message: Any, _buffers: object) -> None:
        kind = message.get("save") if isinstance(message, dict) else None
        for name, text in self._files_of().items():
            if name.endswith(f".{kind}"):
                self.send({"name": name, "text": text})
