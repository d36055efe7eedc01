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
    warnings.filterwarnings("ignore", module=r"zarr\.")  # of a store that a signal left half made, by threads of zarr's
    try:
        from btflow import cli

        cli.main()
    except KeyboardInterrupt:
        sys.exit(stopped())


if __name__ == "__main__":
    main()
