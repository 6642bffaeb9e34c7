"""The keys of an authorization server: fetched once, again if a new one appears, and kept if it cannot be reached."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx2
import pytest

from tests.clocks import Clock
from tests.mcp.serving.authorization_server import EC_KEY, OTHER_RSA_KEY, RSA_KEY, describe_key
from tests.servers import answer, hang, serving
from toolkit.mcp.serving.issuer_keys import IssuerKeys
from toolkit.mcp.serving.issuer_pages import AuthError, IssuerPages

pytestmark = pytest.mark.anyio

RSA = describe_key(RSA_KEY, "rsa")
NEW = describe_key(OTHER_RSA_KEY, "new")
HOUR = 3600


def page(*keys):
    """Answer with these keys."""
    return answer(200, json.dumps({"keys": keys}))


def keys_of(server, clock, **options):
    """Return the keys of an issuer whose page with the keys is given."""
    pages = IssuerPages(server.url, timeout_seconds=30)
    return IssuerKeys(server.url, pages, jwks_url=f"{server.url}keys", clock=clock, **options)


async def test_many_requests_fetch_the_keys_once():
    """Those that come while the keys are fetched wait for them."""
    async with serving() as server:
        server.script = [page(RSA)]
        keys = keys_of(server, Clock())
        matches = await asyncio.gather(*(keys.find("rsa", "RS256") for _ in range(20)))
        assert {key.key_id for key in matches} == {"rsa"}
        assert len(server.requests) == 1


async def test_a_new_key_is_found_without_a_flood_of_requests():
    """Tokens with invented keys fetch the page once in 30 s, however many there are."""
    async with serving() as server:
        server.script = [page(RSA), page(RSA, NEW)]
        clock = Clock()
        keys = keys_of(server, clock)
        await keys.find("rsa", "RS256")
        for number in range(20):
            with pytest.raises(AuthError, match="signed with a key that its issuer does not have"):
                await keys.find(f"invented-{number}", "RS256")
        assert len(server.requests) == 1
        clock.now += 30
        matches = await asyncio.gather(*(keys.find("new", "RS256") for _ in range(20)))
        assert {key.key_id for key in matches} == {"new"}
        assert len(server.requests) == 2


async def test_a_revoked_key_does_not_count_any_more():
    """The keys are fetched again every ten minutes."""
    async with serving() as server:
        server.script = [page(RSA), page(NEW)]
        clock = Clock()
        keys = keys_of(server, clock)
        await keys.find("rsa", "RS256")
        clock.now += 599
        await keys.find("rsa", "RS256")
        clock.now += 1
        with pytest.raises(AuthError, match="does not have"):
            await keys.find("rsa", "RS256")
        assert len(server.requests) == 2


async def test_known_keys_survive_an_outage_for_a_day():
    """After that no token counts, and one good answer ends it."""
    async with serving() as server:
        server.script = [page(RSA), answer(500)]
        clock = Clock()
        keys = keys_of(server, clock)
        await keys.find("rsa", "RS256")
        clock.now += 23 * HOUR
        await keys.find("rsa", "RS256")
        clock.now += HOUR
        with pytest.raises(AuthError) as refusal:
            await keys.find("rsa", "RS256")
        assert refusal.value.status == 503
        server.script = [page(RSA)]
        clock.now += 1
        await keys.find("rsa", "RS256")


async def test_an_issuer_that_never_answered_is_asked_once_a_second():
    """The requests that waited for it fail with it."""
    async with serving() as server:
        server.script = [answer(500), page(RSA)]
        clock = Clock()
        keys = keys_of(server, clock)
        refusals = await asyncio.gather(*(keys.find("rsa", "RS256") for _ in range(20)), return_exceptions=True)
        assert {refusal.status for refusal in refusals} == {503}
        assert len(server.requests) == 1
        clock.now += 1
        await keys.find("rsa", "RS256")


async def test_a_slow_issuer_holds_up_one_request():
    """Those whose key is known go on with it."""
    async with serving() as server:
        server.script = [page(RSA), hang]
        clock = Clock()
        keys = keys_of(server, clock)
        await keys.find("rsa", "RS256")
        server.asked.clear()
        clock.now += HOUR
        waiting = asyncio.create_task(keys.find("rsa", "RS256"))
        await server.asked.wait()
        assert (await keys.find("rsa", "RS256")).key_id == "rsa"
        assert not waiting.done()
        waiting.cancel()


async def test_a_request_that_is_cancelled_leaves_the_keys_to_the_next_one():
    """A client that goes away does not keep the others from being served."""
    async with serving() as server:
        server.script = [hang, page(RSA)]
        keys = keys_of(server, Clock())
        first = asyncio.create_task(keys.find("rsa", "RS256"))
        await server.asked.wait()
        second = asyncio.create_task(keys.find("rsa", "RS256"))
        first.cancel()
        assert (await second).key_id == "rsa"


@pytest.mark.parametrize(
    ("keys", "kid", "algorithm"),
    [
        ([{**RSA, "use": "enc"}], "rsa", "RS256"),
        ([{**RSA, "alg": "RS512"}], "rsa", "RS256"),
        ([RSA], "rsa", "ES256"),
        ([describe_key(EC_KEY, "ec")], "ec", "RS256"),
        ([{"kty": "oct", "k": "c2VjcmV0", "kid": "rsa"}], "rsa", "RS256"),
        ([{"kty": "RSA", "kid": "rsa"}], "rsa", "RS256"),
        ([{"kty": "RSA", "kid": "rsa", "n": 5, "e": None}], "rsa", "RS256"),
        ([{"kid": "rsa"}, "rsa", None, 5], "rsa", "RS256"),
        ([RSA, NEW], None, "RS256"),
        ([], "rsa", "RS256"),
    ],
)
async def test_a_key_that_does_not_fit_is_not_used(keys, kid, algorithm):
    """A key is for one use, and for algorithms of its type."""
    async with serving() as server:
        server.script = [page(*keys)]
        with pytest.raises(AuthError, match="does not have"):
            await keys_of(server, Clock()).find(kid, algorithm)


async def test_a_token_without_a_key_id_is_signed_with_the_only_key():
    """A small authorization server has one key without a name."""
    async with serving() as server:
        server.script = [page({name: value for name, value in RSA.items() if name != "kid"})]
        assert (await keys_of(server, Clock()).find(None, "PS256")).algorithm_name == "PS256"


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://evil.example"},
        {"jwks_uri": "file:///etc/passwd"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": 5},
    ],
)
async def test_the_description_of_another_issuer_is_not_used(caplog, change):
    async with serving() as server:
        issuer = server.url
        description = {"issuer": issuer, "jwks_uri": f"{server.url}keys", **change}
        server.script = [answer(200, json.dumps(description)), page(RSA)]
        keys = IssuerKeys(issuer, IssuerPages(issuer), clock=Clock())
        with caplog.at_level(logging.WARNING, "toolkit"), pytest.raises(AuthError) as refusal:
            await keys.find("rsa", "RS256")
        assert refusal.value.status == 503
        assert "names another `issuer`, or no usable `jwks_uri`" in caplog.text
        assert len(server.requests) == 1


@pytest.mark.parametrize("script", [[], [answer(404)]], ids=["RFC 8414", "OpenID Connect"])
async def test_the_keys_of_an_issuer_are_found_by_its_description(script):
    """The description is at one of two addresses."""
    async with serving() as server:
        description = {"issuer": server.url, "jwks_uri": f"{server.url}keys"}
        server.script = [*script, answer(200, json.dumps(description)), page(RSA)]
        keys = IssuerKeys(server.url, IssuerPages(server.url), clock=Clock())
        assert (await keys.find("rsa", "RS256")).key_id == "rsa"


async def test_an_issuer_with_https_has_keys_with_https():
    """Others could replace keys that are fetched without encryption."""
    requests = []

    def reply(request):
        requests.append(request.url.path)
        return httpx2.Response(200, json={"issuer": "https://login.example", "jwks_uri": "http://login.example/keys"})

    pages = IssuerPages("https://login.example", transport=httpx2.MockTransport(reply))
    with pytest.raises(AuthError):
        await IssuerKeys("https://login.example", pages).find("rsa", "RS256")
    assert requests == ["/.well-known/oauth-authorization-server"]
