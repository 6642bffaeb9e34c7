"""Tokens: which of them count, for whom, and what a client is told about the others."""

from __future__ import annotations

import base64
import logging
import time

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.mcp.serving.authorization_server import (
    AUDIENCE,
    EC_KEY,
    ED_KEY,
    OTHER_RSA_KEY,
    RSA_KEY,
    WEAK_RSA_KEY,
    describe_key,
    forge,
    serving_issuer,
    sign,
)
from toolkit.mcp import Auth
from toolkit.mcp.serving.issuer_pages import AuthError, IssuerPages
from toolkit.mcp.serving.token_checks import IntrospectedTokens

pytestmark = pytest.mark.anyio

PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.fixture(scope="module")
def served():
    """Serve one authorization server for all tests of the module."""
    with serving_issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(served):
    """Return the server with the usual keys, to which no request has come."""
    served.keys = [describe_key(RSA_KEY, "rsa"), describe_key(EC_KEY, "ec"), describe_key(ED_KEY, "ed")]
    served.requests.clear()
    served.secrets.clear()
    served.answers.clear()
    return served


async def check(auth, token):
    """Return the user and the scopes of *token*, or the refusal."""
    try:
        user = await auth.find_user(f"Bearer {token}")
    except AuthError as refusal:
        return refusal
    return user.access_token.subject, set(user.scopes)


@pytest.mark.parametrize(
    ("key", "algorithm", "kid"),
    [(RSA_KEY, "RS256", "rsa"), (RSA_KEY, "PS512", "rsa"), (EC_KEY, "ES256", "ec"), (ED_KEY, "EdDSA", "ed")],
)
async def test_a_signed_token_counts_for_its_user(issuer, key, algorithm, kid):
    auth = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    token = sign(issuer.issuer, key, algorithm, kid, scope="read write")
    assert await check(auth, token) == ("ada", {"read", "write"})
    assert await check(auth, token) == ("ada", {"read", "write"})
    assert issuer.requests == ["/.well-known/oauth-authorization-server", "/keys"]


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "a b"}, {"a", "b"}),
        ({"scope": ["a", "b"]}, {"a", "b"}),
        ({"scp": "a"}, {"a"}),
        ({"scp": ["a", 5, None]}, {"a"}),
        ({"scope": "a", "scp": "b"}, {"a"}),
        ({"scope": 5}, set()),
        ({}, set()),
    ],
)
async def test_scopes_are_read_in_the_forms_of_issuers(issuer, claims, scopes):
    """A value that is not a text grants no scope."""
    auth = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    assert await check(auth, sign(issuer.issuer, **claims)) == ("ada", scopes)


def _now(seconds):
    return int(time.time()) + seconds


BAD_CLAIMS = [
    ({"exp": _now(-31)}, "the token has expired"),
    ({"exp": None}, "lacks one of the claims"),
    ({"exp": "soon"}, "not a valid JWT"),
    ({"nbf": _now(1000)}, "does not count yet"),
    ({"iat": _now(1000)}, "does not count yet"),
    ({"aud": "https://other.example/mcp"}, "for another audience"),
    ({"aud": ["https://other.example/mcp"]}, "for another audience"),
    ({"aud": f"{AUDIENCE}/"}, "for another audience"),
    ({"aud": None}, "lacks one of the claims"),
    ({"aud": {"a": 1}}, "for another audience"),
    ({"iss": "https://evil.example"}, "of another issuer"),
    ({"iss": None}, "lacks one of the claims"),
    ({"sub": None}, "names no user"),
    ({"sub": ""}, "names no user"),
    ({"sub": "x" * 300}, "names no user"),
    ({"sub": "ada\nroot"}, "names no user"),
]


@pytest.mark.parametrize(("claims", "reason"), BAD_CLAIMS, ids=lambda value: str(value)[:30])
async def test_a_token_with_wrong_claims_does_not_count(issuer, caplog, claims, reason):
    """The reason is one of a few texts, and the token appears nowhere."""
    auth = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    token = sign(issuer.issuer, **claims)
    with caplog.at_level(logging.DEBUG):
        refusal = await check(auth, token)
    assert (refusal.status, refusal.word) == (401, "invalid_token")
    assert reason in str(refusal)
    assert reason in auth.build_headers(refusal)["www-authenticate"]
    assert token.split(".")[1] not in f"{refusal} {refusal.__cause__} {caplog.text} {auth.build_headers(refusal)}"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda token: forge(token), "an algorithm that is not accepted"),
        (lambda token: forge(token, PEM), "an algorithm that is not accepted"),
        (lambda token: f"{token}x", "not a valid JWT"),
        (lambda token: f"{token[:-40]}{'A' * 40}", "the signature of the token is wrong"),
        (lambda token: token.rpartition(".")[0], "not a valid JWT"),
        (lambda token: "a.b.c", "not a valid JWT"),
        (lambda token: "é.é.é", "not a valid JWT"),
        (lambda token: token + "A" * 20_000, "the token is too long"),
    ],
    ids=["none", "hs256", "longer", "altered", "shorter", "letters", "accents", "huge"],
)
async def test_an_altered_token_does_not_count(issuer, change, reason):
    """A token without a signature does not count, and neither does one signed with the public key as a secret."""
    auth = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    refusal = await check(auth, change(sign(issuer.issuer)))
    assert (refusal.status, refusal.word) == (401, "invalid_token")
    assert reason in str(refusal)


