"""The report on links at flow fidelity beside packets, of made-up figures."""

from __future__ import annotations

from validation.links.fluid import Row, page


def test_what_is_far_is_named() -> None:
    near, far = Row("cubic", (1000.0, 20.0, 3.0), (1040.0, 25.0, 3.0)), Row("lp", (100.0, 5.0, 0.0), (150.0, 45.0, 1.0))
    found = page({"One flow, 1 Mbit/s": [near, far]}, [near])
    text, behind = found.text("a.md"), found.behind("a.md")
    assert "Goodput: within 5% of packets in 2 of 3 experiments; beyond it: lp, 1 Mbit/s +50.0%.\n" in text
    assert "within 10 ms of packets in 2 of 3; beyond it (packets, flow): lp, 1 Mbit/s (5.0, 45.0 ms).\n" in text
    assert "## Flows together, 50 ms\n\n| flows |" in text
    assert "| cubic | 1,000 | 1,040 | +4.0% | 20.0 | 25.0 | 3 | 3 |" in text
    assert "## One flow, 1 Mbit/s\n\n| congestion control |" in behind
    assert "| lp | 100 | 150 | +50.0% | 5.0 | 45.0 | 0 | 1 |" in behind
