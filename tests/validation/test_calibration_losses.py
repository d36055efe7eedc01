"""The losses of the calibration: what is read in ping logs, and what is made of it."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from btflow import InputError
from btflow.paths import load
from btflow.paths.generate import sample
from validation.calibration import build, logs, losses, raw
from validation.calibration.__main__ import ROOT
from validation.calibration.logs import Log

DATA = ROOT / "data" / "iplane"


def ping(sent: int, lost: set[int], summary: bool = True) -> str:
    """Return a log as ping writes it: answers take their number in microseconds more than 20 ms."""
    answers = [n for n in range(1, sent + 1) if n not in lost]
    lines = [f"64 bytes from a.b (10.0.0.1): icmp_seq={n} ttl=56 time={20 + n / 1000:.3f} ms" for n in answers]
    end = f"\n--- a.b ping statistics ---\n{sent} packets transmitted, {len(answers)} received, 1% packet loss"
    return "\n".join(["PING a.b (10.0.0.1) 56(84) bytes of data.", *lines]) + (end if summary else "") + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A raw folder with logs of two runs, and tables that name their checksum."""
    at = tmp_path / "IndirectionDC" / "Source_code"
    made = {
        "Results31/a.edu_b.edu": ping(1200, {3, 9, 700}),
        "Results31/b.edu_a.edu": ping(2000, {1999, 2000}, summary=False),  # cut off: the last that are seen is 1998
        "OLD/Results_old2/a.edu_c_d.com": ping(1000, set()),
        "Results31/a.edu_short": ping(999, set()),
        "Results31/a.edu_dead": ping(1500, set(range(1, 1501))),
        "Results32/a.edu_tcp": "seq 0: tcp response from 10.0.0.1 [open]  14.189 ms\n",
    }
    for name, text in made.items():
        (at / name).mkdir(parents=True)
        (at / name / "screenlog.0").write_text(text)
    shutil.copytree(DATA, tmp_path / "data")
    listed = "".join(
        f"{hashlib.sha256((at / name / 'screenlog.0').read_bytes()).hexdigest()}  Source_code/{name}/screenlog.0\n"
        for name in sorted(made)
    )
    digest = hashlib.sha256(listed.encode()).hexdigest()
    (tmp_path / "data" / "raw.csv").write_text(f"file,sha256,source\n{logs.NAME},{digest},made\n")
    return tmp_path


def test_logs_are_those_of_ping_with_answers_and_enough_pings(folder: Path) -> None:
    found = logs.ping_logs(folder, folder / "data")
    assert found is not None
    assert [(log.run, log.source, log.destination, log.sent, log.received) for log in found] == [
        ("Results_old2", "a.edu", "c_d.com", 1000, 1000),
        ("Results31", "a.edu", "b.edu", 1200, 1197),
        ("Results31", "b.edu", "a.edu", 1998, 1998),
    ]
    assert [log.loss for log in found] == pytest.approx([0.0, 3 / 1200, 0.0])
    assert found[0].rtt == pytest.approx(20.5005)
    assert logs.ping_logs(folder / "IndirectionDC", folder / "data") == found
    assert logs.ping_logs(folder / "data", folder / "data") is None


def test_other_logs_are_refused(folder: Path) -> None:
    (folder / "IndirectionDC/Source_code/Results31/a.edu_b.edu/screenlog.0").write_text(ping(1200, {3}))
    with pytest.raises(InputError, match="are 6 files, the list of whose checksums has the SHA-256"):
        logs.ping_logs(folder, folder / "data")


def test_quantiles_are_those_of_the_logs() -> None:
    """Of 1,000 logs 700 lose nothing and the others 1 to 300 of 3,600."""
    made = [Log("r", "a", "b", 3600, 3600 - max(0, n - 699), 10.0) for n in range(1000)]
    found = losses.quantiles(made)
    assert list(found) == [0.7, *losses.SHARES]
    assert found[0.7] == 0.0
    assert found[0.9] == pytest.approx((0.9 * 999 - 699) / 3600, rel=5e-3)  # three digits


