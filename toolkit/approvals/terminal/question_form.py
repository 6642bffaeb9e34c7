"""
The questions of a tool on a terminal: each is asked in the way that its schema suggests.

    a choice    a numbered list, answered with a number or with the text itself
    boolean     yes or no
    number      a number
    text        the line as it was typed
    object      one property after the other, if all of them are simple
    else        JSON on one line
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...questions import DECLINED, Question
from ...values.strictjson.checks import loads
from ...values.visible import make_visible
from ..answers import find_answer_problems
from .screens import Screen

__all__ = ["CallDenied", "QuestionForm"]

_DECLINE, _DENY = "/decline", "/deny"
_NONE = "[]"
_LEFT_OUT = object()
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
_MAX_CHOICES = 100


class CallDenied(Exception):  # noqa: N818 -- named by what the user has said
    """Raised if the user denies the call in place of an answer."""


@dataclass(frozen=True, slots=True)
class _Field:
    """
    A value that the user types on one line.

    Attributes:
        hint: What to type, in words.
        read: Returns the value of a line, or raises `ValueError` with the reason why it is none.
        choices: The lines of the numbered list, if there is one.
    """

    hint: str
    read: Callable[[str], Any]
    choices: Sequence[str] = ()


class QuestionForm:
    """
    Asks questions on a terminal.

    Args:
        screen: The screen that shows the questions.
        ask: Shows a prompt and returns the line that the user typed; it raises `EOFError` at the end of input.
    """

    def __init__(self, screen: Screen, ask: Callable[[str], str]) -> None:
        self._screen = screen
        self._ask = ask

    def answer_all(self, questions: Sequence[Question]) -> dict[str, Any]:
        """Return the user's answers by the keys of *questions*; raise `CallDenied` if the user denies the call."""
        self._screen.say(f"{_DECLINE} declines a question, and {_DENY} denies the call.")
        return {question.key: self._answer(question) for question in questions}

    def _answer(self, question: Question) -> Any:
        """Ask until the answer fits the schema of *question*, and return it."""
        self._screen.show_block(make_visible(question.message))
        schema = question.schema
        while True:
            properties = _find_simple_properties(schema)
            if properties is None:
                field = _build_simple_field(schema) or _Field("JSON on one line", loads)
                answer = self._ask_field(field, "Answer", schema, "decline")
            else:
                answer = self._ask_properties(schema, properties)
            if answer is _LEFT_OUT or answer is DECLINED:
                return DECLINED
            problems = find_answer_problems(question, answer)[1]
            if not problems:
                return answer
            self._screen.say(make_visible(f"that does not fit: {'; '.join(map(str, problems[:5]))}", keep_lines=False))

    def _ask_properties(self, schema: Mapping[str, Any], properties: Mapping[str, _Field]) -> Any:
        """Ask for each of *properties*, and return them as an object; `DECLINED` if the user declines."""
        values = {}
        for name, field in properties.items():
            inner = schema["properties"][name]
            about = inner.get("description") or inner.get("title") if isinstance(inner, Mapping) else None
            label = _to_line(f"{name} ({about})" if isinstance(about, str) else name)
            is_required = name in schema.get("required", ())
            value = self._ask_field(field, f"  {label}", inner, None if is_required else "leave it out")
            if value is DECLINED:
                return DECLINED
            if value is not _LEFT_OUT:
                values[name] = value
        return values

    def _ask_field(self, field: _Field, label: str, schema: Any, on_empty: str | None) -> Any:
        """
        Return the value of *field* that the user types; `_LEFT_OUT` if the line is empty and the schema has no default.

        *on_empty* says what an empty line does. With None, the field is required.
        """
        for number, choice in enumerate(field.choices, 1):
            self._screen.say(f"    {number}  {_to_line(choice)}")
            if choice in (_DECLINE, _DENY):  # a tool must not take the command away from the user
                self._screen.say(f"       type {number} for this choice; {choice} is the command")
        has_default = isinstance(schema, Mapping) and "default" in schema
        default = _to_line(_show(schema["default"])) if has_default else ""
        empty = f", or nothing for {default}" if has_default else f", or nothing to {on_empty}" if on_empty else ""
        while True:
            line = self._ask(f"{label} [{field.hint}{empty}]: ")
            if line == _DENY:
                raise CallDenied
            if line == _DECLINE:
                return DECLINED
            if not line and has_default:
                return schema["default"]
            if not line and on_empty:
                return _LEFT_OUT
            try:
                return field.read(line)
            except ValueError as error:
                self._screen.say(_to_line(f"{error}; please type {field.hint}"))


