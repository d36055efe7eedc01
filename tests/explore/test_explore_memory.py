"""The bound on a visitor's memory: what the page takes fits well below it, and what does not is said in words."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from btflow.explore.options import MEGABYTES
from btflow.explore.serve import ONE_THREAD
from btflow.explore.visitors import FORKS
from btflow.explore.work import text_of
from validation.served import PATIENCE

pytestmark = pytest.mark.skipif(not FORKS, reason="only Linux bounds data")

LARGEST = ("the page", "link, longest", "what if, most memory", "what if, links")
_BOUNDED = """
from btflow.explore.limits import bound_memory
bound_memory(300)
bytearray(10**6)
try:
    bytearray(400 * 2**20)
except MemoryError:
    print("refused")
"""


@pytest.mark.slow
def test_the_largest_requests_fit_with_room_to_spare() -> None:
    run = [sys.executable, "-m", "validation.visitor_memory", *LARGEST]
    printed = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE, env=os.environ | ONE_THREAD)
    peaks = re.findall(r"^(.+?) +(\d+) +(\d+)  done$", printed.stdout, flags=re.MULTILINE)
    assert [name for name, _, _ in peaks] == list(LARGEST), printed
    assert max(int(data) for _, data, _ in peaks) < 0.8 * MEGABYTES


def test_more_than_the_bound_is_refused() -> None:
    run = [sys.executable, "-c", _BOUNDED]
    assert subprocess.run(run, capture_output=True, text=True, env=os.environ | ONE_THREAD).stdout == "refused\n"


def test_the_page_says_it_in_plain_words() -> None:
    assert text_of(MemoryError()) == "this needs more memory than one page may take"
