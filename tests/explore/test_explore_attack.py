"""Strangers who mean harm: plain HTTP and websocket clients against a server of their own."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
import websocket
from busy import PATIENCE
from explorer_socket import Visitor, answers, get, message, visit

from btflow.explore.server import LONGEST, passes
from validation.served import Served, served

pytestmark = [pytest.mark.xdist_group(__name__), pytest.mark.slow]

VISITORS = 3
CONTROL = "jupyter.widget.control"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("attacked"), "--visitors", str(VISITORS)) as found:
        yield found


@pytest.fixture(scope="module")
def visitor(server: Served) -> Visitor:
    return visit(server.url)


def still_served(visitor: Visitor) -> None:
    """Check that the server and the visitor's process answer."""
    with closing(visitor.socket()) as connection:
        connection.send_binary(message("kernel_info_request", {}))
        assert answers(connection, "kernel_info_reply")
    assert visitor.alive()


def ended(connection: websocket.WebSocket) -> bool:
    """Read until the server ends a connection."""
    try:
        while connection.recv_data()[0] != websocket.ABNF.OPCODE_CLOSE:
            pass
    except websocket.WebSocketTimeoutException:
        return False
    except (websocket.WebSocketException, OSError):
        pass
    return True


def states(connection: websocket.WebSocket) -> dict[str, dict[str, object]]:
    """Return the state of every widget of a page, by its id."""
    channel = uuid.uuid4().hex
    opening = {"comm_id": channel, "target_name": CONTROL, "data": {}}
    connection.send_binary(message("comm_open", opening, metadata={"version": "1.0.0"}))
    connection.send_binary(message("comm_msg", {"comm_id": channel, "data": {"method": "request_states"}}))
    found = answers(connection, "comm_msg")[-1][1]["data"]["states"]
    return {name: model["state"] for name, model in found.items()}


@pytest.mark.parametrize(
    "kind",
    [
        *("execute_request", "complete_request", "inspect_request", "debug_request", "shutdown_request"),
        *("history_request", "interrupt_request", "create_subshell_request", "input_reply", "comm_close", "no_such"),
    ],
)
@pytest.mark.parametrize("channel", ["shell", "control", "stdin", "iopub", "elsewhere"])
def test_messages_that_are_no_input_of_the_page_do_not_pass(kind: str, channel: str) -> None:
    assert not passes(message(kind, {"comm_id": "a", "code": "1", "data": {"method": "update"}}, channel))


def test_only_changes_of_widgets_and_their_common_channel_pass() -> None:
    assert passes(message("comm_msg", {"comm_id": "a", "data": {"method": "update", "state": {}}}))
    assert passes(message("comm_open", {"comm_id": "a", "target_name": CONTROL}))
    assert not passes(message("comm_open", {"comm_id": "a", "target_name": "jupyter.widget"}))
    assert not passes(message("comm_msg", {"comm_id": "a", "data": {"method": "eval"}}))
    assert not passes(message("comm_msg", {"comm_id": ["a"], "data": {"method": "update"}}))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"x", "text", b"\xff" * 8, b"\xff" * 4000, (6).to_bytes(8, "little"), (63).to_bytes(8, "little") * 64),
        *(message("comm_msg", 1)[:-20], message("comm_msg", {})[:56] + b"[" * 100_000),
    ],
    ids=range(9),  # a message has a number of its own in every process
)
def test_what_is_no_message_is_told_apart_at_once(data: object) -> None:
    with pytest.raises(ValueError, match="not a message"):
        passes(data)


def test_no_code_of_a_visitor_runs(visitor: Visitor, tmp_path: Path) -> None:
    target = tmp_path / "written"
    code = {"code": f"open({str(target)!r}, 'w')", "silent": False, "store_history": False, "user_expressions": {}}
    with closing(visitor.socket()) as connection:
        for channel in ("shell", "control", "stdin", "iopub"):
            connection.send_binary(message("execute_request", code | {"allow_stdin": False}, channel))
        connection.send_binary(message("kernel_info_request", {}))
        kinds = {kind for kind, _ in answers(connection, "kernel_info_reply")}
    assert kinds <= {"status", "kernel_info_reply"}
    assert not target.exists()


def test_absurd_values_of_inputs_end_nothing(visitor: Visitor) -> None:
    absurd: list[Any] = [float("nan"), 1e308, -1, None, [], {"a": [[]]}, True, "\x00\ud800", "9" * 5000, "1e9999 s"]
    absurd.append("x" * 200_000)
    changes = [dict.fromkeys(("value", "index", "children", "max", "_esm"), value) for value in absurd]
    wrong = [{"method": "update", "state": []}, {"method": "custom"}, {"method": "custom", "content": {"save": {}}}]
    with closing(visitor.socket()) as connection:
        found = states(connection)
        assert len(found) > 50
        for name in [*list(found)[::9], "unknown"]:
            for data in [*wrong, *({"method": "update", "state": change} for change in changes)]:
                connection.send_binary(message("comm_msg", {"comm_id": name, "data": data}))
        connection.send_binary(message("kernel_info_request", {}))
        assert answers(connection, "kernel_info_reply")
    still_served(visitor)


