"""The commands `btflow explore` and `btflow lab`: what is served until Ctrl-C, where, and the browser opened on it.

The first compiles the simulator and serves its page, the second JupyterLab in the folder of the teaching notebooks.
"""

import errno
import html
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import warnings
import webbrowser
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import as_file, files
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

import typer

from btflow import termination
from btflow.errors import InputError
from btflow.explore.options import LAB_PORT, LOCAL, PORT, Options, say

ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1") | {
    "MALLOC_ARENA_MAX": "2"
}
"""What bounds the threads and the reserved memory of a visitor's process, and lets one that imported NumPy fork."""
VISITOR = ONE_THREAD | {"PYTHONSAFEPATH": "1"}
"""What a visitor's process has in its environment: it imports nothing from the working directory, too."""

_TRIES = 20


def run_explorer(options: Options, *, browser: bool) -> None:
    """Serve the explorer until Ctrl-C or SIGTERM.

    Raises:
        InputError: The address or the port is not to be had.
    """
    from btflow.explore import server, warm

    sockets, port = bound_port(options)
    if not options.token:
        say("Warning: there is no token; whoever reaches this address may use the explorer.")
    if options.ip not in LOCAL:
        say("Warning: the page is sent in plain text; put a server with TLS before it if the network is not yours.")
    url = address(options, port)

    def ready() -> None:
        others = f"For others: {address(options, port, host=socket.gethostname())}\n" if options.ip in ANY else ""
        typer.echo(f"The explorer is at\n\n    {url}\n\n{others}Ctrl-C stops it.")
        sys.stdout.flush()
        if folder:
            threading.Thread(target=webbrowser.open, args=(_page_to(url, Path(folder)),), daemon=True).start()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have a program behind it ignore this
    signal.signal(signal.SIGTERM, _terminate)
    os.environ.update(VISITOR)
    with _folder() if browser else nullcontext() as folder, warm.compiled() as compiled:
        server.serve(options, sockets, ready, compiled)
    say("The explorer has stopped.")


def _terminate(*_: object) -> None:
    """Handle SIGTERM like Ctrl-C, which asyncio ends in order; the message differs."""
    termination.Terminated.came = True
    signal.raise_signal(signal.SIGINT)


def _folder() -> AbstractContextManager[str | None]:
    """Return a folder for the browser's page, or nothing if none can be made: the address is printed, too."""
    where = Path.home() if os.path.isdir("/snap/bin") else None  # a Snap sees no other files
    try:
        return tempfile.TemporaryDirectory(prefix="btflow-page-", dir=where, ignore_cleanup_errors=True)
    except OSError:
        return nullcontext()


def _page_to(url: str, folder: Path) -> str:
    """Return the address of a file that leads a browser to a page: every user sees a program's command line."""
    page = folder / "open.html"
    with _private(page) as file:
        file.write(f'<meta http-equiv="refresh" content="0;url={html.escape(url)}">')
    return page.as_uri()


def _private(path: str | Path) -> TextIO:
    """Open a new file to write, which nobody else can ever read."""
    Path(path).unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")


ANY = ("0.0.0.0", "::")
"""Stand for all addresses of this machine."""


def address(options: Options, port: int, path: str = "/", host: str = "localhost") -> str:
    """Return the page's address, token included; `host` names the machine where it listens on all its addresses."""
    if options.ip not in ANY:
        host = f"[{options.ip}]" if ":" in options.ip else options.ip
    return f"http://{host}:{port}{path}" + (f"?token={quote(options.token, safe='')}" if options.token else "")


def bound_port(options: Options, first: int = PORT) -> tuple[list[socket.socket], int]:
    """Return sockets on the port asked for, or on the first free one, and its number.

    Raises:
        InputError: There is none to be had.
    """
    from tornado.netutil import bind_sockets

    ports = [options.port] if options.port is not None else list(range(first, first + _TRIES))
    for port in ports:
        try:
            found = bind_sockets(port, options.ip)
        except OSError as error:
            if error.errno == errno.EADDRINUSE and options.port is None:
                continue
            raise _unbound(error, options.ip, port) from None
        if port != ports[0]:
            say(f"Port {ports[0]} is taken; this is port {port}.")
        return found, port
    raise InputError("--port", None, f"{first} to {ports[-1]} are all taken", "another one")


def _unbound(error: OSError, ip: str, port: int) -> InputError:
    """Return which option is to blame that an address cannot be listened on."""
    if error.errno == errno.EADDRINUSE:
        return InputError("--port", port, f"is taken by another program on {ip}", _ANOTHER)
    if error.errno in (errno.EACCES, errno.EPERM):
        return InputError("--port", port, f"cannot be used on {ip}: {error.strerror}", _ANOTHER)
    reason = "is not an address of this machine" if error.errno == errno.EADDRNOTAVAIL else f"fails: {error.strerror}"
    return InputError("--ip", ip, reason, "127.0.0.1, 0.0.0.0 for all of its, or ::1")


