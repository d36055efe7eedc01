"""An experiment from options alone: one user's access link, ``home``, with flows, calls and probes.

A flow is ``CC[:COUNT][@START][,KEY=VALUE]...``, such as ``cubic:3`` or ``ledbat:1@10s,size=5 MB``; a call
``CODEC[:COUNT][@START][,KEY=VALUE]...``, such as ``g729:1``; a probe ``SIZE@PERIOD[,KEY=VALUE]...``, such as
``100 B@1s``. What the values are is left to the model's fields.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, TypedDict, Unpack, get_args

from btflow.config.catalog import load_link, names, parse_as
from btflow.config.files import reference, split_sources
from btflow.errors import InputError, shorten
from btflow.link.access import AQM, SHAPERS, LinkLayer, Queue
from btflow.link.flow import INTERNET, MAX_FLOWS
from btflow.link.scenario import LINKS, LinkScenario
from btflow.options import parse_settings
from btflow.units import UNLIMITED, is_unlimited
from btflow.units.quantity import quantity_of

HOME = "home"
PROBE_CC = "cubic"
"""Congestion control of a probe's messages unless it says another."""

_COMMON = ("start", "stop", "spread", "rtt", "name", "direction", "host")
FLOW_KEYS = ("size", "rate", "on", "off", *_COMMON, "window", "mss", "target", "gain", "max_gain")
VOIP_KEYS = (*_COMMON, "frames")
PROBE_KEYS = (*_COMMON, "cc", "window", "mss")
_FIELDS = {"spread": "start_spread"}
_OF_CC = {name: name for name in ("mss", "target", "gain", "max_gain")}
_WAYS = {"up": (HOME, INTERNET), "down": (INTERNET, HOME)}
_HEAD = re.compile(r"([^:@]+)(?::([^:@]*))?(?:@([^@]*))?", re.DOTALL)
_PROBE_HEAD = re.compile(r"([^@]+)@([^@]+)", re.DOTALL)

Table = dict[str, Any]


def flow(text: object) -> Table:
    """Return the table of flows given as ``CC[:COUNT][@START][,KEY=VALUE]...``.

    Raises:
        InputError: The text is not of that form.
    """
    cc, table, given = _counted("flow", text, FLOW_KEYS, "CC", "cubic:3 or ledbat:1@10s,size=5 MB")
    return _table(given, table | {"cc": _changed(cc, given, _OF_CC)}, PurePath(cc).name.removesuffix(".toml"))


def voip(text: object) -> Table:
    """Return the table of voice calls given as ``CODEC[:COUNT][@START][,KEY=VALUE]...``; as ``flow``."""
    codec, table, given = _counted("voip", text, VOIP_KEYS, "CODEC", "g729:1")
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
            why = "whose key is unknown" if equals else "which is no KEY=VALUE"
            raise InputError(what, text, f"has {setting.strip()[:30]!r}, {why}", ", ".join(keys))
        if key in given:
            raise InputError(what, text, f"gives {key} twice", "each key once")
        given[key] = value
    return head.strip(), given


def _counted(what: str, text: object, keys: tuple[str, ...], name: str, example: str) -> tuple[str, Table, Table]:
    """Return the name before the first colon, the count and the start, and the settings."""
    form = f"{name}[:COUNT][@START][,KEY=VALUE]..., such as {example}"
    head, given = _split(what, text, keys, form)
    matched = _HEAD.fullmatch(head)
    if matched is None or not matched[1].strip():
        raise InputError(what, text, f"does not have the form of a {what}", form)
    named = {"count": matched[2], "start": matched[3]}
    return matched[1].strip(), {name: value.strip() for name, value in named.items() if value is not None}, given


def _changed(name: str, given: Table, fields: dict[str, str]) -> str | Table:
    """Return the name of a file, or a table based on it with the changes in ``given``, which are taken out."""
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
    "rtt": ("time", "base round-trip time"),
    "loss": ("fraction", "chance that a data packet is lost in the core"),
    "ack_loss": ("fraction", "chance that an ACK is lost in the core"),
    "rtt_spread": ("time", "each flow's round-trip time is longer by up to this"),
}
_TIMES = {"duration": "simulated time", "warmup": "when the statistics begin", "sample": "period of the time series"}
_OPTION_OF = {f"access.{HOME}.{way}.{field}": name for name, (way, field, _) in _QUEUES.items()}
_OPTION_OF |= {f"paths.{name}": name for name in _PATHS}
"""Options, by the fields that they set."""

