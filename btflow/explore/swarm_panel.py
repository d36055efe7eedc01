"""The swarm panel: its state, the swarm that it stands for, its presets; completion, queues, and why it was slow.

The papers' swarms are larger than what a page draws at once; their presets have fewer leechers or a smaller file, and
the command line of the whole. What the papers say of them holds in these sizes, too: the swarms of 2010 have fewer
leechers but their whole file, because with 10 MB a round-trip time of 400 ms costs 20 % instead of 10 %.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import xarray as xr

from btflow.config import catalog
from btflow.config.document import Document
from btflow.config.schema import describe
from btflow.errors import InputError
from btflow.explore.form import Form, Panel
from btflow.explore.inputs import DECLARED, Amount, declared, renamed
from btflow.explore.limits import check_swarm
from btflow.explore.panel import NOT_SHOWN, OWN, PUBLISHED, SHOWN, Commands, Preset, in_flow, specs
from btflow.explore.saved import of_swarm, to_toml
from btflow.explore.spots import Spot
from btflow.explore.views import LINKED, Asked, Canvas, Seen, see
from btflow.explore.watch import Run
from btflow.link.access import AQM
from btflow.swarm.scenario import Scenario
from btflow.units import UNLIMITED, Buffer, is_unlimited

INPUTS: Mapping[str, Mapping[str, str]] = {model: said["sets"] for model, said in DECLARED["models"].items()}
"""By model: the inputs that it has, and the parameter or field that each sets."""

FIRST: Mapping[str, tuple[str, ...]] = {model: tuple(said["first"]) for model, said in DECLARED["models"].items()}
"""By model: which it is, and the five inputs that matter first."""

HEIGHT = 300
"""Height of a figure [px]: two rows of them, and what they say, are in view on a laptop."""

_ASES = (("AS1", "AS2", "AS3"), ("AS1", "AS3", "AS4"), ("AS1", "AS3", "AS5"))
PATHS: Mapping[str, Mapping[str, str]] = {
    "alike": {},
    **{
        f"{'+'.join(leechers)}/{seed}": {"leecher_as": ",".join(leechers), "seed_as": seed}
        for leechers in _ASES
        for seed in leechers
    },
    "iplane": {"internet": "iplane"},
}
"""What a choice of paths sets: nothing, where peers are in figures 8 and 9 of the paper of 2010, or iPlane's paths."""
_PATHS = {"alike": "all alike", "iplane": "drawn from iPlane's"} | {
    name: f"{name.partition('/')[0].replace('+', ', ')}; seed AS'{name[-1]}" for name in PATHS if "/" in name
}
SAME = "same"


@dataclass(frozen=True)
class Limit(Amount):
    """A rate that may be ``unlimited``: that is where its slider ends."""

    beside = f", or {UNLIMITED}"

    def slid(self, text: str) -> float | None:
        """Return where the slider stands, at its end if there is no limit."""
        return super().slid(self.high if is_unlimited(text) else text)

    def written(self, number: float, shown: str = "") -> str:
        """Return the text for a place of the slider."""
        return UNLIMITED if number >= 0.999 * float(super().slid(self.high) or 0.0) else super().written(number, shown)

    def number(self, text: str, name: str = "value") -> float | Buffer:
        """Return the rate [B/s]; InputError if it is none."""
        return float("inf") if is_unlimited(text) else super().number(text, name)

    def check(self, name: str, text: str) -> str:
        """Return the text; InputError if it is no rate, or out of range."""
        return UNLIMITED if is_unlimited(text) else super().check(name, text)


_input = partial(declared, "swarm")