_ANOTHER = "another port, or none for a free one"

LONGEST_FOLDER = 50
"""Of Jupyter's files, for the sockets in it: a path has at most 104 B, of which the name of one takes 50."""
COPIES = "btflow-notebooks"
"""Folder that the notebooks are copied to, in the user's directory, where btflow is installed."""


def run_lab(options: Options, *, browser: bool) -> None:
    """Run JupyterLab until Ctrl-C; its address is told once it listens there.

    Raises:
        InputError: The port is not to be had, the notebooks cannot be copied, or no folder for Jupyter's files be made.
        SystemExit: Another program took the port while JupyterLab started, which says so.
    """
    from jupyterlab.labapp import LabApp

    check_runtime()
    folder = notebooks(Path.cwd())
    sockets, port = bound_port(options, LAB_PORT)
    for each in sockets:
        each.close()
    if options.ip not in LOCAL or not options.token:
        typer.echo("Warning: whoever opens this page can run programs as you.", err=True)
    page = address(options, port, first_page(folder))

    def ready() -> None:
        typer.echo(f"The notebooks are in {folder}\nJupyterLab is at\n\n    {page}\n\nCtrl-C stops it.")
        sys.stdout.flush()  # it may be a pipe, and JupyterLab says no more

    # About how extensions of the server are written: notebook_shim reads its every attribute, those deprecated, too.
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="traitlets")
    server = LabApp.initialize_server(argv=arguments(options, port, folder, browser=browser))
    _private(server.browser_open_file).close()  # it has the token, and Jupyter opens it to all
    server.io_loop.add_callback(ready)  # behind what binds the port, which JupyterLab wants to do itself
    server.start()


def first_page(folder: Path) -> str:
    """Return the path of the address that opens the first notebook of a folder."""
    first = next(iter(sorted(folder.glob("*.ipynb"))), None)
    return f"/lab/tree/{quote(first.name)}" if first else "/lab"


def arguments(options: Options, port: int, folder: Path, *, browser: bool) -> list[str]:
    """Return the command line of JupyterLab."""
    given = {
        "ServerApp.ip": options.ip,
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.answer_yes": True,  # to the question after Ctrl-C
        "ServerApp.open_browser": browser,
        "Application.log_level": "ERROR",  # of the server and of LabApp
        "ServerApp.allow_root": hasattr(os, "geteuid") and os.geteuid() == 0,  # as in a container
        "IdentityProvider.token": options.token,
        "LabApp.default_url": first_page(folder),
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",  # asks the network for nothing
        "KernelManager.transport": transport(),
    }
    return [f"--{name}={value}" for name, value in given.items()]


def transport() -> str:
    """Return how the server speaks to kernels: where it can, by sockets that nobody else on this machine can read."""
    from jupyter_core.paths import jupyter_runtime_dir

    return "tcp" if len(jupyter_runtime_dir()) > LONGEST_FOLDER else "ipc"


def check_runtime() -> None:
    """Have a folder for Jupyter's own files that nobody else may enter: whoever reads its token runs programs as we.

    Raises:
        InputError: Jupyter cannot write there, or the folder is another user's.
    """
    from jupyter_core.paths import jupyter_runtime_dir

    folder = jupyter_runtime_dir()
    try:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = "" if os.access(folder, os.W_OK) else "cannot be written"
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
    if not reason:
        found = os.stat(folder)
        if found.st_uid != os.geteuid():
            reason = "is another user's"
        elif found.st_mode & stat.S_ISVTX or os.path.samefile(folder, Path.home()):
            reason = "is not for these files alone"
        elif found.st_mode & 0o077:
            os.chmod(folder, 0o700)
            say(f"{folder} was open to other users of this machine; it is closed now.")
    if reason:
        raise InputError("JUPYTER_RUNTIME_DIR", folder, reason, "a folder that can be written, for Jupyter's own files")


def notebooks(here: Path) -> Path:
    """Return the folder of the notebooks: that of a checkout, or copies below a directory.

    A notebook that is there already is never overwritten.

    Raises:
        InputError: The copies cannot be written.
    """
    with as_file(files("btflow.notebooks")) as source:
        if (source.parent / "pyproject.toml").is_file() and os.access(source, os.W_OK):
            return source
        target = here / COPIES
        try:
            target.mkdir(exist_ok=True)
            for notebook in sorted(source.glob("*.ipynb")):
                copy = target / notebook.name
                if not copy.exists():
                    shutil.copyfile(notebook, copy)
                elif copy.read_bytes() != notebook.read_bytes():
                    typer.echo(f"Kept {copy.name} as it is; btflow's own differs.", err=True)
        except OSError as error:
            raise InputError(
                "btflow lab", str(target), f"cannot be written: {error.strerror}", "another folder"
            ) from None
        return target
