"""Strangers who mean harm: plain HTTP and websocket clients against a server of their own."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import websocket
from explorer_socket import Visitor, connect, cookie_of, end_of, fork_servers, get, heard, message, processes, visit
from no_clock import until

from btflow.explore.server import CROWDED, LONGEST, most_connections
from btflow.explore.visitor import pack, unpack
from validation.served import PATIENCE, Served, served

pytestmark = [pytest.mark.xdist_group(__name__), pytest.mark.slow]

VISITORS = 3
BUSY = 1013
"""Status of a socket for which there is no room."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("attacked"), "--visitors", str(VISITORS)) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(server: Served) -> Iterator[Visitor]:
    with visit(server.url) as found:
        yield found


@pytest.mark.parametrize(
    "frame",
    [
        *(b"", b"x", b"\xff" * 8, b"\xff" * 4000, struct.pack("<I", 2**31), struct.pack("<II", 1, 9)),
        *(struct.pack("<I", 0), struct.pack("<I", 0) * 9, struct.pack("<II", 1, 3) + b"not", pack({})[:-1]),
        *(struct.pack("<II", 1, 100_000) + b"[" * 100_000, pack({}) + b"more"),
    ],
    ids=range(12),
)
def test_what_is_no_frame_is_told_apart_at_once(frame: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        unpack(frame)


def test_a_frame_has_what_was_packed() -> None:
    packed = pack({"a": [1, "\ud800"]}, [b"first", memoryview(b"second"), b""])
    found, buffers = unpack(packed)
    assert found == {"a": [1, "\ud800"]}
    assert [bytes(buffer) for buffer in buffers] == [b"first", b"second", b""]


def test_no_code_of_a_visitor_runs(server: Served, visitor: Visitor, tmp_path: Path) -> None:
    target = tmp_path / "written"
    code = {"code": f"open({str(target)!r}, 'w')", "silent": False, "allow_stdin": False, "user_expressions": {}}
    for kind in ("execute_request", "comm_open", "input_reply", "debug_request", "shutdown_request"):
        header = {"msg_type": kind, "msg_id": "1"}
        for content in (code, code | {"comm_id": visitor.widgets[0], "target_name": "jupyter.widget", "data": code}):
            with visit(server.url) as other:
                other.socket.send_binary(pack({"header": header, "content": content}))
                other.send("none", {})
                kinds = {found["header"]["msg_type"] for found in until_answered(other)}
            assert kinds <= {"status"}
    assert not target.exists()


def until_answered(visitor: Visitor) -> Iterator[Any]:
    """Yield what comes up to an answer, or the end of the connection."""
    for found in heard(visitor.socket):
        yield found
        if found["header"]["msg_type"] == "status":
            return


def test_absurd_values_of_inputs_end_nothing(visitor: Visitor) -> None:
    absurd: list[Any] = [float("nan"), 1e308, -1, None, [], {"a": [[]]}, True, "\x00\ud800", "9" * 5000, "1e9999 s"]
    absurd.append("x" * 200_000)
    changes = [dict.fromkeys(("value", "index", "children", "max", "_esm"), value) for value in absurd]
    wrong: list[object] = [{"method": "update", "state": []}, {"method": "custom"}, {"method": "eval"}, [], None]
    wrong.append({"method": "custom", "content": {"save": {}}})
    updates = [{"method": "update", "state": change} for change in changes]
    assert len(visitor.widgets) > 50
    for name in [*visitor.widgets[::9], "unknown", ["list"], None]:
        for data in [*wrong, *updates]:
            text = json.dumps({"header": {"msg_id": "1"}, "content": {"comm_id": name, "data": data}}).encode()
            visitor.socket.send_binary(struct.pack("<II", 1, len(text)) + text)  # with NaN, which pack refuses
            assert next(until_idle(visitor))
    assert visitor.answers()


def until_idle(visitor: Visitor) -> Iterator[bool]:
    """Yield once the visitor's process has answered."""
    for found in heard(visitor.socket):
        if found["header"]["msg_type"] == "status":
            yield True


@pytest.mark.parametrize(
    "data",
    [b"\xff" * 8, b"nothing", pack({}), message("a", {})[:-1], b"\x00" * (LONGEST + 1)],
    ids=["no count", "text", "no message", "cut off", "too long"],
)
def test_what_is_no_message_ends_the_connection_only(server: Served, visitor: Visitor, data: bytes) -> None:
    with visit(server.url) as other:
        other.socket.send_binary(data)
        other.ended()
    assert visitor.answers()


def test_a_socket_needs_the_cookie_the_origin_and_the_name(server: Served) -> None:
    cookie = cookie_of(server.url)
    changed: list[dict[str, Any]] = [
        {"cookie": None},
        {"cookie": cookie[:-9] + '00000000"'},
        {"cookie": cookie.replace("btflow-", "btflow-1")},
        {"origin": "http://evil.example"},
        {"host": "evil.example"},
    ]
    for options in changed:
        with pytest.raises(websocket.WebSocketBadStatusException) as caught:
            connect(server.url, **options)
        assert caught.value.status_code == 403


def test_the_cookie_of_another_server_opens_nothing(server: Served) -> None:
    name, value = cookie_of(server.url).split("=", 1)
    other = "btflow-1"
    assert get(server.bare, Cookie=f"{name}={value}")[0] == 200
    assert get(server.bare, Cookie=f"{name}={value.replace(name, other)}")[0] == 403
    assert get(server.bare, Cookie=f"{other}={value}")[0] == 403


@pytest.mark.parametrize("length", [10_000, 100_000])
def test_long_addresses_are_refused_or_read(server: Served, visitor: Visitor, length: int) -> None:
    try:
        status = get(f"{server.url}&{'a' * length}")[0]
    except OSError:
        status = 400  # closed while we write
    assert status in (200, 400, 431)
    assert visitor.answers()


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: 127", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_many_connections_hold_nobody_up(server: Served, visitor: Visitor, begun: bytes) -> None:
    """They are silent, send half a request, or one without the token."""
    most = most_connections(VISITORS)
    address = ("127.0.0.1", int(server.bare.rstrip("/").rpartition(":")[2]))
    halves = []
    try:
        for _ in range(most + 300):
            halves.append(socket.create_connection(address))
            with suppress(OSError):  # it has given way
                halves[-1].sendall(begun)
        assert visitor.answers()
        assert get(server.url)[0] == 200
        assert psutil.Process(server.process.pid).num_fds() < most + 100
        assert server.log.read_text(encoding="utf-8").count(CROWDED) == 1
    finally:
        for half in halves:
            half.close()


def test_a_page_that_vanishes_while_it_is_answered_ends_nothing(server: Served, visitor: Visitor) -> None:
    """The last test of this module looks whether the server wrote of a closed socket."""
    for _ in range(20):
        connection = connect(server.url)
        connection.recv_data()
        assert connection.sock is not None
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no farewell
        connection.sock.close()
    assert visitor.answers()


def test_more_visitors_at_once_than_allowed(server: Served, visitor: Visitor) -> None:
    """One is there already; processes of pages that have just been closed are no visitors any more."""
    assert visitor.answers()
    with ExitStack() as stack, ThreadPoolExecutor(10) as pool:
        sockets = list(pool.map(lambda _: connect(server.url), range(10)))
        for one in sockets:
            stack.callback(one.close)
        kinds = [one.recv_data() for one in sockets]
        told = [int.from_bytes(data[:2], "big") for kind, data in kinds if kind == websocket.ABNF.OPCODE_CLOSE]
        assert told == [BUSY] * (11 - VISITORS)


def test_a_process_that_dies_is_told_of_and_its_place_is_free(server: Served, visitor: Visitor) -> None:
    with ExitStack() as stack:
        others = [stack.enter_context(visit(server.url)) for _ in range(VISITORS - 1)]
        assert end_of(connect(server.url))[0] == BUSY
        assert len(processes(server)) == VISITORS + 1
        killed = processes(server)  # who is ready for the next visitor, too
        for process in killed:
            process.kill()
        assert psutil.wait_procs(killed, timeout=PATIENCE)[1] == []  # to be killed takes a moment
        for one in (visitor, *others):
            assert "has ended" in one.ended()[1]
    until(lambda: "A visitor's process has ended" in server.log.read_text(encoding="utf-8"))
    with visit(server.url) as next_one:
        assert next_one.answers()


def test_a_fork_server_that_dies_is_started_again(server: Served) -> None:
    with visit(server.url) as before:
        for process in fork_servers(server):
            process.kill()
        with visit(server.url) as after:
            assert after.answers()
            assert before.answers()
    until(lambda: len(processes(server)) <= 1)


def test_nothing_of_all_that_filled_the_terminal(server: Served) -> None:
    text = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert "ping" not in text
    assert len(text.splitlines()) < 25, text
