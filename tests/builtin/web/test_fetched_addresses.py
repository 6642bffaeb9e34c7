"""The addresses of a host are judged before a page is fetched from it."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.web import addresses as fetch_addresses
from toolkit.builtin.web.addresses import ReachableHosts, resolve_by_system
from toolkit.builtin.web.fetcher import Fetcher
from toolkit.errors import Safety, ToolError, Transient

from .fetching import anywhere, fetch_page, fetcher
from .hostile_server import (
    SERVER_PORTS,
    answer,
    names,
    redirect,
    serving,
)

pytestmark = pytest.mark.anyio


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
    """The address of the name is judged, in every form that an address can have."""
    with pytest.raises(Safety, match="stands for"):
        await fetch_page(server, resolve=names([address]))
    assert server.asked == []


async def test_one_private_address_among_public_ones_refuses_all(server):
    """A name that stands for inside and outside at once is not reached."""
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
async def test_the_error_names_a_host_that_cannot_be_looked_up(error, kind):
    """The error is final if the name does not exist, and transient if the name server does not answer."""

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


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_this_machine_is_refused_by_default(server, host):
    with pytest.raises(Safety):
        await Fetcher(ReachableHosts()).fetch(server.url(host=host), check=anywhere)
    assert server.asked == []


async def test_a_name_that_resolves_to_this_machine_is_refused_by_default(server):
    with pytest.raises(Safety, match="loopback"):
        await Fetcher(ReachableHosts(resolve=names(), ports=SERVER_PORTS)).fetch(server.url(), check=anywhere)
    assert server.asked == []


async def test_a_private_host_is_reached_if_the_application_allows_it(server):
    """`private_hosts` opens one host and port, and the usual judge decides."""
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
async def test_only_listed_hosts_are_reached(server, host):
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
