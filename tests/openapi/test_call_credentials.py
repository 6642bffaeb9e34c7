"""Credentials of a call: where they are sent, and that no text shows them."""

from __future__ import annotations

import base64
import json
import logging
from urllib.parse import quote

import httpx
import pytest

from tests.openapi.call_kit import PETS, app_for
from toolkit import Catalog, Dispatcher
from toolkit.decisions import Decision

from .kit import call, client_for, dispatcher_for, document, echo


def send(data, **options):
    """Call the operation `list`, and return the request that was sent."""
    sent = []

    async def note(request):
        sent.append(request)

    assert call(data, "list", client_options={"event_hooks": {"request": [note]}}, **options).kind == "ok"
    return sent[-1]


SCHEMES = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "dpop": {"type": "http", "scheme": "DPoP"},
    "digest": {"type": "http", "scheme": "digest"},
    "oauth": {
        "type": "oauth2",
        "flows": {"authorizationCode": {"authorizationUrl": "https://login.test/authorize", "scopes": {}}},
    },
}


def secured(*alternatives, **operation):
    return document(
        {"get /pets": {"operationId": "list", "security": list(alternatives), **operation}},
        components={"securitySchemes": SCHEMES},
    )


class OwnAuth(httpx.Auth):
    def auth_flow(self, request):
        request.headers["X-Own"] = "yes"
        yield request


async def get_token():
    return "s3cret"


@pytest.mark.parametrize(
    ("scheme", "credential", "place", "expected"),
    [
        ("key", "s3cret", "x-key", "s3cret"),
        ("cookie", "s3cret", "cookie", "sid=s3cret"),
        ("basic", ("me", "s3cret"), "authorization", f"Basic {base64.b64encode(b'me:s3cret').decode()}"),
        ("bearer", "s3cret", "authorization", "Bearer s3cret"),
        ("bearer", lambda: "s3cret", "authorization", "Bearer s3cret"),
        ("dpop", "s3cret", "authorization", "DPoP s3cret"),
        ("digest", OwnAuth(), "x-own", "yes"),
        ("oauth", get_token, "authorization", "Bearer s3cret"),
        ("oauth", OwnAuth(), "x-own", "yes"),
    ],
)
def test_credentials_are_sent_where_the_scheme_says(scheme, credential, place, expected):
    assert send(secured({scheme: []}), auth={scheme: credential}).headers[place] == expected


def test_a_key_in_the_query_is_sent_and_not_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        request = send(secured({"query": []}), auth={"query": "s3 cret"})
    assert request.url.query == b"key=s3%20cret"
    assert "s3 cret" not in caplog.text
    assert "s3%20cret" not in caplog.text


KEY = 's3 cret/"k\\ey'


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize(
    ("media_type", "encoding"),
    [
        ("application/json", "utf-8"),
        ("text/plain; charset=utf-16", "utf-16"),
        ("text/plain", "utf-16-le"),
        ("text/plain; charset=unknown", "utf-8"),
        ("application/pdf", "utf-8"),
    ],
)
@pytest.mark.parametrize("size", [0, 30_000])
@pytest.mark.parametrize(
    ("scheme", "credential", "echoed"),
    [
        *((scheme, KEY, KEY) for scheme in ("key", "bearer", "cookie", "query")),
        ("query", KEY, quote(KEY)),
        ("basic", ("me", KEY), KEY),
        ("basic", ("me", KEY), base64.b64encode(f"me:{KEY}".encode()).decode()),
        ("bearer", httpx.BasicAuth("me", KEY), KEY),
    ],
)
def test_a_key_that_the_api_repeats_is_masked(scheme, credential, echoed, media_type, encoding, status, size, caplog):
    """Some APIs do so in the message that refuses it."""
    words = f"The key {echoed} is read. {'x' * size}"
    body = (json.dumps({"message": words}) if "json" in media_type else words).encode(encoding)
    app = app_for(body, status, content_type=media_type)
    result = call(secured({scheme: []}), "list", app=app, auth={scheme: credential})
    assert result.kind == ("ok" if status == 200 else "failed")
    output = f"{result.text} {result.value} {result.parts} {json.dumps(result.to_json())} {caplog.text}"
    forms = {form for text in (KEY, echoed) for form in (text, json.dumps(text)[1:-1], repr(text)[1:-1])}
    assert [form for form in forms if form in output] == []


@pytest.mark.parametrize("auth", [{}, {"key": "s3cret"}])
@pytest.mark.parametrize(
    ("depth", "kinds"), [(60, {"ok"}), (300, {"ok"}), (900, {"ok", "failed"}), (500_000, {"failed"})]
)
def test_a_deep_answer_is_cut_or_refused_with_the_reason(auth, depth, kinds):
    data = secured({"key": []} if auth else {})
    result = call(data, "list", app=app_for(b"[" * depth + b"]" * depth), auth=auth)
    assert result.kind in kinds
    assert result.kind == "ok" or "nested too deeply to be read; the call was made" in result.text


