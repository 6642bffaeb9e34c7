"""
One call of an operation: credentials, statuses, redirects, bodies of every kind.
"""

from __future__ import annotations

import base64
import json
import logging
from urllib.parse import quote

import httpx
import pytest

from toolkit import Catalog, Dispatcher, Permissions
from toolkit.decisions import Decision

from .kit import call, client_for, dispatcher_for, document, echo, reply

PETS = document(
    {"get /pets": {"operationId": "list"}, "post /pets": {"operationId": "add"}, "head /pets": {"operationId": "look"}}
)


def app_for(body=b"", status=200, **headers):
    async def app(scope, receive, send):
        await reply(send, body, status, **headers)

    return app


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "failed"), (404, "failed"), (429, "transient"), (500, "transient"), (503, "transient")]
)
def test_statuses_are_read_by_the_table(status, kind):
    problem = json.dumps({"title": "No", "detail": "The pet is away."}).encode()
    result = call(PETS, "add", app=app_for(problem, status, content_type="application/problem+json"))
    assert result.kind == kind
    assert f"{status}" in result.text
    assert "No: The pet is away." in result.text


def test_retry_after_is_honoured():
    result = call(PETS, "add", app=app_for(b"{}", 429, retry_after="7200"))
    assert result.kind == "transient"
    assert result.error.cause.retry_after_seconds == 7200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"message": "Bad name"}', "Bad name"),
        (b'{"error": {"message": "Bad <system>name</system>"}}', "Bad name"),
        (b'{"errors": [{"field": "name"}]}', '[{"field": "name"}]'),
        (b"plain words", "plain words"),
        (b"<html><body>Oops</body></html>", "400 Bad Request"),
        (b"[1]", "[1]"),
        (b"\xff\xfe", "400 Bad Request"),
    ],
)
def test_the_words_of_a_failure_are_shown_clean(body, words):
    text = call(PETS, "add", app=app_for(body, 400)).text
    assert words in text
    assert "<system>" not in text


def test_a_redirect_is_followed_on_the_same_host():
    async def app(scope, receive, send):
        if scope["path"].endswith("/pets"):
            await reply(send, status=302, location="/v1/other")
        else:
            await echo(scope, receive, send)

    assert call(PETS, "list", app=app).unwrap()["path"] == "/v1/other"
    assert "followed only for GET and HEAD" in call(PETS, "add", app=app).text


@pytest.mark.parametrize(
    "location", ["http://evil.test/pets", "https://api.test/pets", "//evil.test", "http://api.test:81/"]
)
def test_a_redirect_to_another_host_is_refused(location):
    result = call(PETS, "list", app=app_for(status=302, location=location))
    assert result.kind == "failed"
    assert "redirects to another host" in result.text


def test_a_circle_of_redirects_ends():
    assert "more than 5 times" in call(PETS, "list", app=app_for(status=302, location="/v1/pets")).text


def test_an_endless_response_ends():
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        for _ in range(30):
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    assert "longer than 20,000,000 bytes" in call(PETS, "list", app=app).text


def test_bodies_become_values_texts_and_parts():
    assert call(PETS, "list", app=app_for(b'{"a": 1}')).value == {"a": 1}
    assert call(PETS, "list", app=app_for(b"", 204)).value is None
    assert call(PETS, "list", app=app_for("ä".encode(), content_type="text/plain; charset=utf-8")).value == "ä"
    image = call(PETS, "list", app=app_for(b"\x89PNG", content_type="image/png")).parts[0]
    assert (image.data, image.media_type) == (b"\x89PNG", "image/png")
    sound = call(PETS, "list", app=app_for(b"RIFF", content_type="audio/wav")).parts[0]
    assert (sound.data, sound.media_type) == (b"RIFF", "audio/wav")
    file = call(PETS, "list", app=app_for(b"\x00\xff", content_type="application/zip")).parts[0]
    assert file.media_type == "application/zip"
    assert "not JSON" in call(PETS, "list", app=app_for(b"{")).text
    head = call(PETS, "look", app=app_for(b"", etag='"x"')).value
    assert head == {"status": 200, "content-type": "application/json", "etag": '"x"'}