@dataclass(frozen=True)
class SwarmState:
    """The inputs of the swarm panel, as texts."""

    model: str = _input("model")
    leechers: str = _input("leechers")
    file_size: str = _input("file_size")
    utp_share: str = _input("utp_share")
    cc: str = _input("cc")
    cubic_share: str = _input("cubic_share")
    uplink: str = _input("uplink")
    seed_uplink: str = _input("seed_uplink")
    buffer: str = _input("buffer")
    aqm: str = _input("aqm", options=tuple(AQM))
    utp_target: str = _input("utp_target")
    utp_gain: str = _input("utp_gain")
    limit: str = _input("limit")
    upload_limit: str = _input("upload_limit", Limit)
    seed_limit: str = _input("seed_limit")
    paths: str = _input("paths", options=tuple(PATHS), shown=tuple(_PATHS[name] for name in PATHS))
    rtt: str = _input("rtt")
    loss: str = _input("loss")
    tso: str = _input("tso")
    stay: str = _input("stay")
    client: str = _input("client")
    bt: str = _input("bt")
    seed: str = _input("seed")


def inputs(state: SwarmState) -> tuple[str, ...]:
    """Return the names of the inputs that a state's model has, and that have an effect."""
    used = {"model", "seed", *INPUTS[state.model]}
    if state.model == "testa2012" and state.cc != "utp":
        used -= {"utp_target", "utp_gain"}
    if "paths" in used and state.paths != "alike":
        used -= {"rtt", "loss"} if state.paths == "iplane" else {"rtt"}
    return tuple(name for name in specs(state) if name in used)


