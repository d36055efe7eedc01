"""Model files of one's own: wrong ones name the field, references are beside them."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from scenario_made import RAO2010, Edit

from btflow import InputError, load


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
