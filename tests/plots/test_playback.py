"""The playback of a link experiment: each frame shows what the result holds at its time, and a browser plays it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import link_dataset
import numpy as np
import plotly.graph_objects as go
import pytest
import xarray as xr
from browser import chromium, needs_browser, page
from hypothesis import given, settings
from hypothesis import strategies as st

from btflow import plots
from btflow.errors import InputError


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return link_dataset.dataset()


def parts(frame: go.Frame) -> dict[str, list[tuple[list[Any], list[float]]]]:
    """Return the dots and the bars of a frame, those of the windows first."""
    return {
        kind: [(list(trace.x), list(trace.y)) for trace in frame.data if trace.type == kind]
        for kind in ("scatter", "bar")
    }


def test_each_frame_shows_the_sample_at_its_time(result: xr.Dataset) -> None:
    drawn = plots.playback(result, start=60.0, end=180.0, frames=7)
    assert [float(frame.name) for frame in drawn.frames] == list(np.linspace(60.0, 180.0, 7))
    for frame in drawn.frames:
        then = result.sel(time=float(frame.name))
        dots, bars = parts(frame)["scatter"], parts(frame)["bar"]
        assert [set(x) for x, _ in dots] == [{float(frame.name)}] * 2
        assert bars[0] == (["CUBIC 1", "LEDBAT 2", "Vegas 3"], then["window"].values.tolist())
        assert bars[1] == (["home.uplink"], [float(then["queue_length"].sel(queue="home.uplink"))])
        assert [y for _, y in dots] == [y for _, y in bars]


@pytest.mark.slow
@settings(max_examples=20)
@given(start=st.floats(0, 299), length=st.floats(0.5, 300), frames=st.integers(2, 40))
def test_frames_are_the_last_samples_not_after_their_times(start: float, length: float, frames: int) -> None:
    result = link_dataset.dataset()
    drawn = plots.playback(result, start=start, end=min(start + length, 300.0), frames=frames)
    assert len(drawn.frames) == frames
    for frame in drawn.frames:
        cursor = parts(frame)["scatter"][1][0][0]
        sample = result["queue_length"].sel(time=cursor, method="ffill").sel(queue="home.uplink")
        assert parts(frame)["bar"][1][1] == [float(sample)]


def test_frames_replace_dots_and_bars_only_and_controls_name_them(result: xr.Dataset) -> None:
    drawn = plots.playback(result, frames=10)
    fixed = len(drawn.data) - 4
    assert all(list(frame.traces) == list(range(fixed, fixed + 4)) for frame in drawn.frames)
    assert [trace.type for trace in drawn.data[:fixed]] == ["scatter"] * 4  # three windows and a queue
    (slider,) = drawn.layout.sliders
    assert [step.args[0] for step in slider.steps] == [(frame.name,) for frame in drawn.frames]
    assert [button.label for button in drawn.layout.updatemenus[0].buttons] == ["Play", "Pause"]
    titles = [axis.title.text for axis in (drawn.layout.yaxis, drawn.layout.yaxis3, drawn.layout.xaxis3)]
    assert titles == ["congestion window [segments]", "packets waiting", "time [s]"]


def test_is_pure_and_small(result: xr.Dataset) -> None:
    before = result.copy(deep=True)
    drawn = plots.playback(result)
    assert plots.playback(result).to_json() == drawn.to_json()
    xr.testing.assert_identical(result, before)
    assert len(drawn.to_json()) < 400_000


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"frames": 1}, "frames"),
        ({"frames": 501}, "frames"),
        ({"start": -1.0}, "start"),
        ({"end": 301.0}, "end"),
        ({"start": float("nan")}, "start"),
        ({"start": 100.0, "end": 100.0}, "end"),
        ({"seconds": 0.0}, "seconds"),
    ],
)
def test_refuses_what_is_out_of_range(result: xr.Dataset, options: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError, match=field):
        plots.playback(result, **options)


def test_refuses_what_is_no_result_of_a_link() -> None:
    with pytest.raises(InputError, match="is not a result of a link experiment"):
        plots.playback(xr.Dataset())


@pytest.mark.slow
@needs_browser
def test_a_browser_plays_it(result: xr.Dataset, tmp_path: Path) -> None:
    file = tmp_path / "play.html"
    plots.save(plots.playback(result, start=60.0, end=180.0, frames=4, seconds=0.4), file)
    with chromium() as browser, page(browser) as shown:
        shown.goto(file.as_uri())
        shown.wait_for_function("() => document.querySelector('.js-plotly-plot')?._transitionData?._frames.length")
        shown.evaluate(
            """() => {
                window.frames_shown = [];
                const drawn = document.querySelector('.js-plotly-plot');
                drawn.on('plotly_animatingframe', event => window.frames_shown.push(event.name));
            }"""
        )
        shown.get_by_text("Play", exact=True).click()
        shown.wait_for_function("() => window.frames_shown.length >= 4")
        assert shown.evaluate("() => window.frames_shown") == ["60", "100", "140", "180"]
        bars = "() => document.querySelector('.js-plotly-plot').data.at(-2).y"
        assert shown.evaluate(bars) == result["window"].sel(time=180.0).values.tolist()
        shown.evaluate("() => Plotly.animate(document.querySelector('.js-plotly-plot'), ['100'], {mode: 'immediate'})")
        assert shown.evaluate(bars) == result["window"].sel(time=100.0).values.tolist()
