"""The server of `btflow explore`: one page, its files, and a socket for each visitor.

All of it needs the token, or the cookie that this earns. What comes over a socket goes to the visitor's own process,
unread; nothing else is there that a request could start.
"""

import asyncio
import hmac
import logging
import os
import resource
import secrets
from collections.abc import Callable
from contextlib import suppress
from http.client import responses
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakSet

from tornado.httpserver import HTTPServer
from tornado.httputil import split_host_and_port
from tornado.iostream import IOStream
from tornado.web import Application, RequestHandler, StaticFileHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from btflow.explore.options import LOCAL, Options, say
from btflow.explore.visitors import Process, Visitors

LONGEST = 2**20
"""Longest message of a page [B]; what inputs send is a few kB, and a figure tells its layout."""
PING = 30.0
"""Time between two signs of life [s]."""
_PATIENCE = {"idle_connection_timeout": 30.0, "body_timeout": 10.0, "max_body_size": 2**16, "max_header_size": 2**14}
"""How long the server waits for a request, and how much it reads of one [s, B]."""

PAGE = Path(str(files("btflow.explore") / "page"))

_HEADERS = {
    # Widgets bring scripts as blobs and styles as text; Jupyter's manager makes code that checks their states.
    "Content-Security-Policy": "default-src 'self' blob: data: 'unsafe-inline' 'unsafe-eval'; frame-ancestors 'self'",
    "Referrer-Policy": "no-referrer",  # the address has the token
    "X-Content-Type-Options": "nosniff",
}

BUSY = "The explorer is busy: as many visitors as it takes are here. Try again in a few minutes."
AGAIN = "The explorer cannot start a page now. Try again in half a minute."
GONE = "The process behind this page has ended: it was idle for long, needed too much memory, or was killed."
DIED = "A visitor's process has ended: it needed too much memory, or was killed. Its page says so."
CROWDED = "There are more connections than the page needs: new ones take the place of those that ask for nothing."
NO_TOKEN = "This page opens with the whole link, token included, that btflow explore printed."
NO_PAGE = "There is no such page."
OTHER_NAME = "This explorer is for this machine alone, under its own names."

_TRY_LATER, _UNREADABLE, _ENDED = 1013, 1007, 4000
"""Status with which a socket is closed: of RFC 6455 and its registry, and one that is free for programs."""


class Request(RequestHandler):
    """A request: it must name this machine, where only that is served, and bring the token or its cookie."""

    def set_default_headers(self) -> None:
        """Let the page have nothing from elsewhere."""
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Refuse a request that does not have what it must."""
        if refusal := self.refusal():
            self.refuse(*refusal)
        else:
            connection: Any = self.request.server_connection
            self.settings["known"].add(connection.stream)

    def refusal(self) -> tuple[int, str] | None:
        """Return why a request is refused, its status first."""
        options: Options = self.settings["options"]
        host, _ = split_host_and_port(self.request.host)
        if options.ip in LOCAL and host.strip("[]") not in LOCAL:
            return 403, OTHER_NAME
        return (403, NO_TOKEN) if options.token and not self._has(options.token) else None

    def _has(self, token: str) -> bool:
        """Return whether the request has the token, or the cookie that it earns."""
        name = self.settings["cookie"]
        if self.get_signed_cookie(name):
            return True
        given = self.get_query_argument("token", "")
        if not hmac.compare_digest(given.encode(), token.encode()):
            return False
        self.set_signed_cookie(name, "in", expires_days=None, httponly=True, samesite="Lax")
        return True

    def refuse(self, status: int, text: str) -> None:
        """Answer with a line."""
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text + "\n")

    def write_error(self, status_code: int, **_: Any) -> None:
        """Say in a line what is wrong."""
        self.refuse(status_code, responses.get(status_code, "Error"))


class Page(Request):
    """The page: what it shows comes over its socket."""

    def get(self) -> None:
        """Send it."""
        self.set_header("Cache-Control", "no-store")
        self.write((PAGE / "index.html").read_bytes())


class File(Request, StaticFileHandler):
    """A file of the page."""

    def set_extra_headers(self, path: str) -> None:
        """Have the browser ask whether its copy is still the same, and unpack what is packed."""
        self.set_header("Cache-Control", "no-cache")
        if path.endswith(".js.gz"):
            self.set_header("Content-Type", "text/javascript")
            self.set_header("Content-Encoding", "gzip")


class Reading(Request):
    """A chapter of the documentation or a notebook, to read."""

    async def get(self, kind: str, name: str) -> None:
        """Send it, made in a thread: a page takes a moment, and what makes it is imported for the first one."""
        found = await asyncio.to_thread(_reading, kind, name)
        if found is None:
            self.refuse(404, NO_PAGE)
        else:
            self.write(found)


def _reading(kind: str, name: str) -> bytes | None:
    from btflow.explore import reading  # takes long to import

    return reading.chapter(name) if kind == "docs" else reading.notebook(name)


class Nothing(Request):
    """Whatever else is asked for."""

    def refusal(self) -> tuple[int, str]:
        """Return that there is no such page."""
        return super().refusal() or (404, NO_PAGE)


class Channel(Request, WebSocketHandler):
    """A page's socket: a visitor is here as long as it is open."""

    process: Process | None = None
    left = False

    async def open(self) -> None:
        """Begin a visit."""
        visitors: Visitors = self.settings["visitors"]
        try:
            process = await visitors.enter()
        except (EOFError, OSError):
            self.close(_TRY_LATER, AGAIN)
            return
        if process is None:
            self.close(_TRY_LATER, BUSY)
        elif self.left:  # meanwhile
            visitors.leave(process)
        else:
            self.process = process
            self.settings["pumps"].add(asyncio.create_task(self._pump(process)))

    async def _pump(self, process: Process) -> None:
        """Hand on what the process sends, and say that it has ended if the page is still there then."""
        with suppress(WebSocketClosedError):
            async for frame in process.frames():
                await self.write_message(frame, binary=True)
        if not self.left:
            self.close(_ENDED, GONE)
            if await process.died():
                say(DIED)

    async def on_message(self, message: str | bytes) -> None:
        """Hand on what the page sends."""
        if self.process is None or isinstance(message, str):
            self.close(_UNREADABLE, "not a message of a widget")
        else:
            await self.process.send(message)

    def on_close(self) -> None:
        """End the visit."""
        self.left = True
        if self.process is not None:
            self.settings["visitors"].leave(self.process)


