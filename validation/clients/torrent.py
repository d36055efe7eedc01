"""A file of random bytes and the torrent of it (BEP 3)."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

Value = int | bytes | str | dict[str, "Value"]

NAME = "payload"


def bencode(value: Value) -> bytes:
    """Return a value in the encoding of BEP 3."""
    if isinstance(value, int):
        return b"i%de" % value
    if isinstance(value, str):
        return bencode(value.encode())
    if isinstance(value, bytes):
        return b"%d:%s" % (len(value), value)
    return b"d%se" % b"".join(bencode(key) + bencode(one) for key, one in sorted(value.items()))


def make(folder: Path, size: int, piece: int, announce: str, seed: int) -> tuple[Path, Path]:
    """Write a file and its torrent into a folder and return their paths."""
    content = random.Random(seed).randbytes(size)
    hashes = b"".join(hashlib.sha1(content[i : i + piece]).digest() for i in range(0, size, piece))
    info: dict[str, Value] = {"name": NAME, "length": size, "piece length": piece, "pieces": hashes}
    file, torrent = folder / NAME, folder / f"{NAME}.torrent"
    file.write_bytes(content)
    torrent.write_bytes(bencode({"announce": announce, "info": info}))
    return file, torrent
