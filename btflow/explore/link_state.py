"""The state of the link panel, the experiment it stands for, and its presets."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from shlex import quote
from string import Template
from typing import Any

from btflow.config.catalog import link_document, names, parse_as, title_of
from btflow.config.document import Document
from btflow.config.schema import describe
from btflow.errors import InputError, ScenarioError
from btflow.explore.inputs import Amount, declared, renamed
from btflow.explore.limits import check_link
from btflow.explore.panel import OWN, PUBLISHED, Preset, specs
from btflow.link import fluid
from btflow.link.access import AQM
from btflow.link.flow import Flow
from btflow.link.scenario import LINKS, LinkScenario
from btflow.units import format_quantity, parse_quantity

ONE_LINK = "link"
"""Name of the experiment that is no model's: up to three groups of flows over one link."""

GROUPS = ("first", "second", "third")

_CONTROLS = ("cubic", "newreno", "reno-linux", "cubic-2.6", "vegas", "bbr", "ledbat", "ledbat-25", "ledbat-linux")
CONTROLS = (*_CONTROLS, "ledbat++", "utp", "utp-2013", "utp-2010", "lp", "nice", "opnet-tcp", "sfu-utp")
DISCIPLINES = tuple(AQM)
OF_PAGE = ("model", "seed", "fluid")
"""Inputs that change nothing of the experiment that is chosen."""
_STEER = ("target", "gain")
"""Inputs of all flows that steer by delay."""
FIRST = ("model", "rate", "rtt", "buffer", "aqm", "cc1")
"""Which experiment it is, and the five inputs that matter first."""


OWN_FILE = "own"
"""Of a constant that each congestion control's file says itself."""


@dataclass(frozen=True)
class Own(Amount):
    """A quantity that may be ``own``; `place` is where the slider stands then."""

    beside = f", or {OWN_FILE}"
    place: str = ""

    def slid(self, text: str) -> float | None:
        """Return where the slider stands."""
        return super().slid(self.place if text == OWN_FILE else text)

    def check(self, name: str, text: str) -> str:
        """Return the text; InputError if it is no such quantity, or out of range."""
        return OWN_FILE if text.strip() == OWN_FILE else super().check(name, text)


_input = partial(declared, "link")


@dataclass(frozen=True)
class LinkState:
    """What the link panel shows."""

    model: str = _input("model", options=(ONE_LINK, *names("links")), shown=("one link", *names("links")))
    rate: str = _input("rate")
    rtt: str = _input("rtt")
    buffer: str = _input("buffer")
    aqm: str = _input("aqm", options=DISCIPLINES)
    loss: str = _input("loss")
    cc1: str = _input("cc1", options=CONTROLS)
    n1: str = _input("n1")
    start1: str = _input("start1")
    cc2: str = _input("cc2", options=CONTROLS)
    n2: str = _input("n2")
    start2: str = _input("start2")
    cc3: str = _input("cc3", options=CONTROLS)
    n3: str = _input("n3")
    start3: str = _input("start3")
    call: str = _input("call")
    target: str = _input("target", Own)
    gain: str = _input("gain")
    duration: str = _input("duration")
    seed: str = _input("seed")
    fluid: str = _input("fluid")


@cache
def document(model: str) -> Document[LinkScenario]:
    """Return what an experiment is made from."""
    return link_document(model) if model != ONE_LINK else parse_as(LINKS, _one_link())


@cache
def default(model: str) -> LinkScenario:
    """Return an experiment as it is published."""
    return document(model).build({})


@cache
def preset(model: str) -> LinkState:
    """Return the state that shows an experiment as it is published."""
    scenario, plain = default(model), LinkState(model=model)
    if model == ONE_LINK:
        return plain
    queue = scenario.queues[scenario.bottleneck_queue]
    assert queue.buffer is not None
    given = {
        "rate": rate_text(queue.rate),
        "rtt": format_quantity(scenario.paths.rtt, "time"),
        "buffer": format_quantity(queue.buffer, "buffer"),
        "aqm": queue.discipline,
        "loss": format_quantity(scenario.paths.loss, "fraction"),
        "call": next((flow.codec.name for flow in _calls(scenario)[:1] if flow.codec), "none"),
        "duration": format_quantity(scenario.duration, "time"),
    }
    flows = groups(scenario)
    for number in (1, 2, 3):
        flow = flows[number - 1] if number <= len(flows) else None
        given |= {f"n{number}": str(flow.count) if flow else "0"}
        if flow is not None and flow.cc is not None:
            given |= {f"cc{number}": flow.cc.name, f"start{number}": format_quantity(flow.start, "time")}
    return replace(plain, **given)


