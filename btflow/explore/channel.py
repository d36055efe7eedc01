"""The socket between a page and its visitor's process: it lets the messages of widgets through, and no others."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1
from tornado.websocket import WebSocketClosedError
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

_parts: Callable[[bytes], tuple[str, list[bytes]]] = deserialize_msg_from_ws_v1

LONGEST = 2**20
"""Longest message of a page [B]; what inputs send is a few kB, and a figure tells its layout."""
PING = 30.0
"""Time between two signs of life [s]."""

_CONTROL = "jupyter.widget.control"
_ASKS = ("kernel_info_request", "comm_info_request")
_METHODS = ("update", "request_state", "request_states", "custom")
_FIRST, _MOST = 5, 64
"""Bounds on the number of offsets of a message: of its channel, its four parts, and its buffers."""
_UNREADABLE = 1007
"""Status of RFC 6455 with which a socket is closed for what is no message."""


def passes(message: object) -> bool:
    """Return whether a message goes on to the visitor's process.

    What may pass: questions about the process and its widgets, the opening of the channel for all widgets' states,
    and changes of widgets.

    Raises:
        ValueError: It is no message of Jupyter's protocol.
    """
    if not isinstance(message, bytes) or not _FIRST < int.from_bytes(message[:8], "little") < _MOST:
        raise ValueError("not a message")  # Jupyter would read as many offsets as the first says, even 2**64
    try:
        channel, parts = _parts(message)
        header, content = json.loads(parts[0]), json.loads(parts[3])
        kind = header["msg_type"]
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError("not a message") from error
    if channel != "shell" or not isinstance(content, dict):
        return False
    return kind in _ASKS or _of_widget(kind, content)


def _of_widget(kind: object, content: dict[str, Any]) -> bool:
    """Return whether a message opens the common channel of widgets, uses it, or changes a widget."""
    if not isinstance(content.get("comm_id"), str):
        return False
    if kind == "comm_open":
        return bool(content.get("target_name") == _CONTROL)
    data = content.get("data")
    return kind == "comm_msg" and isinstance(data, dict) and data.get("method") in _METHODS


class Channel(VoilaKernelWebsocketHandler):  # type: ignore[misc]
    """A page's socket."""

    ping_interval = PING  # Tornado's own signs of life, in seconds; Jupyter's are left out below
    ping_timeout = PING

    async def open(self, kernel_id: str) -> None:
        """Connect to the visitor's process."""
        with contextlib.suppress(Exception):
            await self.connection.connect()
            self.settings["explorer"].opened(kernel_id)
            return
        self.close(reason=f"no process {kernel_id}")

    def on_message(self, message: object) -> None:
        """Hand on what may pass; what is not even a message ends the connection."""
        try:
            if passes(message):
                super().on_message(message)
        except Exception:
            self.close(_UNREADABLE, "not a message of a widget")

    def write_message(self, message: Any, binary: bool = False) -> Any:
        """Send a message to the page, if it is still there."""
        try:
            sent = super().write_message(message, binary)
        except WebSocketClosedError:  # it left before it was told
            return None
        if sent is not None:
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())
        return sent

    def on_close(self) -> None:
        """Forget the connection, if there was one."""
        if getattr(self, "connection", None) is not None:
            super().on_close()
            self.settings["explorer"].closed(self.kernel_id)
