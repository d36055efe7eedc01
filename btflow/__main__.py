"""The program `btflow`, also as `python -m btflow`; Ctrl-C and SIGTERM end it while it is still being imported, too."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import NoReturn

from btflow.termination import hear_again, stopped, terminate


def main() -> NoReturn:
    """Run the command line."""
    signal.signal(signal.SIGTERM, terminate)
    sys.unraisablehook = hear_again
    # What a signal left of a half-made store warns of itself: from threads of zarr's, and at exit from no module.
    warnings.filterwarnings("ignore", module=r"zarr\.")
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    try:
        from btflow.cli import app

        app.main()
    except KeyboardInterrupt:
        sys.exit(stopped())


if __name__ == "__main__":
    main()
