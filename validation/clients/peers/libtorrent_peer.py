"""A peer by libtorrent-rasterbar, with its defaults but for what is set here."""

from __future__ import annotations

from typing import Any

import libtorrent as lt  # type: ignore[import-not-found] # it is in an environment of its own

from validation.clients.peers.driver import Driver, drive

FIXED = {
    "enable_dht": False,  # peers come from the tracker alone
    "enable_lsd": False,
    "enable_upnp": False,
    "enable_natpmp": False,
    "in_enc_policy": 2,  # disabled: the simulator's messages are as long as plain ones
    "out_enc_policy": 2,
    "alert_mask": lt.alert.category_t.status_notification,
    "user_agent": "btflow test bed",
}


class Libtorrent(Driver):
    """A session with one torrent."""

    def prepare(self) -> str:
        """Start a session that listens at the peer's address."""
        given, utp = self.given, "utp" in self.given["opens"]
        limit = {"upload_rate_limit": int(given["cap"])} if given["cap"] else {}
        self.session = lt.session(
            FIXED
            | limit
            | {
                "listen_interfaces": f"{given['address']}:{given['port']}",
                "enable_outgoing_utp": utp,
                "enable_outgoing_tcp": "tcp" in given["opens"],
                "enable_incoming_utp": "utp" in given["accepts"],
                "enable_incoming_tcp": "tcp" in given["accepts"],
            }
        )
        self.handle: Any = None
        return str(lt.__version__)

    def go(self) -> None:
        """Add the torrent; a seed's file is taken as verified."""
        add = lt.add_torrent_params()
        add.ti = lt.torrent_info(self.given["torrent"])
        add.save_path = self.given["folder"]
        if self.given["seed"]:
            add.flags |= lt.torrent_flags.seed_mode
        add.flags &= ~(lt.torrent_flags.auto_managed | lt.torrent_flags.paused)
        self.handle = self.session.add_torrent(add)

    def complete(self) -> bool:
        """Whether libtorrent has said so: alerts cost less than to ask for the state."""
        return any(isinstance(alert, lt.torrent_finished_alert) for alert in self.session.pop_alerts())

    def totals(self) -> dict[str, float]:
        """Payload of all connections."""
        if self.handle is None:
            return {"up": 0, "down": 0}
        status = self.handle.status()
        return {"up": status.total_payload_upload, "down": status.total_payload_download}

    def close(self) -> None:
        """Leave at once: the tracker of a test bed needs no farewell."""
        self.session.pause()


if __name__ == "__main__":
    drive(Libtorrent)