class Server(HTTPServer):
    """A server that bounds its connections: a program may have so many files open.

    For one too many, that one gives way which is open for longest of those that have not brought the token.
    """

    told = False

    def bound(self, most: int, known: WeakSet[IOStream]) -> None:
        """Say how many connections there may be, and which have brought the token."""
        self.most, self.known, self.here = most, known, list[IOStream]()

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Take a connection."""
        self.here = [each for each in self.here if not each.closed()]
        if len(self.here) >= self.most:
            if not self.told:
                say(CROWDED)
            self.told = True
            next((each for each in self.here if each not in self.known), stream).close()
        if not stream.closed():
            self.here.append(stream)
            super().handle_stream(stream, address)


def most_connections(visitors: int) -> int:
    """Return how many connections there may be: half of the files that the system lets a program have."""
    wanted, (files, _) = 100 + 8 * visitors, resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files < 0 else min(wanted, files // 2)  # a negative number stands for no bound


def serve(options: Options, sockets: Any, ready: Callable[[], None], compiled: object) -> None:
    """Serve the page until Ctrl-C.

    Args:
        options: See btflow.explore.options.
        sockets: Bound to the address and port.
        ready: Called when visitors may come.
        compiled: Shared number, the share of swarms' kernels that is compiled.

    Raises:
        SimulationError: The simulator cannot be loaded: why was written.
    """
    log = os.environ.get("BTFLOW_EXPLORE_LOG", "")  # without it nothing that any stranger can cause, and no token
    for name in ("tornado", "asyncio"):
        logging.getLogger(name).setLevel(log or "CRITICAL")
    visitors = Visitors(options.visitors, options.memory, compiled)
    try:
        asyncio.run(_serve(options, sockets, ready, visitors))
    except KeyboardInterrupt:
        pass
    finally:
        visitors.end()


async def _serve(options: Options, sockets: Any, ready: Callable[[], None], visitors: Visitors) -> None:
    application = _application(options, sockets[0].getsockname()[1], visitors)
    server = Server(application, **_PATIENCE)
    server.bound(most_connections(options.visitors), application.settings["known"])
    server.add_sockets(sockets)
    ready()
    await asyncio.Event().wait()


def _application(options: Options, port: int, visitors: Visitors) -> Application:
    anywidget = find_spec("anywidget")  # it takes long to import
    assert anywidget is not None
    assert anywidget.origin is not None
    return Application(
        [
            ("/", Page),
            ("/channel", Channel),
            (r"/page/([\w./-]+)", File, {"path": str(PAGE)}),
            (r"/read/(docs|notebooks)/([\w-]+)\.html", Reading),
            (r"/read/docs/(figures/[\w-]+\.(?:svg|png))", File, {"path": str(files("btflow.docs"))}),
            (r"/anywidget/(index\.js)", File, {"path": str(Path(anywidget.origin).parent / "nbextension")}),
        ],
        default_handler_class=Nothing,
        options=options,
        visitors=visitors,
        pumps=set(),
        known=WeakSet(),
        cookie=f"btflow-{port}",  # a browser has one of a name for all ports
        cookie_secret=secrets.token_hex(),
        websocket_max_message_size=LONGEST,
        websocket_ping_interval=PING,
        websocket_ping_timeout=PING,
    )
