"""
Pages are fetched from judged addresses only, and within bounds, with any behaviour of the server.
"""

from __future__ import annotations

import asyncio
import zlib

import pytest

from toolkit.builtin.web.fetcher import FetchLimits
from toolkit.errors import ToolError, Transient

from .fetching import QUICK, anywhere, fetch_page, fetcher
from .hostile_server import (
    answer,
    endless,
    gzip_bomb,
    header_flood,
    raw,
    redirect,
    reset,
    silent,
    stall,
    trickle,
)

pytestmark = pytest.mark.anyio


# What is asked for.


async def test_an_honest_page_comes_whole(server):
    """A page arrives with its bytes, type and status."""
    server.pages["/"] = answer("hello", type="text/plain; charset=utf-8")
    page = await fetch_page(server)
    assert (page.status, page.body.data, page.body.cut_reason, page.media_type.name, page.media_type.charset) == (
        200,
        b"hello",
        None,
        "text/plain",
        "utf-8",
    )
    assert (page.url, page.hops, page.length) == (server.url(), (), 5)


async def test_a_request_carries_the_name_of_the_host_and_no_private_data(server, monkeypatch):
    """There are no cookies, no credentials and no proxy of the environment."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9/")
    server.pages["/"] = redirect("/next", set_cookie="id=1; Path=/")
    server.pages["/next"] = answer("ok")
    await fetch_page(server)
    for request in server.asked:
        assert request.method == "GET"
        assert request.headers["host"] == f"public.example:{server.port}"
        assert request.headers["user-agent"].startswith("toolkit-web-fetch")
        assert {"cookie", "authorization", "referer", "proxy-authorization"}.isdisjoint(request.headers)


async def test_a_fragment_is_not_sent(server):
    server.pages["/a"] = answer("ok")
    page = await fetcher().fetch(server.url("/a#part"), check=anywhere)
    assert page.url == server.url("/a")
    assert server.paths == ["/a"]


# Bounds.


async def test_an_endless_body_is_cut(server):
    """The page says so."""
    server.pages["/"] = endless()
    page = await fetch_page(server, limits=FetchLimits(max_bytes=100_000))
    assert len(page.body.data) == 100_000
    assert page.body.cut_reason == "cut after 100,000 bytes"


@pytest.mark.long
@pytest.mark.parametrize("behaviour", [trickle(), stall], ids=["trickle", "stalled"])
async def test_a_slow_body_ends_at_the_deadline(server, behaviour):
    """A body that comes in drops, or stops coming, is given up in time."""
    server.pages["/"] = behaviour
    with pytest.raises(ToolError, match=r"too slowly to be read within 1\.5 s"):
        await fetch_page(server, limits=FetchLimits(timeout_seconds=1.5, max_bytes=10**12))


async def test_a_server_that_does_not_answer_in_time_is_transient(server):
    server.pages["/"] = silent
    with pytest.raises(Transient, match="did not answer|timed out|Timeout"):
        await fetch_page(server, limits=QUICK)


async def test_the_deadline_holds_for_all_redirects_together(server):
    """Hops do not start the time anew."""
    server.pages |= {"/": redirect("/b"), "/b": redirect("/c"), "/c": stall}
    with pytest.raises(ToolError, match="/c was answered too slowly"):
        await fetch_page(server, limits=QUICK)


async def test_a_look_up_without_end_is_given_up():
    """The deadline holds for look-ups too."""

    async def never(host, port):
        await asyncio.Event().wait()

    with pytest.raises(Transient, match="did not answer"):
        await fetcher(never, limits=FetchLimits(timeout_seconds=0.05)).fetch("http://public.example/", check=anywhere)


@pytest.mark.long
async def test_a_gzip_bomb_is_cut_while_it_is_decompressed(server):
    """A hundred megabytes in a hundred kilobytes are cut at the bound."""
    server.pages["/"] = answer(gzip_bomb(100), content_encoding="gzip")
    page = await fetch_page(server, limits=FetchLimits(max_bytes=1_000_000))
    assert len(page.body.data) == 1_000_000
    assert page.body.cut_reason == "cut after 1,000,000 bytes"


async def test_compressed_data_of_empty_blocks_is_cut(server):
    """The compressed bytes count as well, because the blocks may come without end."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    head = packer.compress(b"x") + packer.flush(zlib.Z_FULL_FLUSH)
    empty = b"\x00\x00\x00\xff\xff" * 4000
    server.pages["/"] = endless(head + empty, content_encoding="gzip")
    with pytest.raises(ToolError, match="damaged"):  # the second chunk begins a stream inside the first
        await fetch_page(server, limits=FetchLimits(max_bytes=10_000_000))
    page = await fetch_page(server, limits=FetchLimits(max_bytes=10_000))
    assert page.body.cut_reason == "cut after 10,000 bytes of compressed data"


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "deflate, gzip", "zip", "x" * 5000])
async def test_an_encoding_that_was_not_asked_for_is_refused(server, encoding):
    """Only one layer of gzip or deflate is decoded."""
    server.pages["/"] = answer(b"\x00", content_encoding=encoding)
    with pytest.raises(ToolError, match="not asked for"):
        await fetch_page(server)
    assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"