def _find_simple_properties(schema: Mapping[str, Any]) -> dict[str, _Field] | None:
    """Return the fields of an object whose properties can be typed one by one; None if *schema* is something else."""
    properties = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(properties, Mapping) or not properties:
        return None
    fields = {name: _build_simple_field(inner) for name, inner in properties.items()}
    if not set(schema.get("required", ())) <= fields.keys():
        return None
    simple = {name: field for name, field in fields.items() if field is not None}
    return simple if len(simple) == len(fields) else None


def _build_simple_field(schema: Any) -> _Field | None:
    """Return how a value of *schema* is typed; None if it has no simple form."""
    if not isinstance(schema, Mapping):
        return None
    if (choices := _find_choices(schema)) is not None:
        return _Field(f"1 to {len(choices)}", lambda line: _pick(line, choices), [text for text, _ in choices])
    if schema.get("type") == "array" and isinstance(items := schema.get("items"), Mapping):
        inner = _find_choices(items)
        return None if inner is None else _build_several(inner)
    return _FIELDS.get(str(schema.get("type")))


def _find_choices(schema: Mapping[str, Any]) -> list[tuple[str, Any]] | None:
    """Return the choices of *schema*, each as the user reads it and as the tool gets it; None if there are none."""
    values = schema.get("enum")
    if isinstance(values, list):
        choices = [(_show(value), value) for value in values]
    else:
        members = schema.get("oneOf") or schema.get("anyOf")
        if not isinstance(members, list) or not all(isinstance(item, Mapping) and "const" in item for item in members):
            return None
        choices = [(str(item.get("title") or _show(item["const"])), item["const"]) for item in members]
    return choices if 0 < len(choices) <= _MAX_CHOICES else None


def _build_several(choices: Sequence[tuple[str, Any]]) -> _Field:
    def read(line: str) -> list[Any]:
        return [] if line.strip() == _NONE else [_pick(part.strip(), choices) for part in line.split(",")]

    return _Field(
        f"numbers from 1 to {len(choices)} with commas, or {_NONE} for none", read, [text for text, _ in choices]
    )


def _pick(line: str, choices: Sequence[tuple[str, Any]]) -> Any:
    """Return the choice that *line* names: by the number that the list shows, or else by its text."""
    numbers = [str(number) for number in range(1, len(choices) + 1)]
    for names in (numbers, [text for text, _ in choices]):
        if line in names:
            return choices[names.index(line)][1]
    raise ValueError(f"{line[:40]!r} is not one of the choices")


def _read_boolean(line: str) -> bool:
    word = line.lower()
    if word not in _YES + _NO:
        raise ValueError(f"{line[:40]!r} is neither yes nor no")
    return word in _YES


def _read_number(line: str) -> Any:
    try:
        value = loads(line)
    except ValueError:
        value = None
    if type(value) not in (int, float):
        raise ValueError(f"{line[:40]!r} is no number")
    return value


_FIELDS = {
    "boolean": _Field("yes or no", _read_boolean),
    "integer": _Field("a whole number", _read_number),
    "number": _Field("a number", _read_number),
    "string": _Field("a text", lambda line: "" if line == '""' else line),
}


def _show(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _to_line(text: str) -> str:
    return make_visible(text[:500], keep_lines=False)
