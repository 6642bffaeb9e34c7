"""
The questions that a server asks while it runs a call.

A question goes to the person whom the dispatcher of the call asks, marked as a question of that server. If no person
can be asked, the question is declined, because the protocol has no other word for it, and the result of the call says
why. Requests to sample a model or to list folders are declined always: the protocol has given both up.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import mcp_types as types

from ...catalogs.foreign_text import clean_schema, clean_text, is_plain_link
from ...context import Context
from ...errors import DefinitionError, ToolError
from ...questions import DECLINED, Question
from ...values.schemas.validator import check_schema
from .flood_guard import MessageBudget

__all__ = ["CallLink", "QuestionRouter"]

_MAX_MESSAGE_CHARS = 2000
_MAX_PROGRESS_CHARS = 300
_MAX_QUESTIONS = 20
_MAX_BURST = 100
_REPORTS_PER_SECOND = 20
_DECLINE = types.ElicitResult(action="decline")
_NO_ASKER = "the dispatcher has no asker; give it one with Dispatcher(..., approvals=Approvals(ask=...))"
_NOT_SHOWN = "it cannot be shown to a person safely"


class CallLink:
    """
    The call in the dispatcher that a request to a server belongs to.

    It is made in the event loop of the call. The connection uses it from its own loop.

    Attributes:
        unanswered: Why no person could answer a question of the server, in words.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self._loop = asyncio.get_running_loop()
        self._budget = MessageBudget(_MAX_BURST, _REPORTS_PER_SECOND)
        self._question_count = 0
        self.unanswered: list[str] = []

    @property
    def person(self) -> tuple[Any, ...]:
        """What tells the people of two calls apart: whom the dispatcher asks, the conversation and the principal."""
        call, ask = self.context.call, self.context.ask_at_once
        # Each call has a partial function of its own. Its first argument is the settings of the dispatcher.
        return None if ask is None else id(getattr(ask, "args", [ask])[0]), call.session_key, call.principal

    def describe_unanswered(self, server: str) -> str:
        """Return a note that no person has declined, which *server* may say, and why none was asked."""
        why = "; ".join(dict.fromkeys(self.unanswered))
        return f"[Note: no person has answered the question of the server {server}: {why}]"

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress of the server as progress of the call. A server that floods is not always heard."""
        if self._budget.take():
            text = None if message is None else clean_text(message, _MAX_PROGRESS_CHARS)
            self.context.report(progress, total, text)

    async def ask(self, message: str, schema: Mapping[str, Any]) -> Any:
        """Return the answer of the person, or `DECLINED` if they decline or if there is no person to ask."""
        self._question_count += 1
        if self.context.ask_at_once is None or self._question_count > _MAX_QUESTIONS:
            too_many = f"a server may ask {_MAX_QUESTIONS} questions in one call"
            self.unanswered.append(_NO_ASKER if self.context.ask_at_once is None else too_many)
            return DECLINED
        question = Question(key=f"question-{self._question_count}", message=message, schema=schema)
        future = asyncio.run_coroutine_threadsafe(self.context.ask_at_once(question, self.unanswered), self._loop)
        return await asyncio.wrap_future(future)


class QuestionRouter:
    """Finds the call that a question of a server belongs to, and asks its person."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._links: list[CallLink] = []

    @contextlib.contextmanager
    def follow(self, link: CallLink) -> Iterator[None]:
        """Let questions of the server reach the person of *link*, while its call runs."""
        self._links.append(link)
        try:
            yield
        finally:
            self._links.remove(link)

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        """
        Answer a question that came as a request of its own.

        Such a request does not say which call it belongs to. If calls of several people run, it is declined, because
        the wrong person must not be asked.
        """
        if len({link.person for link in self._links}) == 1:
            return await self._ask(params, self._links[-1])
        for link in self._links:
            link.unanswered.append("calls of several people run, and the question does not say whose it is")
        return _DECLINE

    async def answer_all(self, requests: Mapping[str, Any], link: CallLink) -> dict[str, Any]:
        """Return the answers to the questions in the result of a call; raise `ToolError` if one is not for a person."""
        answers: dict[str, Any] = {}
        for key, request in requests.items():  # one after the other, as a person answers them
            if not isinstance(request, types.ElicitRequest):
                raise ToolError(
                    f"the server {self._server} wants `{request.method}` to go on, which this client does not offer"
                )
            answers[key] = await self._ask(request.params, link)
        return answers

    async def _ask(self, params: Any, link: CallLink) -> types.ElicitResult:
        message = clean_text(params.message, _MAX_MESSAGE_CHARS)
        intro = f"The MCP server {self._server} asks: {message}"
        if isinstance(params, types.ElicitRequestURLParams):
            address = params.url
            if not is_plain_link(address):
                link.unanswered.append(_NOT_SHOWN)
                return _DECLINE
            has_agreed = await link.ask(f"{intro}\nIt wants you to open {address}", {"type": "boolean"})
            return types.ElicitResult(action="accept") if has_agreed is True else _DECLINE
        try:
            schema = clean_schema(params.requested_schema)
            check_schema(schema, "the question")
            answer = await link.ask(intro, schema)
        except (DefinitionError, RecursionError):  # the answer could not be checked, or its choices may not be shown
            link.unanswered.append(_NOT_SHOWN)
            return _DECLINE
        return types.ElicitResult(action="accept", content=answer) if isinstance(answer, dict) else _DECLINE
