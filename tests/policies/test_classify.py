"""What exceptions count as: the real ones of the standard library and httpx, the others by their real names."""

import asyncio
import email.message
import errno
import http.client
import io
import socket
import ssl
import subprocess
import types
import urllib.error

import httpx
import pytest

from toolkit import BadArgs, Catalog, Dispatcher, Safety, ToolError, Transient
from toolkit.policies import classify
from toolkit.policies.classify import compile_rules, is_expected, parse_retry_after

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def classify_error(error, rules=(), **options):
    """What *error* counts as by *rules*, written as a user writes them."""
    return classify.classify_error(error, compile_rules(rules), **options)


def family(module: str, tree: dict[str, tuple[str, ...]]) -> types.SimpleNamespace:
    """Classes as a package that is not installed here has them: names, bases, module."""
    classes: dict[str, type] = {}
    for name, bases in tree.items():
        parents = tuple(classes.get(base) or getattr(__import__("builtins"), base) for base in bases)
        classes[name] = type(name, parents, {"__module__": module})
    return types.SimpleNamespace(**classes)


REQUESTS = family(
    "requests.exceptions",
    {
        "RequestException": ("OSError",),
        "HTTPError": ("RequestException",),
        "ConnectionError": ("RequestException",),
        "ProxyError": ("ConnectionError",),
        "SSLError": ("ConnectionError",),
        "Timeout": ("RequestException",),
        "ConnectTimeout": ("ConnectionError", "Timeout"),
        "ReadTimeout": ("Timeout",),
        "ChunkedEncodingError": ("RequestException",),
        "InvalidURL": ("RequestException", "ValueError"),
        "TooManyRedirects": ("RequestException",),
    },
)
URLLIB3 = family(
    "urllib3.exceptions",
    {
        "HTTPError": ("Exception",),
        "MaxRetryError": ("HTTPError",),
        "TimeoutError": ("HTTPError",),
        "ReadTimeoutError": ("TimeoutError",),
        "ConnectTimeoutError": ("TimeoutError",),
        "NewConnectionError": ("HTTPError",),
        "NameResolutionError": ("NewConnectionError",),
        "ProtocolError": ("HTTPError",),
    },
)
AIOHTTP = family(
    "aiohttp.client_exceptions",
    {
        "ClientError": ("Exception",),
        "ClientResponseError": ("ClientError",),
        "ClientConnectionError": ("ClientError",),
        "ClientOSError": ("ClientConnectionError", "OSError"),
        "ClientConnectorError": ("ClientOSError",),
        "ClientConnectorDNSError": ("ClientConnectorError",),
        "ClientSSLError": ("ClientConnectorError",),
        "ClientConnectorCertificateError": ("ClientSSLError",),
        "ServerConnectionError": ("ClientConnectionError",),
        "ServerDisconnectedError": ("ServerConnectionError",),
        "ServerTimeoutError": ("ServerConnectionError", "TimeoutError"),
        "ConnectionTimeoutError": ("ServerTimeoutError",),
        "SocketTimeoutError": ("ServerTimeoutError",),
        "ClientPayloadError": ("ClientError",),
        "InvalidURL": ("ClientError", "ValueError"),
    },
)
HTTPX2 = family(
    "httpx2",
    {
        "TransportError": ("Exception",),
        "TimeoutException": ("TransportError",),
        "ConnectTimeout": ("TimeoutException",),
        "ReadTimeout": ("TimeoutException",),
        "NetworkError": ("TransportError",),
        "ConnectError": ("NetworkError",),
        "ReadError": ("NetworkError",),
    },
)


def retried(inner: BaseException) -> BaseException:
    """What requests raises around urllib3's error around *inner*."""
    outer = URLLIB3.MaxRetryError("Max retries exceeded")
    outer.reason = inner
    return REQUESTS.ConnectionError(outer)


def url_error(reason):
    return urllib.error.URLError(reason)


