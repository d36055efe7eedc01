"""Follows one value, ``upload_limit``, from the model file to the figure: which functions of btflow run on its way.

``python -m tools.walk``: how many in how many files, stage by stage and in all, in a process that has run nothing
before; ``--list`` names them. With ``NUMBA_DISABLE_JIT=1`` those of the kernels are counted, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import btflow

PACKAGE = str(Path(btflow.__file__).parent)
INLINED = ("<module>", "<listcomp>", "<dictcomp>", "<setcomp>")
"""What is no function, or is one in Python 3.11 alone."""


def entered(work: Callable[[], Any]) -> tuple[Any, set[CodeType]]:
    """Return what work returns, and the functions of btflow that ran, lambdas and generators among them."""
    found: set[CodeType] = set()

    def watch(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name not in INLINED:
            found.add(code)

    sys.setprofile(watch)
    try:
        return work(), found
    finally:
        sys.setprofile(None)


def main() -> None:
    """Print what ran."""
    load, simulate, overview = btflow.load, btflow.simulate, btflow.plots.overview  # imported before it is watched
    scenario, loaded = entered(lambda: load("rao2010", upload_limit="50 kB/s", leechers=5, file_size="1 MB"))
    scenario, changed = entered(lambda: scenario.set(upload_limit="60 kB/s"))
    result, simulated = entered(lambda: simulate(scenario))
    _, drawn = entered(lambda: overview(result))
    stages = {"load": loaded, "set": changed, "simulate": simulated, "figure": drawn}
    for name, found in {**stages, "all": set[CodeType]().union(*stages.values())}.items():
        files = {code.co_filename for code in found}
        print(f"{name}: {len(found)} functions in {len(files)} files")
        if "--list" in sys.argv and name == "all":
            for code in sorted(found, key=lambda code: (code.co_filename, code.co_firstlineno)):
                print(f"  {code.co_filename.removeprefix(PACKAGE)}: {code.co_qualname}")


if __name__ == "__main__":
    main()