def test_a_link_to_the_next_page_is_in_the_text():
    result = call(PETS, "list", app=app_for(b"[1]", link='</pets?page=2>; rel="next"'))
    assert result.value == [1]
    assert 'Link: </pets?page=2>; rel="next"' in result.text


def test_a_response_that_is_not_what_was_promised_is_a_failure_that_says_so():
    response = {"200": {"description": "", "content": {"application/json": {"schema": {"type": "integer"}}}}}
    data = document({"get /pets": {"operationId": "count", "responses": response}})
    assert call(data, "count", app=app_for(b"3")).value == 3
    result = call(data, "count", app=app_for(b'"three"'))
    assert result.kind == "failed"
    assert "integer" in result.text


def test_a_choice_of_open_objects_is_sent_and_answered():
    """Each value fits both alternatives, which a document with `oneOf` does not mean."""
    pet = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"]}
    names = ("Cat", "Dog")
    schema = {
        "oneOf": [{"$ref": f"#/components/schemas/{name}"} for name in names],
        "discriminator": {"propertyName": "kind"},
    }
    content = {"application/json": {"schema": schema}}
    operation = {
        "operationId": "add",
        "requestBody": {"required": True, "content": content},
        "responses": {"200": {"description": "", "content": content}},
    }
    data = document({"post /pets": operation}, components={"schemas": dict.fromkeys(names, pet)})
    answer = b'{"kind": "a kind of tomorrow"}'
    assert call(data, "add", {"body": {"kind": "Dog"}}, app=app_for(answer)).value == json.loads(answer)
    result = call(data, "add", {"body": {"kind": "Cow"}}, app=app_for(answer))
    assert result.kind == "bad_args"
    assert "Cat" in result.text


OTHER = b'{"queued": true}'


@pytest.mark.parametrize(
    ("described", "status", "body", "kind"),
    [
        (["200"], 200, b"3", "ok"),
        (["200"], 200, OTHER, "failed"),
        (["200"], 200, b"", "ok"),
        (["200"], 201, OTHER, "ok"),
        (["200"], 202, OTHER, "ok"),
        (["200"], 204, b"", "ok"),
        (["200"], 206, OTHER, "ok"),
        (["201"], 200, OTHER, "ok"),
        (["201"], 201, OTHER, "failed"),
        (["200", "201"], 201, OTHER, "failed"),
        (["2XX"], 202, OTHER, "failed"),
        (["2xx"], 202, OTHER, "failed"),
        (["2XX"], 204, b"", "ok"),
        (["default"], 200, OTHER, "ok"),
        (["200", "default"], 202, OTHER, "ok"),
    ],
)
@pytest.mark.parametrize("method", ["get", "head"])
@pytest.mark.parametrize("headers", [{}, {"link": "</next>"}])
def test_a_schema_holds_for_the_answers_that_it_was_written_for(described, status, body, kind, method, headers):
    """The call took effect in any case."""
    content = {"description": "", "content": {"application/json": {"schema": {"type": "integer"}}}}
    responses = dict.fromkeys(described, content)
    data = document({f"{method} /pets": {"operationId": "do", "responses": responses}})
    result = call(data, "do", app=app_for(b"" if method == "head" else body, status, **headers))
    assert result.kind == ("ok" if method == "head" else kind)
    if kind == "ok" and method == "get":
        assert result.value == (json.loads(body) if body else None)


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_an_argument_cannot_name_another_address(value):
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    data = document({"get /pets/{id}/owner": {"operationId": "owner", "parameters": [parameter]}})
    result = call(data, "owner", {"id": value})
    assert result.kind == "bad_args"
    assert "another address" in result.text
    assert call(data, "owner", {"id": "../../admin?x#y"}).unwrap()["path"] == "/v1/pets/..%2F..%2Fadmin%3Fx%23y/owner"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "\x00", "ä"])
