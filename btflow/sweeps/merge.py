"""Puts the parts of a sweep together that several machines have run: a store of the same bits as that of the whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from btflow.errors import InputError
from btflow.files import scratch
from btflow.sweeps import running, store
from btflow.sweeps.database import Database, connected, of_store, open_arrays
from btflow.sweeps.declare import flag
from btflow.sweeps.results import CORRELATED, OWN_SEEDS

if TYPE_CHECKING:
    import xarray as xr

    from btflow.sweeps.dataset import Layout

PARTS = "the stores of all parts of one sweep, that btflow sweep --part wrote"


def merge(out: str | os.PathLike[str], parts: Sequence[str | os.PathLike[str]], *, progress: bool = True) -> xr.Dataset:
    """Put the parts of a sweep together in a store, which has the same bits as one of the whole sweep, run at once.

    Args:
        out: Path of the store, ending in ``.zarr``, where there is nothing yet.
        parts: The stores of all parts, in any order; they stay as they are.
        progress: Whether to show progress on stderr.

    Returns:
        The dataset that ``sweep`` returns of the whole sweep.

    Raises:
        InputError: They are not all parts of one sweep, each once and complete, or are damaged; nothing was written.
        OSError: The store cannot be written; nothing is left of it.
    """
    if not isinstance(out, str | os.PathLike):
        raise InputError("out", out, "is not a path", "a path ending in .zarr")
    if isinstance(parts, str) or not isinstance(parts, Sequence) or not parts:
        raise InputError("parts", parts, "is not a list of paths", PARTS)
    path, flagged = Path(out), flag("progress", progress)
    if os.path.lexists(path):
        raise InputError("out", str(path), "exists", "a path where there is nothing yet")
    store.check_path(path, resume=False)
    with running.terminable(), ExitStack() as held:
        found = [_opened(part, held) for part in parts]
        whole = _whole(found)
        noun = str(whole.attributes.get("runs", "swarms"))
        try:
            folder = held.enter_context(scratch(path.parent, ".btflow-"))
            with (
                store.opened(folder / path.name, whole) as made,
                running.progress(flagged, whole.units, 0, 0, noun) as shown,
            ):
                for part in found:
                    made.take(part)
                    shown.done += part.layout.own
                    shown.look()
                made.write_arrays()
            (folder / path.name).rename(path)
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    return open_arrays(path)


def _opened(part: object, held: ExitStack) -> Database:
    """Return what is in the store of a part, in which SQLite finds no damage."""
    if not isinstance(part, str | os.PathLike):
        raise InputError("parts", part, "is not a path", PARTS)
    path = Path(part)
    if not store.is_store(path):
        raise InputError("parts", str(path), "is not the store of a sweep, or one without its database", PARTS)
    with of_store(path, "parts"):
        found = Database(held.enter_context(closing(connected(path))), path, "parts")
        found.check()
    return found


def _whole(found: Sequence[Database]) -> Layout:
    """Return the layout of the sweep whose parts some stores are; an InputError if they are not all of them."""
    from btflow.sweeps.plan import differences

    first, by_part = found[0], dict[str, Database]()
    about, parts = first.layout.attributes | {"part": ""}, first.layout.part.partition("/")[2]
    for each in found:
        if differs := differences(about, each.layout.attributes | {"part": ""}):
            reason = f"is of another sweep than {first.path}: {'; '.join(differs)}"
            same_code = about["versions"] == each.layout.attributes["versions"]
            if same_code and (shared := len(first.own_seeds() & each.own_seeds())):
                reason += f". Both have {shared} of their points' seeds: {CORRELATED}"
                raise InputError("parts", str(each.path), reason, OWN_SEEDS)
            raise InputError("parts", str(each.path), reason, PARTS)
    for each in found:
        part, allowed, reason = each.layout.part, PARTS, ""
        if not part:
            reason = "is a whole sweep"
        elif part.partition("/")[2] != parts:
            reason = f"is part {part}, and {first.path} is {first.layout.part}"
        elif part in by_part:
            reason, allowed = f"is part {part}, as {by_part[part].path} is", "each part once"
        elif left := sum(map(len, each.pending())):
            reason = f"is not complete: {left:,} of the {each.layout.own:,} runs of part {part} are left"
            allowed = f"the same sweep with part {part} and resume=True, which runs them"
        if reason:
            raise InputError("parts", str(each.path), reason, allowed)
        by_part[part] = each
    missing = [f"{k}/{parts}" for k in range(1, int(parts) + 1) if f"{k}/{parts}" not in by_part]
    if missing:
        shown = ", ".join(missing[:10]) + ", ..." * (len(missing) > 10)
        raise InputError("parts", None, f"without {shown}", f"all {parts} parts of the sweep")
    return replace(first.layout, attributes={k: v for k, v in first.layout.attributes.items() if k != "part"})
