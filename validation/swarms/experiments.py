"""The papers' experiments as settings of the models, how often each is run, and which replicas belong together.

All settings of a model have the same seed: replica i of two settings has the same arrivals and access links, so that
they are compared replica by replica. The unit of replication is the run, never the peer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from btflow.options import Fidelity
from validation.sweeps import Run

RUNS = 10
"""Runs of a setting, the least that the papers' claims are judged on (Testa and Rossi repeated theirs 10 times)."""
MANY, SOME = 3, 2
"""Settings of 2011 that an equivalence hangs on have this many times the runs: theirs vary by 4 to 7 %."""

FILES = {"datacontrol": str(Path(__file__).parent / "datacontrol.toml")}
"""Models of this folder; the others come with btflow."""
SEEDS = {"testa2011": 2011, "testa2012": 2012, "datacontrol": 2013}
"""Seed of all settings of a model."""

BUFFERS = (10, 20, 50, 100, 150, 200)
"""Buffers of figure 3b of the paper of 2011 [packets]."""
STATED, BELOW = 1, 2
"""Buffers that uTP's target of 25 ms does not fit into: the 12 ms that the paper gives for its least of 10 packets, and
24 ms of full packets at 1 Mbit/s [packets]."""
SIZES = (5, 10, 20)
"""File sizes tried in the swarm of 2011, whose paper gives none [MB]."""
FILE_2012 = 30
"""File size in the swarm of 2012 [MB]: the paper's 100 MB takes three times as long and is checked in one setting."""
FULL_2012 = 100
"""The paper's [MB]."""
TCPS = ("cubic", "newreno", "vegas", "nice", "lp")
"""Congestion controls of the mainline swarms of 2012."""
FACTORS = (0.25, 0.5, 0.75, 1.0, 1.25, 2.0, 5.0)
"""Upload limits over the uplink's rate: the sending rate of figure 1 of the paper of 2012."""
SMALL, LARGE = "250 ms", "1 s"
"""Buffers in the experiment on the sending rate."""

Value = str | int | float | bool


@dataclass(frozen=True)
class Setting:
    """A model with some of its parameters set."""

    model: str
    """Name of the model."""
    values: tuple[tuple[str, Value], ...]
    """The parameters that are set, in alphabetical order."""

    @property
    def label(self) -> str:
        """The setting in words, different for each."""
        return f"{self.model}: {', '.join(f'{name} = {value}' for name, value in self.values)}"

    @property
    def seed(self) -> int:
        """Seed of the random numbers, the model's."""
        return SEEDS[self.model]

    def run(self, replicas: int, fidelity: Fidelity = "full") -> Run:
        """Return so many runs of it."""
        return Run(FILES.get(self.model, self.model), dict(self.values), self.seed, replicas, fidelity)


def _setting(model: str, values: dict[str, Value]) -> Setting:
    return Setting(model, tuple(sorted(values.items())))


def adsl(utp: float, stay: str = "random", **more: Value) -> Setting:
    """Return a setting of 2011: share of uTP peers, how long they stay, anything else."""
    return _setting("testa2011", {"utp_share": utp, "stay": stay, **more})


def buffered(packets: int) -> Setting:
    """Return the half-and-half swarm of 2011 with random stay at a buffer [packets]; 200 are the model's own."""
    return adsl(0.5) if packets == BUFFERS[-1] else adsl(0.5, buffer=f"{packets} packets")


def sized(megabytes: int, utp: float) -> Setting:
    """Return a swarm of 2011 with random stay and another file [MB]; 10 are the model's own."""
    return adsl(utp) if megabytes == 10 else adsl(utp, file_size=f"{megabytes} MB")


def cluster(
    control: str, client: str = "mainline", beside_cubic: bool = False, megabytes: int = FILE_2012, **more: Value
) -> Setting:
    """Return a setting of 2012: all leechers with one congestion control, or half of them with CUBIC."""
    share = 0.5 if beside_cubic else 0
    return _setting(
        "testa2012",
        {"cc": control, "client": client, "cubic_share": share, "file_size": f"{megabytes} MB", **more},
    )


def capped(factor: float, buffer: str) -> Setting:
    """Return the swarm whose peers all have an upload limit of `factor` times their uplinks' rate."""
    caps: dict[str, Value] = {
        "upload_limit": f"{factor:g} Mbit/s",
        "seed_upload_limit": f"{5 * factor:g} Mbit/s",
    }
    return _setting("datacontrol", caps | {"buffer": buffer})


