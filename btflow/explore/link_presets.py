"""Presets of the link panel: the link experiments of btflow, and all cases of the two papers on sharing a link."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from btflow.catalog import names, title_of
from btflow.explore.link_state import DISCIPLINES, LinkState, command, preset
from btflow.explore.panel import OWN, Preset

GENI, OPNET = "Yin et al., GENI project", "Ciapponi et al. 2009"
"""Of the first the paper says no year."""
PAPERS = ("geni", "opnet2009")
QUEUES = DISCIPLINES[1:]


def geni(**values: str) -> LinkState:
    """Return the iperf connection beside two TCP seeds, with some inputs changed."""
    return replace(preset("geni"), **values)


def opnet(**values: str) -> LinkState:
    """Return the call beside three TCP downloads, with some inputs changed."""
    return replace(preset("opnet2009"), **values)


GENI_UTP, OPNET_UTP = geni(cc2="utp-2013", cc3="utp-2013"), opnet(cc1="sfu-utp")


def _of(paper: str, title: str, state: LinkState, *, beyond: bool = False) -> Preset:
    return Preset(paper, "", title, state, {"": command(state)}, beyond=beyond)


def _published() -> Iterator[Preset]:
    yield _of(GENI, "iperf alone on a downlink of 2048 kbit/s", geni(n2="0", n3="0"))
    yield _of(GENI, "iperf beside one TCP seed", geni(n3="0"))
    yield _of(GENI, "iperf beside two TCP seeds", geni())
    yield _of(GENI, "iperf beside two uTP seeds", GENI_UTP)
    for aqm in QUEUES:
        yield _of(GENI, f"iperf beside two TCP seeds, {aqm}", geni(aqm=aqm), beyond=True)
    yield _of(OPNET, "a call beside three TCP downloads on a T1", opnet())
    yield _of(OPNET, "a call beside three downloads by its changed TCP, called uTP there", OPNET_UTP)
    for aqm in QUEUES:
        yield _of(OPNET, f"a call beside three TCP downloads, {aqm}", opnet(aqm=aqm), beyond=True)


def presets() -> tuple[Preset, ...]:
    """Return every link experiment; none is larger than the page computes."""
    one = _of(OWN, "A LEDBAT upload beside a CUBIC upload on 1 Mbit/s", LinkState())
    taught = [_of(OWN, title_of(name, "links"), preset(name)) for name in names("links") if name not in PAPERS]
    return (one, *_published(), *taught)
