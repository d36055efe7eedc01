"""A peer by BitTorrent 4.0.2, the mainline client of 2005: TCP alone, run by CPython 2.7.

The client is no part of btflow: its folder is named in the environment variable BTFLOW_MAINLINE, and none of its files
is changed. What it does is counted from outside, by functions put around its own. As it runs by CPython 2.7, this file
shares nothing with the other drivers but what they say (``driver.py``).
"""

from __future__ import division, print_function

import ctypes
import json
import os
import sys
import threading

CLOCK_MONOTONIC = 1
PAYLOAD = 1000
"""A send of so many bytes has a part of a block [B]; the unit that the client's limiter sends is 1380 B."""
EDGES = [0.001 * ms for ms in (1, 2, 5, 10, 20, 27, 40, 54, 80, 100, 120, 135, 160, 200, 240, 270, 320, 400)]
EDGES += [0.5, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0]
"""Times between two sends are counted in bins that end at these [s], and one beyond."""


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


_libc = ctypes.CDLL(None)


def monotonic():
    """Return the time of the clock that all processes of the machine share [s]."""
    now = _Timespec()
    _libc.clock_gettime(CLOCK_MONOTONIC, ctypes.byref(now))
    return now.seconds + 1e-9 * now.nanoseconds


def say(event, **more):
    """Tell the test bed."""
    print(json.dumps(dict(more, event=event, t=monotonic())))
    sys.stdout.flush()


class Counts(object):
    """What a client does, as sums: no message and no timer of its own is changed by it."""

    def __init__(self):
        self.gaps = [0] * (len(EDGES) + 1)
        """Times between two sends of parts of blocks on a connection, while one block follows the other."""
        self.all_gaps = [0] * (len(EDGES) + 1)
        """Times between any two sends on a connection."""
        self.slots = {}
        """A seed's slots when its choker's timer runs, by `rounds since the unchoke, requests, busy`."""
        self.unchokes = 0
        self.chokes = 0
        self.idle_ends = 0
        """Slots of a seed that end as nothing waits there, while one that is older is kept."""
        self.waits = [0] * (len(EDGES) + 1)
        """Times from a seed's UNCHOKE to the first REQUEST that answers it."""
        self.lates = [0.0, 0]
        """How late the client's timers ran: sum [s] and number."""


def in_bin(counts, value):
    """Count a value in its bin."""
    for i, edge in enumerate(EDGES):
        if value < edge:
            counts[i] += 1
            return
    counts[-1] += 1


def watch_sends(counts, single_socket):
    """Count the times between sends on a connection."""
    begin = single_socket.__init__

    def begun(self, *args, **named):
        begin(self, *args, **named)
        send, last = self.socket.send, [None, None]

        def sent(data, *flags):
            now = monotonic()
            if last[0] is not None:
                in_bin(counts.all_gaps, now - last[0])
            last[0] = now
            if len(data) >= PAYLOAD:
                if last[1] is not None:
                    in_bin(counts.gaps, now - last[1])
                last[1] = now
            return send(data, *flags)

        self.socket.send = sent

    single_socket.__init__ = begun


def watch_choker(counts, choker, upload):
    """Count what a seed's choker finds and does."""
    rechoke, unchoke, choke, got_request = choker._rechoke_seed, upload.unchoke, upload.choke, upload.got_request

    def rechoked(self, forced=False):
        before = [c for c in self.connections if not c.upload.choked and c.upload.interested]
        states = []
        for c in before:
            requests, busy = len(c.upload.buffer), c._partial_message is not None
            age = self.count - c.upload.unchoke_time
            waits = requests > 0 and c.connection.is_flushed()
            states.append((c, c.upload.unchoke_time, age < 3 or waits))
            if forced:
                key = "%d,%d,%d" % (min(age, 9), min(requests, 9), busy)
                counts.slots[key] = counts.slots.get(key, 0) + 1
        rechoke(self, forced)
        kept = [at for c, at, _ in states if not c.upload.choked]
        oldest = min(kept) if kept else None
        for c, at, preferred in states:
            if c.upload.choked and not preferred and oldest is not None and at > oldest:
                counts.idle_ends += 1

    def unchoked(self, when):
        if self.choked:
            counts.unchokes += 1
            self.unchoked_at = monotonic()
        unchoke(self, when)

    def choked(self):
        if not self.choked:
            counts.chokes += 1
        choke(self)

    def requested(self, *request):
        if getattr(self, "unchoked_at", None) is not None:
            in_bin(counts.waits, monotonic() - self.unchoked_at)
            self.unchoked_at = None
        got_request(self, *request)

    choker._rechoke_seed, upload.unchoke, upload.choke, upload.got_request = rechoked, unchoked, choked, requested


