"""
A provider that answers with replies from a list, and records the requests it got.

It is for tests, examples and demonstrations. It needs no key and no network, and nothing in it is random.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from .._option_checks import describe_type
from .._plumbing.generated_ids import GeneratedId
from .._plumbing.wording import format_count
from ..catalogs.views import CatalogView
from ..errors import ProviderError
from ..results import ToolCall
from ..spec import Tool
from .base import Reply, Request, StopReason, StreamEvent, TextDelta
from .messages import AssistantMessage, MessageCache, message_from_json

__all__ = ["Asked", "ScriptedProvider", "ScriptedTurn"]

_ScriptedReply: TypeAlias = "Reply | AssistantMessage | str | Sequence[ToolCall] | Exception"
ScriptedTurn: TypeAlias = "_ScriptedReply | Callable[[Asked], _ScriptedReply | Awaitable[_ScriptedReply]]"
"""One turn of a script: a reply, an exception to raise, or a function of the request that returns one of them."""

_CALL_FIELDS = {"name", "arguments", "id"}
_CALL_REMEDY = 'a call is ToolCall(name, arguments), and {"name": "...", "arguments": {...}} in a file'

_WORDS = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Request):
    """
    A request as a script sees it: a copy, which later changes to the conversation or the catalog do not affect.

    Attributes:
        tools: The names of the tools that were offered.
    """

    tools: tuple[str, ...] = ()


class ScriptedProvider:
    """
    A provider that answers with *replies*, one for each turn.

    A text is an answer. A list of calls is a reply that wants these calls; a call without an id gets one. An exception
    is raised. A function, which may be async, is called with the request, as it is in `requests`, and returns the
    reply. A `ProviderError` is raised if there are more requests than replies.

    With *structured*, it takes part in the structured output of providers: the agent sends the form of a typed answer
    as `Request.output`, and the script answers with JSON text. Otherwise the form is that of a tool to call.

    Attributes:
        requests: The requests it got, in order.
    """

    name = "scripted"

    def __init__(self, replies: Iterable[ScriptedTurn], *, model: str = "scripted", structured: bool = False) -> None:
        if isinstance(replies, (str, AssistantMessage, Reply, Exception)) or not isinstance(replies, Iterable):
            raise TypeError(f"ScriptedProvider wants a list of replies, got {type(replies).__name__}; put it into one")
        if isinstance(replies, Sequence):
            for number, reply in enumerate(replies, 1):
                _check_item(reply, number)
        self.model = model
        self.structured = structured
        self.requests: list[Asked] = []
        self._replies = iter(replies)
        self._played = 0
        self._skips_known = False
        self._call_count = 0
        self._copies = MessageCache(lambda message: message_from_json(message.to_json()))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """
        Return a provider that plays the list in a JSON file: a text is an answer, a list of calls wants these calls.

        A call is `{"name": "look", "arguments": {"what": "tree"}}`. In a conversation that goes on, such as one that
        was saved, the replies that it has already are left out.

        Raises:
            ValueError: The file cannot be read, or an item of it is no reply.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if not isinstance(data, list):
                raise TypeError(f"it is {describe_type(data)}, and not a list of replies")  # noqa: TRY301 -- one message
            provider = cls([_read_item(item) for item in data])
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"cannot read the script {os.fspath(path)}: {error}") from None
        provider._skips_known = True
        return provider

    async def reply(self, request: Request) -> Reply:
        __tracebackhide__ = True  # pytest then shows the line that asked, not the lines of this method
        asked = self._snapshot(request)
        self.requests.append(asked)
        if self._skips_known and len(self.requests) == 1:
            for _ in filter(lambda message: isinstance(message, AssistantMessage), asked.messages):
                self._take(None)
        scripted, number = self._take(_END), self._played
        if scripted is _END:
            raise ProviderError(
                f"the script has {format_count(number - 1, 'reply')}, and this is request {number}; "
                "add a reply, or ask less"
            )
        if callable(scripted) and not isinstance(scripted, type):
            scripted = scripted(asked)
            scripted = await scripted if inspect.isawaitable(scripted) else scripted
        return self._build_reply(scripted, number)

    def _take(self, default: Any) -> Any:
        self._played += 1
        return next(self._replies, default)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the reply word by word, and then the whole reply."""
        __tracebackhide__ = True
        reply = await self.reply(request)
        for word in _WORDS.findall(reply.message.text):
            yield TextDelta(word)
        yield reply

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        return self.structured

    async def aclose(self) -> None:
        """Do nothing. This provider has no connections; other providers, which it replaces in tests, have some."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _snapshot(self, request: Request) -> Asked:
        tools: tuple[str, ...] = ()
        catalog = request.catalog
        if catalog is not None:
            tools = tuple(tool.name for tool in catalog.offered(request.session))
            table = catalog.table  # a catalog replaces its table and never changes it
            catalog = CatalogView((), lambda: table)
        return Asked(
            messages=tuple(self._copies.values_for(request.messages)),
            system=request.system,
            catalog=catalog,
            session=request.session,
            max_tokens=request.max_tokens,
            output=request.output,
            tools=tools,
        )

    def _build_reply(self, scripted: Any, number: int) -> Reply:
        _check_item(scripted, number)
        if isinstance(scripted, Exception):
            raise scripted
        if isinstance(scripted, Reply):
            return scripted
        if isinstance(scripted, str):
            scripted = AssistantMessage(text=scripted)
        elif not isinstance(scripted, AssistantMessage):
            scripted = AssistantMessage(calls=tuple(map(self._with_id, scripted)))
        stop: StopReason = "calls" if scripted.calls else "answer"
        return Reply(message=scripted, stop=stop, model=self.model, id=f"scripted_{number}")

    def _with_id(self, call: ToolCall) -> ToolCall:
        self._call_count += 1
        return call if call.id else ToolCall(call.name, call.arguments, GeneratedId(f"call_{self._call_count}"))


_END = object()


def _check_item(item: Any, number: int) -> None:
    """Raise `TypeError` unless *item* may be the item *number* of a script."""
    if isinstance(item, (str, Reply, AssistantMessage, Exception)) or (callable(item) and not isinstance(item, type)):
        return
    if isinstance(item, ToolCall):
        raise TypeError(f"item {number} of the script is a call; put the calls of one turn into a list: [[call]]")
    if not isinstance(item, Sequence):
        raise TypeError(
            f"item {number} of the script is {describe_type(item)}; expected a text, a list of calls, a message, a "
            "reply, an exception, or a function that returns one of them"
        )
    for call in item:
        if not isinstance(call, ToolCall):
            raise TypeError(f"item {number} of the script is a list with {describe_type(call)} in it; {_CALL_REMEDY}")


def _read_item(item: Any) -> Any:
    """Return *item* of a file with its calls as `ToolCall`. What is no call stays as it is."""
    if not isinstance(item, list):
        return item
    return [
        ToolCall(call["name"], call.get("arguments", {}), call.get("id", ""))
        if isinstance(call, dict) and isinstance(call.get("name"), str) and call.keys() <= _CALL_FIELDS
        else call
        for call in item
    ]
