"""Types of the arguments of `btflow.sweep`: what is wrong is one error before any work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from btflow.errors import InputError
from btflow.sweeps.paths import check_path

KEEP = ("peers", "series")
"""What can be kept of each swarm besides its figures."""


def varied(vary: object) -> Mapping[str | tuple[str, ...], object]:
    """Return what is varied, by name; nothing for None."""
    if vary is None:
        return {}
    if not isinstance(vary, Mapping):
        raise InputError("vary", vary, "is not a mapping from names to values", 'such as {"rtt": ["0 ms", "400 ms"]}')
    return vary


def kept(keep: object, keeps: Sequence[str] = KEEP) -> tuple[str, ...]:
    """Return the names of what is kept, in order and each once; a text is one name, or several with commas.

    Args:
        keep: What is to be kept.
        keeps: What can be kept of what the sweep runs.
    """
    given = keep.split(",") if isinstance(keep, str) else keep
    if given is None:
        return ()
    if not isinstance(given, Iterable):
        raise InputError("keep", keep, "is not a list of names", ", ".join(KEEP))
    names = [name.strip() if isinstance(name, str) else name for name in given]
    for name in names:
        if name not in KEEP:
            raise InputError("keep", name, "cannot be kept", ", ".join(KEEP))
        if name not in keeps:
            allowed = "no keep: the figures of each experiment are all there is"
            raise InputError("keep", name, "is of swarms: link experiments do not have it", allowed)
    return tuple(name for name in KEEP if name in names)


def flag(name: str, value: object) -> bool:
    """Return an argument that is true or false."""
    if not isinstance(value, bool):
        raise InputError(name, value, "is neither true nor false", "True or False")
    return value


def store_path(out: object, resume: bool) -> Path | None:
    """Return where the store is to be, None for memory."""
    if out is None:
        if resume:
            raise InputError("resume", resume, "is given without out: there is nothing to go on with", "out=PATH too")
        return None
    if not isinstance(out, str | os.PathLike):
        raise InputError("out", out, "is not a path", "a path ending in .zarr, or None to keep the results in memory")
    path = Path(out)
    check_path(path, resume)
    return path


def check_client(client: object) -> None:
    """Raise an InputError for what is neither a Dask client nor an address."""
    if client is not None and not isinstance(client, str) and not hasattr(client, "get_executor"):
        allowed = "a distributed.Client, or the address of its scheduler such as tcp://10.0.0.1:8786"
        raise InputError("client", client, "is not a Dask client", allowed)
