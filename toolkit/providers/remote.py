"""
A provider that is asked over HTTP: what the four have in common.

A file per provider holds only the translation: a request into a body, an answer into a reply, and
events into an answer. Keys, waiting, retries and streams are here and in `exchange`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, TypeVar
from urllib.parse import urlsplit

from ..errors import ProviderError, Transient
from ..formats.base import Definitions, Note, Offering
from ..formats.wire_names import Naming
from ..policies.retry import RetryPolicy, retrying
from ..results import ToolCall
from .base import Reply, Request, StreamEvent, TextDelta
from .http.api_keys import Key, find_key
from .http.exchange import Exchange, Outgoing, checked_url
from .http.failures import ProviderFailure, Sent
from .streams import ODD, Assembler, Incoming, no_answer
from .wire import finished, made_calls, whole

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["Format", "RemoteProvider"]

_log = logging.getLogger("toolkit")
_MOST_NOTED = 10_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Format:
    """What of a module of `toolkit.formats` is used here."""

    naming: Naming
    definitions: Callable[..., Definitions]
    calls: Callable[[Any, Offering | None], list[ToolCall]]


class RemoteProvider(ABC):
    """
    Asks *model* over HTTP.

    Args:
        api_key: The key; otherwise it is read from the environment at the first request. The environment's key is
            sent to the provider's own address only: with another `base_url`, give the key that belongs there, or none.
        base_url: Another address that speaks the same format.
        timeout_seconds: The longest wait for a whole answer; in a stream, the longest wait without anything new.
        total_seconds: The longest wait for one answer in all, however it comes. Time that the reader of a stream
            takes does not count.
        retry: How often, and how patiently, to try again what is worth it.
        client: An `httpx.AsyncClient` of your own, for proxies or further headers. It stays open.
        max_tokens: The most the model may write, unless a request says otherwise.
        strict: Whether the provider shall hold arguments to the schemas, where it can.
        options: Further fields of the request, as the provider's documentation has them; None leaves one out.
        sleep: How to wait between tries.
    """

    name: ClassVar[str]
    _title: ClassVar[str]
    _format: ClassVar[Format]
    _address: ClassVar[str]
    _variables: ClassVar[tuple[str, ...]]
    _key_header: ClassVar[tuple[str, str]]
    _headers: ClassVar[Mapping[str, str]] = {}
    _models: ClassVar[re.Pattern[str]] = re.compile(r"\S(?:.*\S)?")
    _reserved: ClassVar[frozenset[str]]
    _max_tokens: ClassVar[int | None] = None
    _answer_names: ClassVar[tuple[str, str]] = ("model", "id")

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout_seconds: float = 600.0,
        total_seconds: float = 3600.0,
        retry: RetryPolicy | None = None,
        client: httpx.AsyncClient | None = None,
        max_tokens: int | None = None,
        strict: bool = False,
        options: Mapping[str, Any] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        title = type(self).__name__
        if not isinstance(model, str) or not self._models.fullmatch(model):
            raise ValueError(f"{title}: `model` has to name a model, got {str(model)[:100]!r}")
        for option, seconds in {"timeout_seconds": timeout_seconds, "total_seconds": total_seconds}.items():
            if not 0 < seconds < float("inf"):
                raise ValueError(f"{title}: `{option}` has to be a number of seconds, got {seconds!r}")
        if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
            raise ValueError(f"{title}: `max_tokens` has to be a whole number of at least 1, got {max_tokens!r}")
        taken = sorted(self._reserved.intersection(options or ()))
        if taken:
            raise ValueError(f"{title}: `options` cannot hold {', '.join(taken)}; a request or an argument says that")
        self.model = model
        self.max_tokens = self._max_tokens if max_tokens is None else max_tokens
        self.strict = strict
        self.options = dict(options or {})
        self._key = None if api_key is None else Key(api_key)
        self._retry = RetryPolicy() if retry is None else retry
        self._sleep = sleep
        self._noted: set[Note] = set()
        self._exchange = Exchange(
            self._address if base_url is None else checked_url(base_url),
            key_header=self._key_header[0],
            key_form=self._key_header[1],
            timeout_seconds=timeout_seconds,
            total_seconds=total_seconds,
            client=client,
        )
        self._is_own_address = self._exchange.origin == urlsplit(self._address)[:2]

    async def reply(self, request: Request) -> Reply:
        key, outgoing = self._found_key(), self._outgoing(request, stream=False)
        response = await self._patiently(lambda: self._exchange.post(outgoing, key))
        return self._understood(response, request)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        key, outgoing = self._found_key(), self._outgoing(request, stream=True)

        async def begin() -> Incoming:
            incoming = Incoming(self._exchange.events(outgoing, key), self._assembler(), self._title)
            try:
                await incoming.advance()
            except BaseException:
                await incoming.aclose()
                raise
            return incoming

        # Nothing has been shown until the first text is here, so until then it may be tried again.
        incoming = await self._patiently(begin)
        async with aclosing(incoming):
            shown = 0
            while incoming.text:
                shown += len(incoming.text)
                yield TextDelta(incoming.text)
                try:
                    await incoming.advance()
                except Transient as error:
                    raise ProviderFailure(
                        f"{error}; the answer broke off after {shown:,} characters had been shown, so it was not tried "
                        "again; ask again",
                        why="broke_off",
                    ) from error
        yield self._understood(incoming.response(), request)

    async def aclose(self) -> None:
        """Close the connections; a client that was given stays open."""
        await self._exchange.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self._exchange.base_url!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds a key and connections; make a new one instead of a copy")

    @abstractmethod
    def _path(self, *, stream: bool) -> str:
        """What follows the base URL."""

    @abstractmethod
    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """The request in the provider's format."""

    @abstractmethod
    def _reply(self, response: dict[str, Any], request: Request) -> Reply:
        """What the provider's answer means: the message, why it stopped in the provider's words, and the usage."""

    @abstractmethod
    def _assembler(self) -> Assembler: ...

    def _tools(self, body: Mapping[str, Any]) -> list[str]:
        """The names of the tools in *body*, as they are sent."""
        return [tool["name"] for tool in body.get("tools", ())]

    def _definitions(self, request: Request) -> list[dict[str, Any]] | None:
        """The tools of *request* in the provider's format; None if there are none."""
        if request.catalog is None:
            return None
        made = self._format.definitions(request.catalog, request.session, strict=self.strict)
        for note in made.notes:
            if note not in self._noted:  # every turn has the same
                if len(self._noted) >= _MOST_NOTED:  # tools that come and go bring new ones for ever
                    self._noted.clear()
                self._noted.add(note)
                _log.info("%s: %s", self.name, note)
        return made or None

    def _calls(self, response: Any, request: Request) -> tuple[ToolCall, ...]:
        return made_calls(self._format.calls(response, request.catalog), request)

    def _error_in(self, data: Mapping[str, Any]) -> Any:
        """The error in an answer or an event; None if it is none."""
        return data if data.get("error") else None

    def _outgoing(self, request: Request, *, stream: bool) -> Outgoing:
        body = self._body(request, stream=stream)
        for name, value in self.options.items():
            mine = body.get(name)
            body[name] = {**mine, **value} if isinstance(mine, dict) and isinstance(value, Mapping) else value
        body = {name: value for name, value in body.items() if value is not None}
        sent = Sent(
            provider=self._title,
            where=self._exchange.where,
            model=self.model,
            key_source=self._key_source(),
            tools={name: self._format.naming.called(name, request.catalog)[0] for name in self._tools(body)},
        )
        return Outgoing(
            path=self._path(stream=stream), body=body, sent=sent, headers=self._headers, error_in=self._error_in
        )

    def _key_source(self) -> str:
        if self._key is not None:
            return self._key.source
        return " or ".join(self._variables) if self._is_own_address else "`api_key=` (none was given)"

    def _found_key(self) -> Key | None:
        if self._key is None and self._is_own_address:
            self._key = find_key(None, self._variables, provider=self._title)
        return self._key

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Await *call*, again as the policy allows; in the end a failure is a `ProviderFailure`."""
        notes: list[str] = []
        try:
            return await retrying(call, self._retry, sleep=self._sleep, noted=notes.append)
        except Transient as error:
            raise ProviderFailure(f"{error}; {notes[-1]}", why="unavailable") from error
        finally:
            for note in notes:
                _log.info("%s: %s", self.name, note)

    def _understood(self, response: dict[str, Any], request: Request) -> Reply:
        try:
            reply = self._reply(response, request)
            model, key = (response.get(name) for name in self._answer_names)
            return replace(
                reply,
                message=replace(reply.message, text=whole(reply.message.text)),
                stop=finished(reply.stop, reply.message),
                model=str(model or self.model),
                id=str(key or ""),
            )
        except ProviderFailure:
            raise
        except (*ODD, ProviderError) as error:  # the formats raise the latter, and cannot know the former
            raise no_answer(self._title, error) from error
