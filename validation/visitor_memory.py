"""``python -m validation.visitor_memory``: the data of a visitor's process for the largest requests that pass.

Each request is made in a process of its own, forked as the explorer forks them, with the bound that the explorer
sets. What the bound counts is VmData: what is reserved, stacks of threads included, whether used or not.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from btflow.errors import InputError
from btflow.explore.watch import MOTION
from validation.command import application, run_app

_STATUS = Path("/proc/self/status")


def requests() -> dict[str, Callable[[], Any]]:
    """Return what makes a panel and has it compute the largest that it takes, by name."""
    from btflow.explore.link_panel import LinkPanel
    from btflow.explore.link_state import LinkState
    from btflow.explore.swarm_panel import SwarmPanel, SwarmState
    from btflow.explore.whatif_panel import WhatIfPanel, WhatIfState

    links = replace(LinkState(), n1="10", n2="10", n3="10")
    fast = replace(links, rate="10 Gbit/s", duration="71 s")
    slow = replace(links, rate="1 Mbit/s", duration="600 s")
    limited = SwarmState(model="rao2010", leechers="300", file_size="50 MB")
    linked = SwarmState(leechers="200", file_size="50 MB")
    few = "model=rao2010&leechers=300&file_size=50+MB"
    full = "leechers=280&file_size=3200+kB&rtt=400+ms&uplink=2+Mbit/s"  # nearly the memory of limits.py
    return {
        "the page": lambda: "done" if LinkPanel().result is not None else "nothing came",
        "link, most packets": lambda: _shown(LinkPanel(), fast),
        "link, longest": lambda: _shown(LinkPanel(), slow, watched=True),
        "swarm, upload limits": lambda: _shown(SwarmPanel(), limited, watched=True),
        "swarm, access links": lambda: _shown(SwarmPanel(), linked, watched=True),
        "what if, upload limits": lambda: _shown(WhatIfPanel(), WhatIfState("swarm", "1", few, few + "&rtt=400+ms")),
        "what if, most memory": lambda: _shown(WhatIfPanel(), WhatIfState("swarm", "1", full, full + "&loss=1%25")),
        "what if, links": lambda: _shown(WhatIfPanel(), WhatIfState("link", "20", "duration=600+s", "duration=600+s")),
    }


def measure(name: str) -> tuple[int, int, str]:
    """Return the peaks of data and of resident memory [MB] of a request in a process of its own, and what it said."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.write(writing, _measured(name).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        data, resident, said = (stream.read() or "0 0 died").split(maxsplit=2)
    os.waitpid(child, 0)
    return int(data), int(resident), said


def _measured(name: str) -> str:
    from btflow.explore.limits import bound_memory
    from btflow.explore.options import MEGABYTES

    bound_memory(MEGABYTES)
    peak, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(0.005):
            peak[0] = max(peak[0], _megabytes("VmData"))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        said = requests()[name]()
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    ended.set()
    watching.join()
    return f"{max(peak[0], _megabytes('VmData'))} {_megabytes('VmHWM')} {said}"


def _shown(panel: Any, state: Any, *, watched: bool = False) -> str:
    """Show a state, wait for all of its figures and files, and return what went wrong; watched, record its motion."""
    panel.set_state(state)
    stage = panel.stage if hasattr(panel, "stage") else panel.canvas.stage
    if watched:  # while it is simulated
        stage.watch.choice.value = MOTION
    (panel if hasattr(panel, "stage") else panel.canvas).wait(300)
    if watched and (not stage.watch.wait(300) or stage.watch.widget.trace is None):
        return "no motion came"
    if panel.state != state:
        return "refused"
    return "done" if panel.files() and panel.result is not None else "nothing came"


def _megabytes(what: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(what + ":"))
    return int(line.split()[1]) // 1024


app = application()


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="REQUEST", help="What is asked for; all by default.")
    ] = None,
) -> None:
    """Print the peaks of a visitor's data and memory for each of the largest requests that pass."""
    known = requests()
    for name in names or ():
        if name not in known:
            raise InputError("REQUEST", name, "is unknown", "; ".join(known))
    from btflow.explore import warm
    from btflow.explore.serve import ONE_THREAD

    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):  # they count at the start only
        os.execve(sys.executable, [sys.executable, "-m", __spec__.name, *(names or ())], os.environ | ONE_THREAD)
    warm.load()
    print(f"{'request':<24} {'data [MB]':>10} {'resident [MB]':>14}")
    for name in names or known:
        data, resident, said = measure(name)
        print(f"{name:<24} {data:>10} {resident:>14}  {said}", flush=True)


if __name__ == "__main__":
    sys.exit(run_app(app, "validation.visitor_memory"))
