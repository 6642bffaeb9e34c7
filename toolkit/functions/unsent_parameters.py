"""
Decide which parameters a model does not send.

The options `hidden` and `inject` name such parameters of a function that cannot be edited, and `parameters` describes
the others. Other parameters are left out because their type has no JSON form, which works if they have a default. A
warning says which.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from inspect import Parameter
from typing import Any, NamedTuple, get_origin

from .._plumbing.records import record
from ..errors import DefinitionError, find_nearest
from ..values.codecs.base import Schema, type_name

__all__ = [
    "NO_OPTIONS",
    "Omission",
    "ParameterOptions",
    "describe_missing_types",
    "describe_omissions",
    "describe_refusal",
    "is_optional",
]

_MAX_TYPE_CHARS = 60
_MAX_TYPES = 6


@record(frozen=True, slots=True, kw_only=True)
class ParameterOptions:
    """
    What the options of a tool say about its parameters.

    Attributes:
        hidden: The parameters that keep their default.
        inject: The parameters that are filled from the resources of a call, with the type that each asks for.
        flat: Whether the fields of the only parameter that is sent are the arguments.
        texts: The descriptions of parameters that are sent.
    """

    hidden: frozenset[str] = frozenset()
    inject: Mapping[str, Any] = field(default_factory=dict)
    flat: bool = False
    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> ParameterOptions:
        """Return what the options `hidden`, `inject`, `flat` and `parameters` say."""
        hidden, inject, flat, texts = (options.get(name) for name in ("hidden", "inject", "flat", "parameters"))
        if not (hidden or inject or flat or texts):
            return NO_OPTIONS
        return cls(hidden=frozenset(hidden or ()), inject=dict(inject or {}), flat=bool(flat), texts=dict(texts or {}))

    def check(self, parameters: Sequence[Parameter], bound_names: Collection[str], subject: str) -> None:
        """Raise one `DefinitionError` for all mistakes, if the function has other *parameters* than the options say."""
        if not self.hidden and not self.inject:
            return
        by_name = {parameter.name: parameter for parameter in parameters}
        mistakes = [*self._find_unknown(by_name, bound_names), *self._find_unfit(by_name)]
        if mistakes:
            raise DefinitionError(f"{subject}: {'; '.join(mistakes)}")

    def _find_unknown(self, by_name: Mapping[str, Parameter], bound_names: Collection[str]) -> Iterator[str]:
        for option, names in (("hidden", sorted(self.hidden)), ("inject", self.inject)):
            for name in names:
                if name in by_name:
                    continue
                if name in bound_names:
                    yield f"`{option}` names `{name}`, which the partial has bound already; leave it out"
                    continue
                yield f"`{option}` names `{name}`, which is not a parameter; {_suggest(name, by_name)}"

    def _find_unfit(self, by_name: Mapping[str, Parameter]) -> Iterator[str]:
        for name in sorted(self.hidden & by_name.keys()):
            if name in self.inject:
                yield f"`{name}` is in `hidden` and in `inject`; name it in one of them"
            elif not is_optional(by_name[name]):
                yield (
                    f"`hidden` names `{name}`, which has no default, so no call could be made; "
                    f"fill it with `inject=`, or bind it with `functools.partial`"
                )
        for name, kind in self.inject.items():
            if name in by_name and by_name[name].kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                yield f"`inject` names `{by_name[name]}`, which takes any number of values; only one can be injected"
            elif not isinstance(kind, type) and get_origin(kind) is None:
                yield (
                    f"`inject` wants the type of `{name}`, got {reprlib.repr(kind)}; give the class, and the value "
                    f"in the `resources=` of the dispatcher"
                )

    def describe(self, schema: Schema, subject: str, *, is_handwritten: bool) -> Schema:
        """Return the *schema* of all arguments with the descriptions of the option `parameters`."""
        if not self.texts:
            return schema
        if is_handwritten:
            raise DefinitionError(f"{subject}: with `schema`, write the descriptions of `parameters` into the schema")
        properties = dict(schema.get("properties", {}))
        for name, text in self.texts.items():
            if name not in properties:
                raise DefinitionError(
                    f"{subject}: `parameters` names `{name}`, which a model does not send; {_suggest(name, properties)}"
                )
            properties[name] = {**properties[name], "description": text}
        return {**schema, "properties": properties}


def _suggest(name: str, names: Mapping[str, Any]) -> str:
    near = find_nearest(name, names, max_items=1)
    return f"did you mean `{near[0]}`?" if near else f"the parameters are: {', '.join(names) or 'none'}"


NO_OPTIONS = ParameterOptions()
"""The record of nearly all tools, whose options say nothing about parameters."""


def is_optional(parameter: Parameter) -> bool:
    """Return whether a call may leave *parameter* out."""
    return parameter.default is not Parameter.empty or parameter.kind in (
        Parameter.VAR_POSITIONAL,
        Parameter.VAR_KEYWORD,
    )


def describe_refusal(parameter: Parameter, hint: Any, reason: str) -> str:
    """Return why a model cannot send *parameter*, and every remedy."""
    name, kind = parameter.name, type_name(hint)
    if len(kind) > _MAX_TYPE_CHARS // 2:
        kind = "..."
    return (
        f"{reason}, so a model cannot send it; let the program provide it: `{name}: Inject[{kind}]`, or "
        f'`inject={{"{name}": {kind}}}` if the function is not yours; or bind it with `functools.partial`, or give it '
        f'a default and `hidden=["{name}"]`; if a model should send it, use another type, or call `register_codec`'
    )


class Omission(NamedTuple):
    """
    Something that the schemas of a tool do not say.

    Attributes:
        rule: The name that `toolkit check` gives to it.
        fault: What is left out, and what follows from it.
        remedy: What the author can write.
    """

    rule: str
    fault: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.fault}. {self.remedy}"


def describe_missing_types(parameters: Sequence[Parameter]) -> list[Omission]:
    """Return one omission if none of *parameters*, which a model sends, has a type."""
    if not parameters or any(parameter.annotation is not Parameter.empty for parameter in parameters):
        return []
    fault = "no parameter has a type, so a model is not told what to send, and any value is passed on"
    remedy = (
        f"Annotate them, as in `{parameters[0].name[:60]}: str`; if the function is not yours, give `schema=`, or call "
        f"it in one of your own; name in `hidden=` what a model should not send"
    )
    return [Omission("untyped", fault, remedy)]


def describe_omissions(left_out: Mapping[str, str], narrowed: Mapping[str, Sequence[str]]) -> list[Omission]:
    """
    Return what a schema leaves out, one entry for each remedy.

    *left_out* has parameters with the reason, and *narrowed* the members of unions that have no JSON form.
    """
    omissions = []
    if left_out:
        reasons = ", ".join(f"`{name}` ({reason})" for name, reason in left_out.items())
        fault = f"a model cannot send {reasons}; left out of the schema, with its default in each call"
        hidden = f"hidden={json.dumps(list(left_out))}"
        remedy = f"Write `{hidden}` if this is meant, or `inject=` to fill it from resources"
        omissions.append(Omission("left-out", fault, remedy))
    if narrowed:
        members = ", ".join(f"`{name}` (not {_join(kinds)})" for name, kinds in narrowed.items())
        fault = f"a model can send only some of the types of {members}; the others have no JSON form"
        remedy = "Call `register_codec` for a type that it should send, or ignore this warning"
        omissions.append(Omission("narrowed", fault, remedy))
    return omissions


def _join(kinds: Sequence[str]) -> str:
    """Join the names of types with "or", if they are not too many or too long."""
    names = [kind if len(kind) <= _MAX_TYPE_CHARS else f"{kind[: _MAX_TYPE_CHARS - 3]}..." for kind in kinds]
    rest = len(names) - _MAX_TYPES
    return " or ".join([*names[:_MAX_TYPES], *([f"{rest} more"] if rest > 0 else [])])
