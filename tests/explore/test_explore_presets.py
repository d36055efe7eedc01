"""Presets of the explorer: none is refused, and each says how all of it is run.

All settings of the papers on sharing a link and of 2011 and 2012 have one; of 2010 those of ``cases_of_2010``.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import btflow
from btflow.explore.app import PANELS, Frame
from btflow.explore.limits import check_swarm
from btflow.explore.link_state import GENI, OPNET, presets as link_presets, scenario as link_of
from btflow.explore.panel import Preset, from_query, to_query
from btflow.explore.swarm_panel import PRESETS as SWARMS, SwarmPanel, SwarmState, scenario_of
from btflow.explore.whatif_panel import PRESETS as WHATIFS, scenario_of as side_of, settings
from validation import experiments as of_2010
from validation.cases import MODEL, Case
from validation.links.coexistence import SETTINGS
from validation.swarms import experiments as later

KINDS = {name: kind for name, (_, kind, _) in PANELS.items()}
ALL = [("link", p) for p in link_presets()] + [("swarm", p) for p in SWARMS] + [("whatif", p) for p in WHATIFS]


def digest(command: str) -> str:
    """Return the digest of the scenario that a command line runs."""
    words = shlex.split(command)
    values: dict[str, Any] = dict(word.split("=", 1) for word in words[3:] if "=" in word)
    return (btflow.load if words[1] == "run" else btflow.load_link)(words[2], **values).digest()


def of(presets: tuple[Preset, ...], *papers: str) -> list[str]:
    """Return the digests of the presets of some papers, those beyond them left out."""
    found = [p for p in presets if p.paper in papers and not p.beyond]
    return [digest(text) for p in found for text in p.commands.values()]


def test_labels_are_different_within_a_panel() -> None:
    for presets in (link_presets(), SWARMS, WHATIFS):
        assert len({p.state for p in presets}) == len(presets)
        assert len({(p.paper, p.entry) for p in presets}) == len(presets)


def test_presets_are_chosen_by_paper_and_experiment() -> None:
    panel = SwarmPanel()
    frame = Frame(panel, lambda: None, lambda: None)
    assert frame._papers.options == ("btflow's own", "Rao et al. 2010", "Testa and Rossi 2011", "Testa et al. 2012")
    assert max(map(len, frame._presets.values())) <= 15
    frame._papers.value = "Testa et al. 2012"
    frame._menu.value = "Fig. 2c: mainline clients, half LP, half CUBIC"
    assert (panel.state.cc, panel.state.cubic_share) == ("lp", "50%")
    panel.set_state(SwarmState())
    assert (frame._papers.value, frame._menu.value) == ("btflow's own", "half of the peers with uTP")
    panel.set_state(SwarmState(leechers="9"))
    assert frame._menu.value == "your own"
    panel.canvas.cancel()


@pytest.mark.parametrize(("panel", "preset"), ALL, ids=[f"{panel}-{p.paper}-{p.entry}" for panel, p in ALL])
def test_none_is_refused_and_links_bring_them_back(panel: str, preset: Preset) -> None:
    opened = from_query(to_query(panel, preset.state), KINDS)
    assert (opened.panel, opened.state, opened.problems) == (panel, preset.state, ())
    if panel == "link":
        link_of(preset.state)
    elif panel == "swarm":
        check_swarm(scenario_of(preset.state))
    else:
        both = settings(preset.state)
        assert side_of(both.a).digest() != side_of(both.b).digest()
    assert all(text.startswith(("btflow run ", "btflow link ")) for text in preset.commands.values())
    assert list(preset.commands) == (["A", "B"] if panel == "whatif" else [""])


def cases_of_2010() -> Iterator[Case]:
    """Yield the cases that have presets: of figure 5 and table IV three RTTs at 20 kB/s, of 8 and 9 one seed each."""
    for loss in (0, 5):
        yield from (Case(20, rtt, loss) for rtt in (0, 400, 1000))
    yield Case(20, 400, tso=True)
    yield Case(20, 400, seed_limit=of_2010.FAST_SEED)
    for limit in of_2010.AS_LIMITS:
        for ases, seed in zip(of_2010.LEECHER_ASES, ("AS1", "AS4", "AS5"), strict=True):
            yield Case(limit, leechers_in=ases, seed_in=seed)


def test_the_commands_run_the_swarms_of_2010() -> None:
    expected = [btflow.load(MODEL, **case.settings()).digest() for case in cases_of_2010()]
    assert sorted(of(SWARMS, "Rao et al. 2010")) == sorted(expected)
    assert set(of(WHATIFS, "Rao et al. 2010")) <= set(expected)


def test_the_commands_run_the_swarms_of_2011() -> None:
    wanted = (*later.PLAIN, *(later.buffered(packets) for packets in later.BUFFERS[:-1]))
    expected = [setting.run(1).scenario().digest() for setting in wanted]
    assert sorted(of(SWARMS, "Testa and Rossi 2011")) == sorted(expected)
    assert set(of(WHATIFS, "Testa and Rossi 2011")) <= set(expected)


def test_the_commands_run_the_swarms_of_2012() -> None:
    wanted = (*later.HOMOGENEOUS.values(), *later.HALVES.values())
    expected = [setting.run(1).scenario().set(file_size=f"{later.FULL_2012} MB").digest() for setting in wanted]
    assert sorted(of(SWARMS, "Testa et al. 2012")) == sorted(expected)
    assert set(of(WHATIFS, "Testa et al. 2012")) <= set(expected)


def test_the_presets_of_links_are_the_cases_of_both_papers() -> None:
    geni = [btflow.load_link("geni", transport=transport, seeds=seeds).digest() for transport, seeds in SETTINGS]
    opnet = [btflow.load_link("opnet2009", transport=transport).digest() for transport in ("tcp", "utp")]
    assert sorted(of(link_presets(), GENI)) == sorted(geni)
    assert sorted(of(link_presets(), OPNET)) == sorted(opnet)
    assert set(of(WHATIFS, GENI, OPNET)) <= {*geni, *opnet}


@pytest.mark.parametrize("paths", ["AS1+AS3+AS4/AS4", "iplane"])
def test_paths_take_the_place_of_the_round_trip_time(paths: str) -> None:
    small = SwarmState(model="rao2010", leechers="5", file_size="1 MB", rtt="70 ms")
    panel = SwarmPanel(small)
    assert panel.canvas.wait()
    panel.form.fields["paths"]._control.value = paths
    assert panel.canvas.wait()
    assert panel.state == replace(small, paths=paths)
    assert "rtt" not in panel.form.shown
    assert panel.about() == "The same numbers"
    assert panel.scenario().digest() == digest(panel.commands()[""]) != scenario_of(small).digest()
    panel.form.fields["paths"]._control.value = "alike"
    assert panel.canvas.wait()
    assert panel.scenario().digest() == scenario_of(small).digest()
    assert "rtt" in panel.form.shown