HOMOGENEOUS = {
    **{f"BT:{name}": cluster(name) for name in TCPS},
    "UT:cubic": cluster("cubic", "utorrent"),
    "UT:utp": cluster("utp", "utorrent"),
}
"""The homogeneous swarms of 2012 by the paper's notation: mainline (BT) and uTorrent (UT)."""

HALVES = {
    **{f"BT:{name}": cluster(name, beside_cubic=True) for name in TCPS if name != "cubic"},
    "UT:utp": cluster("utp", "utorrent", beside_cubic=True),
}
"""The heterogeneous swarms of 2012, by the half that is not CUBIC's."""

CHECK_FULL = cluster("nice", beside_cubic=True, megabytes=FULL_2012)
"""The setting that is also run with the paper's own file size."""


def _changed(setting: Setting, more: dict[str, Value]) -> Setting:
    return _setting(setting.model, dict(setting.values) | more)


Side = tuple[Setting, str]
"""A class of leechers in a setting."""


@dataclass(frozen=True)
class Ablation:
    """A difference between two sides, and the same with one mechanism off at a time."""

    name: str
    """The swarm, in words."""
    sides: tuple[str, str]
    """Whose completion time, and over whose, in words."""
    base: tuple[Side, Side]
    """With everything on."""
    off: tuple[tuple[str, tuple[Side, Side]], ...]
    """What is off, in words, and the sides."""

    @property
    def settings(self) -> list[Setting]:
        """The settings that are run."""
        return list(dict.fromkeys(s for pair in (self.base, *(found for _, found in self.off)) for s, _ in pair))


CONTROL = "ideal control: messages pass all queues"
ACKS = "ideal ACKs: they take no room in queues"
RANKED = "the module's choker in place of mainline's: ranked by rate, seeding too, one drawn at random"
"""ns-2's module, bittorrent_app.cc, check_choking: leeching by what came in the last two rounds, seeding by what was
sent, and one of the others. Flow fidelity does not have this choker, so that the client's file keeps mainline's."""
HOST = "the uplinks' queues in the hosts: TCP is told of what finds no room"
"""As the paper has it, which limits uplinks on the machines themselves and measures their queues in the kernel."""


def _within(setting: Setting, one: str = "x", other: str = "cubic") -> tuple[Side, Side]:
    return (setting, one), (setting, other)


def _of(classes: Sequence[str], values: dict[str, Value]) -> dict[str, Value]:
    return {f"classes.{name}.{field}": value for name in classes for field, value in values.items()}


def _tcp(values: dict[str, Value]) -> dict[str, Value]:
    return {f"tcp.{field}": value for field, value in values.items()}


_CHOKER = _of(("seed", "tcp", "utp"), {"client.choker": "salted-rate", "client.optimistic": "random"})
_PAPERS_NICE: dict[str, Value] = {
    "variant": "paper",
    "min_window": 0.0208333,
    "ack_every": 1,
    "alpha": 1,
    "beta_delay": 3,
}
"""As models/congestion/nice.toml has them."""


def _adsl_halves(**more: Value) -> tuple[Side, Side]:
    return _within(_changed(adsl(0.5), more), "utp", "tcp")


def _shallow(packets: int = BUFFERS[0], /, **more: Value) -> tuple[Side, Side]:
    return _within(_changed(buffered(packets), more), "utp", "tcp")


def _adsl_alone(**more: Value) -> tuple[Side, Side]:
    return (_changed(adsl(1.0), more), "utp"), (_changed(adsl(0.0), more), "tcp")


def _nice(**more: Value) -> tuple[Side, Side]:
    return _within(_changed(HALVES["BT:nice"], more))


def _lp(**more: Value) -> tuple[Side, Side]:
    return _within(_changed(HALVES["BT:lp"], more))


def _utorrent_alone(**more: Value) -> tuple[Side, Side]:
    return (_changed(HOMOGENEOUS["UT:utp"], more), "x"), (_changed(HOMOGENEOUS["UT:cubic"], more), "x")


