"""``btflow bench``: what swarms, sweeps and links cost here."""

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from btflow.errors import InputError
from btflow.files import extra
from btflow.options import FIDELITIES


def bench(
    cold: Annotated[bool, typer.Option("--cold", help="Also time a first run, which compiles the kernels.")] = False,
    scale: Annotated[
        bool, typer.Option("--scale", help="Also run 1,008 mixed swarms, up to 100,000 peers, a sweep of 100,000.")
    ] = False,
    fidelity: Annotated[str, typer.Option(metavar="full|flow|both", help="How the swarms are run.")] = "both",
) -> None:
    """Measure swarms per second, CPU time against peers, pieces and file size, memory, start-up, and links."""
    if fidelity not in (*FIDELITIES, "both"):
        raise InputError("--fidelity", fidelity, "is no fidelity", "full, flow or both")
    if cold and find_spec("psutil") is None:
        raise InputError("--cold", None, "needs psutil for what the explorer costs", extra("notebook"))
    chosen = [known for known in FIDELITIES if fidelity in (known, "both")]

    # They are beside the package in a checkout (tools/benchmarks) and in it in a wheel.
    import_module("btflow.benchmarks.command").main(cold=cold, large=scale, fidelities=chosen)