_SPECS: Mapping[str, Callable[[object], Table]] = {"flows": flow, "voip": voip, "probes": probe}


class LinkOptions(TypedDict, total=False):
    """What ``scenario_from`` takes; those not given, or None, have their defaults."""

    rate: str | None
    """Rate of the uplink, such as "1 Mbit/s", or "unlimited"; by steps: "20 Mbit/s, 5 Mbit/s@30s"; or "trace:FILE"."""
    buffer: str | None
    """Buffer of the uplink: "100 packets", "150 kB", "200 ms" or "1.5 BDP"."""
    reverse_rate: str | None
    """Rate of the downlink; as ``rate``."""
    reverse_buffer: str | None
    """Buffer of the downlink; as ``buffer``."""
    rtt: str | None
    """Base round-trip time, without queues; by steps: "30 ms, 80 ms@20s"."""
    loss: float | str | None
    """Share of data packets lost in the core."""
    ack_loss: float | str | None
    """Share of ACKs lost in the core."""
    rtt_spread: str | None
    """Each flow's round-trip time is longer by up to this."""
    duration: str | None
    """Simulated time."""
    warmup: str | None
    """When the statistics begin; a fifth of the duration, at most 60 s, or at once if every flow has a size."""
    sample: str | None
    """Period of the time series; a 2000th of the duration."""
    aqm: str | None
    """Discipline of the queues, both ways: drop-tail, codel, fq-codel, pie or cake, such as "codel:target=10ms"."""
    shaper: str | None
    """What sets the queues' rates, both ways: line, or tbf or htb of a Linux host, which sees super-packets."""
    framing: str | None
    """Bytes that the link layer adds to each packet, both ways: "18 B", or "atm:40 B", in cells."""
    access: str | Mapping[str, object] | None
    """Access link, such as "adsl", that the options above change."""
    flows: str | Sequence[str] | None
    """Flows, such as ["cubic:3", "ledbat:1@10s"]."""
    voip: str | Sequence[str] | None
    """Voice calls, such as ["g729:1"]."""
    probes: str | Sequence[str] | None
    """Small messages, such as ["100 B@1s"]."""


OPTIONS = tuple(LinkOptions.__annotations__)
SHOWN = {name: DEFAULTS.get(name) for name in OPTIONS}
"""What signatures show as their defaults."""

_LONGEST_TITLE = 100


def scenario_from(**options: Unpack[LinkOptions]) -> LinkScenario:
    """Return the experiment that options describe.

    Args:
        options: As in `LinkOptions`; the texts of ``flows``, ``voip`` and ``probes`` as in ``btflow.link.options``.

    Raises:
        InputError: An option is unknown or wrong, or there is no flow.
    """
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    for name in given:
        if name not in OPTIONS:
            raise InputError(name, None, "is not an option", ", ".join(OPTIONS))
    texts_of, given = given, _apart(given)
    flows, texts = _flows(given)
    if not 0 < len(flows) <= MAX_FLOWS:
        reason = "are too many" if flows else "is missing: there is nothing to send"
        raise InputError("flows", None, reason, f"1 to {MAX_FLOWS:,}, with voip and probes")
    preset = _preset(given)
    access, parameters = _access(given, preset)
    tree = {
        "name": "link",
        "title": _title([text for _, text in texts.values()], given.get("access")),
        "source": "the user",
        "paths": {name: DEFAULTS[name] for name in _PATHS} | ({"rtt": preset["rtt"]} if "rtt" in preset else {}),
        "duration": DEFAULTS["duration"],
        "access": {HOME: access},
        "flows": flows,
        "parameters": parameters | _plain_parameters(given),
    }
    tree |= {name: given[name] for name in ("warmup", "sample") if name in given}
    goes_up = any(flow["from"] == HOME for flow in flows.values())
    if not goes_up and not _unlimited(given, "downlink", preset):
        tree["bottleneck"] = f"{HOME}.downlink"
    try:
        return parse_as(LINKS, tree).build({n: value for n, value in given.items() if n in tree["parameters"]})
    except InputError as error:
        raise type(error).all_of([_of_the_option(problem, texts, texts_of) for problem in error.problems]) from None