@pytest.mark.parametrize(
    ("error", "happened"),
    [
        (httpx.ConnectError("x"), "no"),
        (httpx.ConnectTimeout("x"), "no"),
        (httpx.PoolTimeout("x"), "no"),
        (httpx.ReadTimeout("x"), "maybe"),
        (httpx.WriteTimeout("x"), "maybe"),
        (httpx.ReadError("x"), "maybe"),
        (httpx.WriteError("x"), "maybe"),
        (httpx.CloseError("x"), "maybe"),
        (httpx.RemoteProtocolError("x"), "maybe"),
        (HTTPX2.ConnectError("x"), "no"),
        (HTTPX2.ConnectTimeout("x"), "no"),
        (HTTPX2.ReadTimeout("x"), "maybe"),
        (HTTPX2.ReadError("x"), "maybe"),
        (REQUESTS.ConnectTimeout("x"), "no"),
        (REQUESTS.ReadTimeout("x"), "maybe"),
        (REQUESTS.ConnectionError("x"), "maybe"),
        (REQUESTS.ProxyError("x"), "maybe"),
        (REQUESTS.ChunkedEncodingError("x"), "maybe"),
        (retried(URLLIB3.NewConnectionError("x")), "no"),
        (retried(URLLIB3.NameResolutionError("x")), "no"),
        (retried(URLLIB3.ConnectTimeoutError("x")), "no"),
        (retried(URLLIB3.ReadTimeoutError("x")), "maybe"),
        (REQUESTS.ConnectionError(URLLIB3.ProtocolError("aborted", ConnectionResetError())), "maybe"),
        (AIOHTTP.ClientConnectorError("x"), "no"),
        (AIOHTTP.ClientConnectorDNSError("x"), "no"),
        (AIOHTTP.ConnectionTimeoutError("x"), "no"),
        (AIOHTTP.SocketTimeoutError("x"), "maybe"),
        (AIOHTTP.ServerDisconnectedError("x"), "maybe"),
        (AIOHTTP.ClientOSError("x"), "maybe"),
        (AIOHTTP.ClientPayloadError("x"), "maybe"),
        (url_error(ConnectionRefusedError()), "no"),
        (url_error(socket.gaierror(-2, "no such name")), "no"),
        (url_error(TimeoutError()), "maybe"),
        (url_error(ConnectionResetError()), "maybe"),
        (urllib.error.ContentTooShortError("short", b""), "maybe"),
        (http.client.RemoteDisconnected("x"), "maybe"),
        (http.client.IncompleteRead(b"a", 5), "maybe"),
        (http.client.BadStatusLine("x"), "maybe"),
        (socket.gaierror(-2, "no such name"), "no"),
        (socket.timeout("x"), "maybe"),
        (ConnectionRefusedError(), "no"),
        (ConnectionResetError(), "maybe"),
        (ConnectionAbortedError(), "maybe"),
        (BrokenPipeError(), "maybe"),
        (TimeoutError(), "maybe"),
        (asyncio.TimeoutError(), "maybe"),
        (OSError(errno.ETIMEDOUT, "x"), "maybe"),
        (OSError(errno.EHOSTUNREACH, "x"), "maybe"),
        (OSError(errno.ENETUNREACH, "x"), "maybe"),
        (asyncio.IncompleteReadError(b"", 5), "maybe"),
        (subprocess.TimeoutExpired("ls", 5), "maybe"),
        (httpx.UnsupportedProtocol("x"), None),
        (httpx.LocalProtocolError("x"), None),
        (httpx.TooManyRedirects("x"), None),
        (httpx.InvalidURL("x"), None),
        (REQUESTS.SSLError("x"), None),
        (REQUESTS.InvalidURL("x"), None),
        (REQUESTS.TooManyRedirects("x"), None),
        (AIOHTTP.ClientConnectorCertificateError("x"), None),
        (AIOHTTP.InvalidURL("x"), None),
        (url_error("unknown url type"), None),
        (url_error(ssl.SSLCertVerificationError("x")), None),
        (ssl.SSLCertVerificationError("x"), None),
        (subprocess.CalledProcessError(1, "ls"), None),
        (FileNotFoundError("x"), None),
        (PermissionError("x"), None),
        (ValueError("x"), None),
        (KeyError("x"), None),
        (SystemExit(500), None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_the_table_knows_what_passes_by_itself(error, happened):
    """Transient or not, and whether the effect may have taken place."""
    tool_error = classify_error(error)
    assert isinstance(tool_error, Transient) == (happened is not None)
    assert getattr(tool_error, "happened", None) == happened
    assert type(error).__name__ in str(tool_error)


def httpx_status(status, **headers):
    request = httpx.Request("POST", "http://example.test/")
    response = httpx.Response(status, headers=headers, request=request)
    return httpx.HTTPStatusError(f"status {status}", request=request, response=response)


def requests_status(status, **headers):
    error = REQUESTS.HTTPError(f"status {status}")
    error.response = types.SimpleNamespace(status_code=status, headers=headers)
    return error


def aiohttp_status(status, **headers):
    error = AIOHTTP.ClientResponseError(f"status {status}")
    error.status, error.headers = status, headers
    return error


def urllib_status(status, **headers):
    message = email.message.Message()
    for name, value in headers.items():
        message[name] = value
    return urllib.error.HTTPError("http://example.test/", status, "no", message, io.BytesIO())


STATUSES = [httpx_status, requests_status, aiohttp_status, urllib_status]


@pytest.mark.parametrize("make", STATUSES)
@pytest.mark.parametrize(
    ("status", "happened"),
    [
        (400, None),
        (401, None),
        (404, None),
        (408, None),
        (422, None),
        (429, "no"),
        (500, "maybe"),
        (503, "maybe"),
        (599, "maybe"),
    ],
)
def test_an_http_status_decides(make, status, happened):
    """Too many requests and a server's own failures pass; other refusals are answers."""
    tool_error = classify_error(make(status))
    assert type(tool_error) is (ToolError if happened is None else Transient)
    assert getattr(tool_error, "happened", None) == happened


@pytest.mark.parametrize("make", STATUSES)
@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("0", 0.0), ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0), ("soon", None)]
)
def test_retry_after_is_read_from_every_client(make, header, seconds):
    """Seconds or a date, wherever the headers are."""
    tool_error = classify_error(make(429, **{"Retry-After": header}), now=lambda: NOW)
    assert tool_error.retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("1.5", 1.5),
        (" 5 ", 5.0),
        ("-5", 0.0),
        ("Tue, 14 Nov 2023 22:14:20 -0000", 60.0),
        ("Tue, 14 Nov 2023 22:14:20", 60.0),
        ("Tue, 14 Nov 2023 23:14:20 +0100", 60.0),
        ("Tue, 14 Nov 2023 22:12:20 GMT", 0.0),
        ("Tuesday, 14-Nov-23 22:14:20 GMT", 60.0),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("-inf", None),
        ("1e999", None),
        ("tomorrow", None),
        ("99999999999999999999999", 1e23),
        ("Tue, 99 Nov 2023 22:14:20 GMT", None),
        ("Tue, 14 Nov 99999 22:14:20 GMT", None),
        ("\x00", None),
    ],
)
def test_a_retry_after_header_is_seconds_or_a_date(header, seconds):
    """What is neither asks for nothing; a date without a zone is GMT."""
    assert parse_retry_after({"retry-AFTER": header}, now=lambda: NOW) == seconds