def groups(scenario: LinkScenario) -> list[Flow]:
    """Return the groups of flows that the panel can change: the first three with a congestion control."""
    return [flow for flow in scenario.flows if flow.cc is not None and flow.kind != "messages"][: len(GROUPS)]


def scenario(state: LinkState) -> LinkScenario:
    """Return the experiment that a state stands for.

    Raises:
        InputError: Its values do not go together, or it is more than one visitor may ask for; the field is an input's.
    """
    places = _places(state.model)
    given: dict[str, object] = {}
    for name, text in _changed(state).items():
        if name not in places:
            raise InputError(name, text, f"does not go with {state.model}: it has no such flows", "what is there")
        given |= dict.fromkeys(places[name], text)
    if "call" in _changed(state):
        given |= _call(state)
    if state.model == ONE_LINK:  # nobody sees when flows start that are not there: not after the end
        given |= {place: "0 s" for i in _idle(state) for place in places[f"start{i}"]}
    try:
        built = document(state.model).build(given)
        steered = _steering(state, built)
        built = document(state.model).build(given | steered) if steered else built
        check_link(built)
    except InputError as error:
        raise renamed(error, _inputs(state.model)) from None
    return built


@cache
def meanings(model: str) -> Mapping[str, str]:
    """Return what each input of an experiment is, in the words of the model's file."""
    known, places = specs(LinkState), _places(model)
    of_file = {name: describe(document(model), places[name][0]).meaning for name in places}
    return {name: of_file.get(name, spec.help) for name, spec in known.items()}


def _steering(state: LinkState, built: LinkScenario) -> dict[str, str]:
    """Return what sets target and gain of the flows that steer by delay, where they are not their file's own."""
    found = {}
    for flow in groups(built):
        assert flow.cc is not None
        place = f"flows.{flow.name}.cc"
        if state.target != OWN_FILE and flow.cc.target is not None:
            found[f"{place}.target"] = state.target
        if state.gain != LinkState.gain:
            factor = float(parse_quantity(state.gain, "fraction", field="gain"))  # type: ignore[arg-type]
            if flow.cc.gain is not None:
                found[f"{place}.gain"] = f"{factor * flow.cc.gain:.6g}"
            if flow.cc.max_gain is not None:
                found[f"{place}.max_gain"] = f"{round(factor * flow.cc.max_gain)} B"
    return found


def why_no_fluid(state: LinkState) -> str:
    """Return in a line why flow does not run the experiment of a state; nothing if it does."""
    try:
        fluid.check(scenario(state))
    except ScenarioError as error:
        labels = {field: specs(state)[name].label for field, name in _inputs(state.model).items()}
        found = (InputError(p.field, p.value, p.reason).describe() for p in renamed(error, labels).problems)
        return "; ".join(dict.fromkeys(found))  # both ways of a link are one input
    return ""


def command(state: LinkState) -> str:
    """Return the command line that gives the same numbers as a state, those of its packets."""
    seed = f" --seed {state.seed}" if state.seed != "0" else ""
    if state.model != ONE_LINK:
        given = scenario(state).given
        return " ".join(["btflow link", state.model, *(f"--set {quote(f'{n}={v}')}" for n, v in given.items())]) + seed
    options = {"rate": state.rate, "rtt": state.rtt, "buffer": state.buffer, "duration": state.duration}
    options |= {} if state.aqm == "drop-tail" else {"aqm": state.aqm}
    options |= {} if state.loss == LinkState.loss else {"loss": state.loss}
    flows = [(getattr(state, f"cc{i}"), getattr(state, f"n{i}"), getattr(state, f"start{i}")) for i in (1, 2, 3)]
    words = [f"--{name} {quote(text)}" for name, text in options.items()]
    given = scenario(state).given
    for name, (cc, n, start) in zip(GROUPS, flows, strict=True):
        own = [f"{k.rpartition('.')[2]}={v}" for k, v in given.items() if k.startswith(f"flows.{name}.cc.")]
        words += [f"--flow {quote(','.join([f'{cc}:{n}@{start}', f'name={name}', *own]))}"] if n != "0" else []
    words += [] if state.call == "none" else [f"--voip {state.call},name=call"]
    return " ".join(["btflow link", *words]) + seed


