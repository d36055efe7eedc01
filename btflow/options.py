"""Checks what the command line was given, before any work is done."""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Literal

from btflow.errors import InputError

Fidelity = Literal["full", "flow"]

FIDELITIES: tuple[Fidelity, ...] = ("full", "flow")
"""``full``: each block, message and segment is an event; ``flow``: docs/fidelity.md."""

MAX_REPLICAS = 100_000
MAX_SEED = 2**63 - 1


def parse_settings(settings: Iterable[str]) -> dict[str, object]:
    """Return the parameters given as ``NAME=VALUE``.

    Raises:
        InputError: A setting has no ``=`` or no name, or a name is set twice.
    """
    values: dict[str, object] = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not name:
            raise InputError("--set", setting, "is not a setting", 'NAME=VALUE, such as rtt="400 ms"')
        if name in values:
            raise InputError("--set", setting, f"sets {name} a second time", "one --set for each name")
        values[name] = value
    return values


def whole_number(field: str, value: object, minimum: int, maximum: int) -> int:
    """Return ``value`` if it is a whole number in the closed range.

    Raises:
        InputError: It is something else or lies outside.
    """
    allowed = f"a whole number from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(field, value, "is not a whole number", allowed)
    number = int(value)
    if not minimum <= number <= maximum:
        raise InputError(field, value, "is out of range", allowed)
    return number


def parse_whole_number(option: str, text: str, minimum: int, maximum: int) -> int:
    """Return the whole number that ``text`` is; InputError as for ``whole_number``."""
    number = re.fullmatch(r"[+-]?[0-9]{1,30}", text.strip())
    return whole_number(option, int(text) if number else text, minimum, maximum)


def output_path(option: str, given: Sequence[str] | None, *suffixes: str) -> Path | None:
    """Return the file to write, links followed; None if none is asked for.

    Raises:
        InputError: More than one is asked for, or no file with one of these suffixes can be written there.
    """
    if not given:
        return None
    allowed = f"a file ending in {' or '.join(suffixes)}, in a folder that exists and is writable"
    if len(given) > 1:
        raise InputError(option, given[1], "is a second file", f"one {option}")
    name = given[0]
    if Path(name).suffix.lower() not in suffixes:
        raise InputError(option, name, "has the wrong ending" if name else "is empty", allowed)
    try:
        if stat.S_ISDIR(_mode(name)):
            raise InputError(option, name, "is a directory", allowed)
        if not stat.S_ISREG(_mode(name)):
            raise InputError(option, name, "is not a file that can be replaced", allowed)
        path = Path(os.path.realpath(name))
        trial = partial_path(path)
        trial.touch(exist_ok=False)
        trial.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(option, name, f"cannot be written: {reason}", allowed) from None
    return path


def check_new(overwrite: bool, *read: str | None, **given: Sequence[str] | None) -> None:
    """Raise an InputError for a file to write that is there already, unless it may be written over, or has another use.

    Args:
        overwrite: Whether it may.
        *read: Files that are read.
        **given: What was given by each option, which is named without dashes.
    """
    used = {os.path.realpath(name): "is read" for name in read if name}
    for option, names in given.items():
        if not names:
            continue
        if Path(names[0]).exists() and not overwrite:
            raise InputError(f"--{option}", names[0], "exists", "--overwrite to replace it, or another path")
        if use := used.get(place := os.path.realpath(names[0])):
            raise InputError(f"--{option}", names[0], f"{use}, too", "a file of its own")
        used[place] = f"is the file of --{option}"


def output_file(field: str, given: object, *suffixes: str) -> Path:
    """Return the file to write that a function was given; InputError if it is no path, or as for ``output_path``."""
    if not isinstance(given, str | os.PathLike) or isinstance(os.fspath(given), bytes):
        raise InputError(field, given, "is not a path", f"a file ending in {' or '.join(suffixes)}")
    path = output_path(field, [os.fspath(given)], *suffixes)
    assert path is not None
    return path


def _mode(name: str) -> int:
    """Return the mode of what lies at a path; that of a file if there is nothing."""
    try:
        return os.stat(name).st_mode
    except FileNotFoundError:
        return stat.S_IFREG


def partial_path(path: Path) -> Path:
    """Return where a file is written before it gets its name, in the same folder."""
    return path.with_name(f".{path.stem[:30]}.{os.getpid()}.partial{path.suffix}")


def fidelity_of(field: str, value: object) -> Fidelity:
    """Return a fidelity; an InputError if there is none of this name."""
    if value not in FIDELITIES:
        raise InputError(field, "None" if value is None else value, "is no fidelity", " or ".join(FIDELITIES))
    return value
