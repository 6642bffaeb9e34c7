"""
A provider that plays what it was given, and remembers what it was asked.

For tests, examples and demonstrations: no key, no network, no chance.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from ..catalogs.views import CatalogView
from ..errors import ProviderError
from ..results import ToolCall
from .base import Reply, Request, StreamEvent, TextDelta
from .messages import AssistantMessage, PerMessage, message_from_json

__all__ = ["Asked", "Scripted", "ScriptedProvider"]

_Said: TypeAlias = "Reply | AssistantMessage | str | Sequence[ToolCall] | Exception"
Scripted: TypeAlias = "_Said | Callable[[Request], _Said | Awaitable[_Said]]"
"""One turn of a script: what is said, what is raised, or a function of the request that says so."""

_WORDS = re.compile(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Request):
    """
    A request as it was when it came: what happens to the conversation or the catalog later does not show.

    Attributes:
        tools: The names of the tools that were offered.
    """

    tools: tuple[str, ...] = ()


class ScriptedProvider:
    """
    Answers with *replies*, one a turn.

    A text is an answer, a list of calls wants them called (a call without an id gets one), an exception is
    raised, a function is asked with the request, and may be async. More questions than replies are a `ProviderError`.

    Attributes:
        requests: What it was asked, in order.
    """

    name = "scripted"

    def __init__(self, replies: Iterable[Scripted], *, model: str = "scripted") -> None:
        if isinstance(replies, (str, AssistantMessage, Reply, Exception)) or not isinstance(replies, Iterable):
            raise TypeError(f"ScriptedProvider wants a list of replies, got {type(replies).__name__}; put it into one")
        self.model = model
        self.requests: list[Asked] = []
        self._replies = iter(replies)
        self._calls = 0
        self._copies = PerMessage(lambda message: message_from_json(message.to_json()))

    async def reply(self, request: Request) -> Reply:
        self.requests.append(self._snapshot(request))
        number = len(self.requests)
        try:
            said: Any = next(self._replies)
        except StopIteration:
            raise ProviderError(
                f"the script has {number - 1} replies, and this is request {number}; add a reply, or ask less"
            ) from None
        if callable(said) and not isinstance(said, type):
            said = said(request)
            said = await said if inspect.isawaitable(said) else said
        return self._reply(said, number)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """The reply word by word, then as a whole."""
        reply = await self.reply(request)
        for word in _WORDS.findall(reply.message.text):
            yield TextDelta(word)
        yield reply

    async def aclose(self) -> None:
        """Do nothing: it has no connections, and stands where a provider that has some would."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _snapshot(self, request: Request) -> Asked:
        tools: tuple[str, ...] = ()
        catalog = request.catalog
        if catalog is not None:
            tools = tuple(tool.name for tool in catalog.offered(request.session))
            table = catalog.table  # never changed, only replaced
            catalog = CatalogView((), lambda: table)
        return Asked(
            messages=tuple(self._copies.of(request.messages)),
            system=request.system,
            catalog=catalog,
            session=request.session,
            max_tokens=request.max_tokens,
            tools=tools,
        )

    def _reply(self, said: Any, number: int) -> Reply:
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        if isinstance(said, str):
            said = AssistantMessage(text=said)
        elif isinstance(said, Sequence) and all(isinstance(each, ToolCall) for each in said):
            said = AssistantMessage(calls=tuple(map(self._with_id, said)))
        if not isinstance(said, AssistantMessage):
            raise TypeError(
                f"reply {number} of the script is {type(said).__name__}; "
                "expected a text, calls, a message, a reply, an exception, or a function that gives one"
            )
        return Reply(message=said, stop="calls" if said.calls else "answer", model=self.model, id=f"scripted_{number}")

    def _with_id(self, call: ToolCall) -> ToolCall:
        self._calls += 1
        return call if call.id else ToolCall(call.name, call.arguments, f"call_{self._calls}")