@pytest.mark.parametrize("headers", [None, 5, "Retry-After: 5", [("Retry-After", "5")], {}, {"Other": "5"}])
def test_headers_that_are_none_ask_for_nothing(headers):
    """An exception may have anything under that name."""
    assert parse_retry_after(headers) is None


class Odd(Exception):
    """Has what it should have, and none of it works."""

    @property
    def response(self):
        raise RuntimeError("no response")

    @property
    def headers(self):
        raise RuntimeError("no headers")

    status = 503

    def __str__(self):
        raise RuntimeError("no words")


def test_an_odd_exception_is_classified_all_the_same():
    """Nothing that it raises when asked is let out."""
    tool_error = classify_error(Odd())
    assert isinstance(tool_error, Transient)
    assert str(tool_error) == "Odd"


def test_long_messages_are_cut():
    """A page of HTML is no message."""
    assert len(str(classify_error(ValueError("x" * 10_000)))) == 2000


@pytest.mark.parametrize("error", [ToolError("a"), BadArgs("b"), Safety("c"), Transient("d")])
def test_our_own_errors_mean_themselves(error):
    """A tool that raises one of our errors decides; no rule changes it."""
    assert classify_error(error, lambda error: Safety) is error


# The user's rules.


class Busy(Exception):
    pass


