"""
Pages are fetched from judged addresses only, and within bounds, with any behaviour of the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import shutil
import socket
import ssl
import subprocess
import zlib
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.web import addresses as fetch_addresses
from toolkit.builtin.web.addresses import ReachableHosts, resolve_by_system
from toolkit.builtin.web.fetcher import Fetcher, FetchLimits, read_body
from toolkit.errors import Safety, ToolError, Transient

from .hostile_server import (
    SERVER_PORTS,
    answer,
    endless,
    gzip_bomb,
    header_flood,
    loopback_is_public,
    names,
    raw,
    redirect,
    reset,
    serving,
    silent,
    stall,
    trickle,
)

pytestmark = pytest.mark.anyio

QUICK = FetchLimits(timeout_seconds=1.5)


@pytest.fixture
async def server():
    async with serving() as hostile:
        yield hostile


def fetcher(resolve=None, *, limits=None, ssl_context=None, **options) -> Fetcher:
    doors = ReachableHosts(resolve=resolve or names(), judge=loopback_is_public, **{"ports": SERVER_PORTS, **options})
    return Fetcher(doors, limits=limits, ssl_context=ssl_context)


def anywhere(url: str) -> None:
    """The application lets every redirect pass."""


async def fetch_page(server, path="/", **options):
    return await fetcher(**options).fetch(server.url(path), check=anywhere)


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


async def test_a_request_carries_the_hosts_name_and_nothing_private(server, monkeypatch):
    """The request names the host, not its address; no cookies, no credentials, no proxy of the environment."""
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


async def test_a_fragment_stays_at_home(server):
    """What stands behind `#` is not sent."""
    server.pages["/a"] = answer("ok")
    page = await fetcher().fetch(server.url("/a#part"), check=anywhere)
    assert page.url == server.url("/a")
    assert server.paths == ["/a"]


# Addresses.


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.2",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "169.254.1.1",
        "100.100.100.200",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.2",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "fd00:ec2::254",
    ],
)
async def test_a_public_name_for_a_private_address_is_refused(server, address):
    """What a name stands for is judged, in every form an address can hide in."""
    with pytest.raises(Safety, match="stands for"):
        await fetch_page(server, resolve=names([address]))
    assert server.asked == []


async def test_one_private_address_among_public_ones_refuses_all(server):
    """A name that stands for inside and outside at once is not reached at all."""
    with pytest.raises(Safety, match="10.0.0.1"):
        await fetch_page(server, resolve=names(["127.0.0.1", "10.0.0.1"]))
    assert server.asked == []


async def test_a_name_that_changes_its_mind_is_not_asked_again(server):
    """The connection goes to the address that was judged: a name is looked up once for each request."""
    server.pages["/"] = answer("public")
    resolve = names(public_example=[["127.0.0.1"], ["10.0.0.1"]])
    page = await fetch_page(server, resolve=resolve)
    assert page.body.data == b"public"
    assert resolve.asked == ["public.example"]


async def test_a_name_that_changes_its_mind_before_a_redirect_is_refused(server):
    """A redirect to the same host is looked up and judged again."""
    server.pages["/"] = redirect("/next")
    with pytest.raises(Safety, match="10.0.0.1"):
        await fetch_page(server, resolve=names(public_example=[["127.0.0.1"], ["10.0.0.1"]]))
    assert server.paths == ["/"]


async def test_the_next_address_is_tried_when_one_is_dead(server):
    """A host with a dead address and a live one is reached."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))  # bound, but not listening

        def both_public(address):
            return None if address.is_loopback else "elsewhere"

        server.pages["/"] = answer("ok")
        doors = ReachableHosts(resolve=names(["127.0.0.3", "127.0.0.1"]), judge=both_public, ports=SERVER_PORTS)
        page = await Fetcher(doors).fetch(server.url(), check=anywhere)
    assert page.body.data == b"ok"


