"""A visitor without a browser: HTTP, and the frames of the explorer's socket."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psutil
import websocket

from btflow.explore.visitor import pack, unpack
from validation.served import PATIENCE, Served


def get(url: str, timeout: float = PATIENCE, **headers: str) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the body and the headers of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
            return answer.status, answer.read().decode(errors="replace"), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace"), dict(error.headers)


def cookie_of(url: str) -> str:
    """Open the page and return the cookie that its token earns."""
    status, page, headers = get(url)
    assert status == 200, page
    return headers["Set-Cookie"].partition(";")[0]


def connect(url: str, **options: Any) -> websocket.WebSocket:
    """Open the socket of a page."""
    given: dict[str, Any] = {"cookie": cookie_of(url), "timeout": PATIENCE} | options
    return websocket.create_connection(f"{url.partition('?')[0].replace('http', 'ws')}channel", **given)


@dataclass
class Visitor:
    """A page that is open."""

    socket: websocket.WebSocket
    widgets: list[str]
    """Names of its widgets."""

    def send(self, widget: object, data: object) -> None:
        """Send a message to a widget."""
        self.socket.send_binary(message(widget, data))

    def answers(self) -> bool:
        """Return whether the visitor's process answers."""
        self.send("none", {})
        return any(found["header"]["msg_type"] == "status" for found in heard(self.socket))

    def ended(self) -> tuple[int, str]:
        """Read until the server ends the connection; return its status and what it says."""
        return end_of(self.socket)


@contextmanager
def visit(url: str) -> Iterator[Visitor]:
    """Open the page, with its socket, until its widgets are there."""
    socket = connect(url)
    try:
        widgets = []
        for found in heard(socket):
            if found["header"]["msg_type"] == "display_data":
                break
            widgets.append(found["content"]["comm_id"])
        yield Visitor(socket, widgets)
    finally:
        socket.close()


def message(widget: object, data: object, **more: object) -> bytes:
    """Return a message to a widget as it goes over the socket."""
    return pack({"header": {"msg_id": "1"}, "content": {"comm_id": widget, "data": data}} | more)


def heard(socket: websocket.WebSocket) -> Iterator[Any]:
    """Yield what comes until the connection ends."""
    while True:
        kind, data = socket.recv_data()
        if kind == websocket.ABNF.OPCODE_CLOSE:
            return
        yield unpack(data)[0]


def end_of(socket: websocket.WebSocket) -> tuple[int, str]:
    """Read until the server ends a connection; return its status and what it says, 0 if it says nothing."""
    try:
        while True:
            kind, data = socket.recv_data()
            if kind == websocket.ABNF.OPCODE_CLOSE:
                return int.from_bytes(data[:2], "big"), data[2:].decode()
    except (websocket.WebSocketConnectionClosedException, OSError):
        return 0, ""


def processes(server: Served) -> list[psutil.Process]:
    """Return the visitors' processes of a server, the one that is ready for the next visitor among them."""
    return [process for parent in fork_servers(server) for process in parent.children()]


def fork_servers(server: Served) -> list[psutil.Process]:
    """Return what visitors' processes are forked from."""
    children = psutil.Process(server.process.pid).children()
    return [child for child in children if _is_fork_server(child)]


def _is_fork_server(child: psutil.Process) -> bool:
    try:
        return "multiprocessing.forkserver" in str(child.cmdline())
    except psutil.Error:  # it has just ended
        return False