def rate_text(rate: float) -> str:
    """Return a rate [B/s] in kbit/s or Mbit/s."""
    bits = 8 * rate
    return f"{bits / 1e6:.10g} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:.10g} kbit/s"


def _changed(state: LinkState) -> dict[str, str]:
    """Return the values that are not as published, those that are of the page alone left out."""
    published = preset(state.model)
    found = {n: v for n, v in vars(state).items() if n not in (*OF_PAGE, *_STEER) and v != getattr(published, n)}
    idle = [i for i in _idle(state) if getattr(published, f"n{i}") == "0"]
    return {name: text for name, text in found.items() if name[-1] not in idle}


def _idle(state: LinkState) -> list[str]:
    """Return the groups that have no flows."""
    return [str(i) for i in (1, 2, 3) if getattr(state, f"n{i}") == "0"]


@cache
def _places(model: str) -> Mapping[str, tuple[str, ...]]:
    """Return the parameters or fields of an experiment that each input sets."""
    scenario, known = default(model), document(model).parameters
    link, way = scenario.bottleneck_queue.split(".")
    queue = f"access.{link}.{way}"
    fields = {
        "rate": f"{queue}.rate",
        "rtt": "paths.rtt",
        "buffer": f"{queue}.buffer",
        "aqm": f"{queue}.discipline",
        "loss": "paths.loss",
        "duration": "duration",
    }
    places: dict[str, tuple[str, ...]] = {n: (n if n in known else field,) for n, field in fields.items()}
    for number, flow in enumerate(groups(scenario), 1):
        for name, field in {"cc": "cc", "n": "count", "start": "start"}.items():
            places[f"{name}{number}"] = (f"flows.{flow.name}.{field}",)
    calls = _calls(scenario)
    if calls:
        places["call"] = tuple(f"flows.{flow.name}.codec" for flow in calls)
    return places


def _calls(scenario: LinkScenario) -> list[Flow]:
    return [flow for flow in scenario.flows if flow.codec is not None]


def _call(state: LinkState) -> dict[str, object]:
    """Return what sets the calls of an experiment: their codec, or that there are none."""
    flows = [flow.name for flow in _calls(default(state.model))]
    codec, count = (state.call, "1") if state.call != "none" else ("g729", "0")
    return {f"flows.{name}.{field}": text for name in flows for field, text in (("codec", codec), ("count", count))}


def _inputs(model: str) -> dict[str, str]:
    """Return the input that sets each field of an experiment, and each parameter."""
    found = {field: name for name, fields in _places(model).items() for field in fields}
    for name, parameter in document(model).parameters.items():
        found.update((name, found[field]) for field in parameter.sets if field in found)
        found.update((field, found[name]) for field in parameter.sets if name in found)
    return found | {f"{field}.base": name for field, name in found.items()}


def _one_link() -> dict[str, Any]:
    """Return the model of one user's link, the same in both directions, and the flows that go up."""
    text = Template((files("btflow.explore") / "one_link.toml").read_text("utf-8"))
    return tomllib.loads(text.substitute(vars(LinkState()), disciplines=list(DISCIPLINES)))


PAPERS: Mapping[str, str] = PUBLISHED["link_papers"]
GENI, OPNET = PAPERS.values()


def _of(paper: str, title: str, state: LinkState, *, beyond: bool = False) -> Preset:
    return Preset(paper, "", title, state, {"": command(state)}, beyond=beyond)


def _published(model: str, title: str, values: dict[str, str], *, beyond: bool = False) -> Preset:
    return _of(PAPERS[model], title, replace(preset(model), **values), beyond=beyond)


def presets() -> tuple[Preset, ...]:
    """Return every link experiment; none is larger than the page computes."""
    one = _of(OWN, "A LEDBAT upload beside a CUBIC upload on 1 Mbit/s", LinkState())
    taught = [_of(OWN, title_of(name, "links"), preset(name)) for name in names("links") if name not in PAPERS]
    return (one, *(_published(**each) for each in PUBLISHED["link"]), *taught)
