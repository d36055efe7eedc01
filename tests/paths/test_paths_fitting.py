"""A path model of one's own measurements: its quantiles, its structure, its figure."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings, strategies as st
from paths_made import NAMED, table
from program import Run

from btflow import InputError
from btflow.paths import draw, fit, load, read_csv, triangle_violations
from btflow.paths.fitting import MOST_FITTED, between_all
from btflow.paths.measured import Measured
from btflow.plots import path_quantiles


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 50_000), min_size=20, max_size=300), st.sampled_from(["ms", "s", "us"]))
def test_a_models_quantiles_are_those_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], unit: str
) -> None:
    scale = {"ms": 1e-3, "s": 1.0, "us": 1e-6}[unit]
    body = [[f"{value * 1e-3 / scale:.9g}"] for value in values]
    file = table(tmp_path_factory.mktemp("fit"), f"rtt_{unit}", body)
    found = fit(read_csv(file, rtt_unit=unit))
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        expected = np.quantile(np.array(values) * 1e-3, share)
        assert found.rtt_at(np.array([share]))[0] == pytest.approx(expected, rel=1e-4)
    assert found.structure == load("iplane").structure
    assert found.loss_at(np.array([0.95])) == pytest.approx([0.05])  # of iplane


def test_losses_in_percent_comments_empty_lines_and_gzip_are_read(tmp_path: Path) -> None:
    text = "# pings of one night\n\nloss_%;x\n".replace(";", ",") + "".join(f"{i % 5},a\n\n" for i in range(30))
    (tmp_path / "my.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    found = fit(tmp_path / "my.csv.gz")
    assert found.loss_at(np.array([1.0])) == pytest.approx([0.04])
    assert found.rtt_at(np.array([0.5])) == pytest.approx(load("iplane").rtt_at(np.array([0.5])), rel=1e-4)
    assert "rtt of iplane" in found.source


def test_paths_between_named_peers_give_the_structure(tmp_path: Path) -> None:
    """Pairs both ways, one peer with a gap; the drawn paths have the violations of the measured ones."""
    measured = draw(load("iplane").model_copy(), 40, seed=2).rtt.values
    body = [
        [f"p{i}", f"p{j}", f"{1e3 * measured[i, j]:.6f}"]
        for i, j in itertools.permutations(range(40), 2)
        if {i, j} != {3, 7}
    ]
    found = fit(table(tmp_path, "src,dst,rtt_ms", body))
    assert "39 peers" in found.source
    assert len(found.structure.regions) == 3
    again = np.mean([triangle_violations(draw(found, 39, seed=seed).rtt) for seed in range(10)])
    kept = np.delete(np.arange(40), 3)
    assert again == pytest.approx(triangle_violations(measured[np.ix_(kept, kept)]), abs=0.05)


@pytest.mark.parametrize(
    ("peers", "time", "said"),
    [
        (30, lambda r: r.lognormal(-3.0, 1.5), "the detour 0, the least that is tried and the spread "),
        (25, lambda r: r.uniform(0.001, 0.3), "the detour 0.5, the largest that is tried and the spread "),
    ],
)
def test_a_fit_that_misses_the_violations_says_so_with_both_shares(
    tmp_path: Path, run: Run, peers: int, time: Callable[[np.random.Generator], float], said: str
) -> None:
    """Times without places: no detour makes drawn matrices like them."""
    random, rtt = np.random.default_rng(1), np.zeros((peers, peers))
    for i, j in itertools.combinations(range(peers), 2):
        rtt[i, j] = rtt[j, i] = time(random)
    body = [[f"p{i}", f"p{j}", f"{rtt[i, j]:.7f}"] for i, j in itertools.combinations(range(peers), 2)]
    file, out = table(tmp_path, "src,dst,rtt_s", body), tmp_path / "my.toml"
    code, printed, errors = run("calibrate", str(file), "--out", str(out), "--json")
    assert code == 0, errors
    found, model = json.loads(printed), load(out)
    shares = found["violations"]
    matrices = [draw(model, peers, seed).rtt for seed in range(40)]
    for above, measured, in_table, drawn in zip(*shares.values(), strict=True):
        assert measured == pytest.approx(triangle_violations(rtt, above))
        assert in_table == pytest.approx(measured, abs=0.03)  # its times are nearly the table's there
        assert drawn == pytest.approx(np.mean([triangle_violations(one, above) for one in matrices]), abs=0.04)
        missed = f"{measured:.1%} measured, {in_table:.1%} with the times of the table, {drawn:.1%} drawn with {said}"
        assert (abs(drawn - in_table) > 0.02) == any(missed in note for note in found["notes"])
    assert abs(shares["model"][0] - shares["measured"][0]) > 0.02
    assert all(note in model.source for note in found["notes"] if "fit misses" in note)


def test_paths_from_one_vantage_point_do_not(tmp_path: Path) -> None:
    body = [["me", f"p{i}", f"{20 + i}"] for i in range(40)]
    assert fit(table(tmp_path, "src,dst,rtt_ms", body)).structure == load("iplane").structure


def test_of_a_thousand_peers_some_are_used_and_of_a_million_names_no_matrix_is_made(tmp_path: Path) -> None:
    body = [["me", f"p{i}", f"{20 + i % 50}", "0"] for i in range(30_000)]
    measured = read_csv(table(tmp_path, NAMED, body))
    assert between_all(measured) is None
    one, other = np.triu_indices(MOST_FITTED + 40, 1)
    times = np.asarray(1e-3 * (1.0 + one + other), np.float64)
    full = Measured("full", one.size, times, None, np.stack([one, other], axis=1))
    matrix = between_all(full)
    assert matrix is not None
    assert matrix.shape == (MOST_FITTED, MOST_FITTED)
    assert np.array_equal(matrix, matrix.T)
    assert 1e3 * (matrix[0, 2:] - matrix[1, 2:]) == pytest.approx(1e3 * (matrix[0, 2] - matrix[1, 2]))  # of two numbers


def test_the_figure_has_the_model_the_rows_and_the_published_points(tmp_path: Path) -> None:
    measured = read_csv(table(tmp_path))
    drawn = path_quantiles(fit(measured), measured.rtt, measured.loss)
    assert isinstance(drawn, go.Figure)
    names = [trace.name for trace in drawn.data]
    assert names == ["measured", "fitted model", "published of iPlane (2010)"] * 2
    assert drawn.data[0].x[0] == pytest.approx(10)
    assert drawn.data[0].x[-1] == pytest.approx(49)
    assert list(drawn.data[2].x) == [400, 1000]
    assert list(drawn.data[5].y) == [95]
    axes = drawn.layout.xaxis.title.text, drawn.layout.xaxis2.title.text
    assert axes == ("round-trip time [ms] (log scale)", "loss [%] (log scale)")
    with pytest.raises(InputError, match="is not a path model"):
        path_quantiles("iplane")  # type: ignore[arg-type]
