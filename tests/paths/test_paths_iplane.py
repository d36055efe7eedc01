"""iPlane's links: how they are read, the model of them, and what is wrong with them, by line."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import xarray as xr
from paths_made import links_file, ring
from program import Run

from btflow import InputError
from btflow.paths import fit_iplane, load, pop_rtts, read_iplane, triangle_violations
from btflow.paths.fitting import WORST
from btflow.paths.iplane import KNOWN, pop_paths


def test_links_are_read_and_shortest_paths_found(tmp_path: Path) -> None:
    """A ring of 24 with 10 ms each: k steps are 20 k ms there and back; a link both ways counts with its mean."""
    lines = ["0 100 1 101 5", *ring()[1:], "1 101 0 100 15", "900 1 901 2 3"]
    links = read_iplane(links_file(tmp_path, lines))
    assert links["latency"].values[0] == pytest.approx(5e-3)
    assert list(links["pop_a"].values[:2]) == ["0", "1"]
    assert list(links["as_b"].values[:2]) == ["101", "102"]
    rtts = pop_rtts(links)
    assert rtts.shape == (24, 24)  # 900 and 901 are not connected to the others
    steps = np.minimum(np.arange(24), 24 - np.arange(24))
    assert np.sort(rtts[0]) == pytest.approx(np.sort(20e-3 * steps))
    few = pop_rtts(links, pops=5, seed=3)
    assert few.shape == (5, 5)
    assert np.array_equal(few, pop_rtts(links, pops=5, seed=3))
    assert np.array_equal(few, few.T)


def test_unequal_links_of_one_pair_are_told_with_what_becomes_of_them(tmp_path: Path, run: Run) -> None:
    """Of 0 and 1 the same way, of 2 and 1 both ways; of 3 and 4 twice the same, and of 5 with itself."""
    more = ["0 100 1 101 30", "2 102 1 101 12", "3 103 4 104 10", "5 105 5 105 3"]
    file, losses = links_file(tmp_path, [*ring(30), *more]), tmp_path / "losses.txt"
    losses.write_text("".join(f"{line[:-2]}0.01\n" for line in ring(30)) + "4 104 3 103 0.02\n")
    out = ("--out", str(tmp_path / "my.toml"), "--json")
    unequal = "links of unequal latencies between 2 of 30 pairs of PoPs, the same way or both: each pair counts with"
    lossy = "links of unequal losses between 1 of 30 pairs of PoPs, the same way or both: each pair counts with"
    notes = json.loads(run("calibrate", "--iplane", str(file), "--iplane-loss", str(losses), *out)[1])["notes"]
    assert notes[3:-1] == ["1 link of a PoP and itself: left out", f"{unequal} their mean", f"{lossy} their mean"]
    assert pop_rtts(read_iplane(file))[0, 1] == pytest.approx(2 * 20e-3)  # the mean of 10 and 30, there and back


def test_a_model_of_links_has_the_quantiles_of_their_paths(tmp_path: Path) -> None:
    links = read_iplane(links_file(tmp_path, ring(40)))
    model = fit_iplane(links)
    assert model.rtt_at(np.array([0.0, 0.5, 1.0])) == pytest.approx([20e-3, 200e-3, 400e-3], rel=0.02)
    assert "shortest paths between 40 PoPs of 40 links" in model.source
    assert triangle_violations(pop_rtts(links)) == 0.0  # so they tell of no detours
    assert model.structure.detour == load("iplane").structure.detour
    assert model.structure.detour_spread == load("iplane").structure.detour_spread
    assert model.source.endswith("detours of iplane")
    (tmp_path / "loss").mkdir()
    losses = read_iplane(links_file(tmp_path / "loss", [line[:-2] + "0.25" for line in ring(40)]), quantity="loss")
    lossy = fit_iplane(links, losses)
    assert lossy.loss_at(np.array([0.0, 0.04])) == pytest.approx([0.25, 0.25])  # two of 39 others are one link away
    assert lossy.loss_at(np.array([1.0])) == pytest.approx([WORST])
    with pytest.raises(InputError, match="connects only 8 PoPs"):
        fit_iplane(read_iplane(links_file(tmp_path, ring(8))))


def test_losses_add_up_along_the_shortest_path(tmp_path: Path) -> None:
    """Five links of 1% lose 1 - 0.99^5 = 4.90%; a shorter way of two lossy links is taken; one link is not measured."""
    lines = [f"{i} 1 {i + 1} 1 10" for i in range(6)] + ["0 1 9 1 4", "9 1 2 1 4"]
    lossy = [f"{i} 1 {i + 1} 1 0.01" for i in range(5)] + ["9 1 0 1 0.2", "2 1 9 1 0.1", "77 1 0 1 0.9"]
    losses = tmp_path / "losses.txt"
    losses.write_text("\n".join(lossy) + "\n")
    links = read_iplane(links_file(tmp_path, lines))
    found = pop_paths(links, read_iplane(losses, quantity="loss"))
    names = [0, 1, 2, 3, 4, 5, 6, 9]  # by their names as texts, too
    assert found.loss is not None
    loss = {(one, other): found.loss[i, j] for i, one in enumerate(names) for j, other in enumerate(names)}
    assert loss[1, 6] == loss[6, 1] == pytest.approx(1 - 0.99**4)  # 5 to 6 has no loss
    assert loss[0, 2] == pytest.approx(1 - 0.8 * 0.9)
    assert loss[0, 3] == pytest.approx(1 - 0.8 * 0.9 * 0.99)
    assert (loss[0, 0], loss[5, 6]) == (0.0, pytest.approx(0.0, abs=1e-300))
    assert 1e3 * found.rtt[0, 2] == pytest.approx(16.0)
    to_6 = {0: 6, 1: 5, 2: 4, 3: 3, 4: 2, 5: 1, 9: 5}  # links on the path, of which the last has no loss
    ends = np.array([(one, other) for one in names for other in names if one != other])
    of_6 = sum(to_6.values()) * 2
    others = {(0, 1): 1, (0, 2): 2, (0, 3): 3, (0, 4): 4, (0, 5): 5, (0, 9): 1, (1, 9): 2, (2, 9): 1, (3, 9): 2}
    others |= {(4, 9): 3, (5, 9): 4} | {(i, j): j - i for i in range(1, 6) for j in range(i + 1, 6)}
    total = of_6 + 2 * sum(others.values())
    assert len(ends) == 2 * (len(to_6) + len(others))
    assert found.measured == pytest.approx(1 - 2 * len(to_6) / total)


def test_losses_of_other_links_are_refused(tmp_path: Path) -> None:
    links = read_iplane(links_file(tmp_path, ring(30)))
    (other := tmp_path / "other.txt").write_text("".join(f"{i} 1 {i + 1} 1 0.01\n" for i in range(100, 140)))
    with pytest.raises(
        InputError, match=r"losses = 'other.txt': has no link that is on a path between the PoPs of inter"
    ):
        fit_iplane(links, read_iplane(other, quantity="loss"))


def test_a_known_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what git calls its content, plain or packed: `git hash-object` gives the same."""
    content = ("\n".join(ring()) + "\n").encode()
    of_git = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
    assert read_iplane(links_file(tmp_path, ring())).attrs["origin"] == ""
    monkeypatch.setitem(KNOWN, of_git, "of 2015-06-13 in somewhere/public")
    (packed := tmp_path / "links.gz").write_bytes(gzip.compress(content))
    for file in (links_file(tmp_path, ring()), packed):
        assert read_iplane(file).attrs["origin"] == "iPlane's file of 2015-06-13 in somewhere/public"
    other = links_file(tmp_path, ring(25))
    digest = hashlib.sha256(other.read_bytes()).hexdigest()
    assert read_iplane(other, digest).attrs["origin"] == "the file that its checksum is of"


