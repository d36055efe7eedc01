"""Presets of the what-if panel: three to begin with, and what the papers compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from btflow.explore import swarm_presets
from btflow.explore.link_presets import GENI, GENI_UTP, OPNET, OPNET_UTP, QUEUES, geni, opnet
from btflow.explore.link_state import LinkState
from btflow.explore.panel import OWN, Commands, Preset
from btflow.explore.swarm_presets import ADSL, CLUSTER, RAO, TCPS, less
from btflow.explore.swarm_state import SwarmState
from btflow.explore.whatif_state import Settings, WhatIfState, command_of, settings, state_of

_SHOWN: Mapping[str, tuple[str, str]] = {
    "rao2010": ("90", "50 MB"),
    "testa2011": ("60", "4 MB"),
    "testa2012": ("30", "4 MB"),
}
"""Leechers and file of a paper's swarms: ten pairs of them take some seconds, and say what the paper says."""


def commands(both: Settings, pairs: str) -> Commands:
    """Return the command lines that run both settings."""
    return {side: command_of(setting, pairs) for side, setting in zip("AB", both, strict=True)}


def _preset(paper: str, figure: str, title: str, both: Settings, *, beyond: bool = False) -> Preset:
    of, pairs = "link" if isinstance(both.a, LinkState) else "swarm", WhatIfState.pairs
    return Preset(paper, figure, title, state_of(of, both, pairs), commands(both, pairs), beyond=beyond)


def _swarms(paper: str, figure: str, title: str, a: SwarmState, b: SwarmState, *, beyond: bool = False) -> Preset:
    found = _preset(paper, figure, title, Settings(a, b), beyond=beyond)
    whole = Settings(swarm_presets.whole(a), swarm_presets.whole(b))
    note = less(a, "so that ten pairs take seconds")
    return replace(found, note=note, commands=commands(whole, WhatIfState.pairs))


def _swarm(model: str, **values: str) -> SwarmState:
    return swarm_presets.state_of(model, _SHOWN, **values)


def _of_2010() -> Iterator[Preset]:
    near, far = _swarm("rao2010"), _swarm("rao2010", rtt="400 ms")
    yield _swarms(RAO, "Fig. 5", "RTT 0 or 400 ms", near, far)
    yield _swarms(RAO, "Fig. 5", "RTT 0 or 1000 ms", near, _swarm("rao2010", rtt="1000 ms"))
    faster = _swarm("rao2010", rtt="400 ms", seed_cap="50 kB/s")
    yield _swarms(RAO, "Fig. 7", "a seed as slow as the leechers, or faster, RTT 400 ms", far, faster)
    for figure, cap in (("8", "20 kB/s"), ("9", "50 kB/s")):
        a, b = (_swarm("rao2010", cap=cap, paths=paths) for paths in ("AS1+AS2+AS3/AS1", "AS1+AS3+AS5/AS5"))
        yield _swarms(RAO, f"Fig. {figure}", f"{cap}, leechers in AS1, AS2, AS3, or in AS1, AS3, AS5", a, b)
    for rtt in ("400 ms", "1000 ms"):
        b = _swarm("rao2010", rtt=rtt, loss="5%")
        yield _swarms(RAO, "Table IV", f"RTT 0 without loss, or {rtt} with 5% loss", near, b)
    iplane = _swarm("rao2010", paths="iplane")
    yield _swarms(RAO, "Fig. 1", "RTT 0, or paths like iPlane's", near, iplane, beyond=True)


def _of_2011() -> Iterator[Preset]:
    for stay, said in swarm_presets.STAYS.items():
        a, b = (_swarm("testa2011", utp_share=share, stay=stay) for share in ("0%", "100%"))
        yield _swarms(ADSL, "Fig. 2", f"all TCP or all uTP, {said}", a, b)
    a, b = (_swarm("testa2011", buffer=f"{packets} packets") for packets in (10, 200))
    yield _swarms(ADSL, "Fig. 3b", "buffers of 10 or 200 packets, half uTP", a, b)


def _of_2012() -> Iterator[Preset]:
    cubic, utorrent = _swarm("testa2012"), _swarm("testa2012", bt="utorrent")
    for cc, name in TCPS.items():
        if cc != "cubic":
            yield _swarms(CLUSTER, "Fig. 2a", f"mainline, CUBIC or {name}", cubic, _swarm("testa2012", cc=cc))
    yield _swarms(CLUSTER, "Fig. 2a", "CUBIC, mainline or uTorrent", cubic, utorrent)
    utp = _swarm("testa2012", cc="utp", bt="utorrent")
    yield _swarms(CLUSTER, "Fig. 2a", "uTorrent, CUBIC or uTP", utorrent, utp)
    both = Settings(_capped("62.5 kB/s"), _capped("625 kB/s"))
    yield _preset(CLUSTER, "Fig. 1", "upload caps of half the uplink's rate, or five times", both, beyond=True)


def _capped(cap: str) -> SwarmState:
    return SwarmState(leechers="30", buffer="1 s", upload_limit=cap)


def _of_links() -> Iterator[Preset]:
    yield _preset(GENI, "", "two seeds by TCP or by uTP", Settings(geni(), GENI_UTP))
    for aqm in QUEUES:
        yield _preset(GENI, "", f"two TCP seeds, drop-tail or {aqm}", Settings(geni(), geni(aqm=aqm)), beyond=True)
    title = "a call beside TCP, or beside its changed TCP, called uTP there"
    yield _preset(OPNET, "", title, Settings(opnet(), OPNET_UTP))
    for aqm in QUEUES:
        yield _preset(
            OPNET, "", f"a call beside TCP, drop-tail or {aqm}", Settings(opnet(), opnet(aqm=aqm)), beyond=True
        )


PRESETS = (
    _preset(OWN, "", "a flash crowd, all with TCP or all with uTP", settings(WhatIfState())),
    _preset(OWN, "", "drop-tail or CoDel at the bottleneck", settings(WhatIfState("link"))),
    _preset(OWN, "", "a LEDBAT or a CUBIC upload", Settings(LinkState(n1="0"), LinkState(n2="0"))),
    *_of_2010(),
    *_of_2011(),
    *_of_2012(),
    *_of_links(),
)
"""Every comparison that the panel has a preset for."""
