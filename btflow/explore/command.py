"""`btflow explore`: compile, serve, open a browser, and stop on Ctrl-C."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
import threading
import webbrowser
from pathlib import Path

import typer

from btflow.errors import InputError
from btflow.explore import nursery
from btflow.explore.options import LOCAL, PORT, Options

ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What bounds the threads of a visitor's process, and lets a process that imported NumPy fork."""

_TRIES = 20


def main(options: Options, *, browser: bool) -> None:
    """Serve the explorer until Ctrl-C or SIGTERM.

    Raises:
        InputError: The port is not to be had.
    """
    from btflow.explore import server

    sockets, port = bound_port(options)
    if not options.token:
        _say("Warning: there is no token; whoever reaches this address may use the explorer.")
    if options.ip not in LOCAL:
        _say("Warning: the page is sent in plain text; put a server with TLS before it if the network is not yours.")
    url = address(options, port)

    def ready() -> None:
        typer.echo(f"The explorer is at\n\n    {url}\n\nCtrl-C stops it.")
        sys.stdout.flush()
        if browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    with tempfile.TemporaryDirectory(prefix="btflow-", ignore_cleanup_errors=True) as folder:  # nobody else may look
        os.environ.update(dict.fromkeys(ONE_THREAD, "1") | {"IPYTHONDIR": str(Path(folder) / "ipython")})
        place = str(Path(folder) / "nursery") if nursery.POSSIBLE else ""
        child = nursery.start(place) if place else subprocess.Popen([sys.executable, "-m", "btflow.explore.warm"])
        try:
            _wait(child)
            server.serve(options, sockets, ready, place)
        finally:
            child.kill()
            child.wait()
    _say("The explorer has stopped.")


def address(options: Options, port: int) -> str:
    """Return the page's address, token included."""
    host = "localhost" if options.ip in ("0.0.0.0", "::") else f"[{options.ip}]" if ":" in options.ip else options.ip
    return f"http://{host}:{port}/" + (f"?token={options.token}" if options.token else "")


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Wait until a process has compiled the simulator, or loaded it from the cache."""
    told = threading.Timer(3.0, _say, ["Compiling the simulator: half a minute on the first start."])
    told.start()
    try:
        done = child.stdout.readline() == nursery.READY if child.stdout else child.wait() == 0
    finally:
        told.cancel()
    if not done:
        raise RuntimeError("the simulator could not be compiled; see above")


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
            taken = error.errno == errno.EADDRINUSE
            reason = "is taken by another program" if taken else f"cannot be used: {error.strerror}"
            allowed = "another port, or none for a free one"
            raise InputError("--port", port, f"{reason} on {options.ip}", allowed) from None
        if port != ports[0]:
            _say(f"Port {ports[0]} is taken; this is port {port}.")
        return found, port
    raise InputError("--port", None, f"{first} to {ports[-1]} are all taken", "another one")


def _say(text: str) -> None:
    typer.echo(text, err=True)
