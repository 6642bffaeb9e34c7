"""
One request to a provider and its answer, as a whole or as events.

Nothing here knows a provider's format. A failure that is worth a retry is raised as `Transient`, and any other as
`ProviderFailure`. Redirects are not followed, because the key would be sent to the new address. The time and the size
of an answer are limited. The size of a compressed answer is checked while it is decompressed.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..._plumbing.decompression import inflater_for, read_limited
from ...errors import ProviderError, Transient
from ...policies.classify import classify_error
from ...values.strictjson.checks import MAX_TEXT, loads
from ...values.visible import make_visible
from .api_keys import ApiKey
from .failures import ProviderFailure, SentRequest, classify_failure, read_error_facts
from .loop_clients import LoopClients
from .retry_after import find_retry_wait
from .sse import EventParser, StreamParser
from .time_limits import TimeLimits

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["HttpExchange", "OutgoingRequest", "WholeAnswer", "check_url", "is_too_deep"]

_MAX_ERROR_BYTES = 100_000
_MAX_STREAM_BYTES = 64 * 1024 * 1024
_MAX_DEPTH = 200
_MAX_SHOWN_CHARS = 200
_PIECE_BYTES = 65536
_CONNECT_SECONDS = 10.0
_SHOULD_RETRY = {"true": True, "false": False}
_WHOLE_TYPES = ("application/json", "text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """
    A request that is ready to be sent, with the key if there is one.

    *find_error* returns the error in an answer or an event with status 200, or None. *limits* hold over all attempts.
    *build_parser* returns the parser for the events of a stream.
    """

    key: ApiKey | None
    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    sent: SentRequest
    find_error: Callable[[Mapping[str, Any]], Any]
    limits: TimeLimits
    build_parser: Callable[[], StreamParser] = EventParser

    def mask(self, content: Any) -> Any:
        """Return *content*, a text or JSON, with the key masked."""
        return content if self.key is None else self.key.mask(content)


class WholeAnswer(dict[str, Any]):
    """The answer of a server that sends one object, although it was asked for a stream of events."""


class HttpExchange:
    """
    A sender of requests to one address.

    A key, if there is one, is sent in the header *key_header*: its name, and its value with `{}` for the key. The
    user's own *client* is not closed here, and its headers take precedence over `OutgoingRequest.headers`.
    """

    def __init__(self, base_url: str, *, key_header: tuple[str, str], client: httpx.AsyncClient | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self.origin = urlsplit(self.base_url)[:2]
        self.host = self.origin[1]
        self._key_header, self._key_form = key_header
        self._clients = LoopClients(client)

    async def post(self, outgoing: OutgoingRequest) -> dict[str, Any]:
        """Send a request, and return the whole answer."""
        async with self._open_response(outgoing) as response:
            text = await _read_text(_iter_chunks(response, outgoing), MAX_TEXT, outgoing)
        return self._parse_object(text, outgoing)

    async def stream_events(self, outgoing: OutgoingRequest) -> AsyncGenerator[dict[str, Any]]:
        """
        Send a request, and yield the events of the answer as JSON objects. Close the iterator if you stop early.

        If the server does not stream, a `WholeAnswer` is yielded in place of all events.
        """
        async with self._open_response(outgoing) as response:
            beginning, chunks = await _peek(_iter_chunks(response, outgoing))
            if _is_whole(response, beginning):
                yield WholeAnswer(self._parse_object(await _read_text(chunks, MAX_TEXT, outgoing), outgoing))
                return
            async for text, is_last in self._read_event_texts(chunks, outgoing):
                if text == "[DONE]":
                    return
                yield self._parse_object(text, outgoing, may_be_cut=is_last)

    async def aclose(self) -> None:
        """Close the connections that this object has opened in the running event loop."""
        await self._clients.aclose()

    async def _read_event_texts(
        self, chunks: AsyncIterator[bytes], outgoing: OutgoingRequest
    ) -> AsyncIterator[tuple[str, bool]]:
        """Yield the data of each event, and whether the stream ended before the event did."""
        parser, size = outgoing.build_parser(), 0
        try:
            async for chunk in chunks:
                size += len(chunk)
                if size > _MAX_STREAM_BYTES:
                    raise _build_too_long_failure(_MAX_STREAM_BYTES, outgoing.sent)
                for text in parser.feed(chunk):
                    yield text, False
            for text in parser.close():
                yield text, True
        except ValueError as error:
            raise ProviderFailure(f"{outgoing.sent.provider} at {self.host}: {error}", why="answer") from error

    @asynccontextmanager
    async def _open_response(self, outgoing: OutgoingRequest) -> AsyncIterator[httpx.Response]:
        """
        Send a request, and yield the response if its status is a success.

        A failure of the connection is explained and raised, also while the caller reads the body.
        """
        import httpx

        client = await self._clients.get()  # before the time is counted, because loading certificates takes long
        outgoing.limits.note_progress()
        if outgoing.key is not None:
            await outgoing.limits.wait_for(outgoing.key.refresh())
        own_headers = {name: value for name, value in outgoing.headers.items() if name not in client.headers}
        try:
            request = client.build_request(
                "POST",
                f"{self.base_url}{outgoing.path}",
                content=_encode_body(outgoing),
                headers={"content-type": "application/json", "accept-encoding": "identity", **own_headers},
                timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
            )
            auth = httpx.USE_CLIENT_DEFAULT if outgoing.key is None else self._build_auth(outgoing.key)
            headers = request.headers.copy()
            try:
                answer = client.send(request, auth=auth, stream=True, follow_redirects=False)
                response = await outgoing.limits.wait_for(answer)
            finally:
                # An error of httpx has the request, and a program that reports the error may show its headers.
                request.headers = headers
            try:
                if not response.is_success:
                    raise await self._read_failure(response, outgoing)
                yield response
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise self._explain_connection_error(error, outgoing) from error

    def _build_auth(self, key: ApiKey) -> Callable[[httpx.Request], httpx.Request]:
        def authorise(request: httpx.Request) -> httpx.Request:
            key.authorize(request, self._key_header, self._key_form)
            return request

        return authorise

    def _parse_object(self, text: str, outgoing: OutgoingRequest, *, may_be_cut: bool = False) -> dict[str, Any]:
        """Return the JSON object in *text*. Raise if it is an error of the provider, or not a JSON object."""
        try:
            data = loads(text)
        except ValueError as error:
            if text.lstrip().startswith("<"):
                raise self._build_page_failure(text, outgoing) from None
            data = error
        if not isinstance(data, dict):
            reason = outgoing.mask(str(data)) if isinstance(data, ValueError) else f"it is a {type(data).__name__}"
            words = f"{outgoing.sent.provider} at {self.host} answered with what is no JSON object: {reason}"
            # The last event of an interrupted stream is cut off. Any other wrong answer would be wrong again.
            raise Transient(words, happened="maybe") if may_be_cut else ProviderFailure(words, why="answer")
        if is_too_deep(data):
            raise ProviderFailure(f"{outgoing.sent.provider} at {self.host} nests its answer too deeply", why="answer")
        problem = outgoing.find_error(data)
        if problem is not None:
            facts = read_error_facts(outgoing.mask(problem))
            raise classify_failure(facts.status, facts, outgoing.sent, wait=find_retry_wait({}, problem))
        return data

    def _build_page_failure(self, text: str, outgoing: OutgoingRequest) -> ProviderFailure:
        words = " ".join(outgoing.mask(text[: 4 * _MAX_SHOWN_CHARS]).split())
        beginning = make_visible(words, keep_lines=False)[:_MAX_SHOWN_CHARS]
        return ProviderFailure(
            f"{outgoing.sent.provider} at {self.host} answered with a page for people, which begins {beginning!r}; "
            "check `base_url`, and whether a proxy or a login page stands between",
            why="answer",
        )

    async def _read_failure(self, response: httpx.Response, outgoing: OutgoingRequest) -> ProviderFailure | Transient:
        sent, status = outgoing.sent, response.status_code
        if response.is_redirect:
            target = outgoing.mask(response.headers.get("location", ""))[:200]
            return ProviderFailure(
                f"{sent.provider}: {self.host} redirects to {target!r}, which is not followed, since the key would "
                "go along; give that address as `base_url` if it is right",
                status=status,
            )
        chunks = _iter_chunks(response, outgoing)
        text = outgoing.mask(await _read_text(chunks, _MAX_ERROR_BYTES, outgoing, is_cut=True))
        try:
            body = loads(text)
        except ValueError:
            body = "" if text.lstrip().startswith("<") else text  # the first words of an HTML page say nothing
        return classify_failure(
            status,
            read_error_facts(body),
            sent,
            wait=find_retry_wait(response.headers, body),
            should_retry=_SHOULD_RETRY.get(response.headers.get("x-should-retry", "")),
        )

    def _explain_connection_error(self, error: Exception, outgoing: OutgoingRequest) -> ProviderError | Transient:
        """Return the error to raise for a failed connection."""
        sent = outgoing.sent
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                words = f"{sent.provider}: the certificate of {self.host} does not hold: {cause.verify_message}"
                return ProviderFailure(words, why="unavailable")
            cause = cause.__cause__ or cause.__context__
        tool_error = classify_error(error)
        words = f"{sent.provider} at {self.host}: {outgoing.mask(str(tool_error))}"
        if isinstance(tool_error, Transient):
            return Transient(words, happened=tool_error.happened)
        return ProviderFailure(words, why="unavailable")


def check_url(url: str) -> str:
    """Return *url* if it can be the base of requests, and otherwise raise `ValueError` with the reason."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url: expected an address such as 'https://host/v1', got {url[:100]!r}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("base_url: credentials, queries and fragments do not belong there; give a key as `api_key=`")
    return url