def _title(flows: list[str], access: object) -> str:
    """Return what the options make, in a line."""
    shown = f"{', '.join(flows)} over {access}" if access else ", ".join(flows)
    return shown if len(shown) <= _LONGEST_TITLE else f"{shown[: _LONGEST_TITLE - 3]}..."


def _flows(given: Mapping[str, Any]) -> tuple[Table, dict[str, tuple[str, str]]]:
    """Return the tables of the flows by name, and for each the option and text that it was given by."""
    flows: Table = {}
    texts: dict[str, tuple[str, str]] = {}
    for option, read in _SPECS.items():
        for text in islice(_several(option, given.get(option, ())), MAX_FLOWS + 1):
            try:
                table = read(text)
            except InputError as error:
                field = "" if error.value == text else f"its {error.field} {shorten(error.value)} "
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


def _access(given: Mapping[str, Any], preset: Table) -> tuple[Table, Table]:
    """Return the table of the access link, and the parameters that set its fields."""
    table: Table = {"base": given["access"]} if "access" in given else {"uplink": {}, "downlink": {}}
    parameters: Table = {}
    for name, (way, field, meaning) in _QUEUES.items():
        follows = name.removeprefix("reverse_") if "access" not in given and way == "downlink" else None
        if field == "buffer" and _unlimited(given, way, preset):
            if name in given:
                raise InputError(name, given[name], "is never used: the rate is unlimited", "a rate")
            table.get(way, {}).pop("buffer", None)
            continue
        if name in given or "access" not in given:
            parameters[name] = {"kind": field, "meaning": meaning, "sets": [f"access.{HOME}.{way}.{field}"]}
            if follows is not None and follows in parameters:
                parameters[name]["default_from"] = follows
            else:
                table.setdefault(way, {}).setdefault(field, DEFAULTS[name.removeprefix("reverse_")])
    ways = [way for way in ("uplink", "downlink") if not _unlimited(given, way, preset)]
    for name, field in _BOTH_WAYS.items():
        if name not in given:
            continue
        if not ways:
            raise InputError(name, given[name], "is never used: the rate is unlimited", "a rate")
        quantity = quantity_of(Queue, field)
        assert quantity is not None
        for way in ways:
            table.setdefault(way, {})[field] = _UNSAID.get(field, given[name])
        sets = [f"access.{HOME}.{way}.{field}" for way in ways]
        parameters[name] = {"kind": quantity.kind, "meaning": field.replace("_", " "), "sets": sets}
        if name in ("aqm", "shaper"):
            parameters[name]["choices"] = list(AQM if name == "aqm" else SHAPERS)
    return table, parameters


_UNSAID = {"discipline": "drop-tail", "framing": "0 B", "link_layer": "ethernet", "shaper": "line"}
_BOTH_WAYS = {"aqm": "discipline", "shaper": "shaper", "framing": "framing", "framing_layer": "link_layer"} | {
    f"aqm_{key}": key for constants in AQM.values() for key in constants
}
"""Fields of both directions, by the options, or parts of them, that set them."""


def _apart(given: Table) -> Table:
    """Return the options with ``NAME:KEY=VALUE,...`` of ``aqm`` and ``atm:SIZE`` of ``framing`` taken apart."""
    given = dict(given)
    name, colon, rest = str(given.get("aqm", "")).partition(":")
    if colon and name.strip() in AQM:
        try:
            _, constants = _split("aqm", f"{name},{rest}", tuple(AQM[name.strip()]), "")
        except InputError as error:
            allowed = f"{name}:KEY=VALUE,... with {error.allowed}" if error.allowed else f"{name}, which has no keys"
            raise InputError("aqm", given["aqm"], error.reason, allowed) from None
        given |= {"aqm": name.strip()} | {f"aqm_{key}": value for key, value in constants.items()}
    layer, colon, size = (part.strip() for part in str(given.get("framing", "")).partition(":"))
    if (layer == "atm" and not size) or (colon and layer not in get_args(LinkLayer)):
        raise InputError("framing", given["framing"], "is no framing", '"18 B", or "atm:40 B" for cells of ATM')
    return given | ({"framing": size, "framing_layer": layer} if colon else {})


