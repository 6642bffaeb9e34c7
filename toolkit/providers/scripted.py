"""
A provider that answers with replies from a list, and records the requests it got.

It is for tests, examples and demonstrations. It needs no key and no network, and nothing in it is random.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from .._plumbing.generated_ids import GeneratedId
from .._plumbing.wording import format_count
from ..catalogs.views import CatalogView
from ..errors import ProviderError
from ..results import ToolCall
from ..spec import Tool
from .base import Reply, Request, StreamEvent, TextDelta
from .messages import AssistantMessage, MessageCache, message_from_json

__all__ = ["Asked", "ScriptedProvider", "ScriptedTurn"]

_ScriptedReply: TypeAlias = "Reply | AssistantMessage | str | Sequence[ToolCall] | Exception"
ScriptedTurn: TypeAlias = "_ScriptedReply | Callable[[Request], _ScriptedReply | Awaitable[_ScriptedReply]]"
"""One turn of a script: a reply, an exception to raise, or a function of the request that returns one of them."""

_WORDS = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Request):
    """
    A copy of a request, made when it arrived. Later changes to the conversation or the catalog do not affect it.

    Attributes:
        tools: The names of the tools that were offered.
    """

    tools: tuple[str, ...] = ()


class ScriptedProvider:
    """
    A provider that answers with *replies*, one for each turn.

    A text is an answer. A list of calls is a reply that wants these calls; a call without an id gets one. An exception
    is raised. A function, which may be async, is called with the request and returns the reply. A `ProviderError` is
    raised if there are more requests than replies.

    With *structured*, it takes part in the structured output of providers: the agent sends the form of a typed answer
    as `Request.output`, and the script answers with JSON text. Otherwise the form is that of a tool to call.

    Attributes:
        requests: The requests it got, in order.
    """

    name = "scripted"

    def __init__(self, replies: Iterable[ScriptedTurn], *, model: str = "scripted", structured: bool = False) -> None:
        if isinstance(replies, (str, AssistantMessage, Reply, Exception)) or not isinstance(replies, Iterable):
            raise TypeError(f"ScriptedProvider wants a list of replies, got {type(replies).__name__}; put it into one")
        self.model = model
        self.structured = structured
        self.requests: list[Asked] = []
        self._replies = iter(replies)
        self._call_count = 0
        self._copies = MessageCache(lambda message: message_from_json(message.to_json()))

    async def reply(self, request: Request) -> Reply:
        __tracebackhide__ = True  # pytest then shows the line that asked, not the lines of this method
        self.requests.append(self._snapshot(request))
        number = len(self.requests)
        try:
            scripted: Any = next(self._replies)
        except StopIteration:
            raise ProviderError(
                f"the script has {format_count(number - 1, 'reply')}, and this is request {number}; "
                "add a reply, or ask less"
            ) from None
        if callable(scripted) and not isinstance(scripted, type):
            scripted = scripted(request)
            scripted = await scripted if inspect.isawaitable(scripted) else scripted
        return self._build_reply(scripted, number)

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
        if isinstance(scripted, Exception):
            raise scripted
        if isinstance(scripted, Reply):
            return scripted
        if isinstance(scripted, str):
            scripted = AssistantMessage(text=scripted)
        elif isinstance(scripted, Sequence) and all(isinstance(call, ToolCall) for call in scripted):
            scripted = AssistantMessage(calls=tuple(map(self._with_id, scripted)))
        elif isinstance(scripted, ToolCall):
            raise TypeError(f"reply {number} of the script is a call; put the calls of one turn into a list: [[call]]")
        if not isinstance(scripted, AssistantMessage):
            raise TypeError(
                f"reply {number} of the script is {type(scripted).__name__}; "
                "expected a text, calls, a message, a reply, an exception, or a function that gives one"
            )
        return Reply(
            message=scripted, stop="calls" if scripted.calls else "answer", model=self.model, id=f"scripted_{number}"
        )

    def _with_id(self, call: ToolCall) -> ToolCall:
        self._call_count += 1
        return call if call.id else ToolCall(call.name, call.arguments, GeneratedId(f"call_{self._call_count}"))
