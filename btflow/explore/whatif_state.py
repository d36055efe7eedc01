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
from btflow.explore.state import checked, specs
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
    """Raise an InputError if a text names no values, or two of one name."""
    allowed = "such as leechers=30&rtt=400+ms"
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=100)
    except ValueError:
        raise InputError("setting", text, "names no values", allowed) from None
    if len(dict(pairs)) < len(set(pairs)):
        raise InputError("setting", text, "has two values of one name", allowed)


@dataclass(frozen=True)
class WhatIfState:
    """The inputs of the what-if panel, as texts; a setting is what differs from the one to begin with."""

    of: str = value(Choice("Compare", ("swarm", "link"), "swarm", ("two swarms", "two links")))
    pairs: str = value(
        Amount("Pairs", "count", "10", "2", "40", minimum="1", maximum="200", help="runs of each, with the same luck")
    )
    a: str = value(Line("Setting A", "", _reads))
    b: str = value(Line("Setting B", "", _reads))

    def mended(self) -> tuple[WhatIfState, tuple[InputError, ...]]:
        """Return the state without those values of both settings that are refused, and what was wrong with each."""
        found = [_mended(side, getattr(self, side), begin) for side, begin in zip("ab", BEGIN[self.of], strict=True)]
        (a, of_a), (b, of_b) = found
        return replace(self, a=a, b=b), (*of_a, *of_b)


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
    return _with(begin, given)


def _with(begin: Setting, texts: Mapping[str, str]) -> Setting:
    """Return a setting with other values of some inputs."""
    return replace(begin, **texts)  # type: ignore[arg-type]  # both are dataclasses of texts


def _mended(side: str, text: str, begin: Setting) -> tuple[str, list[InputError]]:
    """Return the text of a setting without what is refused, and why it is, called by side and label."""
    kept: dict[str, str] = {}
    problems: list[InputError] = []
    for name, given in parse_qsl(text, keep_blank_values=True):
        try:
            kept[name] = getattr(checked(type(begin), {name: given}), name)
        except InputError as error:
            problems.append(error)
    while kept and (problem := _refused(begin, kept)) is not None:
        problems.append(problem)
        del kept[problem.field]
    told = [InputError(f"setting {side.upper()}: {_label(begin, p.field)}", *p.args[1:]) for p in problems]
    return (_written(_with(begin, kept), begin) if told else text), told


def _refused(begin: Setting, kept: Mapping[str, str]) -> InputError | None:
    """Return why the values of a setting do not go together, as an error of the one to leave out; None if they do."""
    try:
        scenario_of(_with(begin, kept))
    except InputError as error:
        for problem in error.problems:
            if problem.field in kept:
                return problem
        for name in kept:  # what is wrong is an input that the link leaves as it is: because of which value?
            if _refused(begin, {n: text for n, text in kept.items() if n != name}) is None:
                break
        reason = f"does not go with {_label(begin, error.field)} = {error.value}: {error.reason}"
        return InputError(name, kept[name], reason, error.allowed)
    return None


def _label(setting: Setting, name: str) -> str:
    known = specs(setting)
    return known[name].label if name in known else name


def _written(setting: Setting, begin: Setting) -> str:
    found: dict[str, Any] = {f.name: getattr(setting, f.name) for f in fields(setting)}
    changed = {name: text for name, text in found.items() if text != getattr(begin, name)}
    return "&".join(f"{name}={quote_plus(text, safe='/:,@')}" for name, text in changed.items())