def test_a_checksum_is_checked_and_gzip_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "links.gz"
    packed.write_bytes(gzip.compress("\n".join(ring()).encode()))
    good = hashlib.sha256(packed.read_bytes()).hexdigest()
    assert read_iplane(packed, good.upper()).sizes["link"] == 24
    with pytest.raises(InputError, match="is not the SHA-256 of links"):
        read_iplane(packed, good[:-1] + ("0" if good[-1] != "0" else "1"))
    for wrong in ("xyz", good[:-1], f"{good}0", 7):
        with pytest.raises(InputError, match=r"checksum = .*is no SHA-256; allowed: 64 hexadecimal digits"):
            read_iplane(packed, wrong)  # type: ignore[arg-type]  # wrong on purpose
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(InputError, match=r"links\.gz.*is cut off after line"):
        read_iplane(packed)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("3 103 4 104", "line 4 has 4 cells: '3 103 4 104'; allowed: cluster AS cluster AS latency"),
        ("3 103 4 104 10 11", "line 4 has 6 cells"),
        ("3 103 4 104 ten", "line 4 has 'ten' for latency; allowed: a number"),
        ("3 103 4 104 nan", "line 4 has 'nan' for latency; allowed: a finite number"),
        ("3 103 4 104 -1", "line 4 has latency -1; allowed: not negative; unmeasured=.drop. leaves"),
        ("3 103 4 104 12000", "line 4 has latency 12000; allowed: milliseconds, at most 10000"),
        ("a 103 b 104 12", "line 4 has no numbers of clusters"),
        ("² 103 3 104 12", "line 4 has no numbers of clusters"),
        ("3 103 ٤ 104 12", "line 4 has no numbers of clusters"),
        ("3 foo 4 104 12", "line 4 has no numbers of AS: '3 foo 4 104 12'; allowed: cluster AS cluster AS latency"),
        ("3 103 4 10.4 12", "line 4 has no numbers of AS"),
        ("3 103 4 104 ١٢", "line 4 has '١٢' for latency; allowed: a finite number, in the digits 0 to 9"),
        ("\x00\x01 103 4 104 12", "line 4 is not text: it has a zero byte"),
    ],
)
def test_damaged_links_are_refused_with_their_line(tmp_path: Path, line: str, said: str) -> None:
    lines = ring()
    lines[3] = line
    with pytest.raises(InputError, match=said):
        read_iplane(links_file(tmp_path, lines))


