"""What ideal ACKs and ideal messages, which pass all queues, change in the swarms of 2011, at both fidelities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from btflow.options import FIDELITIES, Fidelity
from validation.fidelity.links.compare import Pair
from validation.fidelity.links.swarms import adsl
from validation.fidelity.report import Section
from validation.fidelity.swarms import Setup
from validation.markdown import table as markdown
from validation.swarms.ablations import PROPER
from validation.swarms.compare import Interval, interval

IDEAL: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "messages": {"ideal_control": True},
    "ACKs": {"ideal_acks": True},
    "both": {"ideal_acks": True, "ideal_control": True},
}
"""What is ideal."""
SHARES = {"all TCP": 0, "half TCP, half uTP": 50, "all uTP": 100}
"""Shares of uTP peers [%]."""
HALF = SHARES["half TCP, half uTP"]


def setups() -> list[Setup]:
    """Return the swarms, which are among those of 2011: both are ideal in the mixed one only."""
    return [adsl(share, **more) for name, more in IDEAL.items() for share in SHARES.values() if _runs(name, share)]


def _runs(ideal: str, share: int) -> bool:
    return ideal != "both" or share == HALF


Both = Mapping[Fidelity, Interval]


@dataclass(frozen=True)
class Row:
    """A figure with something ideal, at both fidelities, in percent."""

    figure: str
    """What it is."""
    ideal: str
    """What is ideal."""
    values: Both
    """The figure over the seeds."""
    whole: Both | None = None
    """The same with nothing ideal, of a difference between TCP and uTP."""

    def gone(self, fidelity: Fidelity) -> str:
        """Return the part of the difference that goes, if there is a difference to speak of."""
        if self.whole is None or self.ideal == "nothing" or abs(self.whole[fidelity].mean) < 100.0 * PROPER:
            return "-"
        return f"{100.0 * (1.0 - self.values[fidelity].mean / self.whole[fidelity].mean):.0f}%"

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        values = (f"{one.mean:+.1f} ({one.low:+.1f} to {one.high:+.1f})" for one in self.values.values())
        return (self.figure, self.ideal, *values, ", ".join(self.gone(fidelity) for fidelity in FIDELITIES))


def section(pairs: Sequence[Pair]) -> Section:
    """Return the section on what goes with ideal ACKs and messages."""
    refused = [f"Not run: {pair.setup.label}: {pair.refused}" for pair in pairs if pair.refused]
    if refused:
        return Section(TITLE, refused, [])
    at = {pair.setup.label: pair for pair in pairs}
    swarms = {
        (name, share): at.get(adsl(share, **more).label) for name, more in IDEAL.items() for share in SHARES.values()
    }
    apart, changes = differences(swarms), changes_of(swarms)
    header = ("figure", "ideal", *(f"{name} [%]" for name in FIDELITIES), f"part that goes: {', '.join(FIDELITIES)}")
    lines = [*markdown(header, (row.cells for row in (*apart, *changes))), "", NOTE]
    return Section(TITLE, answer(apart, changes), lines)


TITLE = "Ideal ACKs and messages in the swarms of 2011"
NOTE = "In brackets Student's 95% intervals over the seeds. The part that goes of a difference below 2% is not given."

Swarms = Mapping[tuple[str, int], Pair | None]
"""By what is ideal and the share of uTP; None for what is not run."""


def differences(swarms: Swarms) -> list[Row]:
    """Return by how much uTP is later than TCP: in the mixed swarm, and all against all."""
    mixed = {name: within(pair) for name in IDEAL if (pair := swarms[name, HALF]) is not None}
    alone = {
        name: over(utp, tcp)
        for name in IDEAL
        if (utp := swarms[name, 100]) is not None and (tcp := swarms[name, 0]) is not None
    }
    return [
        Row(figure, name, values, rows["nothing"])
        for figure, rows in {"uTP over TCP, half of each": mixed, "all uTP over all TCP": alone}.items()
        for name, values in rows.items()
    ]


def changes_of(swarms: Swarms) -> list[Row]:
    """Return by how much the mean completion is later than with nothing ideal."""
    return [
        Row(f"mean completion, {label}", name, over(pair, base))
        for label, share in SHARES.items()
        for name in IDEAL
        if name != "nothing"
        and (pair := swarms[name, share]) is not None
        and (base := swarms["nothing", share]) is not None
    ]


def within(pair: Pair) -> Both:
    """Return by how much uTP is later than TCP in one swarm [%]."""
    gaps = {fidelity: pair.gap(fidelity) for fidelity in FIDELITIES}
    return {fidelity: gap.interval for fidelity, gap in gaps.items() if gap is not None}


def over(pair: Pair, base: Pair) -> Both:
    """Return by how much one swarm's mean completion is later than another's, seed by seed [%]."""
    return {
        name: interval(100.0 * (np.array(pair.values(name)) / np.array(base.values(name)) - 1.0)) for name in FIDELITIES
    }


def answer(apart: Sequence[Row], changes: Sequence[Row]) -> list[str]:
    """Return what was found in sentences."""
    found = [
        f"{row.figure}: of the difference {row.gone('full')} goes at full and {row.gone('flow')} at flow with ideal "
        f"{'ACKs and messages' if row.ideal == 'both' else row.ideal}."
        for row in apart
        if row.gone("full") != "-"
    ]
    told = [row for row in changes if row.values["full"].low > 0.0 or row.values["full"].high < 0.0]
    same = sum(row.values["full"].mean * row.values["flow"].mean > 0.0 for row in told)
    far = max(abs(row.values["flow"].mean - row.values["full"].mean) for row in changes)
    return [
        *found,
        f"Mean completion: of {len(told)} changes told from none at full, {same} have their sign at flow; the furthest "
        f"of all {len(changes)} is {far:.1f} points off.",
    ]
