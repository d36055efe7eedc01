"""Whether a store is of the sweep that is to go on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from btflow.errors import InputError
from btflow.sweeps.plan import Plan
from btflow.sweeps.versions import difference

_SHOWN = {
    "model": "model",
    "design": "design",
    "seed": "seed",
    "replicas": "replicas",
    "keep": "kept",
    "fidelity": "fidelity",
    "check": "checked points",
}

_BEFORE = {"fidelity": "full", "check": 0}
"""What stores are that were written before there were these."""


def check_same(path: Path, attributes: Mapping[str, Any], plan: Plan) -> None:
    """Raise an InputError that says what differs if a store's attributes are not those of a sweep."""
    differs = _differences(attributes, plan.identity())
    if differs:
        allowed = "the same sweep with the same version, or another path"
        raise InputError("out", str(path), f"was made by another sweep: {'; '.join(differs)}", allowed)


def _differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    there = _BEFORE | dict(there)
    found = [
        f"{shown} {_text(there.get(name))} there, {_text(here[name])} here"
        for name, shown in _SHOWN.items()
        if there.get(name) != here[name]
    ]
    if there.get("store_format") != here["store_format"]:
        found.append(f"its format is {there.get('store_format', 1)} there, {here['store_format']} here")
    if there.get("common_random_numbers") != here["common_random_numbers"]:
        found.append("common random numbers in one of the two")
    found += _values(_table(there.get("values")), _table(here["values"]))
    found += _contents(_table(there.get("contents")), _table(here["contents"]))
    versions = _table(there.get("versions")), _table(here["versions"])
    if versions[0] != versions[1]:
        found.append(difference(versions[1], versions[0]))
    if not found and there.get("scenario_hash") != here["scenario_hash"]:
        found.append("another scenario: the model file or what is set (--set) has changed")
    return found


def _text(value: Any) -> str:
    return str(value) or "nothing"


def _values(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return what differs in the parameters that are varied."""
    if list(there) != list(here):
        return [f"varies {', '.join(there) or 'nothing'} there, {', '.join(here)} here"]
    return [f"other values of {name}" for name in here if there[name] != here[name]]


def _contents(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """Return the words that stand for something else than they did: files that were changed, choices of the model."""
    return [f"the content of {what} has changed" for what in here if what in there and there[what] != here[what]]


def _table(text: Any) -> dict[str, str]:
    try:
        found = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