def watch_timers(counts, server):
    """Count how late timers run, by one of a second."""

    def tick(due):
        now = monotonic()
        counts.lates[0] += now - due
        counts.lates[1] += 1
        server.add_task(lambda: tick(now + 1.0), 1.0)

    server.add_task(lambda start=monotonic(): tick(start + 1.0), 1.0)


class Peer(object):
    """A client with one torrent; it takes the place of the client's own display."""

    def __init__(self, given):
        self.given, self.counts, self.torrent = given, Counts(), None
        self.done = threading.Event()

    def prepare(self):
        """Load the client and let it listen; return its version."""
        sys.path.insert(0, os.environ["BTFLOW_MAINLINE"])
        from BitTorrent import download, version
        from BitTorrent.Choker import Choker
        from BitTorrent.defaultargs import get_defaults
        from BitTorrent.RawServer import SingleSocket
        from BitTorrent.Uploader import Upload

        watch_sends(self.counts, SingleSocket)
        watch_choker(self.counts, Choker, Upload)
        config = dict((name, value) for name, value, _ in get_defaults("btdownloadheadless"))
        config.update(
            bind=self.given["address"],
            minport=self.given["port"],
            maxport=self.given["port"],
            max_upload_rate=self.given["cap"] / 1024,
            data_dir="",
            one_connection_per_ip=True,
        )
        self.config = config
        self.client = download.Multitorrent(config, self.done, self.fault)
        watch_timers(self.counts, self.client.rawserver)
        return version

    def go(self):
        """Add the torrent."""
        from BitTorrent.bencode import bdecode
        from BitTorrent.ConvertedMetainfo import ConvertedMetainfo

        with open(self.given["torrent"], "rb") as file:
            metainfo = ConvertedMetainfo(bdecode(file.read()))
        say("start")
        where = os.path.join(self.given["folder"], metainfo.name_fs)
        self.torrent = self.client.start_torrent(metainfo, self.config, self, where)

    def obey(self):
        """Take the test bed's lines, beside the client's own thread."""
        for line in iter(sys.stdin.readline, ""):
            if line.strip() == "go":
                self.client.rawserver.external_add_task(self.go, 0)
            if line.strip() == "quit":
                break
        self.client.rawserver.external_add_task(self.leave, 0)

    def leave(self):
        """Say what was sent and counted, and end."""
        up, down = self.torrent.get_total_transfer() if self.torrent is not None else (0, 0)
        say("totals", up=up, down=down, counts=self.counts.__dict__)
        os._exit(0)  # at once, as the other drivers: a test bed needs no farewell

    def fault(self, level, text):
        """Take a message of the client."""
        sys.stderr.write("%s\n" % text)

    # What the client calls in the place of its display:

    def started(self, torrent):
        """The torrent runs."""

    def finished(self, torrent):
        """All pieces are there and verified."""
        say("done")

    def failed(self, torrent, is_external):
        """The torrent is given up."""
        raise SystemExit("the client gave its torrent up")

    def error(self, torrent, level, text):
        """Take a message of the torrent."""
        self.fault(level, text)

    exception = error


def main():
    """Run the client from its settings to its end."""
    peer = Peer(json.loads(sys.argv[1]))
    say("ready", version=peer.prepare())
    thread = threading.Thread(target=peer.obey)
    thread.setDaemon(True)
    thread.start()
    peer.client.rawserver.listen_forever()


if __name__ == "__main__":
    main()
