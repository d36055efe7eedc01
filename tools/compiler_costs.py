"""What the compiler's insides gain: CPU time to compile the kernels and to run swarms, with each of them and without.

    python -m tools.compiler_costs [--repeat 3] [--only NAME ...] [--timeout 900]

Each measurement is a process of its own with an empty cache. What is left out is replaced there, before any kernel is
imported, by what anybody would write without knowing Numba's insides: nothing of this is in btflow. Results are the
same to the bit, which the digest of each run shows. The table is that of docs/scale.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

KINDS: Mapping[str, tuple[tuple[str, str, Mapping[str, str]], ...]] = {
    "capped": (("full", "rao2010", {"leechers": "3000", "file_size": "10 MB"}),),
    "on links": (("full", "flashcrowd", {"leechers": "60", "file_size": "20 MB", "utp_share": "50%"}),),
    "flow": (
        ("flow", "rao2010", {"leechers": "3000", "file_size": "10 MB"}),
        ("flow", "flashcrowd", {"leechers": "100", "file_size": "40 MB", "utp_share": "50%"}),
    ),
}
"""Fidelity, model and parameters of the swarms that are run for each engine."""


def _linking() -> None:
    """Numba's own compiler for each kernel."""
    import numba

    from btflow.kernels.compiler import jit

    options: dict[str, Any] = {"fastmath": False, "error_model": "numpy"}
    njit: Any = numba.njit
    jit.kernel = njit(_nrt=False, no_cfunc_wrapper=True, no_cpython_wrapper=True, **options)
    jit.entry = njit(cache=True, nogil=True, no_cfunc_wrapper=True, **options)


def _counting() -> None:
    """References are counted in kernels as in any function of Numba's."""
    import numba

    from btflow.kernels.compiler import jit

    jit.kernel = numba.njit(pipeline_class=jit.KernelCompiler, fastmath=False, error_model="numpy")


def _byref() -> None:
    """Named tuples are passed by value; each array has Python's negative indices."""
    import numba

    from btflow.kernels.compiler import intrinsics

    intrinsics.by_ref = numba.njit(intrinsics._itself)  # which counts the reference that it hands on


def _wrapping() -> None:
    """By reference, but an index may be negative."""
    from btflow.kernels.compiler import intrinsics

    def _plain(*given: Any) -> Any:
        *_, signature, args = given
        array, *rest = signature.args
        return signature.return_type(array.plain, *rest), args

    intrinsics._as_unsigned = _plain


def _loading() -> None:
    """By reference, but the addresses of arrays are loaded anew after each store."""
    from btflow.kernels.compiler import intrinsics

    intrinsics._load_invariant = lambda builder, pointer: builder.load(pointer)


def _prefetch() -> None:
    """Nothing is fetched ahead."""
    from btflow.kernels.compiler import intrinsics, jit

    intrinsics.line = jit.kernel(intrinsics._nothing)


def _ctz() -> None:
    """The lowest bit by a multiplication and a table (Leiserson, Prokop, Randall: de Bruijn sequences)."""
    from btflow.kernels.compiler import intrinsics, jit

    sequence = 0x03F79D71B4CB0A89
    table = np.zeros(64, np.int64)
    for bit in range(64):
        table[(sequence << bit & (1 << 64) - 1) >> 58] = bit
    factor, shift = np.uint64(sequence), np.uint64(58)

    def trailing_zeros(mask: Any) -> Any:
        return table[((mask & (~mask + np.uint64(1))) * factor) >> shift]

    intrinsics.trailing_zeros = jit.kernel(trailing_zeros)


VARIANTS: Mapping[str, Callable[[], None]] = {
    "as it is": lambda: None,
    "without linking": _linking,
    "references counted": _counting,
    "state by value": _byref,
    "negative indices": _wrapping,
    "addresses loaded anew": _loading,
    "without prefetch": _prefetch,
    "without count of zeros": _ctz,
}
"""What is left out, by the row of the table."""


def child(variant: str, kind: str, repeat: int) -> None:
    """Compile and run in this process; print both CPU times [s], the least of the runs, and a digest of the results."""
    VARIANTS[variant]()
    from btflow.config.catalog import load
    from btflow.swarm.program import compile_scenario
    from btflow.swarm.run import load_kernels, run_swarm

    programs = [
        compile_scenario(load(model, **parameters), fidelity)  # type: ignore[arg-type]
        for fidelity, model, parameters in KINDS[kind]
    ]
    begin = time.process_time()
    load_kernels(programs[0])
    compiled = time.process_time() - begin
    runs, digest = [], hashlib.sha256()
    for _ in range(repeat):
        begin = time.process_time()
        swarms = [run_swarm(program, 1, 0) for program in programs]
        runs.append(time.process_time() - begin)
    for s in swarms:
        digest.update(s.peer.done.tobytes() + s.peer.bytes_up.tobytes())
    print(json.dumps({"compile": compiled, "run": min(runs), "digest": digest.hexdigest()[:8]}))


def measured(variant: str, kind: str, repeat: int, timeout: float) -> dict[str, Any] | None:
    """Return what a child measured, None if it failed or took longer than `timeout` [s]."""
    command = [sys.executable, "-m", "tools.compiler_costs", "--child", variant, kind, "--repeat", str(repeat)]
    with tempfile.TemporaryDirectory() as cache:
        try:
            done = subprocess.run(
                command,
                env=os.environ | {"NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired:
            return None
        except subprocess.CalledProcessError as error:
            print(f"{variant}, {kind}: {error.stderr.strip()[-2000:]}", file=sys.stderr)
            return None
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(variant: str, found: Mapping[str, dict[str, Any] | None], base: Mapping[str, dict[str, Any] | None]) -> str:
    """Return a row of the table: for each kind of swarm CPU time to compile and to run [s], and the run's ratio."""
    cells = [variant]
    for kind, own in found.items():
        as_is = base[kind]
        if own is None or as_is is None:
            cells += ["-", "-"]
            continue
        same = "" if own["digest"] == as_is["digest"] else " (other results)"
        cells += [f"{own['compile']:.1f}", f"{own['run']:.2f} ({own['run'] / as_is['run'] - 1.0:+.0%}){same}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--child", nargs=2, metavar=("VARIANT", "KIND"), help=argparse.SUPPRESS)
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which the fastest counts")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS), metavar="ROW", help="some rows")
    parser.add_argument("--timeout", type=float, default=900.0, help="for one measurement [s]")
    options = parser.parse_args()
    if options.child:
        variant, kind = options.child
        child(variant, kind, options.repeat)
        return
    print("|  |" + "".join(f" {kind}: compile [s] | run [s] |" for kind in KINDS), flush=True)
    print("|" + " --- |" * (1 + 2 * len(KINDS)), flush=True)
    base: dict[str, dict[str, Any] | None] = {}
    for variant in ["as it is", *(name for name in options.only if name != "as it is")]:
        found = {kind: measured(variant, kind, options.repeat, options.timeout) for kind in KINDS}
        base = base or found
        print(row(variant, found, base), flush=True)


if __name__ == "__main__":
    main()
