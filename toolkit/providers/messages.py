"""
The messages of the user, the model and the tools in a conversation, in a format that belongs to no provider.

Messages are values. They can be written as JSON with a version and read back, so that a conversation can be saved.
A message that was read back permits nothing. JSON that is not a message is refused, with the place of the error.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from .._plumbing.versioned_json import remove_version
from ..content import FilePart, ImagePart, Part, TextPart, part_from_json
from ..results import ToolCall, ToolResult
from ..values.rendering import as_json
from ..values.strictjson.checks import copy_json

__all__ = ["AssistantMessage", "Message", "MessageCache", "Native", "ToolMessage", "UserMessage", "message_from_json"]

_VERSION = 1

T = TypeVar("T")


class _ComparableMessage(ABC):
    """A message that is equal to another one if their JSON is: calls and results do not compare by content."""

    __slots__ = ()

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the message as plain JSON with a version, which `message_from_json` reads."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, _ComparableMessage) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # the content of calls and results can change


@dataclass(frozen=True, slots=True, eq=False)
class UserMessage(_ComparableMessage):
    """A message of the user: text, images, sound, resources and files, in order."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *parts: str | Part) -> UserMessage:
        """Return a message of *parts*, such as `UserMessage.of("What is this?", ImagePart(data))`."""
        return cls(tuple(TextPart(part) if isinstance(part, str) else part for part in parts))

    @property
    def text(self) -> str:
        """The text of all text parts, each on its own lines."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    def to_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "role": "user",
            "parts": [copy_json(as_json(part.to_json())) for part in self.parts],
        }


@dataclass(frozen=True, slots=True)
class Native:
    """
    The content of a message in the format of the provider that sent it.

    Thinking with its signature, reasoning items and thought signatures mean something only to that provider. They are
    sent back to it unchanged. Other providers never get them.

    Attributes:
        provider: The `name` of the provider that sent the content.
        content: Plain JSON.
    """

    provider: str
    content: Any

    def to_json(self) -> dict[str, Any]:
        return {"provider": self.provider, "content": copy_json(self.content)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssistantMessage(_ComparableMessage):
    """
    A message of the model.

    Attributes:
        text: What the model says; empty if it only calls tools.
        calls: The tool calls that the model wants. Their names are those of the catalog. Their arguments are a
            dictionary, or the provider's text if that was not a JSON object.
        native: The same message in its provider's format, if it has more than text and calls.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    native: Native | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "role": "assistant",
            "text": self.text,
            "calls": [
                {"id": call.id, "name": call.name, "arguments": copy_json(call.arguments)} for call in self.calls
            ],
            "native": None if self.native is None else self.native.to_json(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ToolMessage(_ComparableMessage):
    """The results of all calls of one turn, in the order of the calls."""

    results: tuple[ToolResult, ...]

    def to_json(self) -> dict[str, Any]:
        results = [copy_json(result.to_json()) for result in self.results]
        return {"version": _VERSION, "role": "tool", "results": results}


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage
"""A message of a conversation."""


class MessageCache(Generic[T]):
    """
    A cache of what *compute* returns for each message of a growing conversation.

    Messages do not change, so the same object is the same message, and *compute* is called once for it. Without the
    cache each turn would cost as much as all turns before it.
    """

    def __init__(self, compute: Callable[[Message], T]) -> None:
        self._compute = compute
        self._messages: list[Message] = []
        self._values: list[T] = []

    def values_for(self, messages: Sequence[Message]) -> Sequence[T]:
        """Return the value that the cache's function computes for each of *messages*, in order."""
        cached_count = len(self._messages)
        if cached_count > len(messages) or not all(map(operator.is_, self._messages, messages)):
            self._messages, self._values, cached_count = [], [], 0  # a message was removed or replaced
        # Adds all, or none if it raises.
        self._values += [self._compute(message) for message in messages[cached_count:]]
        self._messages += messages[cached_count:]
        return self._values


def message_from_json(data: Mapping[str, Any]) -> Message:
    """
    Return the message that a message's `to_json` wrote.

    Raises:
        ValueError: *data* is not a message. The error names the place.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"not a message: expected an object, got {type(data).__name__}")  # noqa: TRY004 -- unread JSON
    role = remove_version(data, "a message", _VERSION).get("role")
    if not isinstance(role, str) or role not in _READERS:
        raise ValueError(f"not a message: unknown role {role!r}; known are {', '.join(_READERS)}")
    try:
        return _READERS[role](data)
    except RecursionError as error:
        raise ValueError("not a message: it nests too deeply") from error


def _read_assistant_message(data: Mapping[str, Any]) -> AssistantMessage:
    native = _read_field(data, "native", (Mapping, type(None)))
    if native is not None:
        native = Native(_read_field(native, "provider", str), copy_json(native.get("content")))
    return AssistantMessage(
        text=_read_field(data, "text", str), calls=tuple(_read_items(data, "calls", _read_call)), native=native
    )


_READERS: dict[str, Callable[[Mapping[str, Any]], Message]] = {
    "user": lambda data: UserMessage(tuple(_read_items(data, "parts", _read_part))),
    "assistant": _read_assistant_message,
    "tool": lambda data: ToolMessage(
        tuple(_read_items(data, "results", lambda item: ToolResult.from_json(copy_json(item))))
    ),
}


def _read_call(data: Mapping[str, Any]) -> ToolCall:
    # The arguments are kept exactly as the model sent them. The dispatcher reports what is wrong with them.
    return ToolCall(_read_field(data, "name", str), copy_json(data.get("arguments")), _read_field(data, "id", str))


def _read_part(data: Mapping[str, Any]) -> Part:
    part = part_from_json(copy_json(data))
    for name, kind in _PART_FIELDS.get(type(part), {}).items():
        _read_field(data, name, kind)
    return part


# The other parts check their fields themselves.
_PART_FIELDS: dict[type, dict[str, Any]] = {
    TextPart: {"text": str},
    FilePart: {"uri": str, "media_type": str | None, "name": str | None},
    ImagePart: {"media_type": str},
}


def _read_items(data: Mapping[str, Any], name: str, read: Callable[[Any], Any]) -> list[Any]:
    values = []
    for index, item in enumerate(_read_field(data, name, (list, tuple))):
        try:
            values.append(read(item))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a message: {name}[{index}]: {error}") from error
    return values


def _read_field(data: Any, name: str, kind: Any) -> Any:
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, kind):
        raise ValueError(f"not a message: {name!r} cannot be {type(value).__name__}")  # noqa: TRY004 -- unread JSON
    return value
