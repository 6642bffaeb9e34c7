"""
The official types as judges of what we send: what comes out of them has to be what went in.

They drop keys that they do not know without a word, so that "it validates" alone proves nothing.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import pydantic

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a package says of itself when it is imported is not ours to mend
    import anthropic.types
    from google.genai import types as gemini_types
    from openai.types import chat
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

__all__ = ["validate_messages"]

_PLACES = {"anthropic": "messages", "openai": "messages", "openai_responses": "input", "gemini": "contents"}
# One type a role: in their union, the first member to try uses up what iterables hold.
_ROLES: dict[str, dict[str, Any]] = {
    "anthropic": {"user": anthropic.types.UserMessageParam, "assistant": anthropic.types.AssistantMessageParam},
    "openai": {
        "system": chat.ChatCompletionSystemMessageParam,
        "user": chat.ChatCompletionUserMessageParam,
        "assistant": chat.ChatCompletionAssistantMessageParam,
        "tool": chat.ChatCompletionToolMessageParam,
    },
}


def validate_messages(name: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of *body*, which the official client's types have taken without losing anything."""
    messages = body[_PLACES[name]]
    for message in messages:
        assert _through(name, message) == message
    return messages


def _through(name: str, message: dict[str, Any]) -> Any:
    if name == "gemini":
        content = gemini_types.Content.model_validate(message)
        return json.loads(content.model_dump_json(by_alias=True, exclude_unset=True))
    adapter = _adapter(ResponseInputItemParam if name == "openai_responses" else _ROLES[name][message["role"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydantic's, of iterables that it turns into lists
        return json.loads(adapter.dump_json(adapter.validate_python(message)))


@cache
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(kind)
