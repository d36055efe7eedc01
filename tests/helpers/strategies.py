"""Random constants of clients and transports, within what a swarm can work with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from btflow.swarm.client import RULES, Client
from btflow.swarm.network import Transport
from btflow.units.quantity import FrozenModel


def only_known(model: type[FrozenModel], constants: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some constants that a model has."""
    return {name: value for name, value in constants.items() if name in model.model_fields}


@st.composite
def clients(draw: st.DrawFn) -> dict[str, Any]:
    """Constants of a client with which every swarm still ends."""
    floor, min_peers = draw(st.integers(1, 8)), draw(st.integers(1, 40))
    return only_known(
        Client,
        {
            "choke_interval": f"{draw(st.floats(1, 40))} s",
            "optimistic_rounds": draw(st.integers(1, 6)),
            "recent_unchoke_rounds": draw(st.integers(1, 6)),
            "min_uploads": draw(st.integers(1, 5)),
            "max_uploads": draw(st.integers(0, 12)),
            "snub_time": f"{draw(st.floats(5, 120))} s",
            "rate_window": f"{draw(st.floats(5, 60))} s",
            "rate_fudge": f"{draw(st.floats(0.2, 20))} s",
            "pipeline_floor": floor,
            "pipeline_seconds": f"{draw(st.floats(0.2, 20))} s",
            "pipeline_refill": draw(st.integers(1, 8)),
            "pipeline_cap": draw(st.integers(floor, 100)),
            "pipeline_cap_slope": draw(st.floats(0, 0.5)),
            "endgame": draw(st.sampled_from(["everywhere", "none"])),
            "rarest_first_cutoff": draw(st.integers(0, 20)),
            "upload_unit": f"{draw(st.integers(200, 17000))} B",
            "max_allow_in": draw(st.integers(27, 80)),  # everybody: a full swarm may leave some peers out for good
            "max_initiate": draw(st.integers(2, 60)),
            "min_peers": min_peers,
            "min_peers_incoming": draw(st.integers(0, min_peers)),
            "check_interval": f"{draw(st.floats(5, 120))} s",
            "rerequest_interval": f"{draw(st.floats(5, 600))} s",
            "piece_header": f"{draw(st.integers(1, 200))} B",
            "request_size": f"{draw(st.integers(1, 200))} B",
            "have_size": f"{draw(st.integers(1, 200))} B",
            "state_size": f"{draw(st.integers(1, 200))} B",
        },
    )


@st.composite
def ruled_clients(draw: st.DrawFn) -> dict[str, Any]:
    """Constants of a client with any rules that go together, with which every swarm still ends."""
    rules = {name: draw(st.sampled_from(names)) for name, names in RULES.items()}
    if rules["choker"] == "list":
        rules |= {"optimistic": "list-head", "free_slots": "tick"}
    else:
        rules["optimistic"] = draw(st.sampled_from(["longest-waiting", "random"]))
    begun_first = rules["picker"] == "begun-first"
    rules["interest"] = "unrequested" if begun_first else "missing"
    rules["endgame"] = draw(st.sampled_from(["none", "everywhere" if begun_first else "when-idle"]))
    looks = 0 if begun_first else draw(st.sampled_from([0.4, 1] if rules["picker"] == "fewest-left" else [0, 0.4, 1]))
    constants = {
        "slot_time": f"{draw(st.floats(1, 90))} s",
        "piece_quota": draw(st.integers(1, 20)),
        "pipeline_start": draw(st.integers(1, 10)),
        "reqq": draw(st.sampled_from([0, 3, 2000])),
        "whole_piece_time": f"{draw(st.floats(1, 40))} s",
        "retry_interval": f"{0 if begun_first else draw(st.floats(0.5, 10))} s",
        "refill_below": 1.0 if begun_first else draw(st.sampled_from([0.66, 1.0])),
        "write_ahead": f"{draw(st.sampled_from([0, 15]))} s",
        "write_ahead_least": "57344 B",
        "limiter_interval": f"{draw(st.floats(0.1, 1))} s",
        "quota_kept": f"{draw(st.floats(1, 5))} s",
        "quota_spare": f"{draw(st.sampled_from([0, 1]))} s",
        "request_interval": f"{looks} s",
        "batch_interval": f"{draw(st.sampled_from([0, 10])) if looks else 0} s",
        "allowed_fast_set_size": draw(st.integers(0, 5)),
        "fast_extension": not begun_first and draw(st.booleans()),
    }
    return draw(clients()) | rules | constants


@st.composite
def transports(draw: st.DrawFn) -> dict[str, Any]:
    """Constants of a transport."""
    rto_max = draw(st.floats(1, 120))
    return only_known(
        Transport,
        {
            "counts_segments": draw(st.booleans()),
            "initial_window": draw(st.integers(1, 20)),
            "send_buffer": f"{draw(st.integers(4, 1024))} KiB",
            "nagle": draw(st.booleans()),
            "delayed_ack": f"{draw(st.floats(0, 0.2))} s",
            "quick_acks": draw(st.integers(0, 32)),
            "push_acks": draw(st.booleans()),
            "idle_reset": draw(st.booleans()),
            "window_validation": draw(st.booleans()),
            "dupack_threshold": draw(st.integers(1, 6)),
            "rto_min": f"{draw(st.floats(0.01, min(2, rto_max)))} s",
            "rto_max": f"{rto_max} s",
            "rto_initial": f"{draw(st.floats(0.1, min(6, rto_max)))} s",
            "cubic_c": draw(st.floats(0.05, 1)),
            "cubic_beta": draw(st.floats(0.1, 0.95)),
        },
    )
