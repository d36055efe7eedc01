"""The options of `btflow explore`, checked before any work, and how whoever runs it is told."""

import ipaddress
import os
from dataclasses import dataclass
from importlib.util import find_spec

import typer

from btflow.errors import InputError
from btflow.files import extra
from btflow.options import parse_whole_number


def say(text: str) -> None:
    """Write a line."""
    typer.echo(text, err=True)


LOCAL = ("127.0.0.1", "localhost", "::1")
PORT, LAB_PORT = 8866, 8888
VISITORS = 12
MEGABYTES = 3600
"""Bound on the data of one visitor's process [MB], 1024 of which LLVM reserves and does not use. The largest requests
that pass take three quarters of it; ``python -m validation.visitor_memory`` prints their peaks."""
LEAST_MEGABYTES = 1800
"""The page with its smallest figures takes 1600, threads of the kernel included."""

_NEEDED = ("tornado", "ipywidgets", "anywidget", "jupyterlab")


@dataclass(frozen=True)
class Options:
    """How the page is served.

    Attributes:
        ip: Address to listen on.
        port: Port; None for the first free one from PORT on.
        token: What the link must hold; empty for none.
        visitors: Most visitors at once.
        memory: Bound on the data of one visitor's process [MB].
    """

    ip: str
    port: int | None
    token: str
    visitors: int
    memory: int = MEGABYTES


def options(
    ip: str,
    port: str | None,
    visitors: str = str(VISITORS),
    memory: str = str(MEGABYTES),
    *,
    token: bool,
    command: str = "explore",
) -> Options:
    """Return the options of the command line of `btflow explore` or `btflow lab`.

    Raises:
        InputError: One is wrong, or the extra ``notebook`` is not installed.
    """
    check_installed(command)
    import secrets  # every command reads the options' defaults, and this takes a while

    return Options(
        ip=_address(ip),
        port=None if port is None else parse_whole_number("--port", port, 1, 65535),
        token=(os.environ.get("BTFLOW_TOKEN") or secrets.token_urlsafe(24)) if token else "",
        visitors=parse_whole_number("--visitors", visitors, 1, 200),
        memory=parse_whole_number("--memory", memory, LEAST_MEGABYTES, 1_000_000),
    )


def check_installed(command: str) -> None:
    """Raise an InputError if the extra ``notebook``, which a command needs, is not installed."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise InputError(f"btflow {command}", None, f"needs {extra('notebook')}")


def _address(ip: str) -> str:
    try:
        return ip if ip == "localhost" else str(ipaddress.ip_address(ip))
    except ValueError:
        raise InputError(
            "--ip", ip, "is not an address", "127.0.0.1, 0.0.0.0 for all of this machine's, or ::1"
        ) from None
