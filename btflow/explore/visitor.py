"""A visitor's process: it makes the page's widgets, and speaks to the browser in the messages of Jupyter's widgets.

There is no kernel and no shell. What comes from the browser is for a widget that is there, or it is dropped.
"""

import asyncio
import json
import logging
import os
import signal
import socket
import struct
from collections.abc import Iterable
from functools import partial
from typing import Any

import comm
from comm.base_comm import BaseComm

from btflow.explore import warm
from btflow.explore.limits import bound_memory

SIZE = struct.Struct("<I")
"""What is before each frame on the way between server and process: how long it is [B]."""

_VIEW = "application/vnd.jupyter.widget-view+json"


def pack(message: dict[str, Any], buffers: Iterable[bytes | memoryview] = ()) -> bytes:
    """Return a message as a frame: the number of its parts, how long each is [B], its JSON, and its buffers."""
    parts = [json.dumps(message, allow_nan=False).encode(), *map(bytes, buffers)]
    return struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts)) + b"".join(parts)


def unpack(frame: bytes) -> tuple[Any, list[memoryview]]:
    """Return the message of a frame, and its buffers.

    Raises:
        ValueError: It is none.
    """
    try:
        (count,) = struct.unpack_from("<I", frame)
        lengths = struct.unpack_from(f"<{count}I", frame, 4)
    except (struct.error, OverflowError, MemoryError):
        raise ValueError("not a frame") from None
    view, at, parts = memoryview(frame), 4 + 4 * count, []
    for length in lengths:
        parts.append(view[at : at + length])
        at += length
    if not parts or at != len(frame):
        raise ValueError("not a frame")
    return json.loads(bytes(parts[0])), parts[1:]


class Page:
    """The browser's page, as a visitor's process sees it.

    Args:
        writer: What leads to the server.
    """

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._answered: object = None

    def tell(self, kind: str, content: dict[str, Any], **more: Any) -> None:
        """Send a message, which says what message of the page it answers, if any."""
        buffers = more.pop("buffers", None) or ()
        message = {"header": {"msg_type": kind}, "parent_header": {"msg_id": self._answered}, "content": content}
        frame = pack(message | more, buffers)
        self._writer.write(SIZE.pack(len(frame)) + frame)

    def take(self, frame: bytes) -> None:
        """Hand a message to its widget, and tell the page that this is done: it then sends what has changed since.

        Raises:
            ValueError: It is no message.
        """
        message, buffers = unpack(frame)
        try:
            self._answered, widget = message["header"]["msg_id"], message["content"]["comm_id"]
        except (KeyError, TypeError):
            raise ValueError("not a message") from None
        if isinstance(widget, str):
            comm.get_comm_manager().comm_msg(None, "", message | {"buffers": buffers})  # type: ignore[arg-type]
        self.tell("status", {"execution_state": "idle"})
        self._answered = None


class Channel(BaseComm):
    """What a widget and its copy in the browser say to each other."""

    def __init__(self, page: Page, **given: Any) -> None:
        self._page = page
        super().__init__(**given)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Send a message."""
        content = {"comm_id": self.comm_id, "data": data or {}, **keys}
        self._page.tell(msg_type, content, metadata=metadata or {}, buffers=buffers)


def run(server: socket.socket, compiled: Any, megabytes: int) -> None:
    """Be a visitor's process until the server ends the connection.

    Args:
        server: Leads to the server.
        compiled: Shared number, the share of swarms' kernels that is compiled.
        megabytes: Bound on the data of this process [MB].
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends everything
    if not os.environ.get("BTFLOW_EXPLORE_LOG"):
        logging.disable()  # nothing that any stranger can cause
    warm.swarms_compiled = lambda: float(compiled.value)
    bound_memory(megabytes)
    code = 1
    try:
        asyncio.run(_run(server))
    except (
        asyncio.IncompleteReadError,
        ConnectionError,
        ValueError,
    ):  # the server has left, or what came is no message
        code = 0
    finally:
        os._exit(code)  # a simulation may be under way


async def _run(server: socket.socket) -> None:
    from btflow.explore.app import App

    reader, writer = await asyncio.open_connection(sock=server)
    page = Page(writer)
    comm.create_comm = partial(Channel, page)
    page.tell("display_data", {"data": {_VIEW: {"model_id": App().widget.model_id}}})
    while True:
        (size,) = SIZE.unpack(await reader.readexactly(SIZE.size))
        page.take(await reader.readexactly(size))