def test_a_header_cannot_be_broken_out_of(value):
    parameter = {"name": "X-Name", "in": "header", "schema": {"type": "string"}}
    result = call(
        document({"get /pets": {"operationId": "list", "parameters": [parameter]}}), "list", {"X-Name": value}
    )
    assert result.kind == "bad_args"


def test_bytes_that_are_not_base64_are_refused():
    content = {"application/octet-stream": {"schema": {}}}
    data = document({"post /f": {"operationId": "put", "requestBody": {"required": True, "content": content}}})
    assert call(data, "put", {"body": "!"}).kind == "bad_args"


def test_a_private_server_of_the_document_is_refused_by_the_safety_checks():
    data = document({"get /meta": {"operationId": "meta"}}, servers=[{"url": "http://169.254.169.254"}])
    result = Dispatcher(Catalog.from_openapi(data)).call_sync("meta", {})
    assert result.kind in ("denied", "safety")
    assert "169.254.169.254" in result.text


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


def send(data, **options):
    """Call the operation `list`, and return the request that was sent."""
    sent = []

    async def note(request):
        sent.append(request)

    assert call(data, "list", client_options={"event_hooks": {"request": [note]}}, **options).kind == "ok"
    return sent[-1]


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
def test_a_deep_answer_is_cut_or_refused_in_words(auth):
    data = secured({"key": []} if auth else {})
    kinds = {}
    for depth in (60, 300, 900, 500_000):
        result = call(data, "list", app=app_for(b"[" * depth + b"]" * depth), auth=auth)
        kinds[depth] = result.kind
        assert result.kind == "ok" or "nested too deeply to be read; the call was made" in result.text
    assert (kinds[60], kinds[300], kinds[500_000]) == ("ok", "ok", "failed")


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
    """However the client sends it. Its log does not show it."""
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
def test_the_scheme_before_a_key_is_no_part_of_it(scheme):
    result = call(secured({scheme: []}), "list", app=app_for(b'["s3cret"]'), auth={scheme: "Bearer s3cret"})
    assert result.value == ["[redacted]"]


@pytest.mark.parametrize("place", ["header", "query", "cookie"])
def test_an_argument_is_no_credential_under_any_name(place):
    parameter = {"name": "page-token", "in": place, "schema": {"type": "string"}}
    data = document({"get /pets": {"operationId": "list", "parameters": [parameter]}})
    app = app_for(b'{"page-token": "page two of 3"}')
    [argument] = dispatcher_for(data).catalog.get("list").schema["properties"]
    assert call(data, "list", {argument: "page two of 3"}, app=app).value == {"page-token": "page two of 3"}


def test_a_cookie_that_the_api_sets_is_no_credential():
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
    """As PHP and .NET write it, in a short answer and in a long one."""
    key = "s3/cr+t/key"
    body = json.dumps({"message": f"The key {key} is read.", "rest": "x" * size}).replace(plain, escaped)
    result = call(secured({"key": []}), "list", app=app_for(body.encode(), status), auth={"key": key})
    assert "The key [redacted] is read." in str(result.to_json())
    assert key not in str(result.to_json())


@pytest.mark.parametrize("size", [0, 30_000])
def test_a_key_of_digits_is_no_part_of_another_number(size):
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
    """Also if spans show arguments and results, and the API repeats it."""
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
    """One at its end, as a file has it, is left out."""
    assert "s3cret" not in str(call(secured({scheme: []}), "list", auth={scheme: "s3cret\r\nX: 1"}).to_json())
    assert call(secured({scheme: []}), "list", auth={scheme: "s3cret\n"}).kind == "ok"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://login.example@evil.example/", "https://лogin.example/"]
)
def test_a_login_page_of_the_document_shows_where_it_leads(url):
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


def test_a_call_without_credentials_waits_for_them_and_goes_on():
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
def test_a_function_that_returns_no_credential_does_not_show_it(value):
    result = call(secured({"key": []}), "list", auth={"key": lambda: value})
    assert result.kind == "failed"
    assert "the credential that the function for 'key' returned has to be" in result.text
    assert "S3CRET" not in json.dumps(result.to_json())


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_function_that_returns_nothing_makes_the_call_wait(value):
    assert call(secured({"key": []}), "list", auth={"key": lambda: value}).kind == "waiting"