@pytest.mark.parametrize(
    ("kid", "reason"),
    [("rsa", "the signature of the token is wrong"), ("other", "a key that its issuer does not have")],
)
async def test_a_token_that_another_key_signed_does_not_count(issuer, kid, reason):
    """Whether it claims to be signed with a known key, or not."""
    auth = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    assert reason in str(await check(auth, sign(issuer.issuer, OTHER_RSA_KEY, kid=kid)))


async def test_a_weak_key_does_not_count(issuer):
    """An RSA key has at least 2,048 bits."""
    issuer.keys = [describe_key(WEAK_RSA_KEY, "rsa")]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = sign(issuer.issuer, WEAK_RSA_KEY)
    auth = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    assert "not a valid JWT" in str(await check(auth, token))


async def test_clocks_may_differ_by_the_leeway(issuer):
    """The leeway is 30 s by default."""
    token = sign(issuer.issuer, exp=_now(-10))
    usual = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE)
    strict = Auth.jwt(issuer=issuer.issuer, audience=AUDIENCE, leeway_seconds=0)
    assert await check(usual, token) == ("ada", set())
    assert "expired" in str(await check(strict, token))


async def test_options_name_the_claim_of_the_user_and_the_page_of_keys(issuer):
    """The case has another claim, several audiences, and a page of keys without a description."""
    auth = Auth.jwt(
        issuer="https://login.example",
        audience=["api://shop", AUDIENCE],
        jwks_url=f"{issuer.issuer}/keys",
        principal_claim="email",
    )
    assert await check(auth, sign("https://login.example", email="ada@example.com", aud="api://shop")) == (
        "ada@example.com",
        set(),
    )
    assert issuer.requests == ["/keys"]


async def test_an_issuer_that_cannot_be_reached_refuses_for_now():
    """The client keeps its token, and tries again."""
    auth = Auth.jwt(issuer="http://127.0.0.1:1", audience=AUDIENCE)
    refusal = await check(auth, sign("http://127.0.0.1:1"))
    assert (refusal.status, auth.build_headers(refusal)) == (503, {"retry-after": "5"})


def introspect(issuer, **options):
    """Ask the authorization server about tokens."""
    options = {"client_id": "tools", "client_secret": "a secret:", "audience": AUDIENCE, **options}
    return Auth.introspect(f"{issuer.issuer}/introspect", **options)


async def test_the_authorization_server_is_asked_for_the_user_of_a_token(issuer):
    """The request has the password of the server, and the answer counts for 30 s."""
    issuer.answers["t-1"] = {"active": True, "sub": "ada", "scope": "read", "aud": [AUDIENCE]}
    auth = introspect(issuer)
    assert await check(auth, "t-1") == await check(auth, "t-1") == ("ada", {"read"})
    assert issuer.requests == ["/introspect"]
    assert base64.b64decode(issuer.secrets[0].removeprefix("Basic ")) == b"tools:a+secret%3A"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"active": False, "sub": "ada", "aud": AUDIENCE}, "does not count"),
        ({"active": "true", "sub": "ada", "aud": AUDIENCE}, "does not count"),
        ({"sub": "ada", "aud": AUDIENCE}, "does not count"),
        ({"active": True, "sub": "ada", "aud": "https://other.example"}, "for another audience"),
        ({"active": True, "sub": "ada"}, "for another audience"),
        ({"active": True, "sub": "ada", "aud": {"a": 1}}, "for another audience"),
        ({"active": True, "aud": AUDIENCE}, "names no user"),
    ],
)
async def test_a_token_that_the_authorization_server_refuses_does_not_count(issuer, answer, reason):
    """An answer of no is not kept, because the token may be good later."""
    issuer.answers["t-1"] = answer
    auth = introspect(issuer)
    for _ in range(2):
        refusal = await check(auth, "t-1")
        assert (refusal.status, refusal.word, reason in str(refusal)) == (401, "invalid_token", True)
    assert len(issuer.requests) == 2


async def test_an_answer_counts_until_the_token_expires(issuer):
    """It does not count longer than the time for answers."""
    times = [1000.0]
    tokens = IntrospectedTokens(
        *(IssuerPages(issuer.issuer), f"{issuer.issuer}/introspect", ("tools", "secret"), [], "sub", 30.0),
        clock=lambda: times[0],
    )
    issuer.answers["t-1"] = {"active": True, "sub": "ada", "exp": 1010}
    issuer.answers["t-2"] = {"active": True, "sub": "bob"}
    for time_now, count in [(1000, 2), (1009, 2), (1010, 3), (1029, 4), (1030, 6)]:
        times[0] = time_now
        assert [(await tokens.find_user(token))[0] for token in ("t-1", "t-2")] == ["ada", "bob"]
        assert len(issuer.requests) == count, time_now


async def test_a_failure_of_the_introspection_page_is_a_503():
    """The client keeps its token."""
    auth = Auth.introspect("http://127.0.0.1:1/x", client_id="a", client_secret="b", audience=None)
    assert (await check(auth, "t-1")).status == 503


def test_the_repr_of_a_token_check_shows_no_password(issuer):
    """The repr may get into a log."""
    assert "a secret" not in repr(introspect(issuer)._find_user)
    assert "a+secret" not in repr(introspect(issuer)._find_user)
