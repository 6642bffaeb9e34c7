"""
Objects that are tools by their shape: they have `name`, `description`, `schema` and `call`.

Attributes with the names of facts (`destructive = True`) are the facts of such a tool. They are checked like the
options of `@tool`. An attribute that is nearly the name of a fact is refused, because a misspelt fact would have no
effect.
"""

from __future__ import annotations

import functools
import inspect
from types import FunctionType
from typing import Any

from ..errors import DefinitionError
from ..facts import FACT_NAMES, build_facts, fits_fact
from ..spec import Tool

__all__ = ["build_object_tool", "is_tool_object"]

_TOOL_ATTRIBUTES = ("name", "description", "schema", "call")
_FUNCTION_FACTS = frozenset({"concurrency_safe", "approval", "preflight", "preview", "validate", "summary", "activity"})
"""The facts that may be functions of the arguments. A method of another name is called to get the fact."""

_LEAST_SIMILARITY = 0.8
_ABSENT = object()


def is_tool_object(source: Any) -> bool:
    """Return whether *source* has the attributes of a tool. Attributes that it only makes up do not count."""
    if type(source) is FunctionType:  # nearly all tools are functions, whose own attributes are all in one dictionary
        return all(name in source.__dict__ for name in _TOOL_ATTRIBUTES)
    return all(inspect.getattr_static(source, name, _ABSENT) is not _ABSENT for name in _TOOL_ATTRIBUTES)


def build_object_tool(source: Any) -> Tool:
    """Return the tool that *source* is, with the facts that its attributes state."""
    name, description, schema = (_read_attribute(source, name) for name in _TOOL_ATTRIBUTES[:3])
    subject = f"{type(source).__module__}.{type(source).__qualname__}, the tool `{name}`"
    options = _read_facts(source, subject)
    try:
        build_facts(options, subject)
    except DefinitionError as error:
        raise DefinitionError(f"{error}; attributes with the names of facts state facts, so rename any other") from None
    return Tool.from_schema(name, description, schema, source.call, **options)


def _read_attribute(source: Any, name: str) -> Any:
    value = getattr(source, name)
    return value() if callable(value) else value


def _read_facts(source: Any, subject: str) -> dict[str, Any]:
    """Return the facts that the attributes of *source* state, and refuse attributes that nearly have such a name."""
    names = [name for name in _list_own_names(source) if not name.startswith("_")]
    stated = [name for name in names if name in FACT_NAMES]
    for name in names:
        if name not in FACT_NAMES and name not in _TOOL_ATTRIBUTES:
            _refuse_near_miss(source, name, stated, subject)
    options = {}
    for name in stated:
        try:
            options[name] = getattr(source, name) if name in _FUNCTION_FACTS else _read_attribute(source, name)
        except AttributeError as error:
            if error.obj is not source or error.name != name:
                raise DefinitionError(f"{subject}: `{name}` cannot be read: {error}") from error
            # A slot that was never set states nothing.
        except Exception as error:
            raise DefinitionError(f"{subject}: `{name}` cannot be read: {type(error).__name__}: {error}") from error
    return options


def _list_own_names(source: Any) -> list[str]:
    """Return the names of the attributes of *source* and its classes, in the order of definition."""
    # Each model of pydantic inherits a method `validate`, which is not the author's statement.
    owners = [cls for cls in reversed(type(source).__mro__) if cls.__module__.partition(".")[0] != "pydantic"]
    spaces = [vars(owner) for owner in owners[1:]]  # the first is `object`
    return list(dict.fromkeys(name for space in (*spaces, getattr(source, "__dict__", {})) for name in space))


def _refuse_near_miss(source: Any, name: str, stated: list[str], subject: str) -> None:
    """Raise `DefinitionError` if *name* is probably a misspelt fact: the value fits, and the fact is not stated."""
    import difflib  # it takes long to import, and few tools are objects

    value = inspect.getattr_static(source, name, None)
    if inspect.ismemberdescriptor(value):  # a slot
        value = getattr(source, name, None)
    folded = name.replace("_", "").lower().removesuffix("hint")  # MCP calls it `readOnlyHint`
    if isinstance(value, (property, functools.cached_property)):
        # Reading it may have an effect, so its value is unknown. Only the exact words count.
        candidates = {fact.replace("_", ""): fact for fact in FACT_NAMES if fact.replace("_", "") == folded}
    else:
        candidates = {fact.replace("_", ""): fact for fact in FACT_NAMES if fits_fact(fact, value)}
    for match in difflib.get_close_matches(folded, candidates, n=1, cutoff=_LEAST_SIMILARITY):
        if candidates[match] not in stated:
            raise DefinitionError(
                f"{subject}: the attribute `{name}` states no fact; did you mean `{candidates[match]}`? "
                f"If not, give it a name that is less alike, or one that starts with `_`"
            )
