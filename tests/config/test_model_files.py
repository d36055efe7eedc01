"""Model files of one's own: wrong ones name the field, references are beside them, any table is read or refused."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from scenario_made import RAO2010, Edit, editor

from btflow import InputError, load


@pytest.fixture
def edit(tmp_path: Path) -> Edit:
    """Return a function that writes the 2010 model with one text replaced, and gives its path."""
    return editor(tmp_path)


EDITS = [
    ('role = "seed"', 'role = "leecher"', "classes", "classes: has no class of role seed: nobody has the file"),
    ('role = "leecher"', 'role = "seed"', "classes", "classes: has no class of role leecher"),
    ('role = "seed"', 'role = "sead"', "classes.seed.role", "= 'sead': is unknown; allowed: 'seed' or 'leecher'"),
    ('kind = "flash"', 'kind = "flash"\nspred = "1 s"', "arrivals.spred", "did you mean spread"),
    ("reply_peers = {", "reply_peers_ = {", "tracker.reply_peers", "missing"),
    ('spread = { value = "10 s"', 'spread = { value = "10"', "arrival_spread", "no unit"),
    (
        'transport = "linux-2.6.32"',
        'transport = "linux-9"',
        "transport",
        "transport = 'linux-9': is not a name in models",
    ),
    ('transport = "linux-2.6.32"', 'transport = "linux-2.6.33"', "transport", "did you mean linux-2.6.32"),
    ('transport = "linux-2.6.32"', 'transport = ""', "transport", "transport = ''"),
    ('transport = "linux-2.6.32"', "transport = 3", "transport", "transport = 3: is neither a name nor a table"),
    ('transport = "linux-2.6.32"', "transport = { base = 3 }", "transport.base", "is not a name"),
    (
        'transport = "linux-2.6.32"',
        'transport = { base = "x" }',
        "transport.base",
        "transport.base = 'x': is not a name in",
    ),
    ('matrix = "rao2010-as"', 'matrix = "nosuch.toml"', "paths.matrix", "= 'nosuch.toml': "),
    ('matrix = "rao2010-as"', 'matrix = "nosuch.toml"', "paths.matrix", "no such file"),
    (
        'value = "50 MB", source = "Rao et al., P2P\'10, section II-C"',
        'value = "50 MB"',
        "swarm.file_size",
        "its source",
    ),
    ('title = "Flash', 'title = 3\nx = "Flash', "title", "title = 3: is not a text"),
    ("[tracker]", "[[tracker]]", "tracker", "is not a table"),
    (
        'kind = "rate"\nmeaning = "upload limit of every',
        'kind = "rate"\nchoices = 3\nmeaning = "upload limit of every',
        "parameters.upload_limit.choices",
        "= 3: is not a list",
    ),
    ('default_from = "upload_limit"', 'default_from = "upload"', "parameters.seed_upload_limit.default_from", "follow"),
    ('sets = ["paths.rtt"]', 'sets = ["path.rtt"]', "path.rtt", "is missing: it is the default"),
    ('sets = ["paths.rtt"]', 'sets = ["paths.rtt", "paths.loss"]', "paths.loss", "is never used"),
    ('sets = ["paths.rtt"]', 'sets = ["paths.rtt", "path.rtt"]', "parameters.rtt.sets", "not there"),
    ('sets = ["paths.rtt"]', "sets = []", "parameters.rtt.sets", "has too few entries; allowed: at least 1"),
    ('sets = ["paths.rtt"]', 'sets = ["paths.rtt"]\ndefault = "1 s"', "parameters.rtt.default", "not given here"),
    ('byte_prefix = "binary"', 'byte_prefix = "octal"', "byte_prefix", "decimal or binary"),
    ('byte_prefix = "binary"', "byte_prefix = 3", "byte_prefix", "decimal or binary"),
    ('byte_prefix = "binary"', 'byte_prefix = "binary"\nhorizon = "-1 s"', "horizon", "negative"),
    (
        'kind = "names"\nmeaning = "ASes',
        'kind = "nams"\nmeaning = "A',
        "leecher_as.kind",
        "is unknown; allowed: 'size', 'rate'",
    ),
]


@pytest.mark.parametrize(("old", "new", "field", "text"), EDITS)
def test_wrong_model_files_name_the_field(edit: Edit, old: str, new: str, field: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        load(edit(old, new))
    assert any(field in problem.field for problem in caught.value.problems)
    assert text in str(caught.value)


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf" + RAO2010.encode())
    assert load(tmp_path / "marked.toml") == load("rao2010")


def test_a_transport_may_start_from_another(edit: Edit) -> None:
    based = load(edit('transport = "linux-2.6.32"', 'transport = { base = "linux-2.6.32", nagle = false }'))
    assert based.transport is not None
    assert based.transport.nagle is False
    assert based.transport.mss == 1448


def test_references_are_relative_to_the_model_file(edit: Edit, tmp_path: Path) -> None:
    own = (files("btflow.models") / "transports" / "linux-2.6.32.toml").read_text()
    (tmp_path / "own.toml").write_text(own.replace('value = "1448 B"', 'value = "1000 B"'))
    own_transport = load(edit('transport = "linux-2.6.32"', 'transport = "own.toml"')).transport
    assert own_transport is not None
    assert own_transport.mss == 1000


def test_values_given_with_the_name_mend_defaults_that_do_not_go_together(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    slow = '[classes.slow]\nrole = "leecher"\ncount = 4\nclient = "mainline-4.0"\nupload_limit = "5 kB/s"\n'
    own.write_text(
        RAO2010.replace("[parameters.upload_limit]", slow + 'location = ["AS1"]\n\n[parameters.upload_limit]')
    )
    with pytest.raises(InputError, match="slow"):
        load(own)
    assert load(own, seed_as="AS1", leecher_as="AS3,AS5").leechers == 304