LINKS, LOSSES = "what read_iplane(path) returns", 'what read_iplane(path, quantity="loss") returns'


READ: dict[str, Literal["latency", "loss"]] = {"LATENCIES": "latency", "LOSSES": "loss"}
"""Stand for links of a file that were read as such."""


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (
            fit_iplane,
            ("LATENCIES", "LATENCIES"),
            f"losses = 'links.txt': has no loss, it was read as latency; {LOSSES}",
        ),
        (fit_iplane, ("LOSSES",), f"links = 'links.txt': has no latency, it was read as loss; {LINKS}"),
        (fit_iplane, ("LOSSES", "LATENCIES"), "losses = 'links.txt': has no loss"),
        (pop_rtts, ("LOSSES",), "links = 'links.txt': has no latency"),
        (pop_rtts, (None,), f"links: has no links of iPlane's; {LINKS}"),
        (pop_rtts, ("x",), f"links = 'x': has no links of iPlane's; {LINKS}"),
        (fit_iplane, ("LATENCIES", xr.Dataset()), "losses = 'a Dataset': has no links of iPlane's"),
        (pop_rtts, ("LATENCIES", "x"), "pops = 'x': is not a whole number; a whole number from 2 to 5000"),
        (pop_rtts, ("LATENCIES", 0), "pops = 0: is out of range; a whole number from 2 to 5000"),
        (pop_rtts, ("LATENCIES", -5), "pops = -5: is out of range"),
        (fit_iplane, ("LATENCIES", None, 19), "pops = 19: is out of range; a whole number from 20 to 5000"),
        (fit_iplane, ("LATENCIES", None, 20, -1), "seed = -1: is out of range; a whole number from 0 to"),
        (triangle_violations, (np.eye(3) < 1.0, np.nan), "excess = nan: is no part of a time; a number, at least 0"),
        (triangle_violations, (np.eye(3) < 1.0, "x"), "excess = 'x': is no part of a time"),
        (triangle_violations, (np.eye(3) < 1.0, -0.1), "excess = -0.1: is no part of a time"),
    ],
)
def test_wrong_arguments_are_named_with_what_is_allowed(
    tmp_path: Path, function: Callable[..., object], arguments: tuple[object, ...], said: str
) -> None:
    (file := tmp_path / "links.txt").write_text("\n".join(ring(latency=0)) + "\n")
    read: dict[str, Any] = {name: read_iplane(file, quantity=quantity) for name, quantity in READ.items()}
    given = [read.get(value, value) if isinstance(value, str) else value for value in arguments]
    with pytest.raises(InputError, match=re.escape(said.replace("; ", "; allowed: "))):
        function(*given)


def test_links_that_may_be_cut_off_in_their_last_number_are_refused_but_with_their_checksum(tmp_path: Path) -> None:
    file = links_file(tmp_path, ring(24, latency=123))
    whole = file.read_bytes()
    for left in (whole[:-1], whole[:-2]):
        file.write_bytes(left)
        with pytest.raises(InputError, match=r"line 24 has no newline at its end: the file may be cut off in it; "):
            read_iplane(file)
    assert read_iplane(file, hashlib.sha256(whole[:-2]).hexdigest()).sizes["link"] == 24


def test_other_damage_to_links_is_refused(tmp_path: Path) -> None:
    file = links_file(tmp_path, [*ring()[:-1], "23 123 0"], ending="")
    with pytest.raises(InputError, match="line 24 has 3 cells"):  # cut off
        read_iplane(file)
    file.write_bytes(b"")
    with pytest.raises(InputError, match="is empty"):
        read_iplane(file)
    file.write_bytes(bytes(range(128, 256)))
    with pytest.raises(InputError, match="line 1 is not text in UTF-8"):
        read_iplane(file)
    for odd, unit, last in (("0.010", "seconds", "2"), ("9000", "microseconds", "400")):
        lines = [ring()[0], *(line[:-2] + odd for line in ring()[1:-1]), ring()[-1][:-2] + last]
        with pytest.raises(InputError, match=rf"line 2 has latency {odd[:4]}.*, and most lines have such: {unit}\?"):
            read_iplane(links_file(tmp_path, lines))
    with pytest.raises(InputError, match="line 1 has loss 10"):
        read_iplane(links_file(tmp_path, ring()), quantity="loss")
    with pytest.raises(InputError, match="cannot be read"):
        read_iplane(tmp_path / "none.txt")


def test_links_without_a_latency_can_be_left_out(tmp_path: Path) -> None:
    file = links_file(tmp_path, [*ring(), "1 101 9 109 -1"])
    links = read_iplane(file, unmeasured="drop")
    assert (links.sizes["link"], links.attrs["dropped"]) == (24, 1)