class HeaderAuth(httpx.Auth):
    def auth_flow(self, request):
        request.headers["X-Api-Key"] = "s3cret"
        yield request


class QueryAuth(httpx.Auth):
    def auth_flow(self, request):
        request.url = request.url.copy_add_param("access_token", "s3cret")
        yield request


class CookieAuth(httpx.Auth):
    def auth_flow(self, request):
        request.headers["Cookie"] = "theme=darkness; sid=s3cret"
        yield request


@pytest.mark.parametrize(
    "options",
    [
        {"headers": {"Authorization": "Bearer s3cret"}},
        {"headers": {"X-Api-Key": "s3cret"}},
        {"headers": {"X-Auth-Token": "Bearer s3cret"}},
        {"headers": [("X-Api-Key", "s3cret"), ("X-Api-Key", "another")]},
        {"headers": {"Cookie": "shop=s3cret"}},
        {"cookies": {"shop": "s3cret"}},
        {"params": {"api_key": "s3cret"}},
        {"params": [("key", "s3cret"), ("key", "another")]},
        {"auth": ("me", "s3cret")},
        {"auth": ("s3cret", "")},
        {"auth": HeaderAuth()},
        {"auth": QueryAuth()},
        {"auth": CookieAuth()},
    ],
)
def test_a_key_of_the_client_that_the_api_repeats_is_masked(options, caplog):
    """The client may send it in any way. Its log does not show it."""
    caplog.set_level(logging.INFO)
    app = app_for(b'{"you": "Bearer s3cret", "me": "Bearer", "theme": "darkness"}')
    assert call(secured({}), "list", app=app, client_options=options).value == {
        "you": "Bearer [redacted]",
        "me": "Bearer",
        "theme": "darkness",
    }
    assert "HTTP Request: GET" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("auth", [HeaderAuth(), QueryAuth(), CookieAuth(), ("s3cret", ""), "s3cret:"])
def test_a_key_of_an_auth_that_the_api_repeats_is_masked(auth):
    result = call(secured({"basic": []}), "list", app=app_for(b'["s3cret"]'), auth={"basic": auth})
    assert result.value == ["[redacted]"]


@pytest.mark.parametrize("scheme", ["key", "cookie", "query"])
def test_the_scheme_before_a_key_is_not_part_of_the_key(scheme):
    result = call(secured({scheme: []}), "list", app=app_for(b'["s3cret"]'), auth={scheme: "Bearer s3cret"})
    assert result.value == ["[redacted]"]


@pytest.mark.parametrize("place", ["header", "query", "cookie"])
def test_an_argument_is_not_a_credential_under_any_name(place):
    parameter = {"name": "page-token", "in": place, "schema": {"type": "string"}}
    data = document({"get /pets": {"operationId": "list", "parameters": [parameter]}})
    app = app_for(b'{"page-token": "page two of 3"}')
    [argument] = dispatcher_for(data).catalog.get("list").schema["properties"]
    assert call(data, "list", {argument: "page two of 3"}, app=app).value == {"page-token": "page two of 3"}


def test_a_cookie_that_the_api_sets_is_not_a_credential():
    dispatcher = dispatcher_for(PETS, app_for(b'"english"', set_cookie="language=english; Path=/"))
    assert [dispatcher.call_sync("list", {}).value for _ in range(2)] == ["english", "english"]


KNOWN_ESCAPES = [("/", r"\/"), ("+", r"\u002B")]
ODD_ESCAPES = [("+", r"\u002b"), ("k", r"\u006B"), ("s3", r"\u00733")]


@pytest.mark.parametrize(
    ("status", "size", "plain", "escaped"),
    [
        *((status, size, *escape) for status in (200, 401) for size in (0, 30_000) for escape in KNOWN_ESCAPES),
        # An error that is too long to be read as JSON is shown as text.
        *((status, size, *escape) for status, size in ((200, 0), (200, 30_000), (401, 0)) for escape in ODD_ESCAPES),
    ],
)
def test_a_key_in_json_with_other_escapes_is_masked(status, size, plain, escaped):
    """PHP and .NET write such escapes. The answer may be short or long."""
    key = "s3/cr+t/key"
    body = json.dumps({"message": f"The key {key} is read.", "rest": "x" * size}).replace(plain, escaped)
    result = call(secured({"key": []}), "list", app=app_for(body.encode(), status), auth={"key": key})
    assert "The key [redacted] is read." in str(result.to_json())
    assert key not in str(result.to_json())


@pytest.mark.parametrize("size", [0, 30_000])
def test_a_key_of_digits_is_not_masked_inside_another_number(size):
    answer = {"id": 1002003, "ids": [9100200, 0.5], "pin": 100200, "text": "order 1002003", "rest": "x" * size}
    result = call(secured({"key": []}), "list", app=app_for(json.dumps(answer).encode()), auth={"key": "100200"})
    assert result.value == {**answer, "pin": "[redacted]"}


