"""
Typed final answers: the form that an agent asks for, and the answer that the model gave in that form.

The form is a tool, `final_answer`, with one parameter of the answer's type. The model calls it, or the provider makes
the model's text follow its schema. Either way the same check reads the answer, and repairs it as arguments are
repaired. The tool is never run: its arguments are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..catalogs.snapshot import describe_place
from ..catalogs.views import CatalogView
from ..errors import BadArgs, DefinitionError, DuplicateTool
from ..formats.schemas.forced_nulls import remove_forced_nulls
from ..spec import Tool
from ..values.codecs.refusals import Unresolved
from ..values.codecs.rules import create_hint_reader
from ..values.schemas.repair import repair_arguments
from ..values.strictjson.checks import copy_json, loads
from .prompts import FINAL_ANSWER

__all__ = ["UNREAD", "AnswerFormat", "FinalAnswer", "check_name_is_free", "is_final_answer"]

_KEY = "answer"
_DESCRIPTION = "Hand over your final answer. Your work ends with it, so call this alone, when you are done."
_SEPARATOR = re.compile(r"[\W_]+")


class _Unread:
    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Final = _Unread()
"""The value of an answer that was read from JSON without its type."""


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """
    The typed answer of a run.

    Attributes:
        json: The answer as the model gave it, after repairs.
        value: The decoded answer; `UNREAD` if its type is not known.
        repairs: What was repaired, in words. It is not saved.
    """

    json: Any
    value: Any = field(default=UNREAD, compare=False)
    repairs: tuple[str, ...] = field(default=(), compare=False)


class AnswerFormat:
    """
    The form of a final answer: a tool whose one argument is the answer.

    Attributes:
        hint: The type of the answer; `Any` if only its schema is known.
    """

    def __init__(self, tool: Tool, hint: Any = Any) -> None:
        self.tool = tool
        self.hint = hint

    @classmethod
    def of(cls, hint: Any) -> AnswerFormat | None:
        """Return the form of an answer of the type *hint*; None for a plain text, for which *hint* is None or `str`."""
        if hint is None or hint is str:
            return None
        if isinstance(hint, str):
            raise DefinitionError(f"output: a type is needed, not its name {hint!r:.80}; write it without quotes")

        def final_answer(answer: Any) -> None:
            """
            Hand over the final answer.

            Args:
                answer: The whole answer.
            """

        try:
            create_hint_reader({}, {}).codec(hint)  # its errors are about the type, and not about a parameter
            final_answer.__annotations__ = {_KEY: hint}
            tool = Tool.described(final_answer, name=FINAL_ANSWER, description=_DESCRIPTION, read_only=True)
            has_answer = _KEY in tool.schema.get("properties", ())
        except Unresolved as error:
            raise DefinitionError(f"output: {hint!r:.200} has a name that is not defined: `{error}`") from error
        except DefinitionError as error:
            raise DefinitionError(f"output: {error}") from error
        if not has_answer:
            raise DefinitionError(f"output: a model cannot send {hint!r:.200}; give a type that has a JSON form")
        return cls(tool, hint)

    @classmethod
    def from_schema(cls, schema: Any) -> AnswerFormat:
        """Return the form with *schema*, the `schema` of another form. Its answers stay plain JSON."""
        if not isinstance(schema, Mapping) or _KEY not in (schema.get("properties") or ()):
            raise ValueError(f"not the form of an answer: it has to be a schema with the property {_KEY!r}")
        try:
            tool = Tool.from_schema(
                FINAL_ANSWER, _DESCRIPTION, copy_json(dict(schema)), lambda arguments: None, read_only=True
            )
            tool.about.checker.validator  # noqa: B018 -- it raises if this is not a schema
        except DefinitionError as error:
            raise ValueError(f"not the form of an answer: {error}") from error
        return cls(tool)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnswerFormat) and self.schema == other.schema

    __hash__ = None  # type: ignore[assignment]  # a schema can change

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an object with the answer under one key."""
        return self.tool.schema

    def read_arguments(self, arguments: Any) -> FinalAnswer:
        """Return the answer in *arguments* of a call; raise `BadArgs` with every problem if they are no answer."""
        if isinstance(arguments, (str, bytes)):
            arguments = self.tool.about.checker.parse(arguments)
        return self._read_value(arguments)

    def _read_value(self, arguments: Any) -> FinalAnswer:
        # Models leave out the one key of the object and send the answer itself.
        is_bare = not isinstance(arguments, dict) or (bool(arguments) and _KEY not in arguments)
        if is_bare:
            arguments = {_KEY: arguments}
        try:
            return self._check(arguments)
        except BadArgs as error:
            refusal = error
        for candidate, notes in self._find_repairs(arguments):
            try:
                return replace(self._check(candidate), repairs=notes)
            except BadArgs:
                continue
        raise refusal

    def read_text(self, text: str) -> FinalAnswer:
        """Return the answer in *text*: JSON, alone or in a fenced block, or a plain text if that is of the type."""
        try:
            value = loads(_remove_fence(text))
        except ValueError as error:
            reason = str(error).removeprefix("not JSON: ")
            refusal = BadArgs(f"it is not JSON in the requested form ({reason})")
        else:
            return self._read_value(value)
        try:
            return self._check({_KEY: text.strip()})  # the word alone, where the type is a choice of words
        except BadArgs:
            raise refusal from None

    def read_json(self, value: Any) -> FinalAnswer:
        """Return the answer *value*, the `json` of another answer. Raise `BadArgs` if it is not of the type."""
        return self.read_arguments({_KEY: value})

    def _check(self, arguments: Any) -> FinalAnswer:
        decoded = self.tool.check(arguments)
        return FinalAnswer(copy_json(arguments[_KEY]), decoded[_KEY])

    def _find_repairs(self, arguments: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
        """Yield *arguments* without the nulls that strict mode forces, and repaired, each with what was repaired."""
        stripped = remove_forced_nulls(arguments, self.tool)
        yield stripped, ()
        repaired = repair_arguments(stripped, self.tool.about.checker.validator, hidden=self.tool.signature.secrets)
        if repaired is not None:
            yield repaired.arguments, repaired.notes


def _remove_fence(text: str) -> str:
    """Return the content of *text* if that is a fenced block, and otherwise *text*."""
    mark, _, content = text.strip().partition("\n")
    is_fenced = mark.rstrip().lower() in ("```", "```json") and content.endswith("```")
    return content.removesuffix("```") if is_fenced else text


def is_final_answer(name: str) -> bool:
    """Return whether a call of *name* means `final_answer`; models change the case and the separators of names."""
    return name == FINAL_ANSWER or _SEPARATOR.sub("", name).lower() == _SEPARATOR.sub("", FINAL_ANSWER)


def check_name_is_free(catalog: CatalogView) -> None:
    """Raise `DuplicateTool` if *catalog* has a tool with the name of the form of final answers."""
    tool = catalog.get(FINAL_ANSWER)
    if tool is not None:
        raise DuplicateTool(
            f"`{FINAL_ANSWER}` is how an agent with `output=` gets its answer, so {describe_place(tool)} cannot be "
            "called that; give it another name, or leave it out with `filtered`"
        )