def settings(state: SwarmState) -> dict[str, str]:
    """Return what is set, by parameter or field, as for ``Scenario.set``."""
    used = inputs(state)
    found = {to: getattr(state, name) for name, to in INPUTS[state.model].items() if name in used}
    if found.get("seed_upload_limit") == SAME:
        del found["seed_upload_limit"]
    if "internet" in found:
        del found["internet"]
        found |= PATHS[state.paths]
    if state.model == "testa2011":
        found["discard"] = str(int(state.leechers) // 2)
    return found


def scenario_of(state: SwarmState) -> Scenario:
    """Return the swarm that a state stands for.

    Raises:
        InputError: The values make no swarm; its field is the name of an input if it is that of one.
    """
    try:
        return _document(state.model).build(settings(state))
    except InputError as error:
        raise renamed(error, {field: name for name, field in INPUTS[state.model].items()}) from None


def command_of(state: SwarmState) -> str:
    """Return the command line that runs the same swarm."""
    given = " ".join(f'--set "{name}={text}"' for name, text in settings(state).items())
    return f"btflow run {state.model} {given} --seed {state.seed}"


@cache
def meanings(model: str) -> Mapping[str, str]:
    """Return what each input of a model is, in the words of the model's file."""
    known = specs(SwarmState)
    of_file = {name: describe(_document(model), to).meaning for name, to in INPUTS[model].items() if to != "internet"}
    found = {name: of_file.get(name, spec.help) for name, spec in known.items()}
    for name in ("uplink", "seed_uplink"):  # the page has no uplinks without a rate
        found[name] = found[name].partition(";")[0]
    return found


_document: Callable[[str], Document[Scenario]] = cache(catalog.document)


PAPERS: Mapping[str, str] = {model: said["paper"] for model, said in PUBLISHED["papers"].items()}
RAO, ADSL, CLUSTER = PAPERS.values()


def size_of(model: str, which: str) -> tuple[str, str]:
    """Return leechers and file of a paper's swarm: ``whole``, as it is ``shown``, or of ``pairs``."""
    leechers, file_size = PUBLISHED["papers"][model][which]
    return leechers, file_size


def state_of(model: str, size: str, **values: str) -> SwarmState:
    """Return a paper's swarm in a size, with some of its inputs changed."""
    leechers, file_size = size_of(model, size)
    old = {"stay": "random", "buffer": "200 packets", "utp_target": "25 ms"}
    plain = old if model == "testa2011" else {"limit": "20 kB/s", "rtt": "0 ms"}
    return SwarmState(**{"model": model, "leechers": leechers, "file_size": file_size} | plain | values)


def whole(state: SwarmState) -> SwarmState:
    """Return a paper's swarm in the paper's size."""
    leechers, file_size = size_of(state.model, "whole")
    return replace(state, leechers=leechers, file_size=file_size)


def less(state: SwarmState, why: str) -> str:
    """Return the note on the size of a paper's swarm."""
    leechers, file_size = size_of(state.model, "whole")
    parts = [f"{state.leechers} leechers instead of {leechers}"]
    parts += [f"a file of {state.file_size} instead of {file_size}"] if state.file_size != file_size else []
    return f"{' and '.join(parts)}, {why}.{PUBLISHED['papers'][state.model].get('differs', '')}"


def _preset(model: str, figure: str, title: str, values: dict[str, str], *, beyond: bool = False) -> Preset:
    state = state_of(model, "shown", **values)
    note = less(state, "so that it is drawn at once")
    return Preset(PAPERS[model], figure, title, state, {"": command_of(whole(state))}, note, beyond)


PRESETS = (
    Preset(OWN, "", "half of the peers with uTP", SwarmState(), {"": command_of(SwarmState())}),
    *(_preset(**each) for each in PUBLISHED["swarm"]),
)
"""Every swarm that the panel has a preset for."""


class SwarmPanel(Panel):
    """One swarm.

    Attributes:
        canvas: The figures.
        views: They, and what is above them.
    """

    presets: tuple[Preset, ...] = PRESETS

    def __init__(self, state: SwarmState = PRESETS[0].state) -> None:
        super().__init__()
        self.canvas: Canvas[Asked] = Canvas(see, LINKED, self._tell, HEIGHT, run=self._run)
        self.form = Form(state, self._change, self.canvas.stage.refuse)
        self.controls, self.views = self.form.widget, self.canvas.stage.widget
        self.set_state(state)
        self.canvas.first()

    @property
    def result(self) -> xr.Dataset | None:
        """What the figures show, None before the first one."""
        return self.canvas.seen.result if self.canvas.seen else None

    def point(self, spot: Spot | None, said: str = "") -> None:
        """Point at a place of the figures and write something there; or at none."""
        for name, shown in self.canvas.gallery.figures.items():
            if spot is not None and name == spot.part:
                shown.point(spot.x, spot.y, said)
            else:
                shown.point()

    def scenario(self) -> Scenario:
        """Return the swarm of the state."""
        return scenario_of(self.state)

    def files(self) -> Mapping[str, str]:
        """Return what can be saved, by file name: the swarm as TOML, as CSV what is drawn if it is its."""
        shown = self._shown()
        fidelity = shown.fidelity if shown is not None else "full"
        note = f"# The seed of the random numbers was {self.state.seed}, the fidelity {fidelity}.\n"
        found = {f"{self.state.model}.toml": note + to_toml(self.scenario())}
        return found | of_swarm(shown) if shown is not None else found

    def about(self) -> str:
        """Return what the command line gives."""
        return SHOWN if self.canvas.busy or self._shown() is not None else NOT_SHOWN

    def _shown(self) -> Seen | None:
        """Return what is shown if it is of the inputs, not of earlier ones as after a run that was cancelled."""
        asked, seen = Asked(scenario_of(self.state), int(self.state.seed)), self.canvas.seen
        return seen if seen is not None and seen.asked == asked else None

    def commands(self) -> Commands:
        """Return the command line that gives the same result; in flow only if its figures stay: full was cancelled."""
        shown, found = self._shown(), {"": command_of(self.state)}
        stays = shown is not None and shown.fidelity == "flow" and not self.canvas.busy
        return in_flow(found) if stays else found

    def _run(self) -> Run:
        return Run(self.scenario(), int(self.state.seed), self._part)

    def _used(self) -> Sequence[str]:
        return inputs(self.state)

    def _first(self) -> Sequence[str]:
        return FIRST[self.state.model]

    def _change(self, state: SwarmState) -> None:
        scenario = scenario_of(state)
        check_swarm(scenario)
        self._arrange()
        self.form.explain(meanings(state.model))
        self.canvas.ask(Asked(scenario, int(state.seed)))
        self._tell()