async def test_a_refused_connection_is_transient(server):
    """A refused connection may work later, and the host is named."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        with pytest.raises(Transient, match="public.example"):
            await fetcher(ports=[port]).fetch(f"http://public.example:{port}/", check=anywhere)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), ToolError),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), Transient),
    ],
)
async def test_a_name_that_cannot_be_looked_up_is_named(error, kind):
    """A name that does not exist is final; a server of names that does not answer is not."""

    async def resolve(host, port):
        raise error

    with pytest.raises(ToolError, match=r"public\.example") as caught:
        await fetcher(resolve).fetch("http://public.example/", check=anywhere)
    assert type(caught.value) is kind


@pytest.mark.parametrize("addresses", [[], ["nonsense"], [f"8.8.{n}.{m}" for n in range(2) for m in range(60)]])
async def test_a_senseless_look_up_is_refused(addresses):
    """A name that stands for nothing, for no address, or for a crowd, is not reached."""
    with pytest.raises(ToolError, match=r"public\.example"):
        await fetcher(names(addresses)).fetch("http://public.example/", check=anywhere)


async def test_the_system_looks_names_up():
    """The usual look-up answers with plain addresses."""
    assert {ip_address(address).is_loopback for address in await resolve_by_system("localhost", 80)} == {True}


async def test_the_usual_doors_refuse_loopback(server):
    """Nothing has to be switched on: this machine is refused by name, by number and by look-up."""
    usual = Fetcher(ReachableHosts())
    for host in ("127.0.0.1", "localhost", "[::1]"):
        with pytest.raises(Safety):
            await usual.fetch(server.url(host=host), check=anywhere)
    with pytest.raises(Safety, match="loopback"):
        await Fetcher(ReachableHosts(resolve=names(), ports=SERVER_PORTS)).fetch(server.url(), check=anywhere)
    assert server.asked == []


async def test_a_private_host_is_reached_if_the_application_says_so(server):
    """`private_hosts` opens one host and port, judged by the usual judge."""
    server.pages["/"] = answer("inside")
    doors = ReachableHosts(private_hosts=[f"127.0.0.1:{server.port}"])
    page = await Fetcher(doors).fetch(server.url(host="127.0.0.1"), check=anywhere)
    assert page.body.data == b"inside"
    with pytest.raises(Safety):
        await Fetcher(ReachableHosts(private_hosts=["127.0.0.1:1"])).fetch(server.url(host="127.0.0.1"), check=anywhere)


async def test_no_word_opens_a_metadata_service():
    """A private host whose name stands for a metadata service is refused all the same."""
    doors = ReachableHosts(private_hosts=["wiki.corp"], resolve=names(["169.254.169.254"]))
    with pytest.raises(Safety, match="metadata"):
        await Fetcher(doors).fetch("http://wiki.corp/", check=anywhere)


async def test_an_ipv6_literal_is_reached(request):
    """An address in brackets is connected to, and sent in brackets."""
    try:
        async with serving(host="::1") as server:
            server.pages["/"] = answer("six")
            doors = ReachableHosts(private_hosts=[f"[::1]:{server.port}"])
            page = await Fetcher(doors).fetch(server.url(host="[::1]"), check=anywhere)
    except OSError as error:
        pytest.skip(f"this machine has no IPv6 loopback: {error}")
    assert page.body.data == b"six"
    assert server.asked[0].headers["host"] == f"[::1]:{server.port}"


@pytest.mark.parametrize("host", ["docs.example", "api.other.example", "docs.example:{port}"])
async def test_only_hosts_of_the_list_are_reached(server, host):
    """With a list, what it names is reached and nothing else."""
    server.pages["/"] = answer("ok")
    listed = ["docs.example", "*.other.example"]
    page = await fetcher(allowed_hosts=listed).fetch(server.url(host=host.replace(":{port}", "")), check=anywhere)
    assert page.status == 200
    with pytest.raises(Safety, match=r"docs\.example, \*\.other\.example"):
        await fetcher(allowed_hosts=listed).fetch(server.url(host="docs.example.evil"), check=anywhere)


async def test_an_empty_list_of_hosts_allows_none(server):
    """A list that came out empty is not taken for no list."""
    with pytest.raises(Safety, match="none of the hosts"):
        await fetch_page(server, allowed_hosts=[])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://public.example/",
        "file:///etc/passwd",
        "//public.example/",
        "http://user:pw@public.example/",
        "http://public.example\\@10.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fe80::1%25eth0]/",
        "http://metadata.google.internal/",
        "http://exa mple.com/",
        "http://public.example:99999/",
        "http://",
        "",
    ],
)
async def test_an_address_that_can_be_misread_is_refused(url):
    """Odd spellings are refused before anything is looked up."""
    resolve = names()
    with pytest.raises(Safety):
        await fetcher(resolve).fetch(url, check=anywhere)
    assert resolve.asked == []


@pytest.mark.parametrize("url", ["http://user@public.example/", "http://a.example\t@b.example/"])
def test_an_address_that_is_parsed_in_two_ways_is_refused(url):
    """The parser that judges and the one that connects must agree."""
    with pytest.raises(Safety, match="no address|two ways"):
        fetch_addresses._parse_url(url)


@given(st.text(max_size=40), st.text(max_size=40))
async def test_no_text_reaches_a_host_that_was_not_judged(before, after):
    """The host of any text is looked up and judged, and private hosts are refused."""
    resolve = names(["10.0.0.1"])
    url = f"http://{before}public.example{after}"
    with pytest.raises(ToolError):
        await fetcher(resolve).fetch(url, check=anywhere)
    for host in resolve.asked:
        assert host == str(urlsplit(url).hostname).removesuffix(".")


# Redirects.


async def test_a_redirect_is_followed_and_told(server):
    """The page says where it came from in the end."""
    server.pages |= {"/": redirect("/b", status=301), "/b": redirect("c?d=1", status=308), "/c?d=1": answer("there")}
    page = await fetch_page(server)
    assert page.hops == (server.url("/b"), server.url("/c?d=1"))
    assert (page.url, page.body.data) == (server.url("/c?d=1"), b"there")


@pytest.mark.parametrize(
    ("to", "path"),
    [("/a b", "/a%20b"), ("/\u00e9", "/%C3%A9"), ("/a%20b", "/a%20b"), ("?q=a b", "/?q=a%20b"), ("/a#b c", "/a")],
)
async def test_a_redirect_is_read_as_browsers_read_it(server, to, path):
    """Blanks and letters that should have been encoded are."""
    server.pages |= {"/": raw(f"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {to}\r\n\r\n".encode())}
    server.pages[path] = answer("there")
    assert (await fetch_page(server)).body.data == b"there"
    assert server.paths == ["/", path]


@pytest.mark.parametrize(
    "to",
    [
        "http://pub lic.example/",
        "http://publ\u00ecc.example/",
        "http://127.0.0.1/",
        "http://127.0.0.2:{port}/secret",
        "http://localhost:{port}/secret",
        "http://LocalHost:{port}/secret",
        "http://169.254.169.254/latest/meta-data/",
        "http://METADATA.google.INTERNAL/",
        "http://[::1]:{port}/secret",
        "http://[::ffff:7f00:1]:{port}/secret",
        "http://2130706433:{port}/secret",
        "http://0x7f000001:{port}/secret",
        "http://public.example@127.0.0.1:{port}/secret",
        "//10.0.0.1/",
        "\\\\10.0.0.1\\x",
        "http:\\\\10.0.0.1\\x",
        "http://inside.example/",
        "http://127.0.0.1.nip.io/",
        "file:///etc/passwd",
        "gopher://public.example/",
        "javascript:alert(1)",
        "http://[::1",
    ],
)
async def test_a_redirect_to_a_private_place_is_refused(server, to):
    """A redirect is judged like the first address, by its text and by what its name stands for."""
    to = to.format(port=server.port) if "{port}" in to else to
    server.pages["/"] = raw(f"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {to}\r\n\r\n".encode())
    server.pages["/secret"] = answer("secret")
    with pytest.raises(Safety):
        await fetch_page(server, resolve=names(inside_example=["192.168.0.1"]))
    assert server.paths == ["/"]


async def test_a_redirect_does_not_leave_the_list_of_hosts(server):
    """The list of allowed hosts holds for redirects too."""
    server.pages["/"] = redirect(server.url("/x", host="other.example"))
    with pytest.raises(Safety, match=r"other\.example"):
        await fetch_page(server, allowed_hosts=["public.example"])
    assert server.paths == ["/"]


async def test_a_redirect_that_the_application_refuses_is_not_followed(server):
    """Each address is shown to the application before it is asked for."""
    server.pages |= {"/": redirect("/a"), "/a": redirect("/b"), "/b": answer("b")}
    urls = []

    def check(url):
        urls.append(url)
        if url.endswith("/b"):
            raise ToolError("not there")

    with pytest.raises(ToolError, match="not there"):
        await fetcher().fetch(server.url(), check=check)
    assert urls == [server.url("/a"), server.url("/b")]
    assert server.paths == ["/", "/a"]


async def test_a_circle_of_redirects_ends(server):
    """A circle is noticed where it closes."""
    server.pages |= {"/": redirect("/b"), "/b": redirect("/")}
    with pytest.raises(ToolError, match="in a circle"):
        await fetch_page(server)
    assert server.paths == ["/", "/b"]


@pytest.mark.parametrize(("most", "requests"), [(0, 1), (1, 2), (5, 6)])
async def test_redirects_are_counted(server, most, requests):
    """A chain without end is left after so many hops."""
    server.pages |= {f"/{n}": redirect(f"/{n + 1}") for n in range(10)}
    with pytest.raises(ToolError, match=f"more than {most} times?;"):
        await fetch_page(server, "/0", limits=FetchLimits(max_redirects=most))
    assert len(server.asked) == requests


@pytest.mark.parametrize("locations", [[], ["/a", "/b"]])
async def test_a_redirect_to_no_place_or_two_is_refused(server, locations):
    """Who redirects has to say where to, once."""
    lines = "".join(f"Location: {location}\r\n" for location in locations)
    server.pages["/"] = raw(f"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n{lines}\r\n".encode())
    with pytest.raises(ToolError, match="places to go"):
        await fetch_page(server)


# Bounds.


async def test_an_endless_body_is_cut(server):
    """What never ends is cut at the bound, and says so."""
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


async def test_a_server_that_says_nothing_is_transient(server):
    """No answer in time may be an answer later."""
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
async def test_a_gzip_bomb_is_cut_while_it_unfolds(server):
    """A hundred megabytes in a hundred kilobytes are cut at the bound."""
    server.pages["/"] = answer(gzip_bomb(100), content_encoding="gzip")
    page = await fetch_page(server, limits=FetchLimits(max_bytes=1_000_000))
    assert len(page.body.data) == 1_000_000
    assert page.body.cut_reason == "cut after 1,000,000 bytes"


async def test_compressed_data_that_unfolds_to_nothing_is_cut_too(server):
    """What comes off the wire is counted as well: empty blocks without end."""
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
    """Only one layer of gzip or deflate is undone."""
    server.pages["/"] = answer(b"\x00", content_encoding=encoding)
    with pytest.raises(ToolError, match="not asked for"):
        await fetch_page(server)
    assert server.asked[0].headers["accept-encoding"] == "gzip, deflate"


async def test_a_body_shorter_than_said_is_transient(server):
    """A body that breaks off is not taken for a whole one."""
    server.pages["/"] = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    with pytest.raises(Transient, match="public.example"):
        await fetch_page(server)


async def test_a_body_longer_than_said_ends_where_it_was_said(server):
    """What follows the stated length is not part of the page."""
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
async def test_nonsense_on_the_wire_is_an_error_of_ours(server, data):
    """Any bytes that a server sends end as a `ToolError` that names the host."""
    server.pages["/"] = raw(data)
    with pytest.raises(ToolError, match=r"public\.example"):
        await fetch_page(server)


async def test_a_flood_of_headers_ends(server):
    """Headers are bounded too."""
    server.pages["/"] = header_flood
    with pytest.raises(ToolError, match=r"public\.example"):
        await fetch_page(server, limits=FetchLimits(timeout_seconds=10))


async def test_a_connection_that_is_reset_is_transient(server):
    """A slammed door may be open later."""
    server.pages["/"] = reset
    with pytest.raises(Transient, match=r"public\.example"):
        await fetch_page(server)


async def test_of_what_is_no_text_only_the_beginning_is_read(server):
    """An image is described, so that its whole body is not needed."""
    server.pages["/"] = answer(b"\x89PNG\r\n\x1a\n" + bytes(1_000_000), type="image/png")
    page = await fetch_page(server)
    assert len(page.body.data) == 4096
    assert page.length == 1_000_008


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("", None), ("no-store", 0), ("public, no-cache", 0), ("max-age=60", 60), ("max-age=x", None), ("private", None)],
)
async def test_how_long_a_page_may_be_kept_is_told(server, header, seconds):
    """The server's wish is read from its header."""
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
def test_only_some_limits_may_be_nothing(wrong):
    """No redirects is a wish; no bytes is a mistake, and half a byte too."""
    assert FetchLimits(max_redirects=0, keep_seconds=0, keep_pages=0).max_redirects == 0
    with pytest.raises(ValueError, match="has to be"):
        FetchLimits(**wrong)