@pytest.mark.parametrize(
    "data", [b"\xff" * 8, b"nothing", b"\x00" * (LONGEST + 1)], ids=["no text", "text", "too long"]
)
def test_what_is_no_message_ends_the_connection_only(visitor: Visitor, data: bytes) -> None:
    with closing(visitor.socket()) as connection:
        connection.send_binary(data)
        assert ended(connection)
    still_served(visitor)


def test_a_socket_needs_the_cookie_the_origin_and_the_name(visitor: Visitor) -> None:
    for refused in (
        {"cookie": None},
        {"cookie": visitor.cookie[:-9] + '00000000"'},
        {"cookie": visitor.cookie.replace("username-127-0-0-1-", "username-127-0-0-1-1")},
        {"origin": "http://evil.example"},
        {"host": "evil.example"},
        {"kernel": str(uuid.uuid4())},
    ):
        with pytest.raises(websocket.WebSocketBadStatusException) as caught:
            visitor.socket(**refused)
        assert caught.value.status_code in (403, 404)
    assert get(f"{visitor.bare}api/kernels/{uuid.uuid4()}", Cookie=visitor.cookie)[0] == 404


def test_the_cookie_of_another_server_opens_nothing(visitor: Visitor) -> None:
    name, value = visitor.cookie.split("=", 1)
    other = name.replace(name.rpartition("-")[2], "1")
    assert get(visitor.bare, Cookie=f"{name}={value.replace(name, other)}")[0] == 403
    assert get(visitor.bare, Cookie=f"{other}={value}")[0] == 403


@pytest.mark.parametrize("length", [10_000, 100_000])
def test_long_addresses_are_refused_or_read(visitor: Visitor, length: int) -> None:
    try:
        status = get(f"{visitor.bare}nowhere?{'a' * length}", Cookie=visitor.cookie)[0]
    except OSError:
        status = 400  # closed while we write
    assert status in (400, 404, 431)
    still_served(visitor)


def test_half_a_request_holds_nobody_up(visitor: Visitor) -> None:
    address = ("127.0.0.1", int(visitor.bare.rstrip("/").rpartition(":")[2]))
    halves = [socket.create_connection(address) for _ in range(200)]
    try:
        for half in halves:
            half.sendall(b"GET / HTTP/1.1\r\nHost: 127")
        still_served(visitor)
    finally:
        for half in halves:
            half.close()


def test_a_page_that_vanishes_while_it_is_answered_ends_nothing(visitor: Visitor) -> None:
    """The last test of this module looks whether the server wrote of a closed socket."""
    for _ in range(20):
        connection = visitor.socket()
        channel = uuid.uuid4().hex
        connection.send_binary(message("comm_open", {"comm_id": channel, "target_name": CONTROL, "data": {}}))
        connection.send_binary(message("comm_msg", {"comm_id": channel, "data": {"method": "request_states"}}))
        connection.recv_data()
        assert connection.sock is not None
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no farewell
        connection.sock.close()
    still_served(visitor)


def test_more_visitors_at_once_than_allowed(server: Served, visitor: Visitor) -> None:
    assert visitor.alive()
    with ThreadPoolExecutor(10) as pool:
        statuses = [status for status, _, _ in pool.map(lambda _: get(server.url), range(10))]
    assert sorted(statuses) == [200] * (VISITORS - 1) + [503] * (11 - VISITORS)


def test_a_process_that_dies_is_told_of_and_its_place_is_free(server: Served) -> None:
    kernels = [child for child in psutil.Process(server.process.pid).children() if "forked.py" in str(child.cmdline())]
    assert len(kernels) == VISITORS
    kernels[0].kill()
    _until(lambda: "A visitor's process has ended" in server.log.read_text(encoding="utf-8"))
    _until(lambda: get(server.url)[0] == 200)


def test_a_nursery_that_dies_is_started_again(server: Served) -> None:
    for child in psutil.Process(server.process.pid).children():
        command = child.cmdline()
        if "forked.py" in str(command):
            child.kill()
        if "btflow.explore.nursery" in command:
            os.kill(child.pid, signal.SIGKILL)
    _until(lambda: "it is started again" in server.log.read_text(encoding="utf-8"))
    _until(lambda: get(server.url)[0] == 200)


def test_nothing_of_all_that_filled_the_terminal(server: Served) -> None:
    text = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in text
    assert "ping" not in text
    assert len(text.splitlines()) < 25, text


def _until(done: object, seconds: float = PATIENCE) -> None:
    assert callable(done)
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.2)
