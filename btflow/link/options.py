"""An experiment from options alone: one user's access link, ``home``, and the flows that pass it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from btflow.catalog import parse_as
from btflow.errors import InputError, shorten
from btflow.link import specs
from btflow.link.kind import LINKS
from btflow.link.scenario import LinkScenario
from btflow.units import is_unlimited

DEFAULTS: Mapping[str, str] = {
    "rate": "1 Mbit/s",
    "rtt": "50 ms",
    "buffer": "100 packets",
    "loss": "0%",
    "ack_loss": "0%",
    "rtt_spread": "2 ms",
    "duration": "60 s",
}
"""What the options are unless given. The other direction is like the first: ``reverse_rate`` is ``rate``."""

_QUEUES = {
    "rate": ("uplink", "rate", "rate of the uplink"),
    "buffer": ("uplink", "buffer", "buffer of the uplink"),
    "reverse_rate": ("downlink", "rate", "rate of the downlink"),
    "reverse_buffer": ("downlink", "buffer", "buffer of the downlink"),
}
_PATHS = {
    "rtt": "base round-trip time",
    "loss": "chance that a data packet is lost in the core",
    "ack_loss": "chance that an ACK is lost in the core",
    "rtt_spread": "each flow's round-trip time is longer by up to this",
}
_TIMES = {"duration": "simulated time", "warmup": "when the statistics begin", "sample": "period of the time series"}
_SPECS: Mapping[str, Callable[[object], specs.Table]] = {
    "flows": specs.flow,
    "voip": specs.voip,
    "probes": specs.probe,
}
_DISCIPLINES = ("drop-tail", "codel", "fq-codel", "pie")

OPTIONS = (*_QUEUES, *_PATHS, *_TIMES, "aqm", "access", *_SPECS)
"""What ``scenario_from`` takes."""

Tree = dict[str, Any]


_LONGEST_TITLE = 100


def scenario_from(**options: Any) -> LinkScenario:
    """Return the experiment that options describe; those not given, or None, have their defaults.

    Args:
        options: ``rate`` and ``buffer`` of the uplink, ``reverse_rate`` and ``reverse_buffer`` of the downlink (as the
            uplink unless given), ``aqm`` of both; or ``access``, the name of an access link, which the former change;
            ``rtt``, ``loss``, ``ack_loss`` and ``rtt_spread`` of the core; ``flows``, ``voip`` and ``probes``, each a
            text or a list of texts (``btflow.link.specs``); ``duration``, ``warmup`` and ``sample``.

    Raises:
        InputError: An option is unknown or wrong, or there is no flow.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in OPTIONS:
            raise InputError(name, None, "is not an option", ", ".join(OPTIONS))
    flows, texts = _flows(given)
    if not flows:
        raise InputError("flows", None, "is missing: there is nothing to send", "flows, voip or probes")
    access, parameters = _access(given)
    tree = {
        "name": "link",
        "title": _title([text for _, text in texts.values()], given.get("access")),
        "source": "the user",
        "paths": {name: DEFAULTS[name] for name in _PATHS},
        "duration": DEFAULTS["duration"],
        "access": {specs.HOME: access},
        "flows": flows,
        "parameters": parameters | _plain_parameters(given),
    }
    tree |= {name: given[name] for name in ("warmup", "sample") if name in given}
    goes_up = any(flow["from"] == specs.HOME for flow in flows.values())
    if not goes_up and not _unlimited(given, "downlink", "access" in given):
        tree["bottleneck"] = f"{specs.HOME}.downlink"
    try:
        return parse_as(LINKS, tree).build({n: value for n, value in given.items() if n in tree["parameters"]})
    except InputError as error:
        raise type(error).all_of([_of_the_option(problem, texts, given) for problem in error.problems]) from None


def _title(flows: list[str], access: object) -> str:
    """Return what the options make, in a line."""
    shown = f"{', '.join(flows)} over {access}" if access else ", ".join(flows)
    return shown if len(shown) <= _LONGEST_TITLE else f"{shown[: _LONGEST_TITLE - 3]}..."


def _flows(given: Mapping[str, Any]) -> tuple[Tree, dict[str, tuple[str, str]]]:
    """Return the tables of the flows by name, and for each the option and text that it was given by."""
    flows: Tree = {}
    texts: dict[str, tuple[str, str]] = {}
    for option, read in _SPECS.items():
        for text in _several(option, given.get(option, ())):
            try:
                table = read(text)
            except InputError as error:
                field = "" if error.value == text else f"{error.field} = {shorten(error.value)}: "
                raise InputError(option, text, f"{field}{error.reason}", error.allowed) from None
            name = table.pop("name")
            if name in flows and f"name={name}" in str(text).replace(" ", ""):
                raise InputError(option, text, f"has the name of another: {name}", "distinct names")
            same = sum(other == name or other.startswith(f"{name}.") for other in flows)
            name = f"{name}.{same + 1}" if same else name
            flows[name] = table
            texts[name] = (option, str(text))
    return flows, texts


