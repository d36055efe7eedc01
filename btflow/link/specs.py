"""Flows, voice calls and probes as the command line gives them, read into the tables of a model file.

A flow is ``CC[:COUNT][@START][,KEY=VALUE]...``, such as ``cubic:3`` or ``ledbat:1@10s,size=5 MB``; a call
``CODEC[:COUNT][@START][,KEY=VALUE]...``, such as ``g729:1``; a probe ``SIZE@PERIOD[,KEY=VALUE]...``, such as
``100 B@1s``. What the values are is left to the model's fields.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

from btflow.errors import InputError
from btflow.link.flow import INTERNET

HOME = "home"
PROBE_CC = "cubic"
"""Congestion control of a probe's messages unless it says another."""

_COMMON = ("start", "stop", "spread", "rtt", "name", "direction")
FLOW_KEYS = ("size", "rate", "on", "off", *_COMMON, "window", "mss")
VOIP_KEYS = (*_COMMON, "frames")
PROBE_KEYS = (*_COMMON, "cc", "window", "mss")
_FIELDS = {"spread": "start_spread"}
_WAYS = {"up": (HOME, INTERNET), "down": (INTERNET, HOME)}
_HEAD = re.compile(r"([^:@]+)(?::([^:@]*))?(?:@([^@]*))?", re.DOTALL)
_PROBE_HEAD = re.compile(r"([^@]+)@([^@]+)", re.DOTALL)

Table = dict[str, Any]


def flow(text: object) -> Table:
    """Return the table of flows given as ``CC[:COUNT][@START][,KEY=VALUE]...``.

    Raises:
        InputError: The text is not of that form.
    """
    form = "CC[:COUNT][@START][,KEY=VALUE]..., such as cubic:3 or ledbat:1@10s,size=5 MB"
    head, given = _split("flow", text, FLOW_KEYS, form)
    cc, table = _counted("flow", text, head, form)
    return _table(given, table | {"cc": _changed(cc, given, {"mss": "mss"})}, PurePath(cc).name.removesuffix(".toml"))


def voip(text: object) -> Table:
    """Return the table of voice calls given as ``CODEC[:COUNT][@START][,KEY=VALUE]...``; as ``flow``."""
    form = "CODEC[:COUNT][@START][,KEY=VALUE]..., such as g729:1"
    head, given = _split("voip", text, VOIP_KEYS, form)
    codec, table = _counted("voip", text, head, form)
    return _table(given, table | {"codec": _changed(codec, given, {"frames": "frames_per_packet"})}, "voip")


def probe(text: object) -> Table:
    """Return the table of a probe given as ``SIZE@PERIOD[,KEY=VALUE]...``; as ``flow``."""
    form = "SIZE@PERIOD[,KEY=VALUE]..., such as 100 B@1s"
    head, given = _split("probe", text, PROBE_KEYS, form)
    matched = _PROBE_HEAD.fullmatch(head)
    if matched is None:
        raise InputError("probe", text, "is not a message's size and the time between two", form)
    cc = given.pop("cc", PROBE_CC)
    table = {"message": matched[1].strip(), "period": matched[2].strip()}
    return _table(given, table | {"cc": _changed(cc, given, {"mss": "mss"})}, "probe")


def _split(what: str, text: object, keys: tuple[str, ...], form: str) -> tuple[str, Table]:
    """Return what stands before the first comma, and the settings after it."""
    if not isinstance(text, str) or not text.strip():
        raise InputError(what, text, "is not a text" if not isinstance(text, str) else "is empty", form)
    head, *settings = text.split(",")
    given: Table = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or key not in keys:
            raise InputError(what, text, f"has {setting.strip()[:30]!r}, which is no KEY=VALUE", ", ".join(keys))
        if key in given:
            raise InputError(what, text, f"gives {key} twice", "each key once")
        given[key] = value
    return head.strip(), given


def _counted(what: str, text: object, head: str, form: str) -> tuple[str, Table]:
    matched = _HEAD.fullmatch(head)
    if matched is None or not matched[1].strip():
        raise InputError(what, text, f"does not have the form of a {what}", form)
    named = {"count": matched[2], "start": matched[3]}
    return matched[1].strip(), {name: value.strip() for name, value in named.items() if value is not None}


def _changed(name: str, given: Table, fields: dict[str, str]) -> str | Table:
    """Return the name of a file, or a table based on it with what ``given`` changes, which is taken out."""
    changes = {field: given.pop(key) for key, field in fields.items() if key in given}
    return {"base": name, **changes} if changes else name


def _table(given: Table, table: Table, name: str) -> Table:
    """Return the finished table, ``name`` in it."""
    way = given.pop("direction", "up")
    if way not in _WAYS:
        raise InputError("direction", way, "is unknown", ", ".join(_WAYS))
    if "start" in given and "start" in table:
        raise InputError("start", given["start"], "is given twice", "@START or start=START")
    sender, receiver = _WAYS[way]
    return {"name": name, "from": sender, "to": receiver} | table | {_FIELDS.get(k, k): v for k, v in given.items()}
