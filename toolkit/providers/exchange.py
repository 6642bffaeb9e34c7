"""
One request to a provider and what comes back, whole or as events.

Nothing here knows a provider's format. A failure worth trying again is `Transient`, any other a
`ProviderFailure`; redirects are not followed, since the key would go along; sizes are bounded.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..classify import classified
from ..errors import ProviderError, Transient
from ..strictjson import MAX_TEXT, loads
from .failures import ProviderFailure, Sent, judged, said_in
from .keys import Key
from .sse import EventParser
from .waits import wait_asked

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["Exchange", "Outgoing", "checked_url", "is_too_deep"]

_MOST_ERROR_BYTES = 100_000
_MOST_STREAM_BYTES = 64 * 1024 * 1024
_MOST_LEVELS = 200
_CONNECT_SECONDS = 10.0
_SHOULD_RETRY = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """
    A request, ready to be sent.

    Attributes:
        path: What follows the base URL.
        sent: What messages say of it.
        error_in: The error in an answer or an event that came with status 200; None if it is none.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    sent: Sent
    error_in: Callable[[Mapping[str, Any]], Any]


class Exchange:
    """
    Sends requests to one address. A key, if there is one, goes along in a header.

    Args:
        key_form: What the header says, with `{}` for the key.
        client: The user's own; it is not closed here. Its headers go before ours.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key_header: str,
        key_form: str,
        timeout_seconds: float,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.origin = urlsplit(self.base_url)[:2]
        self.where = self.origin[1]
        self._key_header = key_header
        self._key_form = key_form
        self._timeout_seconds = timeout_seconds
        self._given = client
        self._made: tuple[asyncio.AbstractEventLoop, httpx.AsyncClient] | None = None

    async def post(self, outgoing: Outgoing, key: Key | None) -> dict[str, Any]:
        """The answer as a whole."""
        self._client()  # loading certificates takes a while, and is not the server's fault
        try:
            async with asyncio.timeout(self._timeout_seconds), self._response(outgoing, key) as response:
                text = await _text(response, MAX_TEXT, outgoing.sent)
        except TimeoutError:
            words = f"{outgoing.sent.provider} at {self.where} did not answer within {self._timeout_seconds:g} seconds"
            raise Transient(words, happened="maybe") from None
        return self._read(text, outgoing, key)

    async def events(self, outgoing: Outgoing, key: Key | None) -> AsyncGenerator[dict[str, Any]]:
        """The answer as events, each a JSON object. Whoever stops early has to close the iterator."""
        async with self._response(outgoing, key) as response:
            if "application/json" in response.headers.get("content-type", ""):
                self._read(await _text(response, MAX_TEXT, outgoing.sent), outgoing, key)
                raise ProviderFailure(
                    f"{outgoing.sent.provider} at {self.where} does not stream: it sent one answer; use `reply`",
                    why="answer",
                )
            parser = EventParser()
            size = 0
            clock = asyncio.get_running_loop().time
            heard = clock()
            async for chunk in response.aiter_bytes():
                size += len(chunk)
                if size > _MOST_STREAM_BYTES:
                    raise _too_long(_MOST_STREAM_BYTES, outgoing.sent)
                events = _fed(parser, chunk, outgoing.sent)
                # Comments keep a connection open, also that of a server that will never answer.
                if not events and clock() - heard > self._timeout_seconds:
                    words = (
                        f"{outgoing.sent.provider} at {self.where} said nothing for {self._timeout_seconds:g} seconds"
                    )
                    raise Transient(words, happened="maybe")
                for event in events:
                    if event == "[DONE]":
                        return
                    yield self._read(event, outgoing, key, is_event=True)
                if events:
                    heard = clock()  # after whoever reads has taken their time
            for event in _fed(parser, None, outgoing.sent):
                if event != "[DONE]":
                    yield self._read(event, outgoing, key, is_event=True)

    async def aclose(self) -> None:
        """Close the connections that were made here."""
        made, self._made = self._made, None
        if made is not None and made[0] is asyncio.get_running_loop():
            await made[1].aclose()

    @asynccontextmanager
    async def _response(self, outgoing: Outgoing, key: Key | None) -> AsyncIterator[httpx.Response]:
        """The head of an answer that went well; whatever breaks while it is read is worded here too."""
        import httpx

        client = self._client()
        own = {name: value for name, value in outgoing.headers.items() if name not in client.headers}
        try:
            request = client.build_request(
                "POST",
                f"{self.base_url}{outgoing.path}",
                content=_encoded(outgoing),
                headers={"content-type": "application/json", "accept-encoding": "identity", **own},
                timeout=httpx.Timeout(self._timeout_seconds, connect=min(_CONNECT_SECONDS, self._timeout_seconds)),
            )
            auth = httpx.USE_CLIENT_DEFAULT if key is None else self._authorised(key)
            try:
                response = await client.send(request, auth=auth, stream=True, follow_redirects=False)
            finally:
                # Errors carry the request, and whoever reports them may show it.
                request.headers.pop(self._key_header, None)
            try:
                if not response.is_success:
                    raise await self._failure(response, outgoing, key)
                yield response
            finally:
                await response.aclose()
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise self._worded(error, outgoing.sent, key) from error

    def _client(self) -> httpx.AsyncClient:
        """The user's client, or one for the running loop: connections cannot change loops."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if self._made is None or self._made[0] is not loop:
            import httpx

            self._made = loop, httpx.AsyncClient()
        return self._made[1]

    def _authorised(self, key: Key) -> Callable[[httpx.Request], httpx.Request]:
        def authorise(request: httpx.Request) -> httpx.Request:
            request.headers[self._key_header] = self._key_form.format(key.reveal())
            return request

        return authorise

    def _read(self, text: str, outgoing: Outgoing, key: Key | None, *, is_event: bool = False) -> dict[str, Any]:
        """The JSON object in *text*, unless it is an error."""
        try:
            data = loads(text)
        except ValueError as error:
            data = error
        if not isinstance(data, dict):
            what = _masked(str(data), key) if isinstance(data, ValueError) else f"it is a {type(data).__name__}"
            words = f"{outgoing.sent.provider} at {self.where} answered with what is no JSON object: {what}"
            # An event is cut if the stream is; a whole answer that is none would be none again.
            raise Transient(words, happened="maybe") if is_event else ProviderFailure(words, why="answer")
        if is_too_deep(data):
            raise ProviderFailure(f"{outgoing.sent.provider} at {self.where} nests its answer too deeply", why="answer")
        problem = outgoing.error_in(data)
        if problem is not None:
            said = said_in(_masked(problem, key))
            raise judged(said.status, said, outgoing.sent, wait=wait_asked({}, problem))
        return data

    async def _failure(
        self, response: httpx.Response, outgoing: Outgoing, key: Key | None
    ) -> ProviderFailure | Transient:
        sent, status = outgoing.sent, response.status_code
        if response.is_redirect:
            target = _masked(response.headers.get("location", ""), key)[:200]
            return ProviderFailure(
                f"{sent.provider}: {self.where} redirects to {target!r}, which is not followed, since the key would "
                "go along; give that address as `base_url` if it is right",
                status=status,
            )
        text = _masked(await _text(response, _MOST_ERROR_BYTES, sent), key)
        try:
            body = loads(text)
        except ValueError:
            body = "" if text.lstrip().startswith("<") else text  # a page for people says nothing in its first words
        return judged(
            status,
            said_in(body),
            sent,
            wait=wait_asked(response.headers, body),
            should_retry=_SHOULD_RETRY.get(response.headers.get("x-should-retry", "")),
        )

    def _worded(self, error: Exception, sent: Sent, key: Key | None) -> ProviderError | Transient:
        """What a failed connection means."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, ssl.SSLCertVerificationError):
                words = f"{sent.provider}: the certificate of {self.where} does not hold: {cause.verify_message}"
                return ProviderFailure(words, why="unavailable")
            cause = cause.__cause__ or cause.__context__
        meant = classified(error)
        words = f"{sent.provider} at {self.where}: {_masked(str(meant), key)}"
        if isinstance(meant, Transient):
            return Transient(words, happened=meant.happened)
        return ProviderFailure(words, why="unavailable")


def checked_url(url: str) -> str:
    """*url* if it can be the base of requests; `ValueError` that says why not."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url: expected an address such as 'https://host/v1', got {url[:100]!r}")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError("base_url: credentials, queries and fragments do not belong there; give a key as `api_key=`")
    return url


