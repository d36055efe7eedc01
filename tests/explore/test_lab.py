"""`btflow lab`: which folder it opens, and that it is JupyterLab with a token."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from importlib.resources import files
from pathlib import Path

import pytest
from no_clock import until

import btflow
from btflow.explore import serve
from btflow.explore.options import Options
from validation.served import PATIENCE, served

pytestmark = pytest.mark.xdist_group(__name__)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return notebooks as a wheel installs them."""
    folder = tmp_path / "site-packages" / "notebooks"
    folder.mkdir(parents=True)
    for name in ("01_a.ipynb", "02_b.ipynb"):
        (folder / name).write_text("{}", encoding="utf-8")
    monkeypatch.setattr(serve, "files", lambda _: folder)
    return folder


def test_in_a_checkout_it_is_the_folder_itself(tmp_path: Path) -> None:
    assert serve.notebooks(tmp_path) == Path(str(files("btflow.notebooks")))
    assert list(tmp_path.iterdir()) == []


def test_installed_notebooks_are_copied_once(
    installed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = serve.notebooks(tmp_path)
    assert target == tmp_path / "btflow-notebooks"
    assert sorted(path.name for path in target.iterdir()) == ["01_a.ipynb", "02_b.ipynb"]
    (target / "01_a.ipynb").write_text("mine", encoding="utf-8")
    (target / "02_b.ipynb").unlink()
    assert capsys.readouterr().err == ""
    serve.notebooks(tmp_path)
    assert (target / "01_a.ipynb").read_text(encoding="utf-8") == "mine"
    assert (target / "02_b.ipynb").read_text(encoding="utf-8") == "{}"
    assert capsys.readouterr().err == "Kept 01_a.ipynb as it is; btflow's own differs.\n"
    assert installed.is_dir()


@pytest.mark.usefixtures("installed")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "btflow-notebooks").write_text("a file", encoding="utf-8")
    with pytest.raises(btflow.InputError, match="cannot be written"):
        serve.notebooks(tmp_path)


def test_without_a_folder_for_jupyters_files_no_address_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "file" / "runtime"))
    with pytest.raises(btflow.InputError, match=r"JUPYTER_RUNTIME_DIR = '.*: cannot be made: .*; allowed: "):
        serve.run_lab(Options("127.0.0.1", None, "token", 1), browser=False)
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize("before", [None, 0o755])
def test_no_other_user_reads_what_has_the_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], before: int | None
) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others themselves
        os.chmod(name, 0o755)
        runtime = Path(name, "data", "runtime")
        if before is not None:
            runtime.mkdir(parents=True)
            runtime.chmod(before)
        monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(runtime))
        serve.check_runtime()
        assert ("was open to other users" in capsys.readouterr().err) == (before is not None)
        with serve._private(runtime / "open.html") as file:
            file.write("token")
        assert (runtime / "open.html").stat().st_mode & 0o777 == 0o600
        assert [_read_by_nobody(path) for path in (runtime, runtime / "open.html")] == [False, False]
        os.chown(runtime, 65534, 65534)
        os.chmod(runtime, 0o755)
        with pytest.raises(btflow.InputError, match="is another user's"):
            serve.check_runtime()
        assert _read_by_nobody(runtime)
        page = serve._page_to("http://localhost/?token=secret", runtime)
        assert "secret" not in page  # which the browser's command line has
        assert not _read_by_nobody(runtime / "open.html")


def _read_by_nobody(path: Path) -> bool:
    """Return whether the user nobody, to whom nothing else belongs, reads a file or lists a folder."""
    command = ["ls", str(path)] if path.is_dir() else ["cat", str(path)]
    return subprocess.run(command, user=65534, group=65534, extra_groups=[], capture_output=True).returncode == 0


def test_no_command_line_of_the_explorers_browser_has_the_token(tmp_path: Path) -> None:
    browser, told = tmp_path / "browser", tmp_path / "told"
    browser.write_text(f"#!/bin/sh\necho $@ > {told}.new && mv {told}.new {told} && sleep 600\n", encoding="utf-8")
    browser.chmod(0o700)
    run = [sys.executable, "-m", "btflow", "explore"]
    own = {"BROWSER": str(browser), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(run, env=os.environ | own, stdout=subprocess.PIPE, text=True) as explorer:
        try:
            until(told.exists)
            assert explorer.stdout is not None
            token = next(line for line in explorer.stdout if "token=" in line).partition("token=")[2].strip()
            page = Path(told.read_text(encoding="utf-8").strip().removeprefix("file://"))
            assert token in page.read_text(encoding="utf-8")
            assert page.stat().st_mode & 0o077 == 0
            of_all = subprocess.run(["ps", "-A", "-ww", "-o", "args"], capture_output=True, text=True, check=True)
            assert str(page) in of_all.stdout
            assert token not in of_all.stdout
        finally:
            subprocess.run(["pkill", "-f", str(browser)], check=False)
            explorer.terminate()
    assert not page.exists()


_TAKEN = """
import socket
from btflow.explore import serve
from btflow.explore.options import Options
other = socket.create_server(("127.0.0.1", 0))  # between the two times that the port is bound
serve.bound_port = lambda *_: ([], other.getsockname()[1])
serve.run_lab(Options("127.0.0.1", None, "token", 1), browser=False)
"""


def test_no_address_is_told_of_a_port_that_another_program_took(tmp_path: Path) -> None:
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in ("RUNTIME", "CONFIG", "DATA")}
    run = [sys.executable, "-c", _TAKEN]
    done = subprocess.run(run, env=os.environ | own, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert "is not available" in done.stderr
    assert "http://" not in done.stdout + done.stderr


def test_kernels_have_sockets_where_the_path_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/run/user/0/jupyter")
    assert serve.transport() == "ipc"
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", f"/run/{'x' * 60}")
    assert serve.transport() == "tcp"


def test_it_is_jupyterlab_with_a_token_that_stops_on_ctrl_c(tmp_path: Path) -> None:
    with served(tmp_path, command="lab") as server:
        bare, _, page = server.bare.partition("lab")
        assert page == "/tree/01_first_swarm.ipynb"
        end = f"?{server.url.partition('?')[2]}"
        for _ in range(3000):
            try:
                with urllib.request.urlopen(f"{bare}api/contents{end}", timeout=PATIENCE) as answer:
                    assert b"content" in answer.read()
                break
            except urllib.error.URLError as error:
                time.sleep(0.2)
                assert not isinstance(error, urllib.error.HTTPError)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{bare}api/contents", timeout=PATIENCE)
        assert caught.value.code == 403
        with urllib.request.urlopen(server.url, timeout=PATIENCE) as answer:
            assert b"jupyter-config-data" in answer.read()
        words = server.log.read_text(encoding="utf-8").split()  # nothing but where it is and how to stop it
        with urllib.request.urlopen(f"{bare}api/kernels{end}", data=b"{}", timeout=PATIENCE):
            pass  # it has a key of its own in a file
        runtime = tmp_path / "jupyter" / "runtime"
        found = {path.name.partition("-")[0]: path for path in (runtime, *runtime.iterdir()) if not path.is_socket()}
        assert found.keys() == {"runtime", "jpserver", "kernel", "jupyter_cookie_secret"}
        assert [name for name, path in found.items() if path.stat().st_mode & 0o077] == []
        server.interrupt()
    first = words.index("The") if words[0] == "Port" else 0  # another program may have the usual one
    assert words[first : first + 4] == ["The", "notebooks", "are", "in"]
    assert words[words.index("at") :] == ["at", server.url, "Ctrl-C", "stops", "it."]
