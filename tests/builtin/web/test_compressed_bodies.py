"""A compressed body is decompressed within bounds."""

from __future__ import annotations

import contextlib
import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.web.fetcher import read_body
from toolkit.errors import ToolError

pytestmark = pytest.mark.anyio


@given(st.binary(max_size=3000), st.sampled_from(["gzip", "x-gzip", "deflate", "raw deflate"]), st.integers(1, 500))
async def test_a_compressed_body_is_decompressed(data, form, step):
    """Decompressing is the inverse of compressing, however the bytes are cut."""
    packed = {"deflate": zlib.compress(data), "raw deflate": _raw_deflate(data)}.get(form) or gzip.compress(data)
    body = await read_body(_cut(packed, step), form.split(" ")[-1], max_bytes=5000)
    assert (body.data, body.cut_reason) == (data, None)


def _raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


async def _cut(data: bytes, step: int):
    for at in range(0, len(data), step):
        yield data[at : at + step]


@given(st.binary(max_size=2000), st.integers(1, 3000))
async def test_no_more_comes_out_than_is_allowed(data, most):
    """The bound holds for every size, and only what was too long is called cut."""
    body = await read_body(_cut(gzip.compress(data), 100), "gzip", max_bytes=max(most, 2100))
    assert body.data == data
    body = await read_body(_cut(data, 100), "", max_bytes=most)
    assert body.data == data[:most]
    assert (body.cut_reason is not None) == (len(data) > most)


@given(st.binary(max_size=300))
async def test_damaged_data_never_breaks_more_than_the_call(data):
    """Anything may come: it unfolds, ends early, or is called damaged."""
    packed = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + data
    with contextlib.suppress(ToolError):
        body = await read_body(_cut(packed, 7), "gzip", max_bytes=1000)
        assert len(body.data) <= 1000


async def test_a_gzip_body_may_have_several_members():
    packed = gzip.compress(b"one, ") + gzip.compress(b"two")
    body = await read_body(_cut(packed, 1000), "gzip", max_bytes=1000)
    assert body.data == b"one, two"


async def test_a_body_of_more_than_100_members_is_refused():
    """Each member costs time; an honest server does not send hundreds."""
    with pytest.raises(ToolError, match="more than 100 pieces"):
        await read_body(_cut(gzip.compress(b"") * 200, 10_000), "gzip", max_bytes=100_000)


async def test_bytes_after_the_compressed_data_are_ignored():
    """Padding after the end is no damage."""
    body = await read_body(_cut(gzip.compress(b"all") + b"\0\0\0junk", 5), "gzip", max_bytes=1000)
    assert (body.data, body.cut_reason) == (b"all", None)


async def test_compressed_data_without_an_end_is_marked_as_cut():
    """The data up to the break is given."""
    packed = gzip.compress(bytes(range(256)) * 50)[:-20]
    body = await read_body(_cut(packed, 50), "gzip", max_bytes=100_000)
    assert "no end" in body.cut_reason


async def test_output_that_fills_a_piece_exactly_is_not_lost():
    """The bytes that the decompressor held back come with the next piece."""
    data = bytes(65536 * 2)
    body = await read_body(_cut(gzip.compress(data), 1 << 20), "gzip", max_bytes=1 << 20)
    assert body.data == data
