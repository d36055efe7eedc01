"""A tracker of HTTP (BEP 3, BEP 23): compact replies, at most 50 peers, drawn at random from the others.

    python -m validation.clients.tracker ADDRESS PORT SEED

It runs in the core of the test bed, past no access link. It imports nothing of btflow.
"""

from __future__ import annotations

import random
import socket
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

MOST_PEERS = 50
"""Peers in a reply at most: BitTorrent 4.0.2 track.py, response_size, as in the models."""

INTERVAL = 1800
"""Time between announces [s]: BitTorrent 4.0.2 track.py, reannounce_interval."""

Address = tuple[str, int]


class Tracker:
    """Who is in the swarm."""

    def __init__(self, seed: int) -> None:
        self.peers: list[Address] = []
        self._random = random.Random(seed)

    def announce(self, address: Address, event: str, wanted: int) -> bytes:
        """Enter a peer, or strike it off, and return the reply to it."""
        if event == "stopped":
            self.peers = [peer for peer in self.peers if peer != address]
            return reply([])
        if address not in self.peers:
            self.peers.append(address)
        others = [peer for peer in self.peers if peer != address]
        return reply(self._random.sample(others, min(len(others), max(wanted, 0), MOST_PEERS)))


def reply(peers: list[Address]) -> bytes:
    """Return a bencoded reply with compact addresses."""
    compact = b"".join(socket.inet_aton(host) + port.to_bytes(2, "big") for host, port in peers)
    return b"d8:intervali%de5:peers%d:%se" % (INTERVAL, len(compact), compact)


def answer(tracker: Tracker, host: str, target: str) -> bytes:
    """Return the reply to a request's target from a host; a bad one is told why."""
    query = parse_qs(urlsplit(target).query, encoding="latin-1", keep_blank_values=True)
    try:
        port, wanted = int(query["port"][0]), int(query.get("numwant", [str(MOST_PEERS)])[0])
        return tracker.announce((host, port), query.get("event", [""])[0], MOST_PEERS if wanted < 0 else wanted)
    except (KeyError, ValueError):
        why = b"needs a port"
        return b"d14:failure reason%d:%se" % (len(why), why)


def serve(host: str, port: int, seed: int) -> None:
    """Serve until the process is ended."""
    tracker = Tracker(seed)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = answer(tracker, self.client_address[0], self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer((host, port), Handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
