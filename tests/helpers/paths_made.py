"""Files of measured paths that tests make: CSV with a row for each path, and iPlane's links."""

from __future__ import annotations

from pathlib import Path


def rows(count: int = 40) -> list[list[str]]:
    return [[f"{10 + i}", f"{(i % 5) / 100:g}"] for i in range(count)]


def table(folder: Path, header: str = "rtt_ms,loss", body: list[list[str]] | None = None, name: str = "my.csv") -> Path:
    lines = [header, *(",".join(row) for row in (rows() if body is None else body))]
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


NAMED = "src,dst,rtt_ms,loss"


def star(*others: list[str]) -> list[list[str]]:
    """Return rows from one peer to 20 others, and more."""
    return [*(["me", f"p{i}", f"{20 + i}", "0.01"] for i in range(20)), *others]


def changed(line: int, *cells: str) -> list[list[str]]:
    body = rows()
    body[line - 2] = list(cells)
    return body


def ring(pops: int = 24, latency: int = 10) -> list[str]:
    return [f"{i} {100 + i} {(i + 1) % pops} {100 + (i + 1) % pops} {latency}" for i in range(pops)]


def links_file(folder: Path, lines: list[str], ending: str = "\n") -> Path:
    (folder / "inter_pop_links.txt").write_text("\n".join(lines) + ending)
    return folder / "inter_pop_links.txt"