class VeryBusy(Busy):
    pass


def test_a_class_counts_as_what_it_is_mapped_to():
    """Its subclasses too."""
    tool_error = classify_error(VeryBusy("later"), {Busy: Transient})
    assert type(tool_error) is Transient
    assert (str(tool_error), tool_error.happened) == ("VeryBusy: later", "no")


@pytest.mark.parametrize("kind", [ToolError, Safety, BadArgs, Transient])
def test_any_class_of_ours_can_be_meant(kind):
    """With the exception's words as its message."""
    tool_error = classify_error(Busy("why"), {Busy: kind})
    assert isinstance(tool_error, kind)
    assert "why" in str(tool_error)


@pytest.mark.parametrize(
    "rules", [{Exception: Safety, Busy: Transient}, {Busy: Transient, Exception: Safety}], ids=["far", "near"]
)
def test_the_nearest_class_wins(rules):
    """However the dictionary is ordered."""
    assert type(classify_error(VeryBusy(), rules)) is Transient
    assert type(classify_error(ValueError(), rules)) is Safety


def test_the_tables_knowledge_is_kept_under_a_users_class():
    """Who says that httpx's errors pass does not say that nothing happened."""
    rules = {httpx.HTTPError: Transient}
    assert classify_error(httpx.ReadTimeout("x"), rules).happened == "maybe"
    assert classify_error(httpx_status(429, **{"Retry-After": "7"}), rules).retry_after_seconds == 7
    assert type(classify_error(httpx_status(404), rules)) is Transient


class NoSuchOrder(KeyError):
    pass


@pytest.mark.parametrize("kind", [ToolError, BadArgs, Safety, Transient])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NoSuchOrder("there is no order 7"), "there is no order 7"),
        (ValueError("it's closed on Sunday"), "it's closed on Sunday"),
        (ConnectionResetError(104, "reset by peer"), "[Errno 104] reset by peer"),
        (KeyError("tea"), "KeyError: 'tea'"),
        (NoSuchOrder(7), "NoSuchOrder: 7"),
        (NoSuchOrder(), "NoSuchOrder"),
        (KeyError("no tea", "no milk"), "KeyError: ('no tea', 'no milk')"),
        (NoSuchOrder("tea", 5), "NoSuchOrder: ('tea', 5)"),
        (NoSuchOrder("no \ud800 tea"), "no ? tea"),
    ],
)
def test_the_model_reads_the_message_of_an_error_that_a_rule_chooses(error, text, kind):
    """Without the name of the class, unless the message alone says too little."""
    assert str(classify_error(error, {Exception: kind})) == text


def test_a_rule_comes_before_the_table():
    """The user knows the server better."""
    assert type(classify_error(ConnectionResetError(), {ConnectionError: Safety})) is Safety
    assert not isinstance(classify_error(httpx_status(503), lambda error: ToolError("for ever")), Transient)


def test_a_function_may_pass():
    """Then the next one is asked, and the table in the end."""
    calls = []
    rules = [lambda error: calls.append("first"), {Busy: lambda error: calls.append("second")}]
    assert type(classify_error(Busy(), rules)) is ToolError
    assert calls == ["first", "second"]
    assert type(classify_error(TimeoutError(), rules)) is Transient


def test_a_function_gives_an_error_or_a_class():
    """An error can say more: how long to wait."""
    error = Transient("busy", retry_after_seconds=3)
    assert classify_error(Busy(), {Busy: lambda raised: error}) is error
    assert type(classify_error(Busy(), [lambda raised: Safety])) is Safety


@pytest.mark.parametrize("answer", [ValueError, "transient", True, ValueError("x")])
def test_a_rule_that_gives_something_else_is_passed_over(answer, caplog):
    """And said so in the log."""
    assert type(classify_error(ConnectionResetError(), lambda error: answer)) is Transient
    assert "has to return a ToolError" in caplog.text


def test_a_rule_that_raises_is_passed_over(caplog):
    """The call must not be lost with it."""

    def broken(error):
        raise ZeroDivisionError

    assert type(classify_error(ConnectionResetError(), [broken, {ValueError: Safety}])) is Transient
    assert "it is passed over" in caplog.text


