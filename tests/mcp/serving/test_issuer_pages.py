"""The pages of an authorization server are fetched within limits, from hosts that may be reached."""

from __future__ import annotations

import logging

import httpx2
import pytest

from tests.servers import answer, cut, hang, reset, serving
from toolkit.mcp.serving.issuer_pages import AuthError, IssuerPages, check_address

pytestmark = pytest.mark.anyio


async def test_the_first_page_that_exists_is_read():
    """An authorization server describes itself at one of two addresses."""
    async with serving() as server:
        server.script = [answer(404), answer(200, '{"a": 1}')]
        assert await IssuerPages(server.url).fetch(f"{server.url}one", f"{server.url}two") == {"a": 1}


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (answer(200, "[1]"), "is no JSON object"),
        (answer(200, "{"), "not JSON"),
        (answer(200, '{"a": 1, "a": 2}'), "stands twice"),
        (answer(200, "[" * 100_000), "nested too deeply"),
        (answer(200, '{"keys": "' + "x" * 1_000_000 + '"}'), "larger than 1,000,000 bytes"),
        (answer(200, "{}", content_encoding="gzip"), "is compressed"),
        (answer(302, "", location="http://127.0.0.1:1/keys"), "status 302"),
        (answer(404), "there is no such page"),
        (answer(500, "{}"), "status 500"),
        (cut, ""),
        (reset, ""),
        (hang, "it took longer than 0.2 s"),
    ],
)
async def test_a_page_that_cannot_be_used_refuses_the_token_for_now(caplog, behaviour, problem):
    """The log has the reason, and the client is told to come back."""
    async with serving() as server:
        server.script = [behaviour]
        with caplog.at_level(logging.WARNING, "toolkit"), pytest.raises(AuthError) as refusal:
            await IssuerPages(server.url, timeout_seconds=0.2).fetch(f"{server.url}keys")
    assert (refusal.value.status, refusal.value.word) == (503, None)
    assert problem in caplog.text
    assert server.requests == ["GET"]


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/keys",
        "https://10.0.0.1/keys",
        "https://169.254.169.254/keys",
        "https://localhost/keys",
        "file:///etc/passwd",
        "https://",
        "",
    ],
)
async def test_an_issuer_on_the_web_cannot_name_a_page_of_the_internal_network(url):
    """No request is sent."""
    reached = []
    transport = httpx2.MockTransport(lambda request: reached.append(request) or httpx2.Response(200, json={}))
    with pytest.raises(AuthError):
        await IssuerPages("https://login.example", transport=transport).fetch(url)
    assert reached == []


async def test_an_issuer_may_have_its_pages_at_another_host_of_the_web():
    """Large providers do so."""
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json={"host": request.url.host}))
    pages = IssuerPages("https://login.example", transport=transport)
    assert await pages.fetch("https://keys.example/keys") == {"host": "keys.example"}


@pytest.mark.parametrize(
    "address",
    [
        "login.example",
        "ftp://login.example",
        "https://",
        "https://ada:pw@login.example",
        "https://login.example?a=1",
        "https://login.example#a",
        "https://login.example:x",
        'https://login.example/"',
        "https://lögin.example",
        "https://login.example/\n",
        None,
        5,
    ],
)
def test_another_address_is_refused(address):
    """The message names the option, and does not repeat a password."""
    with pytest.raises(ValueError, match=r"^issuer is an address such as https://login\.example") as error:
        check_address(address, "issuer")
    assert "pw" not in str(error.value)
