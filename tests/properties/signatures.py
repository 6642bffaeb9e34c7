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
class _Parameter:
    name: str
    kind: str
    type: Typed


_KINDS = ["positional-only", "ordinary", "variadic", "keyword-only", "keywords"]
# Strategies are made once: to make and check one costs more than to draw from it.
_NAMES = st.lists(st.sampled_from(NAMES), max_size=3, unique=True)
_FURTHER = st.sampled_from([*NAMES, "more", "not an identifier"])


@st.composite
def _parameters(draw: Any) -> list[_Parameter]:
    names = draw(_NAMES)
    kinds = sorted(draw(st.lists(st.sampled_from(_KINDS), min_size=len(names), max_size=len(names))), key=_KINDS.index)
    found = [_Parameter(name, kind, draw(typed())) for name, kind in zip(names, kinds, strict=True)]
    # At most one `*args` and one `**kwargs`.
    return [
        each
        for index, each in enumerate(found)
        if each.kind not in ("variadic", "keywords") or each.kind not in [other.kind for other in found[:index]]
    ]


def _source(parameters: list[_Parameter], defaults: dict[str, Any]) -> str:
    words: list[str] = []
    last = max((index for index, each in enumerate(parameters) if each.kind == "positional-only"), default=-1)
    starred = any(each.kind == "variadic" for each in parameters)
    for index, each in enumerate(parameters):
        if each.kind == "keyword-only" and not starred:
            words.append("*")
            starred = True
        stars = {"variadic": "*", "keywords": "**"}.get(each.kind, "")
        words.append(f"{stars}{each.name}" + (f"=defaults[{each.name!r}]" if each.name in defaults else ""))
        if index == last:
            words.append("/")
    return f"def drawn({', '.join(words)}):\n    'Take what was drawn.'\n    return locals()"


@functools.cache
def cases() -> st.SearchStrategy[Case]:
    """A tool from a random signature, and arguments for it."""
    return _cases(_parameters())


@st.composite
def _cases(draw: Any, signatures: st.SearchStrategy[list[_Parameter]]) -> Case:
    parameters = draw(signatures)
    defaults: dict[str, Any] = {}
    for each in parameters:
        if each.kind in ("positional-only", "ordinary"):
            # After one with a default Python wants defaults for all that are taken by position.
            if (defaults and each.kind != "keyword-only") or draw(st.booleans()):
                defaults[each.name] = draw(each.type.values)
        elif each.kind == "keyword-only" and draw(st.booleans()):
            defaults[each.name] = draw(each.type.values)
    space: dict[str, Any] = {"defaults": defaults}
    exec(_source(parameters, defaults), space)
    space["drawn"].__annotations__ = {each.name: each.type.hint for each in parameters}
    arguments: dict[str, Any] = {}
    complete: dict[str, Any] = {}
    for each in parameters:
        if each.kind == "variadic":
            complete[each.name] = draw(st.lists(each.type.values, max_size=2))
            arguments[each.name] = complete[each.name]
        elif each.kind == "keywords":
            taken = {other.name for other in parameters}
            further = draw(st.dictionaries(_FURTHER, each.type.values, max_size=2))
            given = {name: value for name, value in further.items() if name not in taken}
            arguments.update(given)
            complete.update(given)
        elif each.name not in defaults or draw(st.booleans()):
            arguments[each.name] = complete[each.name] = draw(each.type.values)
        else:
            complete[each.name] = defaults[each.name]
    return Case(
        Tool.described(space["drawn"], name="drawn"), arguments, complete, all(each.type.exact for each in parameters)
    )
