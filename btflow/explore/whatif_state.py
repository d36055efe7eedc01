"""The state of the what-if panel: what is compared, both settings, and how many pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote_plus

from btflow.errors import InputError
from btflow.explore import link_state, swarm_state
from btflow.explore.limits import check_swarm
from btflow.explore.link_state import LinkState
from btflow.explore.specs import Amount, Choice, Line, value
from btflow.explore.state import checked
from btflow.explore.swarm_state import SwarmState
from btflow.link.scenario import LinkScenario
from btflow.scenario import Scenario

Setting = SwarmState | LinkState
"""The state of the panel that one of the two settings could have."""

_FEW = SwarmState(leechers="30")
BEGIN: Mapping[str, tuple[Setting, Setting]] = {
    "swarm": (replace(_FEW, utp_share="0%"), replace(_FEW, utp_share="100%")),
    "link": (LinkState(), replace(LinkState(), aqm="codel")),
}
"""By what is compared: the settings that an empty text stands for."""


def _reads(text: str) -> None:
    """Raise an InputError if a text names no values."""
    try:
        parse_qsl(text, strict_parsing=bool(text), max_num_fields=100)
    except ValueError:
        raise InputError("setting", text, "names no values", "such as leechers=30&rtt=400+ms") from None


@dataclass(frozen=True)
class WhatIfState:
    """The inputs of the what-if panel, as texts; a setting is what differs from the one to begin with."""

    of: str = value(Choice("Compare", ("swarm", "link"), "swarm", ("two swarms", "two links")))
    pairs: str = value(
        Amount("Pairs", "count", "10", "2", "40", minimum="1", maximum="200", help="runs of each, with the same luck")
    )
    a: str = value(Line("Setting A", "", _reads))
    b: str = value(Line("Setting B", "", _reads))


class Settings(NamedTuple):
    """Both settings."""

    a: Setting
    b: Setting


def settings(state: WhatIfState) -> Settings:
    """Return both settings of a state, with one seed; an InputError of ``a`` or ``b`` if one is wrong."""
    begin = BEGIN[state.of]
    a = _read("a", state.a, begin[0])
    return Settings(a, replace(_read("b", state.b, begin[1]), seed=a.seed))


def state_of(of: str, found: Settings, pairs: str) -> WhatIfState:
    """Return the state with two settings."""
    return WhatIfState(of, pairs, *(_written(one, first) for one, first in zip(found, BEGIN[of], strict=True)))


def scenario_of(setting: Setting) -> Scenario | LinkScenario:
    """Return what a setting stands for.

    Raises:
        InputError: It is none, or more than one visitor may ask for; the field is an input's.
    """
    if isinstance(setting, LinkState):
        return link_state.scenario(setting)
    found = swarm_state.scenario_of(setting)
    check_swarm(found)
    return found


def command_of(setting: Setting, pairs: str) -> str:
    """Return the command line that runs a setting; of a swarm all of its replicas."""
    if isinstance(setting, LinkState):
        return link_state.command(setting)
    return f"{swarm_state.command_of(setting)} --replicas {pairs}"


def _read(field: str, text: str, begin: Setting) -> Setting:
    given = dict(parse_qsl(text, keep_blank_values=True))
    try:
        checked(type(begin), given)
    except InputError as error:
        raise InputError(field, text, str(error).replace("\n", "; ")) from None
    return replace(begin, **given)  # type: ignore[arg-type]  # both are dataclasses of texts


def _written(setting: Setting, begin: Setting) -> str:
    found: dict[str, Any] = {f.name: getattr(setting, f.name) for f in fields(setting)}
    changed = {name: text for name, text in found.items() if text != getattr(begin, name)}
    return "&".join(f"{name}={quote_plus(text, safe='/:,@')}" for name, text in changed.items())