def _preset(given: Mapping[str, Any]) -> Table:
    """Return the access link that is named, without the sources of its values; empty if none is."""
    return split_sources(reference(given["access"], "access", Path(), "access"))[0] if "access" in given else {}


def _unlimited(given: Mapping[str, Any], way: str, preset: Table) -> bool:
    """Return whether nothing waits in a direction, by what is given or else by the access link that is named."""
    named = "access" in given
    names = ("rate",) if way == "uplink" else ("reverse_rate",) if named else ("reverse_rate", "rate")
    rate = next((given[name] for name in names if name in given), None)
    if rate is None and named:
        rate = (preset.get(way) or {}).get("rate", UNLIMITED)
    return is_unlimited(rate)


def _plain_parameters(given: Mapping[str, Any]) -> Table:
    """Return the parameters that do not concern the access link."""
    rows = {name: (*said, f"paths.{name}") for name, said in _PATHS.items()}
    rows |= {name: ("time", said, name) for name, said in _TIMES.items() if name == "duration" or name in given}
    return {name: {"kind": kind, "meaning": said, "sets": [field]} for name, (kind, said, field) in rows.items()}


def _of_the_option(problem: InputError, texts: Mapping[str, tuple[str, str]], given: Mapping[str, Any]) -> InputError:
    """Return the problem of a field as that of the option that sets the field."""
    for name, (option, text) in texts.items():
        rest = problem.field.removeprefix(f"flows.{name}")
        if problem.field.startswith("flows.") and rest != problem.field and rest[:1] in ("", "."):
            field = rest.removeprefix(".").removesuffix(".base")
            shown = "" if problem.value is None else f" {shorten(problem.value)}"
            said = f"its {field}{shown} " if field and problem.value != text else ""
            return type(problem)(option, text, f"{said}{problem.reason}", problem.allowed)
    if problem.field == "flows" and texts:
        option, text = next(iter(texts.values()))
        reason = f"makes {problem.value} flows{' with the others' * (len(texts) > 1)}, which {problem.reason}"
        return type(problem)(option, text, reason, problem.allowed)
    for name in ("aqm", "framing"):
        if problem.field.startswith(f"{name}_") and name in given:
            part = problem.field.removeprefix(f"{name}_")
            return type(problem)(name, given[name], f"its {part} {problem.reason}", problem.allowed)
    if problem.field in _OPTION_OF:
        return problem.renamed(_OPTION_OF[problem.field])
    if problem.field.startswith(f"access.{HOME}") and "access" in given:
        return type(problem)("access", given["access"], problem.reason, problem.allowed)
    return problem


_SPELLED = {"flows": "flow", "probes": "probe"}


def experiment(model: str | None, settings: Sequence[str], given: Mapping[str, Any]) -> LinkScenario:
    """Return the experiment of a model and its settings, or of options alone.

    Args:
        model: Name or path of the model, None for options alone.
        settings: Its parameters as ``NAME=VALUE``.
        given: The options by their names in ``scenario_from``, None for those not given.

    Raises:
        InputError: Neither or both are given, or a value is wrong.
    """
    options = {name: value for name, value in given.items() if value is not None}
    if model is not None:
        for name, value in options.items():
            shown = value[0] if isinstance(value, list) else value
            raise InputError(option(name), shown, "does not go with a model", "--set NAME=VALUE for its parameters")
        return load_link(model, **parse_settings(settings))
    if settings:
        raise InputError("--set", settings[0], "does not go without a model", "an option such as --rate")
    if not any(name in options for name in ("flows", "voip", "probes")):
        allowed = f"{', '.join(names('links'))}, or --flow, --voip or --probe"
        raise InputError("model", None, "is missing, and there is no flow", allowed)
    try:
        return scenario_from(**options)
    except InputError as error:
        spelled = [one.renamed(option(one.field)) if one.field in OPTIONS else one for one in error.problems]
        raise type(error).all_of(spelled) from None


def option(name: str) -> str:
    """Return how an option is spelled on the command line."""
    return "--" + _SPELLED.get(name, name).replace("_", "-")
