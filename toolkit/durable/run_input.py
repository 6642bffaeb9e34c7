"""
The input of a run of an agent: the prompt, and what its session begins with.

The session is kept in the input, so that a process that continues the run, with another session in its agent, gives it
no other authority.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..providers.messages import UserMessage, message_from_json
from .errors import DurableError
from .journal.records import RunRow

__all__ = ["create_or_find", "pack_prompt", "unpack_message", "unpack_prompt", "unpack_session"]


def pack_prompt(prompt: str | UserMessage) -> dict[str, Any]:
    """Return *prompt* as JSON, which `unpack_prompt` reads."""
    if isinstance(prompt, UserMessage):
        return {"message": prompt.to_json()}
    if not isinstance(prompt, str) or not prompt.strip():
        raise TypeError(f"a prompt is a text that is not empty, or a UserMessage; got {prompt!r:.60}")
    return {"prompt": prompt}


def unpack_prompt(data: Mapping[str, Any]) -> str | UserMessage:
    """Return the prompt of the input *data*; raise `ValueError` if it has none."""
    message = message_from_json(data["message"]) if "message" in data else data.get("prompt")
    if not isinstance(message, (str, UserMessage)):
        raise ValueError("the run has no prompt")  # noqa: TRY004 -- unread JSON
    return message


def unpack_message(data: Mapping[str, Any]) -> UserMessage:
    """Return the prompt of the input *data* as a message."""
    prompt = unpack_prompt(data)
    return UserMessage.of(prompt) if isinstance(prompt, str) else prompt


def unpack_session(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the session of a run begins with; None if no agent has started it (`toolkit runs start`)."""
    state = data.get("session")
    if state is not None and not isinstance(state, Mapping):
        raise ValueError("the `session` of a run has to be an object")
    return state


async def create_or_find(
    create: Callable[[Mapping[str, Any]], Awaitable[RunRow]],
    find: Callable[[], Awaitable[RunRow]],
    data: Mapping[str, Any],
) -> RunRow:
    """
    Return what *create* returns for a run with the input *data*.

    A run that was started with the same prompt and another session is the same run, and keeps its session. *find*
    returns the run with the same id.
    """
    try:
        return await create(data)
    except DurableError as error:
        if error.why != "changed":
            raise
        row = await find()
        if row.input == data or {**row.input, "session": None} != {**data, "session": None}:
            raise
    return await create(row.input)
