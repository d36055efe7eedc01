"""The server of `btflow explore`: Voila over one notebook of the package, for people who are strangers to each other.

What it leaves out of Voila: files, listings, other notebooks, other templates, logging in by a form, configuration
files of the user, and names of hosts that are not this machine's. What is left needs the token: the page, the socket
of a visitor's own kernel, whose name nobody else knows, whether that kernel lives, and its end. The socket lets the
messages of widgets through to a kernel, and no others.
"""

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import tornado.ioloop
import tornado.web
from jinja2 import Environment, FunctionLoader
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_core.utils import ensure_async, run_sync
from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1
from jupyter_server.services.kernels.handlers import KernelHandler
from jupyter_server.utils import url_path_join
from tornado.httpserver import HTTPServer
from tornado.websocket import WebSocketClosedError
from traitlets.config import Config
from voila.app import Voila
from voila.static_file_handler import AllowListFileHandler, TemplateStaticFileHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler
from voila.voila_identity_provider import VoilaIdentityProvider

from btflow.explore.nursery import Births
from btflow.explore.options import LOCAL, Options, say

IDLE = 15 * 60
"""A page that nobody touched for so long gives way when there is no room [s]."""
GONE = 60
"""A kernel whose page is gone ends after so long [s]."""
AWAY = 10
"""One whose page is gone for so long gives way when there is no room; one that lost the network is back before [s]."""
CULL = 20
"""Time between two looks for kernels whose page is gone [s]."""
LOOK = 1
"""Time between two looks whether the processes live [s]."""
_KERNEL_WAIT = 600
"""How long a page waits for its kernel, and for what that shows [s]: on a busy machine Voila's 4 s are too few for the
widgets, and a page without them would be sent."""
_PATIENCE = {"idle_connection_timeout": 30.0, "body_timeout": 10.0, "max_body_size": 2**16, "max_header_size": 2**14}
"""How long the server waits for a request, and how much it reads of one [s, B]."""

PAGE = Path(str(files("btflow.explore") / "page"))

BUSY = "The explorer is busy: as many visitors as it takes are here. Try again in a few minutes."
AGAIN = "The explorer starts again what makes pages. Try again in half a minute."
DIED = "A visitor's process has ended: it needed too much memory, or was killed. Its page says so."
NO_TOKEN = "This page opens with the whole link, token included, that btflow explore printed."

_ERROR = "{{ status_code }} {{ status_message }}"
"""Every page of an error: Jupyter's own needs files that are not served."""

_EXTENSIONS = ["@jupyter-widgets/jupyterlab-manager", "@voila-dashboards/widgets-manager8", "anywidget"]
"""What the page needs of JupyterLab; whatever else is installed stays away."""


