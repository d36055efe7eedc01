"""The parts of the comparison behind access links: what each runs, and its section of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from validation.fidelity import search
from validation.fidelity.compare import pairs, wanted
from validation.fidelity.links import beside_packets, ideals, report, swarms, verdicts
from validation.fidelity.links.compare import Pair
from validation.fidelity.links.measured import Figures, measured
from validation.fidelity.report import Section
from validation.fidelity.swarms import Setup, Swarm
from validation.fidelity.verdicts import section
from validation.swarms import packets
from validation.swarms.experiments import RUNS, Plan as Claims
from validation.sweeps import Sweeps

QUICK = 7
"""A quick call runs every so many settings."""


@dataclass
class Plan:
    """How much is simulated, and where it is kept."""

    sweeps: Sweeps
    """What runs and keeps it."""
    seeds: int = swarms.MORE
    """Seeds of a setting, at most."""
    every: int = 1
    """Every so many settings are run."""
    smaller: Mapping[str, str | int] = field(default_factory=dict)
    """Parameters that make the swarms smaller."""
    runs: int = RUNS
    """Runs of a setting of the claims."""
    ids: Sequence[str] = verdicts.IDS
    """Claims that are judged."""
    found: list[Pair] = field(default_factory=list)
    """What has been compared up to now."""
    known: dict[Swarm, Figures] = field(default_factory=dict)
    """The figures of all that was run up to now: some parts have swarms in common."""

    def pairs(self, setups: Sequence[Setup], seeds: int | None = None, first: int = 0) -> list[Pair]:
        """Run some settings at both fidelities, with up to so many seeds from `first` on."""
        seeds = self.seeds if seeds is None else seeds
        setups = [Setup(s.label, {**s.settings, **self.smaller}, s.seeds, s.model) for s in setups]
        new = [swarm for swarm in wanted(setups, seeds, first) if swarm not in self.known]
        self.known |= dict(measured(new, self.sweeps))
        return pairs(Pair, setups, self.known, seeds, first)


def _part(title: str, setups: Callable[[], list[Setup]]) -> Callable[[Plan], Section]:
    def run(plan: Plan) -> Section:
        found = plan.pairs(setups()[:: plan.every])
        plan.found += [pair for pair in found if not pair.refused]
        return report.section(title, found)

    return run


def ablations(plan: Plan) -> Section:
    """Take ACKs and messages past the queues of the swarms of 2011."""
    return ideals.section(plan.pairs(ideals.setups()))


def worst(plan: Plan) -> Section:
    """Search for the largest error."""
    whole = plan.seeds >= swarms.MORE
    setups = search.points(swarms.SEARCHED, search.POINTS, swarms.OTHERS, swarms.FLASH)[:: plan.every]
    found = plan.pairs(setups, min(plan.seeds, swarms.FIRST))
    run = [pair for pair in found if not pair.refused]
    again = plan.pairs([pair.setup for pair in search.worst(run)], swarms.OTHERS if whole else 2, swarms.FIRST)
    return report.searched(found, again)


def beside_ns3(plan: Plan) -> Section:
    """Put both fidelities beside ns-3."""
    settings = list(packets.settings())[:: plan.every]
    return beside_packets.section(settings, plan.pairs([swarms.of_packets(setting) for setting in settings]))


def claims(plan: Plan) -> Section:
    """Judge the published claims at flow."""
    flow = verdicts.at_flow(Claims(plan.runs), plan.sweeps, plan.ids)
    return section(flow, verdicts.at_full(), verdicts.NOTE)


PARTS: Mapping[str, Callable[[Plan], Section]] = {
    swarms.FLASH: _part("Flash crowds: client, uplink, buffer, share of uTP peers", swarms.flashes),
    swarms.ADSL: _part("ADSL swarms of 2011", swarms.adsls),
    swarms.CLUSTER: _part("Cluster swarms of 2012", swarms.clusters),
    "ablations": ablations,
    "search": worst,
    "packets": beside_ns3,
    "claims": claims,
}
"""The parts by name, in the order of the page."""
