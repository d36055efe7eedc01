"""Presets of the swarm panel: a flash crowd, and the swarms of the papers of 2010, 2011 and 2012.

The papers' swarms are larger than what a page draws at once; their presets have fewer leechers or a smaller file, and
the command line of the whole. What the papers say of them holds in these sizes, too: the swarms of 2010 have fewer
leechers but their whole file, because with 10 MB a round-trip time of 400 ms costs 20 % instead of 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from btflow.explore.panel import OWN, Preset
from btflow.explore.swarm_state import PATHS, SwarmState, command_of

WHOLE: Mapping[str, tuple[str, str]] = {
    "rao2010": ("300", "50 MB"),
    "testa2011": ("100", "10 MB"),
    "testa2012": ("75", "100 MB"),
}
"""Leechers and file of each paper's swarm; of 2011 the file is assumed."""
_SHOWN: Mapping[str, tuple[str, str]] = {
    "rao2010": ("60", "50 MB"),
    "testa2011": ("60", "4 MB"),
    "testa2012": ("40", "4 MB"),
}
_DIFFERS = {"rao2010": " What round-trip times and loss cost is somewhat less than with all of them."}
"""By model: what is known to differ in the smaller size, beside the times themselves."""

RAO, ADSL, CLUSTER = "Rao et al. 2010", "Testa and Rossi 2011", "Testa et al. 2012"
SHARES = {"all TCP": "0%", "half uTP, half TCP": "50%", "all uTP": "100%"}
STAYS = {"forever": "seeds never leave", "random": "random stay"}
TCPS = {"cubic": "CUBIC", "newreno": "NewReno", "vegas": "Vegas", "nice": "Nice", "lp": "LP"}


def state_of(model: str, size: Mapping[str, tuple[str, str]], **values: str) -> SwarmState:
    """Return a paper's swarm in a size, with some of its inputs changed."""
    leechers, file_size = size[model]
    plain = {"stay": "random", "buffer": "200 packets"} if model == "testa2011" else {"cap": "20 kB/s", "rtt": "0 ms"}
    return SwarmState(**{"model": model, "leechers": leechers, "file_size": file_size} | plain | values)


def whole(state: SwarmState) -> SwarmState:
    """Return a paper's swarm in the paper's size."""
    leechers, file_size = WHOLE[state.model]
    return replace(state, leechers=leechers, file_size=file_size)


def less(state: SwarmState, why: str) -> str:
    """Return the note on the size of a paper's swarm."""
    leechers, file_size = WHOLE[state.model]
    parts = [f"{state.leechers} leechers instead of {leechers}"]
    parts += [f"a file of {state.file_size} instead of {file_size}"] if state.file_size != file_size else []
    return f"{' and '.join(parts)}, {why}.{_DIFFERS.get(state.model, '')}"


def _preset(paper: str, figure: str, title: str, model: str, *, beyond: bool = False, **values: str) -> Preset:
    state = state_of(model, _SHOWN, **values)
    note = less(state, "so that it is drawn at once")
    return Preset(paper, figure, title, state, {"": command_of(whole(state))}, note, beyond)


def _of_2010() -> Iterator[Preset]:
    for rtt in ("0 ms", "400 ms", "1000 ms"):
        yield _preset(RAO, "Fig. 5", f"uploads of 20 kB/s, RTT {rtt}", "rao2010", rtt=rtt)
    title = "uploads of 20 kB/s, the seed's of 50 kB/s, RTT 400 ms"
    yield _preset(RAO, "Fig. 7b", title, "rao2010", rtt="400 ms", seed_cap="50 kB/s")
    for figure, cap in (("8", "20 kB/s"), ("9", "50 kB/s")):
        for part, place in zip("abc", ("AS1+AS2+AS3/AS1", "AS1+AS3+AS4/AS4", "AS1+AS3+AS5/AS5"), strict=True):
            where = f"leechers in {PATHS[place]['leecher_as'].replace(',', ', ')}, the seed in AS'{place[-1]}"
            yield _preset(RAO, f"Fig. {figure}{part}", f"{cap}, {where}", "rao2010", paths=place, cap=cap)
    for rtt in ("0 ms", "400 ms", "1000 ms"):
        yield _preset(RAO, "Table IV", f"RTT {rtt} and 5% loss", "rao2010", rtt=rtt, loss="5%")
    yield _preset(RAO, "Table IV", "segmentation offload, RTT 400 ms", "rao2010", rtt="400 ms", tso="true")
    yield _preset(RAO, "Fig. 1", "paths like those that iPlane measured", "rao2010", beyond=True, paths="iplane")


def _of_2011() -> Iterator[Preset]:
    for stay, said in STAYS.items():
        for mix, share in SHARES.items():
            yield _preset(ADSL, "Fig. 2", f"ADSL uplinks, {mix}, {said}", "testa2011", utp_share=share, stay=stay)
    for packets in ("10", "20", "50", "100", "150"):
        buffer = f"{packets} packets"
        yield _preset(ADSL, "Fig. 3b", f"half uTP, half TCP, buffers of {buffer}", "testa2011", buffer=buffer)


def _of_2012() -> Iterator[Preset]:
    for cc, name in TCPS.items():
        yield _preset(CLUSTER, "Fig. 2a", f"mainline clients, all with {name}", "testa2012", cc=cc)
    for cc, name in {"cubic": "CUBIC", "utp": "uTP"}.items():
        yield _preset(CLUSTER, "Fig. 2a", f"uTorrent clients, all with {name}", "testa2012", cc=cc, bt="utorrent")
    for cc, name in TCPS.items():
        if cc != "cubic":
            title = f"mainline clients, half {name}, half CUBIC"
            yield _preset(CLUSTER, "Fig. 2c", title, "testa2012", cc=cc, cubic_share="50%")
    title = "uTorrent clients, half uTP, half CUBIC"
    yield _preset(CLUSTER, "Fig. 2c", title, "testa2012", cc="utp", bt="utorrent", cubic_share="50%")


PRESETS = (
    Preset(OWN, "", "half of the peers with uTP", SwarmState(), {"": command_of(SwarmState())}),
    *_of_2010(),
    *_of_2011(),
    *_of_2012(),
)
"""Every swarm that the panel has a preset for."""
