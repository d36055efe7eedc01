"""A peer by transmission-daemon, driven by its RPC interface."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from validation.clients.peers.driver import Driver, drive, quiet

RPC = "http://127.0.0.1:9091/transmission/rpc"
FIXED = {
    "dht-enabled": False,  # peers come from the tracker alone
    "lpd-enabled": False,
    "pex-enabled": False,
    "port-forwarding-enabled": False,
    "encryption": 0,  # plain connections preferred
    "rpc-authentication-required": False,
    "rpc-whitelist-enabled": False,
    "ratio-limit-enabled": False,
    "idle-seeding-limit-enabled": False,
    "scrape-paused-torrents-enabled": False,
    "message-level": 1,
}


class Transmission(Driver):
    """A daemon with one torrent."""

    def prepare(self) -> str:
        """Write the settings, start the daemon and wait for its RPC interface."""
        given, folder = self.given, Path(self.given["folder"])
        config = folder / "config"
        config.mkdir(parents=True, exist_ok=True)
        settings = FIXED | {
            "download-dir": str(folder),
            "bind-address-ipv4": given["address"],
            "peer-port": given["port"],
            "utp-enabled": "utp" in given["opens"],
            "speed-limit-up-enabled": bool(given["cap"]),
            "speed-limit-up": round(given["cap"] / 1000),  # its kB are of 1000 B
        }
        (config / "settings.json").write_text(json.dumps(settings))
        command = ["transmission-daemon", "--foreground", "--config-dir", str(config)]
        self.daemon = quiet(command)
        self.session = ""
        for _ in range(100):
            try:
                return str(self._call("session-get")["version"])
            except OSError:
                time.sleep(0.1)
        raise SystemExit("transmission-daemon does not answer")

    def go(self) -> None:
        """Add the torrent; a seed's file is verified when it is added."""
        metainfo = base64.b64encode(Path(self.given["torrent"]).read_bytes()).decode()
        self._call("torrent-add", metainfo=metainfo, paused=False)

    def complete(self) -> bool:
        """Whether the torrent is seeded."""
        fields = ["percentDone", "status"]
        return all(one["percentDone"] == 1 and one["status"] in (5, 6) for one in self._torrents(fields))

    def totals(self) -> dict[str, float]:
        """Payload of all connections."""
        one = (self._torrents(["uploadedEver", "downloadedEver"]) or [{"uploadedEver": 0, "downloadedEver": 0}])[0]
        return {"up": one["uploadedEver"], "down": one["downloadedEver"]}

    def close(self) -> None:
        """Leave at once."""
        self.daemon.kill()
        self.daemon.wait()

    def _torrents(self, fields: list[str]) -> list[dict[str, Any]]:
        return list(self._call("torrent-get", fields=fields)["torrents"])

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        body = json.dumps({"method": method, "arguments": arguments}).encode()
        for _ in range(2):  # the first answer names the session
            request = urllib.request.Request(RPC, body, {"X-Transmission-Session-Id": self.session})
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    return dict(json.load(answer)["arguments"])
            except urllib.error.HTTPError as error:
                if error.code != 409:
                    raise
                self.session = error.headers["X-Transmission-Session-Id"]
        raise SystemExit("transmission-daemon refuses its session")


if __name__ == "__main__":
    drive(Transmission)
