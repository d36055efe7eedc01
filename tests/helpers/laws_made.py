"""What tests of single window laws have in common: sequences of ACKs, and the base delay read literally."""

from __future__ import annotations

from hypothesis import strategies as st
from link_states import LAWS

from btflow.link import congestion

VARIANTS = {law: len(congestion.VARIANTS[law]) for law in LAWS}
EVERY = [(law, variant) for law in LAWS for variant in range(VARIANTS[law])]
GAPS = st.one_of(st.floats(0.0, 0.2), st.floats(0.0, 90.0))
DELAYS = st.floats(0.001, 0.4)
ACKS = st.lists(st.tuples(GAPS, DELAYS, st.integers(1, 4)), min_size=1, max_size=60)


def base_of(samples: list[tuple[float, float]], minutes: int) -> float:
    """Least delay of the last minutes in which there were samples, each begun by the first one after the last's end."""
    kept: list[list[float]] = []
    begun = 0.0
    for t, delay in samples:
        if not kept or t - begun > 60.0:
            kept.append([])
            begun = t
        kept[-1].append(delay)
    return min(min(minute) for minute in kept[-minutes:])
