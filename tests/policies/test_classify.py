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

from tests.policies.classify_kit import REQUESTS, classify_error, family, httpx_status
from toolkit import BadArgs, Safety, ToolError, Transient
from toolkit.policies.classify import parse_retry_after

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
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


def wrap_as_requests(inner: BaseException) -> BaseException:
    """Return what requests raises around urllib3's error around *inner*."""
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
        (wrap_as_requests(URLLIB3.NewConnectionError("x")), "no"),
        (wrap_as_requests(URLLIB3.NameResolutionError("x")), "no"),
        (wrap_as_requests(URLLIB3.ConnectTimeoutError("x")), "no"),
        (wrap_as_requests(URLLIB3.ReadTimeoutError("x")), "maybe"),
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
def test_the_table_says_which_errors_are_transient(error, happened):
    """It also says whether the effect may have taken place."""
    tool_error = classify_error(error)
    assert isinstance(tool_error, Transient) == (happened is not None)
    assert getattr(tool_error, "happened", None) == happened
    assert type(error).__name__ in str(tool_error)


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
    """Another value has no effect. A date without a zone is GMT."""
    assert parse_retry_after({"retry-AFTER": header}, now=lambda: NOW) == seconds


@pytest.mark.parametrize("headers", [None, 5, "Retry-After: 5", [("Retry-After", "5")], {}, {"Other": "5"}])
def test_invalid_headers_ask_for_no_wait(headers):
    """An exception may have any object under that name."""
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


def test_an_odd_exception_is_classified():
    """It may raise further errors while it is classified."""
    tool_error = classify_error(Odd())
    assert isinstance(tool_error, Transient)
    assert str(tool_error) == "Odd"


def test_long_messages_are_cut():
    """A page of HTML is no message."""
    assert len(str(classify_error(ValueError("x" * 10_000)))) == 2000


@pytest.mark.parametrize("error", [ToolError("a"), BadArgs("b"), Safety("c"), Transient("d")])
def test_our_own_errors_are_not_changed(error):
    """A tool that raises one of our errors decides, and no rule changes it."""
    assert classify_error(error, lambda error: Safety) is error
