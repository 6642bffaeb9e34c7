"""
The `ask_user` tool, with which a model asks the user a question.

It is not part of `builtin_catalog`, because a run that no person watches would wait for an answer.
"""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..decorator import tool
from ..errors import BadArgs, Problem
from ..questions import DECLINED
from ..spec import Tool

__all__ = ["ASK_USER", "ask_user_for"]

ASK_USER = "ask_user"

_MAX_QUESTION_CHARS = 4_000
_MAX_CHOICES = 20
_DECLINED_TEXT = "The user declined to answer. Go on without the answer, or tell the user what you need it for."


def ask_user_for() -> Tool:
    """
    Return the tool with which a model asks the user a question: `catalog.add(ask_user_for())`.

    The call waits until the user has answered: at once if the dispatcher has an asker such as `TerminalPrompt`, and
    otherwise until the program resumes it with `Decision.approve(answers={"answer": ...})`.
    """

    @tool(
        catalog=None,
        name=ASK_USER,
        read_only=True,
        search_hint="ask the user a question clarify choose confirm",
        summary=lambda arguments: str(arguments["question"]),
    )
    async def ask_user(question: str, *, choices: list[str] | None = None, context: Context) -> str:
        """Ask the user a question, and wait for the answer.

        Ask only what you cannot find out yourself, and what decides what you do next.

        Args:
            question: The question, which the user can answer without reading anything else.
            choices: 2 to 20 answers to choose from; the user writes a text unless given.
        """
        problems = [*_find_question_problems(question), *_find_choice_problems(choices)]
        if problems:
            raise BadArgs(problems)
        schema: dict[str, Any] = {"type": "string"} if choices is None else {"type": "string", "enum": choices}
        answer = await context.ask("answer", question, schema)
        return _DECLINED_TEXT if answer is DECLINED else answer

    return Tool.of(ask_user)


def _find_question_problems(question: str) -> list[Problem]:
    if not question.strip():
        return [Problem("expected a question, got an empty text", ("question",))]
    if len(question) > _MAX_QUESTION_CHARS:
        size = f"expected at most {_MAX_QUESTION_CHARS:,} characters, got {len(question):,}"
        return [Problem(size, ("question",))]
    return []


def _find_choice_problems(choices: list[str] | None) -> list[Problem]:
    if choices is None:
        return []
    if not 2 <= len(choices) <= _MAX_CHOICES:
        size = f"expected 2 to {_MAX_CHOICES} choices, got {len(choices)}; leave them out for a free answer"
        return [Problem(size, ("choices",))]
    if not all(choice.strip() for choice in choices) or len(set(choices)) < len(choices):
        return [Problem("expected choices that differ and are not empty", ("choices",))]
    return []