@settings(max_examples=8, deadline=None)
@given(st.floats(0.05, 0.9), st.floats(0.2, 0.6), st.integers(0, 2**32))
def test_a_correlation_behind_thresholds_is_found(correlation: float, share: float, seed: int) -> None:
    """Of made-up normal variables, paths from 700 peers to two others each, of which a share is lossy."""
    random = np.random.default_rng(seed)
    peer, own = random.standard_normal((700, 1)), random.standard_normal((700, 2))
    behind = (np.sqrt(correlation) * peer + np.sqrt(1.0 - correlation) * own).ravel()
    ends = np.array([(f"p{number}", f"q{number}-{other}") for number in range(700) for other in range(2)])
    lossy = behind > np.quantile(behind, 1.0 - share)
    assert losses.correlation_of_neighbours(ends, lossy) == pytest.approx(correlation, abs=0.35)
    times = np.exp(correlation * behind + np.sqrt(1.0 - correlation**2) * random.standard_normal(1400))
    assert losses.correlation_with(times, lossy) == pytest.approx(correlation, abs=0.15)


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), min_size=3, max_size=30).filter(
        lambda paths: len({peer for one, other, _ in paths for peer in (one, other)}) > 2
    )
)
def test_shares_of_neighbours_are_those_of_all_pairs_of_paths(paths: list[tuple[int, int, bool]]) -> None:
    """By brute force; paths may go both ways and be measured more than once."""
    apart = [(one, other, lossy) for one, other, lossy in paths if one != other]
    beside = [
        (first[2], second[2])
        for i, first in enumerate(apart)
        for j, second in enumerate(apart)
        if i != j and len({*first[:2]} & {*second[:2]}) == 1
    ]
    assume(beside)
    ends, lossy = np.array([path[:2] for path in apart]), np.array([path[2] for path in apart])
    found = losses.shares_of_neighbours(ends, lossy)
    assert found == pytest.approx((np.mean([one for one, _ in beside]), np.mean([one and two for one, two in beside])))


def test_a_correlation_of_neighbours_by_hand() -> None:
    """Half of all paths are lossy, of neighbours two thirds alike: sin(pi / 2 x (2 / 3 - 1 / 3)) (Sheppard 1899)."""
    ends = np.array([(f"p{peer}", f"q{peer}-{other}") for peer in range(60) for other in range(2)])
    both = [(True, True)] * 20 + [(False, False)] * 20 + [(True, False)] * 10 + [(False, True)] * 10
    assert losses.correlation_of_neighbours(ends, np.array(both).ravel()) == pytest.approx(0.5, abs=1e-3)


def test_what_losses_have_in_common_is_found_again() -> None:
    """In logs between 60 peers whose losses are drawn from a model."""
    model = load("iplane")
    structure = model.structure.model_copy(update={"loss": 0.5, "loss_with_rtt": 0.3})
    paths = sample(model.model_copy(update={"structure": structure}), 60, np.random.default_rng(2))
    made = [
        Log(losses.MATRIX, f"p{i}", f"p{j}", 10**6, round(10**6 * (1.0 - paths.loss[i, j])), paths.rtt[i, j])
        for i in range(60)
        for j in range(i)
    ]
    found = losses.in_common(made, model)
    assert found["loss_with_rtt"] == pytest.approx(0.3, abs=0.08)
    assert found["loss"] == pytest.approx(0.5, abs=0.12)


def test_the_shipped_model_has_what_the_shipped_table_says_losses_have_in_common() -> None:
    shared = {row["name"]: float(row["value"]) for row in raw.rows(DATA / build.IN_COMMON)}
    structure = load("iplane").structure
    assert shared == {"loss": structure.loss, "loss_with_rtt": structure.loss_with_rtt}
    assert list(shared) == list(losses.SOURCES)


def test_the_tables_of_losses_are_written_from_the_logs(tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "data")
    made = [Log("r", "a", "b", 3600, 3600 - max(0, n - 699), 10.0 + n) for n in range(1000)]
    assert build.write_logs(made, tmp_path / "data") == [build.LOGS]
    assert build.write_logs(made, tmp_path / "data") == []
    rows = list(raw.rows(tmp_path / "data" / build.LOGS))
    assert {float(row["cumulative_share"]): float(row["value"]) for row in rows} == losses.quantiles(made)
    assert (tmp_path / "data" / build.LOGS).read_text().startswith("# Losses of 1,000 ping logs, 3.6 million pings")
