"""Link experiments as a sweep runs them, and the figures of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from btflow import memory
from btflow.errors import InputError, ScenarioError
from btflow.kernels.link.state import State
from btflow.link import run
from btflow.link.fluid import check
from btflow.link.program import compile_link
from btflow.link.results import QUANTILES, Measured, measured, sample_times
from btflow.link.scenario import LinkScenario
from btflow.link.state import LinkProgram, state_bytes
from btflow.options import MAX_SEED, Fidelity
from btflow.swarm.replica import mean_of_known
from btflow.sweeps.results import Statistic, Table, prefixed

Floats = NDArray[np.float64]

MEDIAN, P95 = QUANTILES.index(0.5), QUANTILES.index(0.95)

APART = ("voip", "messages")
"""Kinds of flows that are no data: calls and probes."""

DATA = (
    Statistic("goodput", "B/s", "payload that arrived of all data flows, each byte once, per second"),
    Statistic("jain_index", "1", "Jain's fairness index of the goodputs of the data flows"),
    Statistic("retransmitted_share", "1", "segments of data flows sent again, of all sent"),
    Statistic("completion_max", "s", "longest time from a flow's start to its last byte; none if one did not finish"),
)

SPEECH = (Statistic("mos", "1", "mean opinion score, mean over all calls (E-model, ITU-T G.107)"),)
"""Of single packets, which flow does not know."""

QUEUE = (
    Statistic("utilisation", "1", "bytes sent, headers included, over capacity"),
    Statistic("delay_mean", "s", "mean of bytes waiting over capacity"),
    Statistic("delay_p95", "s", "95th percentile of the samples of bytes waiting over capacity"),
    Statistic("packets_mean", "packets", "mean number of packets waiting, the one in service not counted"),
    Statistic("packets_median", "packets", "median number of packets waiting"),
    Statistic("packets_p95", "packets", "95th percentile of the number of packets waiting"),
    Statistic("dropped_share", "1", "packets dropped, of all that came"),
)

GROUP = (
    Statistic("goodput", "B/s", "payload that arrived, each byte once, per second: sum over the flows"),
    Statistic("goodput_mean", "B/s", "goodput of a flow: mean over the flows"),
    Statistic("goodput_min", "B/s", "least goodput of a flow"),
    Statistic("goodput_max", "B/s", "greatest goodput of a flow"),
    Statistic("share", "1", "share of the goodput of all data flows"),
    Statistic("jain_index", "1", "Jain's fairness index of the goodputs of the flows"),
    Statistic("retransmitted_share", "1", "segments sent again, of all sent"),
    Statistic("window_falls", "1", "falls of the window after duplicate ACKs: sum over the flows"),
    Statistic("timeouts", "1", "retransmission timeouts: sum over the flows"),
    Statistic("rtt_mean", "s", "mean round-trip time as the sender measures it: mean over the flows that measured any"),
    Statistic("rtt_p95", "s", "95th percentile of the round-trip times: mean over the flows that measured any"),
    Statistic("completion_mean", "s", "mean time from a flow's start to its last byte; none if one did not finish"),
    Statistic("completion_max", "s", "longest time from a flow's start to its last byte; none if one did not finish"),
)

RECORDS = (
    Statistic("delay_mean", "s", "mean delay of voice packets in the network, or of messages: mean over the flows"),
    Statistic("delay_p95", "s", "95th percentile of the delay of voice packets or messages: mean over the flows"),
    Statistic("delivered_share", "1", "messages delivered by the end, of those written"),
    Statistic("jitter", "s", "mean interarrival jitter of calls (RFC 3550): mean over the flows"),
    Statistic("voice_loss", "1", "share of the voice packets lost: mean over the flows"),
    Statistic("mos", "1", "mean opinion score of calls (E-model, ITU-T G.107): mean over the flows"),
)
"""Of a group's single packets or messages, which flow does not know."""


def group_names(scenario: LinkScenario) -> tuple[str, ...]:
    """Return the names of the groups of flows."""
    return tuple(flow.name for flow in scenario.flows)


def queue_names(scenario: LinkScenario) -> tuple[str, ...]:
    """Return the names of both directions of every access link, those without a limited rate too."""
    return tuple(f"{link.name}.{way}" for link in scenario.access for way in ("uplink", "downlink"))


class Experiment(NamedTuple):
    """What the runs of a program have in common."""

    scenario: LinkScenario
    program: LinkProgram


