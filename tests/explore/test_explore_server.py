"""The server without a browser: options, the token, what is closed, the bound on visitors, Ctrl-C."""

from __future__ import annotations

import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import psutil
import pytest
from explorer_socket import connect, end_of, get, visit
from program import Run

import btflow
from btflow.explore.lesson import texts
from btflow.explore.options import Options, options
from btflow.explore.serve import address
from validation.served import PATIENCE, Served, served

pytestmark = [pytest.mark.xdist_group(__name__), pytest.mark.slow]


_IN_THE_BACKGROUND = """import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell's script starts what it does not wait for
from btflow.__main__ import main
main()"""
_KINDS = {"docs": "docs", "notebooks": "notebook"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("server"), "--visitors", "1") as found:
        yield found


def test_the_token_is_needed(server: Served) -> None:
    for url in (server.bare, f"{server.bare}?token=wrong"):
        status, text, _ = get(url)
        assert status == 403
        assert "whole link, token included" in text


@pytest.mark.parametrize(
    "path",
    [
        *("api/contents", "api/kernels", "api/terminals", "login", "files/app.py", "page", "page/", "page/../app.py"),
        *("../../etc/passwd", "page/../../../../../../etc/passwd", "page/..%2f..%2f..%2f..%2f..%2f..%2fetc/passwd"),
        *("page//etc/passwd", "page/%00", "anywidget/../widget.py", "anywidget/extension.js", "page/lib/../../app.py"),
    ],
)
def test_nothing_but_the_page_is_there(server: Served, path: str) -> None:
    token = server.url.partition("?")[2]
    status, text, _ = get(f"{server.bare}{path}?{token}")
    assert status in (403, 404)
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("path", ["", "page/style.css", "page/lib/html-manager.js.gz", "anywidget/index.js", "channel"])
def test_files_of_the_page_need_the_token_too(server: Served, path: str) -> None:
    assert get(f"{server.bare}{path}")[0] == 403
    assert get(f"{server.bare}{path}?{server.url.partition('?')[2]}")[0] == (200 if path != "channel" else 400)


def test_what_a_lesson_leads_to_can_be_read(server: Served) -> None:
    """Each chapter and notebook, with its pictures; chapters that these lead to are there, too."""
    token = server.url.partition("?")[2]
    for path in {f"read/{kind}/{said[of]}.html" for said in texts().values() for kind, of in _KINDS.items()}:
        status, text, _ = get(f"{server.bare}{path}?{token}")
        assert (path, status) == (path, 200)
        assert not re.search(r"""src=["']https?:""", text)
        here = path.rpartition("/")[0]
        for picture in re.findall(r"""src=["'](figures/[^"']+)""", text):
            assert (picture, get(f"{server.bare}{here}/{picture}?{token}")[0]) == (picture, 200)
        for to in re.findall(r"""href=["'](?!http)([\w./-]+)\.html""", text):
            assert "/" not in to
            assert (files("btflow.docs") / f"{to}.md").is_file()
    assert get(f"{server.bare}read/docs/speech.html")[0] == 403
    for path in ("read/docs/nothing.html", "read/docs/../setup.html", "read/docs/figures/../speech.md", "read/docs/"):
        assert get(f"{server.bare}{path}?{token}")[0] == 404


def test_nothing_is_started_by_asking_for_it(server: Served) -> None:
    request = urllib.request.Request(server.url, data=b"{}", method="POST")
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=PATIENCE)
    assert caught.value.code == 405


def test_names_of_other_hosts_are_refused(server: Served) -> None:
    for host in ("evil.example", "evil.example:8866", "localhost.evil.example", "127.0.0.1.evil.example"):
        assert get(server.url, Host=host)[0] == 403
    port = server.bare.rstrip("/").rpartition(":")[2]
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert get(server.url, Host=host)[0] == 200


def test_the_page_is_allowed_nothing_from_elsewhere(server: Served) -> None:
    with urllib.request.urlopen(server.url, timeout=PATIENCE) as answer:
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'self'" in policy
        assert "http" not in policy
        cookie = answer.headers["Set-Cookie"]
    assert {"httponly", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}


def test_a_visitor_too_many_is_told_to_try_later(server: Served) -> None:
    with visit(server.url):
        status, told = end_of(connect(server.url))
    assert (status, "busy" in told, "Try again" in told) == (1013, True, True)