def _encode_body(outgoing: OutgoingRequest) -> bytes:
    try:
        text = json.dumps(outgoing.body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProviderFailure(f"{outgoing.sent.provider}: the request cannot be written as JSON: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        # A pair of surrogates is joined to one character. A single surrogate, which no provider accepts, becomes a
        # question mark.
        joined_text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined_text.encode("utf-8", "replace")


def is_too_deep(value: Any) -> bool:
    """Return whether the JSON *value* is nested so deeply that copying or writing it could exhaust the stack."""
    layer = [value]
    for _ in range(_MAX_DEPTH):
        holders = [item for item in layer if isinstance(item, (dict, list))]
        if not holders:
            return False
        layer = [item for holder in holders for item in (holder.values() if isinstance(holder, dict) else holder)]
    return True


def _is_whole(response: httpx.Response, beginning: bytes) -> bool:
    """Return whether the answer is one JSON object or an HTML page: by its media type, or by how it begins."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return media_type in _WHOLE_TYPES or beginning.lstrip()[:1] in (b"{", b"<")


async def _peek(chunks: AsyncIterator[bytes]) -> tuple[bytes, AsyncIterator[bytes]]:
    """Return the first of *chunks*, and an iterator of all of them."""
    first = await anext(chunks, b"")

    async def iter_all() -> AsyncIterator[bytes]:
        yield first
        async for chunk in chunks:
            yield chunk

    return first, iter_all()


async def _read_text(
    chunks: AsyncIterator[bytes], max_bytes: int, outgoing: OutgoingRequest, *, is_cut: bool = False
) -> str:
    """Return the body as text. If it is longer than *max_bytes*, raise, or cut it if *is_cut*."""
    data, is_longer = await read_limited(chunks, max_bytes)
    if is_longer and not is_cut:
        raise _build_too_long_failure(max_bytes, outgoing.sent)
    return data.decode("utf-8", "replace")


async def _iter_chunks(response: httpx.Response, outgoing: OutgoingRequest) -> AsyncIterator[bytes]:
    """
    Yield the body while it arrives, decompressed in small pieces.

    So the caller can stop a decompression bomb. The time is checked at every piece, because a server that sends fast
    enough never lets the client wait.
    """
    if response.is_stream_consumed:  # a transport that keeps answers in memory has decompressed them already
        async for chunk in response.aiter_bytes():
            yield chunk
        return
    raw = response.aiter_raw()
    try:
        inflater = inflater_for(response.headers.get("content-encoding", ""))
        while chunk := await outgoing.limits.wait_for(anext(raw, b"")):  # httpx never yields an empty chunk
            for piece in inflater.decompress(chunk, _PIECE_BYTES):
                outgoing.limits.check()
                yield piece
    except ValueError as error:
        raise ProviderFailure(f"{outgoing.sent.provider} at {outgoing.sent.host}: {error}", why="answer") from error


def _build_too_long_failure(max_bytes: int, sent: SentRequest) -> ProviderFailure:
    return ProviderFailure(f"{sent.provider} at {sent.host} answered with more than {max_bytes:,} bytes", why="answer")
