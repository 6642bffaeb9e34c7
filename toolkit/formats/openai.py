"""
OpenAI's Chat Completions, and the many servers that speak it: vLLM, OpenRouter, Ollama's `/v1`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Definitions, Note, Offering
from .call_ids import sent_id
from .chat_completions import chat_calls, chat_function
from .offered_tools import offered
from .result_content import given, pictures_of, text_of
from .wire_names import Naming

__all__ = ["calls", "definitions", "results"]

NAMING = Naming(provider="OpenAI")


def definitions(catalog: Offering, session: Session | None = None, *, strict: bool = False) -> Definitions:
    """
    What goes into `tools`.

    With *strict* the provider holds the model to the schemas: every property is required, an optional one may be
    null, and what the subset cannot say is said in words. A tool that cannot be told so is sent as it is, with a note.
    """
    notes: list[Note] = []
    made = [chat_function(tool, NAMING, notes, strict=strict) for tool in offered(catalog, session, NAMING)]
    return Definitions(made, notes)


def calls(response: Any, catalog: Offering | None = None) -> list[ToolCall]:
    """
    The calls in *response*: a `ChatCompletion`, its message, or the JSON of either.

    Arguments stay the text they are; with *catalog*, names are resolved exactly, and where the text has nulls that
    strict mode forced, it is read and they are taken out.
    """
    return chat_calls(response, catalog, NAMING, "openai")


def results(results: Sequence[ToolResult]) -> list[dict[str, Any]]:
    """One message for each result; images, which those cannot hold, in a user message after them."""
    answers = given(results)
    made: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": sent_id(result.call_id), "content": text_of(result)} for result in answers
    ]
    shown: list[dict[str, Any]] = []
    for result in answers:
        for picture in pictures_of(result):
            shown.append(
                {"type": "text", "text": f"An image from the result of `{result.tool}` ({sent_id(result.call_id)}):"}
            )
            shown.append({"type": "image_url", "image_url": {"url": picture.url}})
    return [*made, {"role": "user", "content": shown}] if shown else made
