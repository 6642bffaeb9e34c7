"""The first bytes of an output are kept, in memory or in a file, and no others."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.commands.spooled_bytes import SpooledBytes

BLOCK = bytes(range(256)) * 512  # half of what is kept in memory


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(0, 200))
def test_the_first_bytes_are_kept(pieces, max_bytes):
    """The buffer keeps the first bytes, however they come in pieces, and returns them as often as they are read."""
    spooled = SpooledBytes(max_bytes)
    for piece in pieces:
        spooled.add(piece)
    assert spooled.read() == spooled.read() == b"".join(pieces)[:max_bytes]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_many_bytes_are_kept_in_a_file(count):
    """Bytes that are in the file and in memory are read in their order, and more can be added after that."""
    spooled = SpooledBytes(6 * len(BLOCK))
    for _ in range(count):
        spooled.add(BLOCK)
    assert spooled.read() == BLOCK * min(count, 6)
    spooled.add(b"more")
    assert spooled.read() == BLOCK * min(count, 6) + b"more" * (count < 6)


def test_nothing_is_kept_after_the_end():
    """A closed buffer is empty, and takes nothing from a command that still prints."""
    spooled = SpooledBytes(10 * len(BLOCK))
    spooled.add(BLOCK * 3)
    spooled.close()
    spooled.add(b"late")
    spooled.close()
    assert spooled.read() == b""


def test_a_full_disk_ends_the_keeping(tmp_path):
    """If no file can be written, the bytes in memory stay, and the command goes on."""
    spooled = SpooledBytes(10 * len(BLOCK), folder=str(tmp_path / "missing"))
    spooled.add(BLOCK * 3)
    spooled.add(b"more")
    assert spooled.read() == BLOCK * 3


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs the list of open files")
def test_the_file_is_closed_with_the_buffer():
    """A buffer that is forgotten leaves no open file."""
    before = len(os.listdir("/proc/self/fd"))
    spooled = SpooledBytes(10 * len(BLOCK))
    spooled.add(BLOCK * 3)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del spooled
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
