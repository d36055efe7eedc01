"""Unit strings: what they mean, what is refused, and that the formatter is the parser's inverse."""

from __future__ import annotations

import json
import math
import string
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from program import Run

from btflow import load, sweep
from btflow.units import KINDS, Buffer, BytePrefix, Kind, UnitError, format_quantity, parse_quantity

MEANINGS: list[tuple[object, Kind, object]] = [
    ("20 kB/s", "rate", 20_000.0),
    ("20kB/s", "rate", 20_000.0),
    ("20 KiB/s", "rate", 20_480.0),
    ("1 Mbit/s", "rate", 125_000.0),
    ("448 kbit/s", "rate", 56_000.0),
    ("8 bit/s", "rate", 1.0),
    ("1e3 B/s", "rate", 1000.0),
    ("50 MB", "size", 50_000_000),
    ("50 MiB", "size", 52_428_800),
    ("1.1 kB", "size", 1100),
    ("0.7 MiB", "size", 734_003),
    ("400 ms", "time", 0.4),
    (" 30 min ", "time", 1800.0),
    ("7 us", "time", 7e-6),
    ("7 µs", "time", 7e-6),
    ("2 d", "time", 172_800.0),
    ("5%", "fraction", 0.05),
    ("5 %", "fraction", 0.05),
    ("0.05", "fraction", 0.05),
    (0.05, "fraction", 0.05),
    (1, "fraction", 1.0),
    ("300", "count", 300),
    (300, "count", 300),
    (300.0, "count", 300),
    ("200 packets", "packets", 200),
    ("1 packet", "packets", 1),
    ("on", "flag", True),
    ("False", "flag", False),
    (True, "flag", True),
    ("AS1, AS2", "names", ("AS1", "AS2")),
    ("none", "names", ()),
    (["a"], "names", ("a",)),
    (" cubic ", "text", "cubic"),
]


@pytest.mark.parametrize(("text", "kind", "value"), MEANINGS)
def test_meaning(text: object, kind: Kind, value: object) -> None:
    parsed = parse_quantity(text, kind)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u2009", " \u00a0"])
def test_a_space_that_breaks_no_line_is_a_space(space: str) -> None:
    for text, kind, value in MEANINGS:
        if isinstance(text, str) and kind in ("rate", "size", "time", "fraction", "packets"):
            number = text.strip().rstrip(string.ascii_letters + "µ/% ")
            assert parse_quantity(f"{number}{space}{text.strip().removeprefix(number).strip()}{space}", kind) == value
    assert parse_quantity(f"1.5{space}BDP", "buffer") == Buffer(1.5, "bdp")
    assert parse_quantity(f"100{space}kB", "buffer") == Buffer(100_000.0, "size")
    with pytest.raises(UnitError, match="unknown unit"):
        parse_quantity(f"1{space}000 ms", "time")


def test_such_a_space_is_taken_on_the_command_line_in_files_and_in_python(tmp_path: Path, run: Run) -> None:
    small = {"leechers": 2, "file_size": "1\u00a0MB", "rtt": "50\u202fms"}
    plain = load("rao2010", leechers=2, file_size="1 MB", rtt="50 ms")
    assert load("rao2010", **small) == plain
    file = tmp_path / "my.toml"
    text = files("btflow.models").joinpath("swarms/rao2010.toml").read_text(encoding="utf-8")
    file.write_text(text.replace('rtt = { value = "0 ms"', 'rtt = { value = "50\u00a0ms"', 1), encoding="utf-8")
    assert load(file, leechers=2, file_size="1 MB").paths == plain.paths
    points = sweep(load("rao2010", **small), {"rtt": "lin(10\u00a0ms, 20\u202fms, 2)"}, progress=False)
    assert points["rtt"].values.tolist() == [0.01, 0.02]
    args = [f"--set={name}={value}" for name, value in small.items()]
    code, printed, _ = run("run", "rao2010", *args, "--json")
    assert code == 0
    assert json.loads(printed)["parameters"]["rtt"] == "50 ms"


@pytest.mark.parametrize(
    ("unit", "decimal", "binary"),
    [("B", 1, 1), ("kB", 10**3, 2**10), ("MB", 10**6, 2**20), ("GB", 10**9, 2**30), ("TB", 10**12, 2**40)],
)
def test_byte_prefixes(unit: str, decimal: int, binary: int) -> None:
    assert parse_quantity(f"1 {unit}", "size") == decimal
    assert parse_quantity(f"1 {unit}", "size", byte_prefix="binary") == binary
    assert parse_quantity(f"1 {unit}/s", "rate", byte_prefix="binary", maximum=1e13) == binary


@pytest.mark.parametrize("byte_prefix", ["decimal", "binary"])
def test_iec_prefixes_and_bits_do_not_depend_on_the_model(byte_prefix: BytePrefix) -> None:
    assert parse_quantity("1 KiB", "size", byte_prefix=byte_prefix) == 1024
    assert parse_quantity("1 kbit/s", "rate", byte_prefix=byte_prefix) == 125