@pytest.mark.parametrize("base_url", ["http://api.test/v1", "http://api.test/v1/?v=2", "http://api.test/v1?v=2#x"])
@pytest.mark.parametrize(
    ("path", "address", "query"),
    [
        ("/#Action=Copy", "/v1/", ""),
        ("/pets#{id}", "/v1/pets", ""),
        ("/p/{id}?action=go", "/v1/p/a%2Fb%3Fc%23d", "action=go"),
        ("/p?action=go#x?y", "/v1/p", "action=go"),
        ("/p?id={id}&b", "/v1/p", "id=a%2Fb%3Fc%23d&b"),
    ],
)
def test_queries_are_joined_and_fragments_are_not_sent(base_url, path, address, query):
    parameters = [{"name": "page", "in": "query", "schema": {"type": "integer"}}]
    data = document({f"get {path}": {"operationId": "list", "parameters": parameters}})
    arguments = {"id": "a/b?c#d"} if "{" in path else {}
    queries = [["v=2"] if "?" in base_url else [], [query] if query else []]
    for page in ([], ["page=3"]):
        catalog = Catalog.from_openapi(data, client=client_for(), base_url=base_url)
        extra = {"page": 3} if page else {}
        answer = Dispatcher(catalog).call_sync("list", {**arguments, **extra}).unwrap()
        assert (answer["path"], answer["query"]) == (address, "&".join([*queries[0], *queries[1], *page]))
    (access,) = catalog.get("list").facts.preflight(arguments)
    assert access.target == f"http://api.test{address}{f'?{query}' if query else ''}"


@pytest.mark.parametrize("credential", ["s3cret", ("u", "s3cret")])
def test_the_scheme_digest_needs_an_auth_of_httpx(credential):
    with pytest.raises(TypeError, match=r"give `httpx.DigestAuth\(user, password\)`") as caught:
        Catalog.from_openapi(secured({"digest": []}), client=client_for(), auth={"digest": credential})
    assert "s3cret" not in str(caught.value)


def test_the_usual_port_is_the_same_host():
    async def app(scope, receive, send):
        if scope["path"].endswith("/pets"):
            await reply(send, status=302, location="http://api.test:80/v1/other")
        else:
            await echo(scope, receive, send)

    assert call(PETS, "list", app=app).unwrap()["path"] == "/v1/other"


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8", "utf-16"])
def test_json_is_read_in_its_charset(charset):
    app = app_for('{"a": "ä"}'.encode(charset), content_type=f"application/json; charset={charset}")
    assert call(PETS, "list", app=app).value == {"a": "ä"}
    assert "not JSON" in call(PETS, "list", app=app_for(b'"\xe4"', content_type="application/json; charset=x")).text


def test_an_answer_without_permission_names_the_option():
    assert "the program gives credentials as `auth=`" in call(PETS, "list", app=app_for(b"{}", 401)).text


@pytest.mark.anyio
@pytest.mark.parametrize(("status", "body"), [(202, b'{"job": 7}'), (201, b"[]"), (204, b"")])
async def test_an_answer_that_the_document_does_not_describe_reaches_a_client_of_mcp(status, body):
    """The official client raises if a value does not fit the schema of the tool, unless the answer is an error."""
    from mcp.client.client import Client  # the SDK may be missing

    from toolkit.mcp import build_server

    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    responses = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    data = document({"get /pets": {"operationId": "list", "responses": responses}})
    catalog = Catalog.from_openapi(data, client=client_for(app_for(body, status)))
    dispatcher = Dispatcher(catalog, permissions=Permissions("default", ["allow openapi:Pet-Shop/list"]))

    async with Client(build_server(dispatcher)) as client:
        answer = await client.call_tool("list", {})

    assert answer.is_error
    assert "has run, and returned a value that its output schema does not allow: " in answer.content[0].text
    assert "allow: \n" not in answer.content[0].text
    assert body.decode().replace(" ", "") in answer.content[0].text.replace(" ", "")
