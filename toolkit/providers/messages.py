"""
A conversation in nobody's format: what the user said, what the model said, what the tools said.

Messages are values. They go to JSON and back with a version, so that a conversation can be kept;
what is read back is data, and anything that is no message is refused with its place.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from ..content import FilePart, ImagePart, Part, TextPart, part_from_json
from ..results import ToolCall, ToolResult
from ..values.rendering import as_json
from ..values.strictjson.checks import copied

__all__ = ["AssistantMessage", "Message", "Native", "PerMessage", "ToolMessage", "UserMessage", "message_from_json"]

_VERSION = 1

T = TypeVar("T")


class _Value(ABC):
    """Equal if the JSON is: calls and results, which messages hold, do not compare by what they say."""

    __slots__ = ()

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain JSON with a version; `message_from_json` reads it."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, _Value) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]  # what calls and results hold can change


@dataclass(frozen=True, slots=True, eq=False)
class UserMessage(_Value):
    """What the user says: text, images, files, in order."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *parts: str | Part) -> UserMessage:
        """The short way: `UserMessage.of("What is this?", ImagePart(data))`."""
        return cls(tuple(TextPart(part) if isinstance(part, str) else part for part in parts))

    @property
    def text(self) -> str:
        """Its text parts, each on lines of its own."""
        return "\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    def to_json(self) -> dict[str, Any]:
        return {"version": _VERSION, "role": "user", "parts": [copied(as_json(part.to_json())) for part in self.parts]}


@dataclass(frozen=True, slots=True)
class Native:
    """
    What a provider said, in its own words.

    Thinking with its signature, reasoning items, thought signatures: they mean something to that provider
    alone, and go back to it as they were. Others never see them.

    Attributes:
        provider: The `name` of the provider that said it.
        content: Plain JSON.
    """

    provider: str
    content: Any

    def to_json(self) -> dict[str, Any]:
        return {"provider": self.provider, "content": copied(self.content)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssistantMessage(_Value):
    """
    What the model says.

    Attributes:
        calls: The tools it wants called. Names are the catalog's; arguments are a dictionary, or the
            provider's text where that was no JSON object.
        native: The same message in its provider's own words, if there is more to it than text and calls.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    native: Native | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "version": _VERSION,
            "role": "assistant",
            "text": self.text,
            "calls": [{"id": call.id, "name": call.name, "arguments": copied(call.arguments)} for call in self.calls],
            "native": None if self.native is None else self.native.to_json(),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ToolMessage(_Value):
    """What came of the calls of one turn: all results, in the order of the calls."""

    results: tuple[ToolResult, ...]

    def to_json(self) -> dict[str, Any]:
        results = [copied(result.to_json()) for result in self.results]
        return {"version": _VERSION, "role": "tool", "results": results}


Message: TypeAlias = UserMessage | AssistantMessage | ToolMessage


class PerMessage(Generic[T]):
    """
    What *make* gives for each message of a conversation that grows, made once.

    Messages are values: one that is the same object is the same message. Otherwise a turn would cost as much as
    all turns before it.
    """

    def __init__(self, make: Callable[[Message], T]) -> None:
        self._make = make
        self._messages: list[Message] = []
        self._made: list[T] = []

    def of(self, messages: Sequence[Message]) -> Sequence[T]:
        """What was made of *messages*, in order."""
        known = len(self._messages)
        if known > len(messages) or not all(map(operator.is_, self._messages, messages)):
            self._messages, self._made, known = [], [], 0  # something was cut, or put in another's place
        self._made += [self._make(message) for message in messages[known:]]  # all of them, or it raises and has none
        self._messages += messages[known:]
        return self._made


def message_from_json(data: Mapping[str, Any]) -> Message:
    """The inverse of a message's `to_json`; `ValueError`, with the place, for what is none."""
    if not isinstance(data, Mapping):
        raise ValueError(f"not a message: expected an object, got {type(data).__name__}")  # noqa: TRY004 -- unread JSON
    version, role = data.get("version"), data.get("role")
    if type(version) is not int or version != _VERSION:
        raise ValueError(f"a message of version {version!r} cannot be read; version {_VERSION} can")
    if not isinstance(role, str) or role not in _READERS:
        raise ValueError(f"not a message: nobody knows the role {role!r}; known are {', '.join(_READERS)}")
    try:
        return _READERS[role](data)
    except RecursionError as error:
        raise ValueError("not a message: it nests too deeply") from error


def _user(data: Mapping[str, Any]) -> UserMessage:
    return UserMessage(tuple(_each(data, "parts", _part)))


def _assistant(data: Mapping[str, Any]) -> AssistantMessage:
    native = _field(data, "native", (Mapping, type(None)))
    return AssistantMessage(
        text=_field(data, "text", str),
        calls=tuple(_each(data, "calls", _call)),
        native=None if native is None else Native(_field(native, "provider", str), copied(native.get("content"))),
    )


def _tool(data: Mapping[str, Any]) -> ToolMessage:
    return ToolMessage(tuple(_each(data, "results", lambda each: ToolResult.from_json(copied(each)))))


_READERS: dict[str, Callable[[Mapping[str, Any]], Message]] = {"user": _user, "assistant": _assistant, "tool": _tool}


def _call(data: Mapping[str, Any]) -> ToolCall:
    # Whatever a model sent for arguments is kept: the dispatcher words what is wrong with them.
    return ToolCall(_field(data, "name", str), copied(data.get("arguments")), _field(data, "id", str))


def _part(data: Mapping[str, Any]) -> Part:
    part = part_from_json(copied(data))
    for name, kind in _TEXTS.get(type(part), {}).items():
        _field(data, name, kind)
    return part


_TEXTS: dict[type, dict[str, Any]] = {
    TextPart: {"text": str},
    FilePart: {"uri": str, "media_type": str | None, "name": str | None},
    ImagePart: {"media_type": str},
}


def _each(data: Mapping[str, Any], name: str, read: Callable[[Any], Any]) -> list[Any]:
    found = []
    for index, each in enumerate(_field(data, name, (list, tuple))):
        try:
            found.append(read(each))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a message: {name}[{index}]: {error}") from error
    return found


def _field(data: Any, name: str, kind: Any) -> Any:
    value = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(value, kind):
        raise ValueError(f"not a message: {name!r} cannot be {type(value).__name__}")  # noqa: TRY004 -- unread JSON
    return value
