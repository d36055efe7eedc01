"""`btflow explore`: compile, serve, open a browser, and stop on Ctrl-C."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import typer

from btflow.errors import InputError
from btflow.explore import nursery
from btflow.explore.nursery import Births
from btflow.explore.options import LOCAL, PORT, Options, say

ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1") | {
    "MALLOC_ARENA_MAX": "2"
}
"""What bounds the threads and the reserved memory of a visitor's process, and lets one that imported NumPy fork."""

_TRIES = 20


def main(options: Options, *, browser: bool) -> None:
    """Serve the explorer until Ctrl-C or SIGTERM.

    Raises:
        InputError: The address or the port is not to be had.
    """
    from btflow.explore import server

    sockets, port = bound_port(options)
    if not options.token:
        say("Warning: there is no token; whoever reaches this address may use the explorer.")
    if options.ip not in LOCAL:
        say("Warning: the page is sent in plain text; put a server with TLS before it if the network is not yours.")
    url = address(options, port)

    def ready() -> None:
        typer.echo(f"The explorer is at\n\n    {url}\n\nCtrl-C stops it.")
        sys.stdout.flush()
        if browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the server has its own: it ends like Ctrl-C
    with (
        tempfile.TemporaryDirectory(prefix="btflow-", ignore_cleanup_errors=True) as folder,  # nobody else may look
        _births(folder) as births,
    ):
        if not births.wait():
            raise RuntimeError("the simulator could not be compiled; see above")
        server.serve(options, sockets, ready, births, folder)
    say("The explorer has stopped.")


@contextmanager
def _births(folder: str) -> Iterator[Births]:
    """Keep what visitors' processes come from, which compiles the simulator, or loads it, to begin with."""
    os.environ.update(ONE_THREAD | {"IPYTHONDIR": str(Path(folder) / "ipython")})
    births = Births(str(Path(folder) / "nursery") if nursery.POSSIBLE else "", say)
    try:
        yield births
    finally:
        births.stop()


def address(options: Options, port: int, path: str = "/") -> str:
    """Return the page's address, token included."""
    host = "localhost" if options.ip in ("0.0.0.0", "::") else f"[{options.ip}]" if ":" in options.ip else options.ip
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
