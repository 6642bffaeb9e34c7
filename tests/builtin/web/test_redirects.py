"""Redirects are judged, counted and bounded."""

from __future__ import annotations

import pytest

from toolkit.builtin.web.fetcher import FetchLimits
from toolkit.errors import Safety, ToolError

from .fetching import fetch_page, fetcher
from .hostile_server import (
    answer,
    names,
    raw,
    redirect,
)

pytestmark = pytest.mark.anyio


async def test_a_redirect_is_followed_and_the_page_has_its_final_address(server):
    server.pages |= {"/": redirect("/b", status=301), "/b": redirect("c?d=1", status=308), "/c?d=1": answer("there")}
    page = await fetch_page(server)
    assert page.hops == (server.url("/b"), server.url("/c?d=1"))
    assert (page.url, page.body.data) == (server.url("/c?d=1"), b"there")


@pytest.mark.parametrize(
    ("to", "path"),
    [("/a b", "/a%20b"), ("/\u00e9", "/%C3%A9"), ("/a%20b", "/a%20b"), ("?q=a b", "/?q=a%20b"), ("/a#b c", "/a")],
)
async def test_a_redirect_is_read_as_browsers_read_it(server, to, path):
    """Blanks and other characters may be there unencoded."""
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
    """The application sees each address before its request."""
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
async def test_a_redirect_without_a_location_or_with_two_is_refused(server, locations):
    lines = "".join(f"Location: {location}\r\n" for location in locations)
    server.pages["/"] = raw(f"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n{lines}\r\n".encode())
    with pytest.raises(ToolError, match="places to go"):
        await fetch_page(server)
