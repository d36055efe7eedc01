"""Closed forms to set beside a simulation: TCP throughput and latency, queues of one link, bounds and means of swarms.

Bytes, seconds and bytes per second in and out, queues of packets where it says so; probabilities as fractions. Where
it is natural the arguments may be NumPy arrays, which broadcast. An argument out of range raises InputError, a
ValueError that names it.
"""

from btflow.analytic.link import (
    Backlog,
    LedbatDelay,
    Sawtooth,
    cubic_sawtooth,
    goodput_share,
    ledbat_growth,
    ledbat_latecomers,
    ledbat_settling_time,
    reno_sawtooth,
    vegas_backlog,
)
from btflow.analytic.swarm import SteadyState, kumar_ross_bound, mundinger_bound, qiu_srikant
from btflow.analytic.tcp import (
    Latency,
    LedbatQueue,
    cardwell,
    cubic_response,
    ledbat_fixed_point,
    mathis,
    pftk_approx,
    pftk_full,
)

__all__ = [
    "Backlog",
    "Latency",
    "LedbatDelay",
    "LedbatQueue",
    "Sawtooth",
    "SteadyState",
    "cardwell",
    "cubic_response",
    "cubic_sawtooth",
    "goodput_share",
    "kumar_ross_bound",
    "ledbat_fixed_point",
    "ledbat_growth",
    "ledbat_latecomers",
    "ledbat_settling_time",
    "mathis",
    "mundinger_bound",
    "pftk_approx",
    "pftk_full",
    "qiu_srikant",
    "reno_sawtooth",
    "vegas_backlog",
]


def __dir__() -> list[str]:
    return sorted(__all__)
