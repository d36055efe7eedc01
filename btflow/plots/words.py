"""What figures say: names of congestion controls and flows, terms of the legends, sentences under the pointer.

Each sentence and each explanation is here once, so that all figures say the same in the same words. `docs/glossary.md`
has the terms as a table, which a test compares with this one.
"""

import tomllib
from collections.abc import Iterable
from importlib.resources import files

import xarray as xr

_FILE = tomllib.loads((files("btflow.plots") / "terms.toml").read_text("utf-8"))
TERMS: dict[str, str] = _FILE["terms"]
"""Terms of legends, each explained in one sentence."""

_PARTS: dict[str, str] = _FILE["parts"]


def spelled(name: str) -> str:
    """Return a congestion control, or a class of peers named after a transport, as the field writes it: ns-3 CUBIC."""
    return " ".join(_PARTS.get(part, part) for part in name.split("-"))


def of_class(name: str) -> str:
    """Return a class of peers, or a call, as legends have it: spelled if it has a known name in it, else as it is."""
    return spelled(name) if _PARTS.keys() & name.split("-") else name


def flow_name(flow: str, cc: str, kind: str = "long") -> str:
    """Return a flow, or a group of them, as legends have it: ``first, CUBIC``, or ``CUBIC 1`` of one named after it."""
    if kind == "voip":
        return of_class(flow)
    name, _, number = flow.rpartition("-")
    if flow == cc:
        return spelled(cc)
    if name == cc and number.isdigit():
        return f"{spelled(cc)} {number}"
    return f"{flow}, {spelled(cc)}"


def group_of(flow: str) -> str:
    """Return the group of a flow: its name without the number."""
    name, _, number = flow.rpartition("-")
    return name if name and number.isdigit() else flow


def flow_names(result: xr.Dataset) -> list[str]:
    """Return the name of each flow of a link experiment."""
    columns = (result[name].values for name in ("flow", "cc", "kind"))
    return [flow_name(str(flow), str(cc), str(kind)) for flow, cc, kind in zip(*columns, strict=True)]


def of_control(cc: str) -> str:
    """Return the explanation of a congestion control; empty for one that is not in TERMS."""
    words = {word for part in cc.split("-") for word in _PARTS.get(part, "").split()}
    return next((f"{term}: {meaning}" for term, meaning in TERMS.items() if term in words), "")


def meaning(term: str) -> dict[str, str]:
    """Return what a trace has of a term: its explanation, which the legend shows where the pointer rests."""
    return {"meta": f"{term}: {TERMS[term]}"}


NUMBER = ".3~r"
"""Three digits, in the notation of d3-format: a figure is read to no more."""


def at_time(name: str, amount: str, digits: str = NUMBER) -> str:
    """Return the sentence on a point over time: ``first, CUBIC: 94 segments at 22.5 s``; `amount` is its unit."""
    return f"{name}: %{{y:{digits}}} {amount} at %{{x:.4~r}} s<extra></extra>"


def waiting(name: str) -> str:
    """Return the sentence on a queue, whose wait [ms] is in `customdata`: ``43 packets wait, 516 ms, at 22.5 s``."""
    return f"{name}: %{{y:.0f}} packets wait, %{{customdata:{NUMBER}}} ms, at %{{x:.4~r}} s<extra></extra>"


def capacity(unit: str) -> str:
    """Return the sentence on the line of what a link can send."""
    return f"capacity: %{{y:{NUMBER}}} {unit}<extra></extra>"


FOUND = "%{text}: a loss was found at %{x:.4~r} s, at a window of %{y:.3~r} segments<extra></extra>"
TIMED_OUT = "%{text}: the retransmission timer fired at %{x:.4~r} s<extra></extra>"
DROPPED = "%{customdata} dropped by %{text} at %{x:.4~r} s<extra></extra>"
"""Sentences on marks; `text` has flows, `customdata` how many packets."""


def score(name: str) -> str:
    """Return the sentence on a call's score over time."""
    return f"{name}: a mean opinion score of %{{y:.2f}} in the seconds before %{{x:.4~r}} s<extra></extra>"


def share_above(name: str, unit: str) -> str:
    """Return the sentence on a share of the time [%] with more than x: ``more than 40 packets 5% of the time``."""
    return f"{name}: more than %{{x:{NUMBER}}} {unit} %{{y:{NUMBER}}}% of the time<extra></extra>"


def share_below(name: str, what: str, unit: str) -> str:
    """Return the sentence on a distribution: ``first: 95% of the packets within 120 ms``; `what` may be empty."""
    return f"{name}: %{{y:{NUMBER}}}% {what and f'of the {what} '}at most %{{x:{NUMBER}}} {unit}<extra></extra>"


def complete(name: str) -> str:
    """Return the sentence on a completion time: ``half of the peers were complete after 183 s``; `text` is shares."""
    return f"{name}: %{{text}} of the peers were complete after %{{x:.4~r}} s<extra></extra>"


_SHARES: dict[float, str] = {0: "none", 25: "a quarter", 50: "half", 75: "three quarters", 100: "all"}


def shares(values: Iterable[float]) -> list[str]:
    """Return shares [%] in words: half, 37%."""
    return [_SHARES.get(value, f"{value:.0f}%") for value in values]


BOUND = "no swarm is complete before %{x:.4~r} s<extra></extra>"
ROUND = "choker round of the seed at %{x:.4~r} s<extra></extra>"
COMPLETION = "%{customdata} complete at %{x:.4~r} s<extra></extra>"
PLANES = "%{y:.3~r} kbit/s, and messages take %{x:.3~r} ms<extra></extra>"
RANK = "number %{x} to complete, after %{y:.4~r} s<extra></extra>"
"""Sentences on a swarm; `customdata` is how many peers."""


def held_back(cause: str) -> str:
    """Return the sentence on a share of the time [%] of unchoked connections."""
    return f"%{{y}}: {cause}, %{{x:{NUMBER}}}% of the time<extra></extra>"


def of_axes(name: str, x: str, y: str) -> str:
    """Return the sentence on a point, by the titles of its axes: ``A: completion time 212 s at file size 20 MB``.

    Args:
        name: Of the line, or empty.
        x: Title of the horizontal axis, with its unit in brackets if it has one.
        y: Title of the vertical axis.
    """
    (across, across_unit), (up, up_unit) = parted(x), parted(y)
    start = f"{name}: " if name else ""
    return f"{start}{up} %{{y:.4~r}}{up_unit} at {across} %{{x:.4~r}}{across_unit}<extra></extra>"


def parted(title: str) -> tuple[str, str]:
    """Return the title of an axis without its unit, and the unit as it stands behind a number."""
    what, _, unit = title.removesuffix(" (log scale)").replace("<br>", " ").partition(" [")
    found = unit.rstrip("]")
    return what, found if found in ("%", "") else f" {found}"
