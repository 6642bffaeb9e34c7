"""
The base class of the providers that are reached over HTTP.

The file of each provider has only the translation: of a request into a body, of an answer into a reply, and of
events into an answer. Keys, waiting, retries and streams are here and in `exchange`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Never, NoReturn, Self, TypeVar
from urllib.parse import urlsplit

from .._option_checks import check_option_names
from .._plumbing.wording import format_count
from ..errors import ProviderError, Transient
from ..formats.base import Naming, Note, Offering, WireObject
from ..formats.media import ResultMedia
from ..policies.retry import RetryPolicy, retrying
from ..results import ToolCall, ToolResult
from ..spec import Tool
from .base import Reply, Request, StreamEvent, TextDelta
from .http.api_keys import ApiKey, find_key
from .http.exchange import HttpExchange, OutgoingRequest, check_url
from .http.failures import ProviderFailure, SentRequest, StreamRefused
from .http.time_limits import TimeLimits
from .messages import AssistantMessage, Message, ToolMessage
from .streams import SHAPE_ERRORS, Assembler, IncomingStream, build_unreadable_failure
from .wire import build_user_content, correct_stop_reason, join_surrogates, normalize_calls

if TYPE_CHECKING:  # it takes long to load
    import httpx

__all__ = ["Format", "RemoteProvider"]

_log = logging.getLogger("toolkit")
_MAX_NOTED = 10_000

T = TypeVar("T")

_OTHER_WORDS = {
    **dict.fromkeys(("api_base", "endpoint", "base", "url"), "the address of the server is `base_url`"),
    **dict.fromkeys(("key", "token", "openai_api_key", "anthropic_api_key"), "the key is `api_key`"),
    "timeout": "the limits are `timeout_seconds` and `total_seconds`",
    "http_client": "the client is `client`",
    "max_retries": "write `retry=RetryPolicy(attempts=...)`",
    **dict.fromkeys(("temperature", "top_p", "seed"), "what is sent to the model as it is goes into `options={...}`"),
}


@dataclass(frozen=True, slots=True)
class Format:
    """The parts of a module of `toolkit.formats` that a provider uses."""

    name: str
    naming: Naming
    media_formats: Collection[str]
    calls: Callable[[Any, Offering | None], list[ToolCall]]
    results: Callable[[Sequence[ToolResult]], list[WireObject]]


class RemoteProvider(ABC):
    """
    A provider that sends requests for *model* over HTTP.

    Args:
        api_key: The key. If it is not given, it is read from the environment at the first request. The key from the
            environment is sent only to the provider's own address: with another `base_url`, give the key for that
            server, or none.
        base_url: The address of another server with the same format.
        timeout_seconds: The longest time of one attempt without progress. A stream makes progress with every event
            that adds to the answer, and an answer without a stream only when all of it is there.
        total_seconds: The longest time for one answer with all attempts, streamed or not. The time that the reader of
            a stream takes does not count.
        retry: The policy for retries of failures that are worth a retry.
        client: The caller's own `httpx.AsyncClient`, for proxies or further headers. It is not closed here.
        max_tokens: The maximum number of tokens that the model may write, unless a request sets it.
        strict: Whether the provider has to make the model's arguments follow the schemas, if it can.
        options: Further fields of the request, as in the provider's documentation. None leaves a field out.
        sleep: The function that waits between attempts.
        clock: The clock of the two limits, in seconds.
    """

    # These four belong to the class, or to the object if a class has several services.
    name: str
    _title: str
    _address: str
    _key_variables: tuple[str, ...]
    _format: ClassVar[Format]
    _endpoint: ClassVar[str]
    _key_header: ClassVar[tuple[str, str]] = ("authorization", "Bearer {}")
    _headers: ClassVar[Mapping[str, str]] = {}
    _model_pattern: ClassVar[re.Pattern[str]] = re.compile(r"\S(?:.*\S)?")
    _reserved_options: ClassVar[frozenset[str]]
    _max_tokens: ClassVar[int | None] = None
    _model_and_id_fields: ClassVar[tuple[str, str]] = ("model", "id")
    _parts_field: ClassVar[str] = "content"

    def __init__(
        self,
        model: str,
        *,
        api_key: str | ApiKey | None = None,
        base_url: str | None = None,
        timeout_seconds: float = 600.0,
        total_seconds: float = 3600.0,
        retry: RetryPolicy | None = None,
        client: httpx.AsyncClient | None = None,
        max_tokens: int | None = None,
        strict: bool = False,
        options: Mapping[str, Any] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        **unknown: Never,
    ) -> None:
        title = type(self).__name__
        if unknown:
            check_option_names(unknown, RemoteProvider.__init__.__kwdefaults__ or (), _OTHER_WORDS, title)
        if not isinstance(model, str) or not self._model_pattern.fullmatch(model):
            raise ValueError(f"{title}: `model` has to name a model, got {str(model)[:100]!r}")
        for option, seconds in {"timeout_seconds": timeout_seconds, "total_seconds": total_seconds}.items():
            if not 0 < seconds < float("inf"):
                raise ValueError(f"{title}: `{option}` has to be a number of seconds, got {seconds!r}")
        if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 1):
            raise ValueError(f"{title}: `max_tokens` has to be a whole number of at least 1, got {max_tokens!r}")
        reserved_names = sorted(self._reserved_options.intersection(options or ()))
        if reserved_names:
            raise ValueError(
                f"{title}: `options` cannot hold {', '.join(reserved_names)}; a request or an argument says that"
            )
        self.model = model
        self.max_tokens = self._max_tokens if max_tokens is None else max_tokens
        self.strict = strict
        self.options = dict(options or {})
        self._key = api_key if api_key is None or isinstance(api_key, ApiKey) else ApiKey(api_key)
        self._retry = RetryPolicy() if retry is None else retry
        self._sleep = sleep
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._total_seconds = total_seconds
        self._noted: set[Note] = set()
        self._refuses_streams = False
        self._exchange = HttpExchange(
            self._address if base_url is None else check_url(base_url), key_header=self._key_header, client=client
        )
        self._is_own_address = self._exchange.origin == urlsplit(self._address)[:2]

    async def reply(self, request: Request) -> Reply:
        outgoing = self._build_outgoing(request, stream=False)
        response = await self._call_with_retries(lambda: self._exchange.post(outgoing), outgoing.limits)
        return self._read_reply(response, request)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        outgoing = self._build_outgoing(request, stream=True)
        incoming = None if self._refuses_streams else await self._begin_stream(outgoing)
        shown_characters = 0
        if incoming is None:
            reply = await self.reply(request)
            self._refuses_streams = True  # not before there is an answer: the refusal may have had another reason
        else:
            async with aclosing(incoming):
                while incoming.text:
                    shown_characters += len(incoming.text)
                    with outgoing.limits.pause():
                        yield TextDelta(incoming.text)
                    try:
                        await incoming.advance()
                    except Transient as error:
                        raise ProviderFailure(
                            f"{error}; the answer broke off after {format_count(shown_characters, 'character')} had "
                            f"been shown, so it was not tried again; ask again",
                            why="broke_off",
                        ) from error
            reply = self._read_reply(incoming.response(), request)
        if reply.message.text and not shown_characters:  # the answer came as a whole
            yield TextDelta(reply.message.text)
        yield reply

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        """Return whether a typed answer in the form of *tool* is asked for as text, and not as a call of *tool*."""
        return False

    async def aclose(self) -> None:
        """Close the connections. A client that the caller gave stays open."""
        await self._exchange.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self._exchange.base_url!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds a key and connections; make a new one instead of a copy")

    def _path(self, *, stream: bool) -> str:
        """Return the part of the address after the base URL."""
        return self._endpoint

    @abstractmethod
    def _body(self, request: Request, *, stream: bool) -> dict[str, Any]:
        """Return *request* in the provider's format."""

    @abstractmethod
    def _build_part(self, part: str | ResultMedia) -> dict[str, Any]:
        """Return a part of the user's message in the provider's format."""

    @abstractmethod
    def _translate_reply(self, message: AssistantMessage) -> list[dict[str, Any]]:
        """Return a message of the model in the provider's format."""

    @abstractmethod
    def _translate_response(self, response: dict[str, Any], request: Request) -> Reply:
        """Return the message, the stop reason and the usage. The caller corrects the reason, and adds model and id."""

    @abstractmethod
    def _assembler(self) -> Assembler: ...

    def _replace_ids(self, item: dict[str, Any]) -> dict[str, Any]:
        """Return *item* of the conversation with ids that the provider accepts."""
        return item

    def _translate_messages(self, request: Request) -> list[dict[str, Any]]:
        """Return the conversation in the provider's format."""
        items = [item for message in request.messages for item in self._translate_message(message, request)]
        return [self._replace_ids(item) for item in items]

    def _translate_message(self, message: Message, request: Request) -> list[dict[str, Any]]:
        if isinstance(message, AssistantMessage):
            return self._translate_reply(message)
        if isinstance(message, ToolMessage):
            return self._translate_results(message, request)
        parts = build_user_content(message, self._format.media_formats)
        return [{"role": "user", self._parts_field: [self._build_part(part) for part in parts]}]

    def _translate_results(self, message: ToolMessage, request: Request) -> list[dict[str, Any]]:
        return self._format.results(message.results)

    def _list_tool_names(self, body: Mapping[str, Any]) -> list[str]:
        """Return the names of the tools in *body*, as they are sent."""
        return [tool["name"] for tool in body.get("tools", ())]

    def _definitions(self, request: Request) -> list[dict[str, Any]] | None:
        """Return the tools of *request* in the provider's format; None if there are none."""
        if request.catalog is None:
            return None
        options = {"strict": self.strict, **self._choose_definition_options(request)}
        # The catalog keeps the definitions: a turn that has the same tools does not look at thousands of them again.
        definitions = request.catalog.find_definitions(self._format.name, request.session, options)
        for note in definitions.notes:
            if note not in self._noted:  # each note comes again in every turn
                if len(self._noted) >= _MAX_NOTED:  # tools that are added and removed would grow this without end
                    self._noted.clear()
                self._noted.add(note)
                _log.info("%s: %s", self.name, note)
        return definitions or None

    def _choose_definition_options(self, request: Request) -> dict[str, Any]:
        """Return further options of the format for the definitions of *request*."""
        return {}

    def _read_calls(self, response: Any, request: Request) -> tuple[ToolCall, ...]:
        return normalize_calls(self._format.calls(response, request.catalog), request)

    def _find_error(self, data: Mapping[str, Any]) -> Any:
        """Return the error in an answer or an event; None if it has none."""
        return data if data.get("error") else None

    def _build_outgoing(self, request: Request, *, stream: bool) -> OutgoingRequest:
        key = self._find_key()
        body = self._body(request, stream=stream)
        for name, value in self.options.items():
            own_value = body.get(name)
            body[name] = {**own_value, **value} if isinstance(own_value, dict) and isinstance(value, Mapping) else value
        body = {name: value for name, value in body.items() if value is not None}
        sent = SentRequest(
            provider=self._title,
            host=self._exchange.host,
            model=self.model,
            key_source="`api_key=` (none was given)" if key is None else key.source,
            tools={name: self._format.naming.resolve(name, request.catalog)[0] for name in self._list_tool_names(body)},
        )
        return OutgoingRequest(
            key=key,
            path=self._path(stream=stream),
            body=body,
            sent=sent,
            headers=self._headers,
            find_error=self._find_error,
            limits=TimeLimits(
                f"{sent.provider} at {sent.host}",
                idle_seconds=self._timeout_seconds,
                total_seconds=self._total_seconds,
                clock=self._clock,
            ),
        )

    def require_key(self) -> None:
        """
        Look for the key now, and not at the first request.

        Raises:
            ProviderFailure: The provider needs a key, and there is none.
        """
        self._find_key()

    def _require_package(self, module: str, package: str) -> None:
        """Raise `ProviderFailure` with the name of the *package* to install if *module* is not there."""
        try:
            is_missing = importlib.util.find_spec(module) is None
        except ModuleNotFoundError:  # a package around it is missing
            is_missing = True
        if is_missing:
            raise ProviderFailure(f"{self._title} needs the package {package}, which is not installed", why="key")

    def _find_key(self) -> ApiKey | None:
        if self._key is None and self._is_own_address:
            self._key = find_key(self._key_variables, provider=self._title)
        return self._key

    async def _begin_stream(self, outgoing: OutgoingRequest) -> IncomingStream | None:
        """Return the stream of the answer, read up to its first text; None if the server refuses to stream."""

        async def begin() -> IncomingStream:
            events = self._exchange.stream_events(outgoing)
            incoming = IncomingStream(events, self._assembler(), self._title, outgoing.limits)
            try:
                await incoming.advance()
            except BaseException:
                await incoming.aclose()
                raise
            return incoming

        try:
            # Nothing was yielded before the first text has arrived, so a retry is possible until then.
            return await self._call_with_retries(begin, outgoing.limits)
        except StreamRefused as error:
            _log.info("%s: %s; the whole answer is asked for", self.name, error)
            return None

    async def _call_with_retries(self, call: Callable[[], Awaitable[T]], limits: TimeLimits) -> T:
        """Await *call*, and retry it as the policy and *limits* allow. Then raise `ProviderFailure`."""
        notes: list[str] = []
        try:
            return await retrying(
                call, self._retry, sleep=self._sleep, clock=limits.clock, deadline=limits.deadline, noted=notes.append
            )
        except Transient as error:
            raise ProviderFailure(f"{error}; {notes[-1]}", why="unavailable") from error
        finally:
            for note in notes:
                _log.info("%s: %s", self.name, note)

    def _read_reply(self, response: dict[str, Any], request: Request) -> Reply:
        try:
            reply = self._translate_response(response, request)
            model, key = (response.get(name) for name in self._model_and_id_fields)
            return replace(
                reply,
                message=replace(reply.message, text=join_surrogates(reply.message.text)),
                stop=correct_stop_reason(reply.stop, reply.message),
                model=str(model or self.model),
                id=str(key or ""),
            )
        except ProviderFailure:
            raise
        except (*SHAPE_ERRORS, ProviderError) as error:
            # The formats raise `ProviderError`, because they do not know `ProviderFailure`.
            raise build_unreadable_failure(self._title, error) from error