REFUSED = [
    ("20", "rate", "no unit"),
    (20, "rate", "no unit"),
    (20.5, "size", "no unit"),
    ("200", "packets", "no unit"),
    ("0", "time", "no unit"),
    ("20 apples", "rate", "unknown unit 'apples' (known: B/s, kB/s, "),
    ("1,5 Mbit/s", "rate", "has a comma: one number is wanted, with a decimal point"),
    ("1,5 BDP", "buffer", "has a comma: one number"),
    ("1,000", "count", "has a comma: one number is wanted, with a decimal point and nothing between thousands"),
    ("20 parsecs", "time", "unknown unit 'parsecs' (known: us, µs, ms, s, min, h, d)"),
    ("1.5 apples", "buffer", "unknown unit 'apples' (known: packets, packet, "),
    ("20 kB", "rate", "unknown unit"),
    ("20 kB/s", "size", "unknown unit"),
    ("20 Kb/s", "rate", "did you mean kB/s or KiB/s or kbit/s"),
    ("20 kbps", "rate", "'kbps' (did you mean kB/s or KiB/s or kbit/s"),
    ("2 mbit/s", "rate", "case matters: did you mean Mbit/s?"),
    ("50", "fraction", "is out of range (did you mean 50%?)"),
    ("5 MS", "time", "did you mean ms"),
    ("nan ms", "time", "finite"),
    ("inf s", "time", "finite"),
    ("-Infinity s", "time", "finite"),
    (math.nan, "fraction", "finite"),
    (math.inf, "fraction", "finite"),
    ("-3 kB/s", "rate", "negative"),
    ("-5", "count", "negative"),
    ("150%", "fraction", "out of range; allowed"),
    ("5000 BDP", "buffer", "out of range; allowed"),
    (1.5, "fraction", "out of range"),
    ("1e99", "count", "out of range"),
    ("1e999 B/s", "rate", "out of range"),
    ("1e9999999999 B/s", "rate", "out of range"),
    ("3.5", "count", "whole"),
    ("1.5 packets", "packets", "whole"),
    ("3 peers", "count", "where none is used"),
    ("", "time", "start with a number"),
    ("kB/s 20", "rate", "start with a number"),
    ("٣ ms", "time", "start with a number"),
    ("9" * 500 + " s", "time", "too long"),
    (None, "rate", "text with a unit"),
    (True, "count", "not a number"),
    ([], "time", "text with a unit"),
    ("maybe", "flag", "neither"),
    (1, "flag", "neither"),
    ("", "text", "not a text"),
    ("a,,b", "names", "list of names"),
    ("", "names", "list of names"),
]


@pytest.mark.parametrize(("value", "kind", "reason"), REFUSED)
def test_refused_with_field_value_and_what_is_allowed(value: object, kind: Kind, reason: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse_quantity(value, kind, field="upload_limit")
    error = caught.value
    assert error.field == "upload_limit"
    assert error.value is value
    assert error.allowed
    assert reason in str(error)
    assert "\n" not in str(error)


def test_limits_are_named_in_the_models_own_units() -> None:
    with pytest.raises(UnitError, match="from 1 B/s to 20 kB/s"):
        parse_quantity("0 B/s", "rate", byte_prefix="binary", minimum=1, maximum=20_480)


@pytest.mark.parametrize(
    ("value", "kind", "byte_prefix", "text"),
    [
        (20_480.0, "rate", "binary", "20 kB/s"),
        (20_480.0, "rate", "decimal", "20 KiB/s"),
        (20_000.0, "rate", "decimal", "20 kB/s"),
        (52_428_800, "size", "binary", "50 MB"),
        (0.4, "time", "decimal", "400 ms"),
        (1800.0, "time", "decimal", "30 min"),
        (0.0, "time", "decimal", "0 s"),
        (0.07, "fraction", "decimal", "7%"),
        (200, "packets", "decimal", "200 packets"),
        ((), "names", "decimal", "none"),
    ],
)
def test_format(value: float, kind: Kind, byte_prefix: BytePrefix, text: str) -> None:
    assert format_quantity(value, kind, byte_prefix=byte_prefix) == text


NAMES = st.lists(st.text(string.ascii_letters + string.digits + "-'", min_size=1), max_size=4)
VALUES = st.one_of(
    st.tuples(st.just("size"), st.integers(0, 2**50)),
    st.tuples(st.just("rate"), st.floats(0, 2**40)),
    st.tuples(st.just("time"), st.floats(0, 1e9)),
    st.tuples(st.just("fraction"), st.floats(0, 1)),
    st.tuples(st.just("count"), st.integers(0, 10**9)),
    st.tuples(st.just("packets"), st.integers(0, 10**9)),
    st.tuples(st.just("flag"), st.booleans()),
    st.tuples(st.just("names"), NAMES.map(tuple).filter(lambda names: names != ("none",))),
)


@given(VALUES, st.sampled_from(["decimal", "binary"]))
@example(("time", 5e-324), "decimal")
@example(("rate", 0.1 + 0.2), "binary")
def test_parser_reads_back_what_the_formatter_writes(pair: tuple[Kind, float], byte_prefix: BytePrefix) -> None:
    kind, value = pair
    text = format_quantity(value, kind, byte_prefix=byte_prefix)
    assert parse_quantity(text, kind, byte_prefix=byte_prefix) == value


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.binary()), st.sampled_from(sorted(KINDS)))
def test_any_value_is_read_or_refused(value: object, kind: Kind) -> None:
    try:
        parsed = parse_quantity(value, kind)
    except UnitError as error:
        assert error.reason
    else:
        assert parse_quantity(format_quantity(parsed, kind), kind) == parsed