def _several(option: str, value: Any) -> Iterable[object]:
    """Return one text or several as several."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise InputError(option, value, "is neither a text nor a list of texts", 'such as ["cubic:3"]')
    return value


def _access(given: Mapping[str, Any]) -> tuple[Tree, Tree]:
    """Return the table of the access link, and the parameters that set its fields."""
    table: Tree = {"base": given["access"]} if "access" in given else _symmetric()
    parameters: Tree = {}
    for name, (way, field, meaning) in _QUEUES.items():
        follows = name.removeprefix("reverse_") if "access" not in given and way == "downlink" else None
        if field == "buffer" and _unlimited(given, way, "access" in given):
            if name in given:
                raise InputError(name, given[name], "is never used: the rate is unlimited", "a rate")
            table.setdefault(way, {}).pop("buffer", None)
            continue
        if name in given or "access" not in given:
            parameters[name] = {"kind": field, "meaning": meaning, "sets": [f"access.{specs.HOME}.{way}.{field}"]}
            if follows is not None and follows in parameters:
                parameters[name]["default_from"] = follows
            else:
                table.setdefault(way, {}).setdefault(field, DEFAULTS[name.removeprefix("reverse_")])
    if "aqm" in given:
        ways = [way for way in ("uplink", "downlink") if not _unlimited(given, way, "access" in given)]
        if not ways:
            raise InputError("aqm", given["aqm"], "is never used: the rate is unlimited", "a rate")
        for way in ways:
            table.setdefault(way, {})["discipline"] = _DISCIPLINES[0]
        sets = [f"access.{specs.HOME}.{way}.discipline" for way in ways]
        parameters["aqm"] = {"kind": "choice", "meaning": "discipline", "choices": list(_DISCIPLINES), "sets": sets}
    return table, parameters


def _symmetric() -> Tree:
    """Return an access link whose downlink is given by parameters alone."""
    return {"uplink": {}, "downlink": {}}


def _unlimited(given: Mapping[str, Any], way: str, preset: bool) -> bool:
    names = ("rate",) if way == "uplink" else ("reverse_rate",) if preset else ("reverse_rate", "rate")
    rate = next((given[name] for name in names if name in given), None)
    return is_unlimited(rate)


def _plain_parameters(given: Mapping[str, Any]) -> Tree:
    """Return the parameters that do not concern the access link."""
    kinds = {"loss": "fraction", "ack_loss": "fraction"}
    parameters = {
        name: {"kind": kinds.get(name, "time"), "meaning": meaning, "sets": [f"paths.{name}"]}
        for name, meaning in _PATHS.items()
    }
    times = {name: meaning for name, meaning in _TIMES.items() if name == "duration" or name in given}
    return parameters | {n: {"kind": "time", "meaning": meaning, "sets": [n]} for n, meaning in times.items()}


def _of_the_option(problem: InputError, texts: Mapping[str, tuple[str, str]], given: Mapping[str, Any]) -> InputError:
    """Return a problem as that of the option which the field is from."""
    for name, (option, text) in texts.items():
        rest = problem.field.removeprefix(f"flows.{name}")
        if problem.field.startswith("flows.") and rest != problem.field and rest[:1] in ("", "."):
            field = rest.removeprefix(".").removesuffix(".base")
            shown = "" if problem.value is None else f" = {shorten(problem.value)}"
            said = f"{field}{shown}: " if field and problem.value != text else ""
            return type(problem)(option, text, f"{said}{problem.reason}", problem.allowed)
    prefix = f"access.{specs.HOME}."
    if problem.field.startswith(prefix):
        for name, (way, field, _) in _QUEUES.items():
            if problem.field == f"{prefix}{way}.{field}":
                return type(problem)(name, problem.value, problem.reason, problem.allowed)
    if problem.field.startswith(f"access.{specs.HOME}") and "access" in given:
        return type(problem)("access", given["access"], problem.reason, problem.allowed)
    if problem.field.startswith("paths.") and problem.field.removeprefix("paths.") in _PATHS:
        return type(problem)(problem.field.removeprefix("paths."), problem.value, problem.reason, problem.allowed)
    return problem