def _encoded(outgoing: Outgoing) -> bytes:
    try:
        text = json.dumps(outgoing.body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise ProviderFailure(f"{outgoing.sent.provider}: the request cannot be written as JSON: {error}") from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Halves of a letter that stand together are joined; one alone, which no provider takes, is a question mark.
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return whole.encode("utf-8", "replace")


def is_too_deep(value: Any) -> bool:
    """Whether JSON nests so deeply that copying it, or writing it again, could exhaust the stack."""
    layer = [value]
    for _ in range(_MOST_LEVELS):
        holders = [each for each in layer if isinstance(each, (dict, list))]
        if not holders:
            return False
        layer = [each for holder in holders for each in (holder.values() if isinstance(holder, dict) else holder)]
    return True


async def _text(response: httpx.Response, most: int, sent: Sent) -> str:
    """The body, of which *most* bytes are taken; what is longer is an error, unless it is one already."""
    pieces: list[bytes] = []
    size = 0
    async for chunk in response.aiter_bytes():
        pieces.append(chunk)
        size += len(chunk)
        if size > most:
            if response.is_success:
                raise _too_long(most, sent)
            break
    return b"".join(pieces)[:most].decode("utf-8", "replace")


def _too_long(most: int, sent: Sent) -> ProviderFailure:
    return ProviderFailure(f"{sent.provider} at {sent.where} answered with more than {most:,} bytes", why="answer")


def _fed(parser: EventParser, chunk: bytes | None, sent: Sent) -> list[str]:
    """The data of the events that *chunk* completes, or that were left at the end."""
    try:
        events = parser.close() if chunk is None else parser.feed(chunk)
    except ValueError as error:
        raise ProviderFailure(f"{sent.provider} at {sent.where}: {error}", why="answer") from error
    return [event.data for event in events if event.data]


def _masked(said: Any, key: Key | None) -> Any:
    return said if key is None else key.masked(said)
