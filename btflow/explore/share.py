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
        live: Whether the page is the explorer's, whose address may be changed.
    """

    _esm = (_PAGE / "share.js").read_text(encoding="utf-8")
    opened = traitlets.Unicode("").tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    live = traitlets.Bool(True).tag(sync=True)

    def __init__(self, files_of: Callable[[], Mapping[str, str]], *, live: bool) -> None:
        """Make the widget.

        Args:
            files_of: Returns what there is to save, by file name.
            live: See the class.
        """
        super().__init__(live=live)
        self._files_of = files_of
        self.on_msg(self._asked)

    def _asked(self, _widget: object, message: Any, _buffers: object) -> None:
        kind = message.get("save") if isinstance(message, dict) else None
        for name, text in self._files_of().items():
            if name.endswith(f".{kind}"):
                self.send({"name": name, "text": text})
