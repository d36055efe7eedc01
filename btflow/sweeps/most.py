"""How many peers a swarm of a sweep has at most: room for what is kept of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btflow.config.document import Document
from btflow.config.files import Keys
from btflow.errors import InputError
from btflow.swarm.program import compile_scenario
from btflow.swarm.scenario import Scenario
from btflow.sweeps.design import Design

_OTHER_TABLES = {"swarm", "paths", "transport", "sockets", "tracker", "idealised"}
_OTHER_FIELDS = {"horizon", "slots", "control_connections"}
_NUMBERS = {"role", "count", "share", "rest"}


def most_peers(base: Scenario, design: Design) -> int:
    """Return the number of peers of the swarm that has most, replacements included.

    Every combination of the values that change it is looked at, in a millisecond each; the others stay the base's.
    """
    document: Document[Scenario] = base.document
    names = {c.name for c in design.coordinates() if any(map(_changes_peers, _fields(document, c.name)))}
    most = _peers(base, {})
    seen: set[tuple[str, ...]] = set()
    for settings in design.settings_of(names):
        if (values := tuple(settings.values())) not in seen:
            seen.add(values)
            most = max(most, _peers(base, settings))
    return most


def _peers(base: Scenario, settings: Mapping[str, str]) -> int:
    try:
        return len(compile_scenario(base.set(**settings)).klass)
    except InputError:  # recorded when it is run
        return 0


def _fields(document: Document[Any], name: str) -> Iterator[Keys]:
    """Give the keys of the fields that a name sets."""
    if name not in document.parameters:
        yield from (place.keys for place in document.assigner.places(name))
        return
    for parameter in document.parameters.values():
        if name in (parameter.name, parameter.default_from):
            yield from (tuple(path.split(".")) for path in parameter.sets)


def _changes_peers(keys: Keys) -> bool:
    """Return whether a field says how many peers there are; one that is not known may."""
    if keys[0] == "classes" and len(keys) > 2:
        return len(keys) == 3 and keys[2] in _NUMBERS
    if keys[0] == "arrivals" and len(keys) > 1:
        return keys[1] == "times"  # as many as leechers
    return keys[0] not in _OTHER_TABLES | _OTHER_FIELDS