@pytest.mark.parametrize("key", ["a", "GET", "s3"])
def test_a_short_key_does_not_garble_the_log(key, caplog):
    caplog.set_level(logging.INFO)
    send(secured({"query": []}), auth={"query": key})
    assert "HTTP Request: GET http://api.test/v1/pets?key=[redacted]" in caplog.text


@pytest.mark.parametrize("scheme", ["key", "bearer", "cookie", "query"])
def test_a_credential_is_in_no_span(scheme):
    """This holds also if spans show arguments and results, and the API repeats it."""
    from tests.telemetry.kept_spans import KeptSpans  # the SDK of OpenTelemetry may be missing

    spans = KeptSpans()
    catalog = Catalog.from_openapi(secured({scheme: []}), client=client_for(echo), auth={scheme: "s3cret"})
    result = Dispatcher(catalog, hooks=[spans.hook(capture=True)]).call_sync("list", {})

    span = spans.one("execute_tool list").to_json()
    assert result.kind == "ok"
    assert "[redacted]" in span
    assert "s3cret" not in span


@pytest.mark.parametrize("scheme", ["key", "bearer", "cookie", "query"])
def test_a_credential_with_a_line_break_is_not_shown(scheme, caplog):
    """A line break at its end, as a file has it, is dropped."""
    assert "s3cret" not in str(call(secured({scheme: []}), "list", auth={scheme: "s3cret\r\nX: 1"}).to_json())
    assert call(secured({scheme: []}), "list", auth={scheme: "s3cret\n"}).kind == "ok"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://login.example@evil.example/", "https://лogin.example/"]
)
def test_a_misleading_login_address_of_the_document_is_not_shown(url):
    flow = {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": url}}}
    data = document(
        {"get /pets": {"operationId": "list"}}, components={"securitySchemes": {"o": flow}}, security=[{"o": []}]
    )
    assert call(data, "list").request.auth.url is None


def test_a_parameter_that_is_a_credential_is_not_an_argument():
    parameters = [
        {"name": "X-Key", "in": "header", "schema": {"type": "string"}},
        {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
        {"name": "page", "in": "query", "schema": {"type": "integer"}},
    ]
    dispatcher = dispatcher_for(secured({"key": []}, parameters=parameters), auth={"key": "s3cret"})
    assert list(dispatcher.catalog.get("list").schema["properties"]) == ["page"]


def test_the_first_requirement_that_can_be_met_is_used():
    data = secured({"oauth": ["read"]}, {"key": [], "cookie": []})
    result = call(data, "list", auth={"key": "k", "cookie": "c"}).unwrap()
    assert (result["headers"]["x-key"], result["headers"]["cookie"]) == ("k", "sid=c")
    assert call(secured({"key": []}, {}), "list").kind == "ok"
    optional = call(secured({}, {"key": []}), "list", auth={"key": "k"}).unwrap()
    assert optional["headers"]["x-key"] == "k"


def test_a_call_without_credentials_waits_and_then_goes_on():
    tokens = []
    dispatcher = dispatcher_for(
        secured({"oauth": ["read:pets"]}), auth={"oauth": lambda: tokens[-1] if tokens else None}
    )
    waiting = dispatcher.call_sync("list", {})
    assert waiting.kind == "waiting"
    assert waiting.request.auth.scopes == ("read:pets",)
    assert waiting.request.auth.url == "https://login.test/authorize"
    tokens.append("s3cret")
    result = dispatcher.resume_sync(waiting, Decision.approve())
    assert result.unwrap()["headers"]["authorization"] == "Bearer [redacted]"


def test_the_credentials_of_the_client_are_enough():
    result = call(secured({"bearer": []}), "list", client_options={"headers": {"Authorization": "Bearer own"}}).unwrap()
    assert result["headers"]["authorization"] == "Bearer own"


def test_a_scheme_that_the_document_does_not_have_is_refused():
    with pytest.raises(Exception, match="no security scheme 'token'"):
        Catalog.from_openapi(secured({"key": []}), client=client_for(), auth={"token": "x"})


@pytest.mark.parametrize("value", [b"S3CRET", 5, ["S3CRET"], ("u", "S3CRET")])
def test_an_invalid_value_of_a_credential_function_is_not_shown(value):
    result = call(secured({"key": []}), "list", auth={"key": lambda: value})
    assert result.kind == "failed"
    assert "the credential that the function for 'key' returned has to be" in result.text
    assert "S3CRET" not in json.dumps(result.to_json())


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_credential_function_without_a_value_makes_the_call_wait(value):
    assert call(secured({"key": []}), "list", auth={"key": lambda: value}).kind == "waiting"


@pytest.mark.parametrize("credential", ["s3cret", ("u", "s3cret")])
def test_the_scheme_digest_needs_an_auth_of_httpx(credential):
    with pytest.raises(TypeError, match=r"give `httpx.DigestAuth\(user, password\)`") as caught:
        Catalog.from_openapi(secured({"digest": []}), client=client_for(), auth={"digest": credential})
    assert "s3cret" not in str(caught.value)