def test_a_class_that_wants_more_than_a_message_becomes_a_plain_error():
    """It cannot be made, but the call has to end."""

    class Picky(ToolError):
        def __init__(self, code: int, *, reason: str) -> None:
            super().__init__(reason)

    assert not isinstance(classify_error(Busy("x"), {Busy: Picky}), Picky)


@pytest.mark.parametrize(
    "rules",
    [5, "Busy", Busy, [Busy], {Busy: ValueError}, {Busy: "transient"}, {"Busy": Transient}, {int: Transient}, [[5]]],
)
def test_a_rule_that_is_none_is_refused_at_once(rules):
    """The error does not wait for the first failure."""
    with pytest.raises(TypeError, match="classify"):
        compile_rules(rules)


def test_a_class_that_only_claims_kinship_counts_last():
    """`isinstance` is asked, as `except` would not."""

    class Meta(type(Exception)):
        def __instancecheck__(cls, instance):
            return True

    class Everything(Exception, metaclass=Meta):
        pass

    assert type(classify_error(Busy(), {Everything: Safety})) is Safety
    assert type(classify_error(Busy(), {Everything: Safety, Exception: Transient})) is Transient


# Groups.


def test_a_group_of_transients_is_transient_and_may_have_happened():
    """A sibling of the one that failed may have done its work."""
    group = ExceptionGroup("two", [httpx.ConnectError("a"), httpx_status(429, **{"Retry-After": "7"})])
    tool_error = classify_error(group)
    assert isinstance(tool_error, Transient)
    assert tool_error.happened == "maybe"
    assert tool_error.retry_after_seconds == 7
    assert "ConnectError: a" in str(tool_error)
    assert "status 429" in str(tool_error)


def test_a_group_with_anything_else_is_not_transient():
    """Trying again would meet it again."""
    tool_error = classify_error(ExceptionGroup("two", [TimeoutError(), ExceptionGroup("inner", [ValueError("bad")])]))
    assert type(tool_error) is ToolError
    assert "ValueError: bad" in str(tool_error)


@pytest.mark.parametrize("gravest", [Safety("no"), BadArgs("wrong")])
def test_the_gravest_in_a_group_is_what_it_means(gravest):
    """A refusal is not lost among failures."""
    assert classify_error(ExceptionGroup("all", [TimeoutError(), ValueError(), gravest])) is gravest


def test_rules_are_asked_for_a_group_and_for_what_is_in_it():
    """The group first."""
    group = ExceptionGroup("all", [Busy(), VeryBusy()])
    assert type(classify_error(group, {ExceptionGroup: Safety, Busy: Transient})) is Safety
    assert type(classify_error(group, {Busy: Transient})) is Transient


@pytest.mark.parametrize(
    ("error", "rules", "verdict"),
    [
        (httpx.ConnectError("x"), (), True),
        (REQUESTS.SSLError("x"), (), True),
        (PermissionError("x"), (), True),
        (urllib.error.HTTPError("http://x", 404, "gone", email.message.Message(), None), (), True),
        (Busy("x"), {Busy: BadArgs}, True),
        (ExceptionGroup("x", [TimeoutError(), ConnectionResetError()]), (), True),
        (ExceptionGroup("x", [TimeoutError(), KeyError()]), (), False),
        (KeyError("x"), (), False),
        (SystemExit(500), (), False),
        (asyncio.CancelledError(), {asyncio.CancelledError: Transient}, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_a_failure_of_the_world_is_told_from_a_bug(error, rules, verdict):
    assert is_expected(error, classify_error(error, rules)) is verdict


class NoSuchOrder(KeyError):
    """An exception of a module that exists already."""


@pytest.mark.parametrize("rule", [{NoSuchOrder: ToolError}, lambda error: ToolError("gone")], ids=["class", "function"])
def test_an_exception_that_counts_as_a_tool_error_is_no_bug(rule, caplog):
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def get_order(order: int) -> str:
        """Look up an order."""
        raise NoSuchOrder(f"no order {order}")

    result = Dispatcher(catalog, classify=rule, raise_bugs=True).call_sync("get_order", {"order": 1})
    assert result.kind == "failed"
    assert all(record.exc_info is None for record in caplog.records)
