"""The program `btflow`, also as `python -m btflow`; it can be interrupted while it is still being imported."""

from __future__ import annotations

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line."""
    try:
        from btflow import cli
    except KeyboardInterrupt:
        print("btflow: interrupted", file=sys.stderr)
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
