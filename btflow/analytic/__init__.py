"""Closed forms to set beside a simulation: TCP throughput and latency, LEDBAT's queue, bounds and means of swarms.

Bytes, seconds and bytes per second in and out; probabilities as fractions. Where it is natural the arguments may be
NumPy arrays, which broadcast. An argument out of range raises InputError, a ValueError that names it.
"""

from btflow.analytic.short import Latency, cardwell
from btflow.analytic.swarm import SteadyState, kumar_ross_bound, mundinger_bound, qiu_srikant
from btflow.analytic.tcp import LedbatQueue, cubic_response, ledbat_fixed_point, mathis, pftk_approx, pftk_full

__all__ = [
    "Latency",
    "LedbatQueue",
    "SteadyState",
    "cardwell",
    "cubic_response",
    "kumar_ross_bound",
    "ledbat_fixed_point",
    "mathis",
    "mundinger_bound",
    "pftk_approx",
    "pftk_full",
    "qiu_srikant",
]