ABLATIONS = (
    Ablation(
        "2011, half uTP half TCP, random stay",
        ("uTP", "TCP"),
        _adsl_halves(),
        (
            (CONTROL, _adsl_halves(ideal_control=True)),
            (ACKS, _adsl_halves(ideal_acks=True)),
            ("both ideal", _adsl_halves(ideal_acks=True, ideal_control=True)),
            ("no super-seeding", _adsl_halves(super_seeding=False)),
            (RANKED, _adsl_halves(**_CHOKER)),
        ),
    ),
    Ablation(
        "2011, all uTP against all TCP, random stay",
        ("all uTP", "all TCP"),
        _adsl_alone(),
        (
            (CONTROL, _adsl_alone(ideal_control=True)),
            (ACKS, _adsl_alone(ideal_acks=True)),
            ("no super-seeding", _adsl_alone(super_seeding=False)),
            (RANKED, _adsl_alone(**_CHOKER)),
        ),
    ),
    Ablation(
        "2011, half uTP half TCP, random stay, buffers of 10 packets",
        ("uTP", "TCP"),
        _shallow(),
        (
            (CONTROL, _shallow(ideal_control=True)),
            (ACKS, _shallow(ideal_acks=True)),
            (RANKED, _shallow(**_CHOKER)),
            ("buffers of 1 packet, the 12 ms that the paper gives", _shallow(STATED)),
            ("buffers of 2 packets, 24 ms", _shallow(BELOW)),
        ),
    ),
    Ablation(
        "2012, mainline, half Nice half CUBIC",
        ("the Nice half", "the CUBIC half"),
        _nice(),
        (
            (CONTROL, _nice(ideal_control=True)),
            (ACKS, _nice(ideal_acks=True)),
            ("both ideal", _nice(ideal_acks=True, ideal_control=True)),
            ("no anti-snubbing: snub time 24 h instead of 30 s", _nice(snub_time="24 h")),
            ("Nice as in its own paper, down to 1/48 of a segment", _nice(**_of(("seed", "x"), _tcp(_PAPERS_NICE)))),
            (HOST, _nice(uplink_queue="host")),
        ),
    ),
    Ablation(
        "2012, mainline, half LP half CUBIC",
        ("the LP half", "the CUBIC half"),
        _lp(),
        (
            ("clocks that agree: LP backs off early", _lp(**_of(("seed", "x"), _tcp({"clock_difference": "0 s"})))),
            (HOST, _lp(uplink_queue="host")),
        ),
    ),
    Ablation(
        "2012, uTorrent, half uTP half CUBIC",
        ("the uTP half", "the CUBIC half"),
        _within(HALVES["UT:utp"]),
        (
            (
                "attempts one by one: uTP first, TCP after it failed",
                _within(_changed(HALVES["UT:utp"], {"attempts": "sequential"})),
            ),
            ("TCP only: nobody opens uTP", _within(cluster("cubic", "utorrent", beside_cubic=True))),
            (HOST, _within(_changed(HALVES["UT:utp"], {"uplink_queue": "host"}))),
        ),
    ),
    Ablation(
        "2012, uTorrent, all uTP against all CUBIC",
        ("all uTP", "all CUBIC"),
        _utorrent_alone(),
        (
            (CONTROL, _utorrent_alone(ideal_control=True)),
            (ACKS, _utorrent_alone(ideal_acks=True)),
        ),
    ),
)
"""The differences that are taken apart."""


@dataclass(frozen=True)
class Plan:
    """How much is simulated."""

    runs: int = RUNS
    """Runs of a setting."""

    def of(self, setting: Setting) -> int:
        """Return the runs of a setting."""
        if setting in HALVED:
            return max(2, self.runs // 2)
        if setting in PLAIN:
            return MANY * self.runs
        return SOME * self.runs if setting in SWEPT else self.runs


SHARES = {"all TCP": 0.0, "half and half": 0.5, "all uTP": 1.0}
"""Shares of uTP peers in the swarms of 2011."""
PLAIN = tuple(adsl(share, stay) for share in SHARES.values() for stay in ("random", "forever"))
"""The six settings of figure 2 of the paper of 2011."""
SWEPT = tuple(buffered(packets) for packets in (STATED, BELOW, *BUFFERS[:-1]))
"""The other buffers of its figure 3b, and two smaller ones."""
HALVED = (CHECK_FULL, *ABLATIONS[-1].settings[2:])
"""Settings with half the runs: they take long and no claim hangs on them."""