async def test_a_body_shorter_than_its_stated_length_is_transient(server):
    server.pages["/"] = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    with pytest.raises(Transient, match="public.example"):
        await fetch_page(server)


async def test_a_body_ends_at_its_stated_length(server):
    server.pages["/"] = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more")
    assert (await fetch_page(server)).body.data == b"hello"


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnonsense\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffffffffff\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
        b"HTTP/9.9 huh\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
        b"\x16\x03\x01\x00\x00",
        b"",
    ],
)
async def test_nonsense_from_a_server_is_a_tool_error(server, data):
    """The error names the host."""
    server.pages["/"] = raw(data)
    with pytest.raises(ToolError, match=r"public\.example"):
        await fetch_page(server)


async def test_an_endless_stream_of_headers_is_an_error(server):
    server.pages["/"] = header_flood
    with pytest.raises(ToolError, match=r"public\.example"):
        await fetch_page(server, limits=FetchLimits(timeout_seconds=10))


async def test_a_connection_that_is_reset_is_transient(server):
    """A slammed door may be open later."""
    server.pages["/"] = reset
    with pytest.raises(Transient, match=r"public\.example"):
        await fetch_page(server)


async def test_only_the_beginning_of_a_binary_body_is_read(server):
    """An image is only described, so its whole body is not needed."""
    server.pages["/"] = answer(b"\x89PNG\r\n\x1a\n" + bytes(1_000_000), type="image/png")
    page = await fetch_page(server)
    assert len(page.body.data) == 4096
    assert page.length == 1_000_008


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("", None), ("no-store", 0), ("public, no-cache", 0), ("max-age=60", 60), ("max-age=x", None), ("private", None)],
)
async def test_the_page_has_the_time_that_its_header_allows_it_to_be_cached(server, header, seconds):
    server.pages["/"] = answer("x", cache_control=header)
    assert (await fetch_page(server)).keep_seconds == seconds


async def test_a_redirect_that_must_not_be_kept_counts_for_the_page(server):
    """The strictest wish on the way counts."""
    server.pages |= {"/": redirect("/b", cache_control="no-store"), "/b": answer("x", cache_control="max-age=60")}
    assert (await fetch_page(server)).keep_seconds == 0


@pytest.mark.parametrize("name", ["max_bytes", "timeout_seconds", "max_redirects"])
@pytest.mark.parametrize("wrong", [-1, float("inf"), float("nan"), "5", True, None])
def test_a_limit_has_to_be_a_number(name, wrong):
    """A limit that limits nothing is refused where it is written."""
    with pytest.raises(ValueError, match=f"`{name}` has to be"):
        FetchLimits(**{name: wrong})


@pytest.mark.parametrize("wrong", [{"max_bytes": 0}, {"timeout_seconds": 0}, {"max_bytes": 1.5}])
def test_only_some_limits_may_be_0(wrong):
    """A limit of 0 redirects makes sense, and one of 0 bytes or half a byte does not."""
    assert FetchLimits(max_redirects=0, keep_seconds=0, keep_pages=0).max_redirects == 0
    with pytest.raises(ValueError, match="has to be"):
        FetchLimits(**wrong)
