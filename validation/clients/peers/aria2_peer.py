"""A peer by aria2, driven by its RPC interface: TCP alone."""

from __future__ import annotations

import base64
import json
import time
import urllib.request
from pathlib import Path
from typing import Any

from validation.clients.peers.driver import Driver, drive, quiet

RPC = "http://127.0.0.1:6800/jsonrpc"
FIXED = {
    "enable-dht": "false",  # peers come from the tracker alone
    "bt-enable-lpd": "false",
    "enable-peer-exchange": "false",
    "seed-ratio": "0.0",  # it seeds for ever
    "file-allocation": "none",
    "bt-force-encryption": "false",
    "bt-min-crypto-level": "plain",
    "disable-ipv6": "true",
    "enable-rpc": "true",
    "quiet": "true",
    "no-conf": "true",
}


class Aria2(Driver):
    """A process with one torrent."""

    def prepare(self) -> str:
        """Start aria2 without a torrent and wait for its RPC interface."""
        given = self.given
        options = FIXED | {
            "dir": given["folder"],
            "listen-port": str(given["port"]),
            "interface": given["address"],
            "max-upload-limit": str(int(given["cap"])),
            "bt-seed-unverified": "true" if given["seed"] else "false",
        }
        command = ["aria2c", *(f"--{name}={value}" for name, value in (options).items())]
        self.process = quiet(command)
        self.gid = ""
        for _ in range(100):
            try:
                return str(self._call("getVersion")["version"])
            except OSError:
                time.sleep(0.1)
        raise SystemExit("aria2c does not answer")

    def go(self) -> None:
        """Add the torrent."""
        metainfo = base64.b64encode(Path(self.given["torrent"]).read_bytes()).decode()
        self.gid = str(self._call("addTorrent", metainfo))

    def complete(self) -> bool:
        """Whether aria2 seeds."""
        status = self._status()
        return status.get("seeder") == "true" or status["completedLength"] == status["totalLength"] != "0"

    def totals(self) -> dict[str, float]:
        """Payload of all connections."""
        status = self._status() if self.gid else {}
        return {"up": float(status.get("uploadLength", 0)), "down": float(status.get("completedLength", 0))}

    def close(self) -> None:
        """Leave at once."""
        self.process.kill()
        self.process.wait()

    def _status(self) -> dict[str, Any]:
        return dict(self._call("tellStatus", self.gid))

    def _call(self, method: str, *arguments: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": f"aria2.{method}", "params": arguments}).encode()
        with urllib.request.urlopen(urllib.request.Request(RPC, body), timeout=10) as answer:
            return json.load(answer)["result"]


if __name__ == "__main__":
    drive(Aria2)