def test_a_port_that_is_taken_is_an_error(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = run("explore", "--no-browser", "--port", port)
    assert code == 2
    assert f"--port = {port}: is taken by another program" in err


def test_ctrl_c_stops_with_one_line(server: Served) -> None:
    with visit(server.url):
        under_way = psutil.Process(server.process.pid).children(recursive=True)
        assert len(under_way) >= 3
        server.interrupt()
    assert psutil.wait_procs(under_way, timeout=PATIENCE)[1] == []
    assert server.process.returncode == 0
    text = server.log.read_text(encoding="utf-8")
    assert text.endswith("The explorer has stopped.\n")
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("way", "program"),
    [
        (signal.SIGTERM, ("-m", "btflow")),
        (signal.SIGTERM, ("-c", _IN_THE_BACKGROUND)),
        (signal.SIGKILL, ("-m", "btflow")),
    ],
)
def test_however_it_ends_nothing_is_left(tmp_path: Path, way: signal.Signals, program: tuple[str, ...]) -> None:
    with served(tmp_path, program=program) as server:
        with visit(server.url):
            under_way = psutil.Process(server.process.pid).children(recursive=True)
            assert len(under_way) >= 3  # what forks, a visitor's process, and multiprocessing's tracker of resources
            server.process.send_signal(way)
            server.process.wait(PATIENCE)
        assert psutil.wait_procs(under_way, timeout=PATIENCE)[1] == []


@pytest.mark.parametrize(
    ("command", "given", "said"),
    [
        ("explore", ("--port", "0"), ""),
        ("explore", ("--port", "http"), ""),
        ("explore", ("--ip", "here"), ""),
        ("explore", ("--visitors", "0"), ""),
        ("explore", ("--memory", "1000"), ""),
        ("explore", ("--memory", "2 GB"), ""),
        ("explore", ("--ip", "192.0.2.1"), "'192.0.2.1': is not an address of this machine"),  # of RFC 5737: nobody's
        ("lab", ("--ip", "192.0.2.1"), "'192.0.2.1': is not an address of this machine"),
    ],
)
def test_bad_options_are_refused_before_anything_starts(
    run: Run, command: str, given: tuple[str, str], said: str
) -> None:
    code, _, err = run(command, "--no-browser", *given)
    assert code == 2
    assert err.startswith(f"btflow: error: {given[0]} = {said}")


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btflow.explore.options.find_spec", lambda _: None)
    with pytest.raises(btflow.InputError, match="needs the extra notebook"):
        options("127.0.0.1", None, "1", token=True)


def test_handouts_are_written_or_refused_in_a_sentence(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("handout", str(tmp_path / "pages"), "--lesson", "ledbat")
    file = tmp_path / "pages" / "ledbat.html"
    assert (code, out) == (0, f"{file}: {file.stat().st_size / 1e6:.2f} MB\n")
    for given, said in {
        (str(file),): "FOLDER = ",
        (str(tmp_path / "none"), "--lesson", "ledbta"): "lesson = 'ledbta': is none; allowed: slow-start",
        ("/dev/null/x",): "FOLDER = '/dev/null/x': cannot be made",
    }.items():
        code, out, err = run("handout", *given)
        assert (code, out) == (2, "") or (code, out) == (1, "")
        assert err.startswith(f"btflow: error: {said}")
    assert list(tmp_path.iterdir()) == [tmp_path / "pages"]


def test_the_token_is_long_new_and_only_left_out_on_demand() -> None:
    made = [options("127.0.0.1", None, "1", token=True).token for _ in range(2)]
    assert made[0] != made[1]
    assert len(made[0]) >= 32
    assert options("127.0.0.1", None, "1", token=False).token == ""


def test_addresses_can_be_opened() -> None:
    def shown(ip: str, token: str = "") -> str:
        return address(Options(ip, None, token, 1), 8866)

    assert shown("127.0.0.1", "abc") == "http://127.0.0.1:8866/?token=abc"
    assert shown("127.0.0.1", "a b&c") == "http://127.0.0.1:8866/?token=a%20b%26c"
    assert shown("0.0.0.0") == "http://localhost:8866/"
    assert shown("::1") == "http://[::1]:8866/"
