"""The program `btflow`, also as `python -m btflow`; Ctrl-C and SIGTERM end it while it is still being imported, too."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from btflow.termination import hear_again, stopped, terminate


def main() -> NoReturn:
    """Run the command line."""
    signal.signal(signal.SIGTERM, terminate)
    sys.unraisablehook = hear_again
    try:
        from btflow import cli

        cli.main()
    except KeyboardInterrupt:
        sys.exit(stopped())


if __name__ == "__main__":
    main()