@dataclass(frozen=True)
class LinkStatistics:
    """The figures of every experiment of a sweep."""

    groups: tuple[str, ...]
    """Names of the groups of flows."""
    queues: tuple[str, ...]
    """Names of the directions of the access links."""
    fidelity: Fidelity = "full"
    """How the experiments are run, but for those that check flow, of which no more is told than of the others."""

    @property
    def only_full(self) -> tuple[str, ...]:
        """Names of what flow does not know of the whole."""
        return tuple(s.name for s in SPEECH)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The figures in tables: of the whole, of each group of flows, of each queue if there are access links."""
        speech, records = (SPEECH, RECORDS) if self.fidelity == "full" else ((), ())
        whole = (*DATA, *speech, *prefixed("bottleneck", QUEUE, "bottleneck: "))
        groups = prefixed("group", (*GROUP, *records))
        found = (Table(whole), Table(groups, "flow_group", self.groups, "group of flows"))
        if not self.queues:
            return found
        return (*found, Table(prefixed("queue", QUEUE), "queue", self.queues, "access link and direction"))

    @property
    def width(self) -> int:
        """Number of figures of an experiment."""
        return sum(table.width for table in self.tables)

    def of(self, common: Experiment, state: State) -> Floats:
        """Return the figures of an experiment (width,)."""
        run = _Run(*common, state)
        queues = _queues(run)
        nothing = np.full(len(QUEUE), np.nan)
        bottleneck = queues.get(run.program.bottleneck, nothing)
        each = [queues.get(name, nothing) for name in self.queues]
        if self.fidelity == "flow":
            groups = [_of_group(run, number) for number in range(len(self.groups))]
            return np.concatenate([_of_data(run), bottleneck, *groups, *each])
        groups = [part(run, number) for number in range(len(self.groups)) for part in (_of_group, _of_records)]
        return np.concatenate([_of_data(run), [mean_of_known(run["voip_mos"])], bottleneck, *groups, *each])


class _Run:
    """A finished experiment, with what several figures need; arrays (flows,) of its variables by name.

    Attributes:
        group: Number of each flow's group (flows,).
        data: Which flows are neither calls nor probes.
        sized: Whether each flow has a size (flows,).
        voip: Which flows are calls, in the order of the figures of calls.
        probe: Which flows are probes, likewise.
    """

    def __init__(self, scenario: LinkScenario, program: LinkProgram, state: State) -> None:
        self.scenario, self.program, self.state = scenario, program, state
        self._measured: Mapping[str, Measured] = measured(scenario, program, state)
        kinds = np.array(program.flow_kinds, object)
        self.group = np.repeat(np.arange(len(scenario.flows)), [flow.count for flow in scenario.flows])
        self.data = np.flatnonzero((kinds != APART[0]) & (kinds != APART[1]))
        self.sized = kinds == "sized"
        self.voip, self.probe = (np.flatnonzero(kinds == kind) for kind in APART)

    def __getitem__(self, name: str) -> Floats:
        return np.asarray(self._measured[name].values, np.float64)


def _queues(run: _Run) -> dict[str, Floats]:
    """Return the figures of each queue that has a limited rate, by name."""
    if not run.program.queue_names:
        return {}
    lengths, came = run["queue_quantile"], run["arrivals"]
    times = sample_times(run.program, run.state)
    waiting = run.state.queue_delay_series[: len(times)][times >= run.scenario.warmup_time]
    late = np.quantile(waiting, 0.95, axis=0) if len(waiting) else np.full(len(came), np.nan)
    dropped = np.divide(run["drops"], came, out=np.full(len(came), np.nan), where=came > 0.0)
    columns = (
        run["utilisation"],
        run["queue_mean_delay"],
        late,
        run["queue_mean_packets"],
        lengths[:, MEDIAN],
        lengths[:, P95],
        dropped,
    )
    return dict(zip(run.program.queue_names, np.stack(columns, axis=1), strict=True))


def _of_data(run: _Run) -> Floats:
    """Return the figures of all data flows."""
    goodput = run["goodput"][run.data]
    total = float(goodput.sum()) if len(goodput) else np.nan
    return np.array([total, _jain(goodput), _again(run, run.data), _finish(run, run.data, np.max)])


def _of_group(run: _Run, number: int) -> Floats:
    """Return the figures of a group of flows by its number; none if it has no flow."""
    flows = np.flatnonzero(run.group == number)
    if not len(flows):
        return np.full(len(GROUP), np.nan)
    goodput = run["goodput"][flows]
    total = float(run["goodput"][run.data].sum())
    counts = run.scenario.flows[number].kind not in APART and total > 0.0
    return np.array(
        [
            goodput.sum(),
            goodput.mean(),
            goodput.min(),
            goodput.max(),
            goodput.sum() / total if counts else np.nan,
            _jain(goodput),
            _again(run, flows),
            run["window_falls"][flows].sum(),
            run["timeouts"][flows].sum(),
            mean_of_known(run["rtt_mean"][flows]),
            mean_of_known(run["rtt_quantile"][flows, P95]),
            _finish(run, flows, np.mean),
            _finish(run, flows, np.max),
        ]
    )


def _of_records(run: _Run, number: int) -> Floats:
    """Return the figures of a group's calls and probes."""
    call, probe = (run.group[apart] == number for apart in (run.voip, run.probe))
    mean = np.append(run["voip_delay_mean"][call], run["probe_delay_mean"][probe])
    late = np.append(run["voip_delay_quantile"][call, P95], run["probe_delay_quantile"][probe, P95])
    written = float(run["probe_sent"][probe].sum())
    return np.array(
        [
            mean_of_known(mean),
            mean_of_known(late),
            float(run["probe_delivered"][probe].sum()) / written if written else np.nan,
            mean_of_known(run["voip_jitter"][call]),
            mean_of_known(run["voip_loss"][call]),
            mean_of_known(run["voip_mos"][call]),
        ]
    )


