"""A visitor without a browser: HTTP and the websocket of Jupyter's protocol, byte by byte."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import websocket
from busy import PATIENCE

PROTOCOL = "v1.kernel.websocket.jupyter.org"


def get(url: str, timeout: float = PATIENCE, **headers: str) -> tuple[int, str, Mapping[str, str]]:
    """Return the status, the body and the headers of an answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
            return answer.status, answer.read().decode(), dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace"), dict(error.headers)


@dataclass
class Visitor:
    """A page that is open: its server, its process's name and its cookie."""

    bare: str
    kernel: str
    cookie: str

    def socket(self, kernel: str = "", **options: Any) -> websocket.WebSocket:
        """Open the socket of this visitor's process, or of another one."""
        url = f"{self.bare.replace('http', 'ws')}api/kernels/{kernel or self.kernel}/channels"
        given: dict[str, Any] = {"subprotocols": [PROTOCOL], "cookie": self.cookie, "timeout": PATIENCE} | options
        return websocket.create_connection(url, **given)

    def alive(self) -> bool:
        """Return whether the server says that the process lives."""
        return get(f"{self.bare}api/kernels/{self.kernel}", Cookie=self.cookie)[0] == 200


def visit(url: str) -> Visitor:
    """Open the page."""
    status, page, headers = get(url)
    assert status == 200, page
    found = re.search(r'"kernelId": *"([^"]+)"', page)
    assert found
    return Visitor(url.partition("?")[0], found[1], headers["Set-Cookie"].partition(";")[0])


def message(kind: str, content: object, channel: str = "shell", **more: Any) -> bytes:
    """Return a message as it goes over the socket."""
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": kind,
        "username": "",
        "session": "s",
        "date": "",
        "version": "5.3",
    }
    texts = [channel, header, {}, more.get("metadata", {}), content]
    parts = [texts[0].encode(), *(json.dumps(text).encode() for text in texts[1:])]
    offsets = [8 * (len(parts) + 2)]
    for part in parts:
        offsets.append(offsets[-1] + len(part))
    numbers = [len(offsets), *offsets]
    return b"".join(number.to_bytes(8, "little") for number in numbers) + b"".join(parts)


def read(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return the kind and the content of a message."""
    count = int.from_bytes(data[:8], "little")
    offsets = [int.from_bytes(data[8 * (i + 1) : 8 * (i + 2)], "little") for i in range(count)]
    return json.loads(data[offsets[1] : offsets[2]])["msg_type"], json.loads(data[offsets[4] : offsets[5]])


def answers(socket: websocket.WebSocket, until: str, seconds: float = PATIENCE) -> list[tuple[str, dict[str, Any]]]:
    """Return what comes until a message of a kind does."""
    found: list[tuple[str, dict[str, Any]]] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found.append(read(bytes(socket.recv_data()[1])))
        if found[-1][0] == until:
            return found
    raise AssertionError(f"no {until} in {[kind for kind, _ in found]}")