# Compression.


@given(st.binary(max_size=3000), st.sampled_from(["gzip", "x-gzip", "deflate", "raw deflate"]), st.integers(1, 500))
async def test_what_was_compressed_comes_back(data, form, step):
    """Undoing is the inverse of compressing, however the bytes are cut."""
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


async def test_several_members_are_one_body():
    """gzip files can be joined."""
    packed = gzip.compress(b"one, ") + gzip.compress(b"two")
    body = await read_body(_cut(packed, 1000), "gzip", max_bytes=1000)
    assert body.data == b"one, two"


async def test_a_crowd_of_members_is_refused():
    """Each member costs time; an honest server does not send hundreds."""
    with pytest.raises(ToolError, match="more than 100 pieces"):
        await read_body(_cut(gzip.compress(b"") * 200, 10_000), "gzip", max_bytes=100_000)


async def test_what_follows_compressed_data_is_ignored():
    """Padding after the end is no damage."""
    body = await read_body(_cut(gzip.compress(b"all") + b"\0\0\0junk", 5), "gzip", max_bytes=1000)
    assert (body.data, body.cut_reason) == (b"all", None)


async def test_compressed_data_without_an_end_is_told():
    """What breaks off inside is given as far as it came, and called cut."""
    packed = gzip.compress(bytes(range(256)) * 50)[:-20]
    body = await read_body(_cut(packed, 50), "gzip", max_bytes=100_000)
    assert "no end" in body.cut_reason


