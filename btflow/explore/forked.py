"""Stands for a visitor's kernel to Jupyter: asks the nursery for the real one, and lives as long as that does.

It is run as a script and imports nothing that takes time. Killing it ends the kernel, which sees the socket close.
"""

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Take the nursery's socket and the connection file of the kernel from the command line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Jupyter interrupts what it ends: no traceback
    place, file = sys.argv[1:3]
    with socket.socket(socket.AF_UNIX) as nursery:
        nursery.connect(place)
        wanted = {"file": file, "env": dict(os.environ), "cwd": os.getcwd()}
        nursery.sendall(json.dumps(wanted).encode() + b"\n")
        while nursery.recv(4096):
            pass


if __name__ == "__main__":
    main()
