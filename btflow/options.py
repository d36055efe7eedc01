"""Checks what the command line was given, before any work is done."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from btflow.errors import InputError

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


def check_range(option: str, value: int, minimum: int, maximum: int) -> None:
    """Raise InputError unless ``value`` lies in the closed range."""
    if not minimum <= value <= maximum:
        raise InputError(option, value, "is out of range", f"{minimum} to {maximum}")


def check_output(option: str, path: Path | None, suffix: str) -> None:
    """Raise InputError unless a file with this suffix can be written at ``path``."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(option, str(path), "is a directory", f"a file ending in {suffix}")
    if path.suffix != suffix:
        raise InputError(option, str(path), "has the wrong ending", f"a file ending in {suffix}")
    try:
        trial = partial_path(path)
        trial.touch(exist_ok=False)
        trial.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        allowed = "a file in a folder that exists and is writable"
        raise InputError(option, str(path), f"cannot be written: {reason}", allowed) from None


def partial_path(path: Path) -> Path:
    """Return where a file is written before it gets its name, in the same folder."""
    return path.with_name(f".{path.stem[:100]}.{os.getpid()}.partial{path.suffix}")
