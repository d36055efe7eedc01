"""`btflow explore`: compile, serve, open a browser, and stop on Ctrl-C."""

from __future__ import annotations

import errno
import math
import socket
import subprocess
import sys
import threading
import time
import webbrowser

import typer

from btflow.errors import InputError
from btflow.explore.options import LOCAL, PORT, Options

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
    warm()
    url = address(options, port)

    def ready() -> None:
        typer.echo(f"The explorer is at\n\n    {url}\n\nCtrl-C stops it.")
        sys.stdout.flush()
        if browser:
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    server.serve(options, sockets, ready)
    _say("The explorer has stopped.")


def address(options: Options, port: int) -> str:
    """Return the page's address, token included."""
    host = "localhost" if options.ip in ("0.0.0.0", "::") else f"[{options.ip}]" if ":" in options.ip else options.ip
    return f"http://{host}:{port}/" + (f"?token={options.token}" if options.token else "")


def warm() -> None:
    """Compile the kernels in a process of its own, unless they are in the cache; visitors load them."""
    told = time.monotonic() + 3.0
    child = subprocess.Popen([sys.executable, "-m", "btflow.explore.warm"])
    try:
        while child.poll() is None:
            if time.monotonic() > told:
                _say("Compiling the simulator: half a minute on the first start.")
                told = math.inf
            time.sleep(0.1)
    except BaseException:
        child.kill()
        child.wait()
        raise
    if child.returncode:
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