async def test_output_that_fills_a_piece_exactly_is_not_lost():
    """What the decompressor held back when a piece was full comes with the next."""
    data = bytes(65536 * 2)
    body = await read_body(_cut(gzip.compress(data), 1 << 20), "gzip", max_bytes=1 << 20)
    assert body.data == data


# TLS.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for public.example that only the test trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, so certificates are not tested")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        + ["-keyout", key, "-out", cert, "-subj", "/CN=public.example", "-addext", "subjectAltName=DNS:public.example"],
        check=True,
        capture_output=True,
    )
    serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serves.load_cert_chain(cert, key)
    trusts = ssl.create_default_context(cafile=str(cert))
    return serves, trusts


async def test_the_certificate_is_held_against_the_name(certificate):
    """The connection goes to a number, the certificate is for the name, and that is right."""
    serves, trusts = certificate
    asked_for = []
    serves.sni_callback = lambda sock, name, context: asked_for.append(name)
    async with serving(tls=serves) as server:
        server.pages["/"] = answer("secret")
        page = await fetch_page(server, ssl_context=trusts)
    serves.sni_callback = None
    assert page.body.data == b"secret"
    assert asked_for == ["public.example"]


async def test_a_certificate_for_another_name_is_refused(certificate):
    """A server with the certificate of another host is not talked to, and not tried again."""
    serves, trusts = certificate
    async with serving(tls=serves) as server:
        with pytest.raises(ToolError, match=r"certificate of 'other\.example'") as caught:
            await fetcher(ssl_context=trusts).fetch(server.url(host="other.example"), check=anywhere)
    assert not isinstance(caught.value, Transient)
    assert server.asked == []


async def test_an_untrusted_certificate_is_refused(certificate):
    """Without the application's word a certificate of one's own does not hold."""
    async with serving(tls=certificate[0]) as server:
        with pytest.raises(ToolError, match="certificate"):
            await fetch_page(server)


async def test_a_redirect_from_https_to_http_is_refused(certificate):
    """What was begun in secret does not go on in the open."""
    serves, trusts = certificate
    async with serving() as plain, serving(tls=serves) as server:
        server.pages["/"] = redirect(plain.url("/open"))
        with pytest.raises(Safety, match="from https to http"):
            await fetch_page(server, ssl_context=trusts)
    assert plain.asked == []