def _jain(goodput: Floats) -> float:
    """Return the square of the sum over the number times the sum of the squares (Jain, Chiu, Hawe 1984)."""
    squares = len(goodput) * float((goodput**2).sum())
    return float(goodput.sum()) ** 2 / squares if squares > 0.0 else np.nan


def _again(run: _Run, flows: NDArray[np.int64]) -> float:
    sent = float(run["sent"][flows].sum())
    return float(run["resent"][flows].sum()) / sent if sent > 0.0 else np.nan


def _finish(run: _Run, flows: NDArray[np.int64], of: Callable[[Floats], float]) -> float:
    """Return a figure of the times to the last byte of the flows of a given size; NaN if one has none."""
    times = run["completion_time"][flows[run.sized[flows]]]
    return float(of(times)) if len(times) else np.nan


def replica_seed(seed: int, replica: int) -> int:
    """Return the seed of ``btflow link`` that gives a replica of a point with some seed; 0 follows the greatest."""
    return (seed + replica) & MAX_SEED


class Links:
    """The kind of link experiments (``runs.Kind``)."""

    keeps: tuple[str, ...] = ()
    seed = "seed of the point's replica 0, replica r has it plus r"
    compile = staticmethod(compile_link)
    check_flow = staticmethod(check)
    bytes = staticmethod(state_bytes)
    load_kernels = staticmethod(run.load_kernels)

    def check_memory(self, scenario: LinkScenario, need: int) -> None:
        """Raise an InputError if an experiment needs more memory [B] than there is."""
        have = memory.available()
        if need > have:
            raise ScenarioError(
                "flows",
                sum(flow.count for flow in scenario.flows),
                f"need {need / 1e9:,.1f} GB of memory",
                f"{have / 1e9:,.1f} GB: fewer flows, smaller windows, a shorter duration or a longer sample period",
            )

    def figures(self, scenario: LinkScenario, program: LinkProgram) -> LinkStatistics:
        """Return what is found of each experiment."""
        return LinkStatistics(group_names(scenario), queue_names(scenario), program.fidelity)

    def common(self, scenario: LinkScenario, program: LinkProgram, figures: LinkStatistics) -> Experiment:
        """Return what all runs of a program have in common; an InputError if it has other flows or access links."""
        if (group_names(scenario), queue_names(scenario)) != (figures.groups, figures.queues):
            raise InputError("flows", None, "differ from the other points'", "the same groups and access links")
        return Experiment(scenario, program)

    def run(self, program: LinkProgram, seed: int, replica: int, watch: Callable[[], None]) -> State:
        """Return the state of a run at its end: that of ``simulate_link`` with the replica's seed."""
        return run.run_link(program, replica_seed(seed, replica), lambda _: watch())

    def collect(self, program: LinkProgram, state: State, *, series: bool) -> State:  # noqa: ARG002  # as Kind says
        """Return what is kept of a run until its figures are found: all of it."""
        return state