class OwnPython(KernelSpecManager):
    """Knows one kernel: this Python's, whatever others the user has installed under the same name."""

    @property
    def kernel_dirs(self) -> list[str]:
        """No folder is searched."""
        return []

    @kernel_dirs.setter
    def kernel_dirs(self, _folders: list[str]) -> None:
        pass

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Return how a kernel is started: by the nursery, where there is one."""
        spec = super().get_kernel_spec(kernel_name)
        if self.place:
            script = str(Path(__file__).parent / "forked.py")
            spec.argv = [sys.executable, "-S", "-E", script, self.place, "{connection_file}"]
        return spec

    place = ""
    """Socket of the nursery."""


class Identity(VoilaIdentityProvider):  # type: ignore[misc]
    """The token, and the cookie that it earns; no form."""

    login_available = logout_available = False


class Page(TornadoVoilaHandler):  # type: ignore[misc]
    """The one page, if there is room for a visitor."""

    @allow_unauthenticated  # it says itself what is missing; Voila would go to a form
    async def get(self, path: str | None = None) -> None:
        """Start a visitor's kernel and send the page."""
        if path:
            self._plain(404, "There is no such page.")
        elif not self.current_user:
            self._plain(403, NO_TOKEN)
        else:
            await self._visit()

    async def _visit(self) -> None:
        explorer = self.settings["explorer"]
        async with explorer.door:  # one at a time, until the kernel is there to be counted
            refused = await explorer.refuses()
            if not refused:
                page = self.get_generator()
                begin = await anext(page)
        if refused:
            self.set_header("Retry-After", "60")
            self._plain(503, refused)
            return
        self.write(begin)
        async for part in page:
            self.write(part)
            self.flush()

    def _plain(self, status: int, text: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(text + "\n")


class Alive(KernelHandler):
    """Tells a page whether its kernel lives."""

    SUPPORTED_METHODS = ("GET",)


class Explorer(Voila):  # type: ignore[misc]
    """Voila, less what strangers have no use for, with a bound on the number of visitors."""

    name = "voila"
    visitors = 1
    births: Births
    dead: frozenset[str] | set[str] = frozenset()
    sockets: Any
    ready: Any
    door: asyncio.Lock
    away: dict[str, float]

    def init_settings(self) -> dict[str, Any]:
        """Return Voila's settings, with only this machine's names allowed where only it is served."""
        local = self.ip in LOCAL
        more = {
            "allow_remote_access": not local,
            "local_hostnames": ["localhost", "127.0.0.1", "::1"],
            "jinja2_env": Environment(loader=FunctionLoader(lambda _: _ERROR), autoescape=True),
            "explorer": self,
        }
        return {**super().init_settings(), **more}

    def init_handlers(self) -> list[Any]:
        """Return Voila's handlers without those of files, and with the page that counts visitors."""
        return [changed for handler in super().init_handlers() if (changed := self._handler(handler))]

    def _handler(self, handler: Any) -> Any:
        """Return what stands for one of Voila's handlers here; None for nothing."""
        path, kind, *rest = handler
        if kind is AllowListFileHandler:
            return None
        if kind is TornadoVoilaHandler:
            return (path, Page, *rest)
        if kind is KernelHandler:
            return (path, Alive, *rest)
        if kind is VoilaKernelWebsocketHandler:
            return (path, Channel, *rest)
        if kind is TemplateStaticFileHandler:  # it fails on any other path
            return (url_path_join(self.server_url, r"/voila/templates/(\w+/static/[\w./-]+)"), kind, *rest)
        return handler

    async def refuses(self) -> str:
        """Return why there is no room for one more visitor, empty if there is; one who left or was idle gives way."""
        kernels = self.kernel_manager
        if not self.births.ready:
            return AGAIN
        if len(kernels.list_kernel_ids()) < self.visitors:
            return ""
        oldest = self._gone() or self._idle()
        if oldest is None:
            return BUSY
        await ensure_async(kernels.shutdown_kernel(oldest, now=True))
        return ""

    def opened(self, kernel: str) -> None:
        """Take note that a kernel has a page."""
        self.away.pop(kernel, None)

    def closed(self, kernel: str) -> None:
        """Take note that a page of a kernel is gone; it may have another."""
        kernels = self.kernel_manager
        if kernel in kernels and not kernels.kernel_model(kernel)["connections"]:
            self.away[kernel] = time.monotonic()

    def _gone(self) -> str | None:
        """Return the kernel whose page is gone for longest, if it may give way."""
        self.away = {kernel: since for kernel, since in self.away.items() if kernel in self.kernel_manager}
        first = min(self.away, key=lambda kernel: self.away[kernel], default=None)
        return None if first is None or time.monotonic() - self.away[first] < AWAY else first

    def _idle(self) -> str | None:
        """Return the kernel that nobody has touched for longest, if it may give way."""
        kernels, now = self.kernel_manager, time.time()
        idle = {k: now - kernels.get_kernel(k).last_activity.timestamp() for k in kernels.list_kernel_ids()}
        oldest = max(idle, key=lambda kernel: idle[kernel])
        return oldest if idle[oldest] >= IDLE else None

    async def look(self) -> None:
        """Say what has died, and forget it: its page notices."""
        self.births.look()
        OwnPython.place = self.births.place
        kernels, before = self.kernel_manager, self.dead
        self.dead = {kernel for kernel in kernels.list_kernel_ids() if await self._is_dead(kernel)}
        for kernel in self.dead & before:  # twice, since one that is being ended is there a while
            with contextlib.suppress(tornado.web.HTTPError, KeyError):
                await ensure_async(kernels.shutdown_kernel(kernel, now=True))
                say(DIED)

    async def _is_dead(self, kernel: str) -> bool:
        with contextlib.suppress(tornado.web.HTTPError, KeyError):  # it has just been forgotten
            return not await ensure_async(self.kernel_manager.get_kernel(kernel).is_alive())
        return False

    def listen(self) -> None:
        """Serve on the sockets that are bound already, until Ctrl-C or SIGTERM."""
        server = HTTPServer(self.app, **_PATIENCE)
        server.add_sockets(self.sockets)
        self.ioloop = tornado.ioloop.IOLoop.current()
        self.ioloop.add_callback(self.ready)
        looking = tornado.ioloop.PeriodicCallback(self.look, 1000 * LOOK)
        looking.start()
        try:
            self.ioloop.start()
        except KeyboardInterrupt:
            pass
        finally:
            looking.stop()
            server.stop()
            self.stop()

    def stop(self) -> None:
        """End every kernel at once."""
        with contextlib.suppress(Exception):
            run_sync(_end)(self.kernel_manager)


async def _end(kernels: Any) -> None:
    ending: list[Awaitable[Any]] = [
        ensure_async(kernels.shutdown_kernel(kernel, now=True)) for kernel in kernels.list_kernel_ids()
    ]
    await asyncio.wait_for(asyncio.gather(*ending, return_exceptions=True), 1.5)


def serve(options: Options, sockets: Any, ready: Any, births: Births, folder: str) -> None:
    """Serve the page until Ctrl-C or SIGTERM.

    Args:
        options: See btflow.explore.options.
        sockets: Bound to the address and port.
        ready: Called when visitors may come.
        births: What visitors' processes come from.
        folder: Where what is needed meanwhile is kept.
    """
    os.environ["BTFLOW_EXPLORE_MEMORY"] = str(options.memory)
    log = os.environ.get("BTFLOW_EXPLORE_LOG", "")  # without it nothing that any stranger can cause, and no token
    logging.getLogger("tornado").setLevel(log or "ERROR")
    logging.getLogger("tornado.access").setLevel(log or "CRITICAL")
    OwnPython.place = births.place
    app = Explorer(config=_config(options, folder))
    app.sockets, app.ready, app.visitors, app.births = sockets, ready, options.visitors, births
    app.door, app.away = asyncio.Lock(), {}
    app.initialize([str(PAGE / "explorer.ipynb")])
    app.template_paths.insert(0, str(PAGE))
    app.start()


def _config(options: Options, folder: str) -> Config:
    kernels = {"cull_idle_timeout": GONE, "cull_interval": CULL, "cull_connected": False}
    return Config(
        Voila={
            "config_file_paths": [],
            "ip": options.ip,
            "token": options.token,
            "identity_provider_class": Identity,
            "open_browser": False,
            "connection_dir_root": folder,
            "tornado_settings": {"websocket_max_message_size": LONGEST},
            "log_level": os.environ.get("BTFLOW_EXPLORE_LOG", "CRITICAL"),
        },
        VoilaConfiguration={
            "allow_template_override": "NO",
            "allow_theme_override": "NO",
            "kernel_spec_manager_class": OwnPython,
            "show_tracebacks": False,
            "extension_allowlist": _EXTENSIONS,
        },
        VoilaExecutor={"iopub_timeout": _KERNEL_WAIT, "startup_timeout": _KERNEL_WAIT},
        MappingKernelManager=kernels,
        AsyncMappingKernelManager=kernels,
        KernelManager={
            "autorestart": False,
            "shutdown_wait_time": 1.0,
            "transport": "tcp" if sys.platform == "win32" else "ipc",
        },
    )


if sys.platform == "win32":  # pragma: no cover - tornado needs the other event loop there
    asyncio.set_event_loop_policy(asyncio.WindowsSelectorEventLoopPolicy())


_parts: Callable[[bytes], tuple[str, list[bytes]]] = deserialize_msg_from_ws_v1

LONGEST = 2**20
"""Longest message of a page [B]; what inputs send is a few kB, and a figure tells its layout."""
PING = 30.0
"""Time between two signs of life [s]."""

_CONTROL = "jupyter.widget.control"
_ASKS = ("kernel_info_request", "comm_info_request")
_METHODS = ("update", "request_state", "request_states", "custom")
_FIRST, _MOST = 5, 64
"""Bounds on the number of offsets of a message: of its channel, its four parts, and its buffers."""
_UNREADABLE = 1007
"""Status of RFC 6455 with which a socket is closed for what is no message."""


def passes(message: object) -> bool:
    """Return whether a message goes on to the visitor's process.

    What may pass: questions about the process and its widgets, the opening of the channel for all widgets' states,
    and changes of widgets.

    Raises:
        ValueError: It is no message of Jupyter's protocol.
    """
    if not isinstance(message, bytes) or not _FIRST < int.from_bytes(message[:8], "little") < _MOST:
        raise ValueError("not a message")  # Jupyter would read as many offsets as the first says, even 2**64
    try:
        channel, parts = _parts(message)
        header, content = json.loads(parts[0]), json.loads(parts[3])
        kind = header["msg_type"]
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError("not a message") from error
    if channel != "shell" or not isinstance(content, dict):
        return False
    return kind in _ASKS or _of_widget(kind, content)


def _of_widget(kind: object, content: dict[str, Any]) -> bool:
    """Return whether a message opens the common channel of widgets, uses it, or changes a widget."""
    if not isinstance(content.get("comm_id"), str):
        return False
    if kind == "comm_open":
        return bool(content.get("target_name") == _CONTROL)
    data = content.get("data")
    return kind == "comm_msg" and isinstance(data, dict) and data.get("method") in _METHODS


class Channel(VoilaKernelWebsocketHandler):  # type: ignore[misc]
    """A page's socket."""

    ping_interval = PING  # Tornado's own signs of life, in seconds; Jupyter's are left out below
    ping_timeout = PING

    async def open(self, kernel_id: str) -> None:
        """Connect to the visitor's process."""
        with contextlib.suppress(Exception):
            await self.connection.connect()
            self.settings["explorer"].opened(kernel_id)
            return
        self.close(reason=f"no process {kernel_id}")

    def on_message(self, message: object) -> None:
        """Hand on what may pass; what is not even a message ends the connection."""
        try:
            if passes(message):
                super().on_message(message)
        except Exception:
            self.close(_UNREADABLE, "not a message of a widget")

    def write_message(self, message: Any, binary: bool = False) -> Any:
        """Send a message to the page, if it is still there."""
        try:
            sent = super().write_message(message, binary)
        except WebSocketClosedError:  # it left before it was told
            return None
        if sent is not None:
            sent.add_done_callback(lambda done: done.cancelled() or done.exception())
        return sent

    def on_close(self) -> None:
        """Forget the connection, if there was one."""
        if getattr(self, "connection", None) is not None:
            super().on_close()
            self.settings["explorer"].closed(self.kernel_id)
