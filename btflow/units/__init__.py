"""The only parser and formatter of quantities such as ``"20 kB/s"``, ``"50 MB"`` or ``"400 ms"``.

Prefixes. Bits are SI: 1 kbit = 1000 bit, 1 Mbit = 10**6 bit. ``KiB``, ``MiB``, ``GiB``, ``TiB`` are
always powers of 1024. ``kB``, ``MB``, ``GB``, ``TB`` are powers of 1000, unless a model declares
``byte_prefix = "binary"`` because the client it describes multiplies by 1024: in that model, and in
its parameters, 1 kB = 1024 B and 1 MB = 2**20 B.

A bare number is an error for sizes, rates, times and packet queues. Case matters. Spaces between number and unit, of
whatever width, do not.
"""

from __future__ import annotations

from btflow.errors import UnitError
from btflow.units.formatting import as_in_file, format_quantity
from btflow.units.kinds import KINDS, UNITS, UNLIMITED, Buffer, BytePrefix, Kind, Value, is_unlimited, pattern
from btflow.units.parsing import parse_quantity

__all__ = [
    "KINDS",
    "UNITS",
    "UNLIMITED",
    "Buffer",
    "BytePrefix",
    "Kind",
    "UnitError",
    "Value",
    "as_in_file",
    "format_quantity",
    "is_unlimited",
    "parse_quantity",
    "pattern",
]
