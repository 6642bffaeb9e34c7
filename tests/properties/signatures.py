"""
Random functions: parameters of every kind with random types, and calls that fit.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from hypothesis import strategies as st

from toolkit.spec import Tool

from .types import NAMES, Typed, typed

__all__ = ["Case", "cases"]


@dataclasses.dataclass(frozen=True)
class Case:
    """
    A tool, and Python arguments that fit it.

    Attributes:
        exact: Whether the arguments come back equal, not merely as the same JSON.
        complete: The arguments with the defaults of those that were left out.
    """

    tool: Tool
    arguments: dict[str, Any]
    complete: dict[str, Any]
    exact: bool

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        hints = self.tool.function.__annotations__
        printer.text(f"Case of {self.tool.schema}\n  with {hints}\n  for {self.arguments!r}")


@dataclasses.dataclass(frozen=True)
class _DrawnParameter:
    name: str
    kind: str
    type: Typed


_KINDS = ["positional-only", "ordinary", "variadic", "keyword-only", "keywords"]
# Strategies are made once: to make and check one costs more than to draw from it.
_NAMES = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
_FURTHER = st.sampled_from([*NAMES, "more", "not an identifier"])


@st.composite
def _parameters(draw: Any) -> list[_DrawnParameter]:
    names = draw(_NAMES)
    kinds = sorted(draw(st.lists(st.sampled_from(_KINDS), min_size=len(names), max_size=len(names))), key=_KINDS.index)
    parameters = [_DrawnParameter(name, kind, draw(typed())) for name, kind in zip(names, kinds, strict=True)]
    # At most one `*args` and one `**kwargs`.
    return [
        parameter
        for index, parameter in enumerate(parameters)
        if parameter.kind not in ("variadic", "keywords")
        or parameter.kind not in [other.kind for other in parameters[:index]]
    ]


def _source(parameters: list[_DrawnParameter], defaults: dict[str, Any]) -> str:
    words: list[str] = []
    last = max((index for index, parameter in enumerate(parameters) if parameter.kind == "positional-only"), default=-1)
    starred = any(parameter.kind == "variadic" for parameter in parameters)
    for index, parameter in enumerate(parameters):
        if parameter.kind == "keyword-only" and not starred:
            words.append("*")
            starred = True
        stars = {"variadic": "*", "keywords": "**"}.get(parameter.kind, "")
        words.append(
            f"{stars}{parameter.name}" + (f"=defaults[{parameter.name!r}]" if parameter.name in defaults else "")
        )
        if index == last:
            words.append("/")
    return f"def drawn({', '.join(words)}):\n    'Take what was drawn.'\n    return locals()"


@functools.cache
def cases() -> st.SearchStrategy[Case]:
    """Draw a tool from a random signature, and arguments for it."""
    return _cases(_parameters())


@st.composite
def _cases(draw: Any, signatures: st.SearchStrategy[list[_DrawnParameter]]) -> Case:
    parameters = draw(signatures)
    defaults: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in ("positional-only", "ordinary"):
            # After one with a default Python wants defaults for all that are taken by position.
            if (defaults and parameter.kind != "keyword-only") or draw(st.booleans()):
                defaults[parameter.name] = draw(parameter.type.values)
        elif parameter.kind == "keyword-only" and draw(st.booleans()):
            defaults[parameter.name] = draw(parameter.type.values)
    space: dict[str, Any] = {"defaults": defaults}
    exec(_source(parameters, defaults), space)
    space["drawn"].__annotations__ = {parameter.name: parameter.type.hint for parameter in parameters}
    arguments: dict[str, Any] = {}
    complete: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind == "variadic":
            complete[parameter.name] = draw(st.lists(parameter.type.values, max_size=2))
            arguments[parameter.name] = complete[parameter.name]
        elif parameter.kind == "keywords":
            names_in_use = {other.name for other in parameters}
            further = draw(st.dictionaries(_FURTHER, parameter.type.values, max_size=2))
            extra = {name: value for name, value in further.items() if name not in names_in_use}
            arguments.update(extra)
            complete.update(extra)
        elif parameter.name not in defaults or draw(st.booleans()):
            arguments[parameter.name] = complete[parameter.name] = draw(parameter.type.values)
        else:
            complete[parameter.name] = defaults[parameter.name]
    return Case(
        Tool.described(space["drawn"], name="drawn"),
        arguments,
        complete,
        all(parameter.type.exact for parameter in parameters),
    )
