"""Reaches a Dask scheduler, or says what is at its address instead."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from btflow.errors import InputError
from btflow.files import extra
from btflow.sweeps.apart import apart

CONNECT = 4.0
"""Time to reach the scheduler, and again for it to answer [s]."""

ALLOWED = "the address of a running scheduler, such as tcp://10.0.0.1:8786"


def connect(address: str) -> Any:
    """Return a client of the scheduler at an address.

    Raises:
        InputError: ``distributed`` is not installed, nobody answers there, or something else than a scheduler does.
    """
    try:
        import distributed
    except ImportError:
        raise InputError("dask", address, "needs the package distributed", extra("dask")) from None
    with _quiet():
        _check_scheduler(address)
        try:
            connected: Any = distributed.Client
            return connected(address, timeout=CONNECT)
        except (OSError, ValueError) as error:
            raise _unreachable(address, error) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Dask logs and warns of to itself: what matters is said in one line, and versions are compared later."""
    logger = logging.getLogger("distributed")
    before = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL + 1)
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # when the scheduler goes, too
        for name in ("distributed", "tornado.application"):
            of_all_below = logging.getLogger(name)  # a filter of handlers sees what loggers below hand up, too
            for filtered in (of_all_below, *of_all_below.handlers):
                filtered.addFilter(_is_no_lost_connection)
        try:
            yield
        finally:
            logger.setLevel(before)


def _is_no_lost_connection(record: logging.LogRecord) -> bool:
    """Return whether a record is to be shown: what Dask still waits for when it is left, or lost, is not."""
    from distributed.comm import core

    return not (record.exc_info and isinstance(record.exc_info[1], core.CommClosedError))


def _check_scheduler(address: str) -> None:
    """Raise an InputError if no scheduler answers.

    A client of Dask would wait for ever for an answer, and takes any server's first bytes for the size of a message.
    """
    try:
        kind = apart(lambda: asyncio.run(asyncio.wait_for(_kind(address), CONNECT + 1.0)), CONNECT + 2.0)
    except TimeoutError:
        raise InputError("dask", address, "does not answer as a scheduler does", ALLOWED) from None
    except (OSError, ValueError, TypeError) as error:  # TypeError: tls without a certificate
        raise _unreachable(address, error) from None
    except Exception:  # whatever comes of reading what was not written by Dask, such as a MemoryError
        raise InputError("dask", address, "is the address of something else than a scheduler", ALLOWED) from None
    if kind != "Scheduler":
        raise InputError("dask", address, f"is the address of a {kind}", ALLOWED)


async def _kind(address: str) -> str:
    """Return what a server of Dask says that it is, such as ``Scheduler`` or ``Worker``."""
    from distributed import security
    from distributed.comm import core

    reach: Any = core.connect
    secured: Any = security.Security
    answering = await reach(address, timeout=CONNECT, **secured().get_connection_args("client"))
    try:
        await answering.write({"op": "identity", "reply": True})
        return str((await answering.read())["type"])
    finally:
        answering.abort()


def _unreachable(address: str, error: Exception) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError("dask", address, f"cannot be reached: {reason}", ALLOWED)
