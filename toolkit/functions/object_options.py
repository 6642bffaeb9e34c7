"""
Read the options of a tool from the attributes of an object.

An object may be a tool because it can be called, or because it has the shape of one. Attributes with the names of
options (`destructive = True`) state its options, and are checked like those of `@tool`. An attribute that is nearly the
name of a fact is refused, because a misspelt fact would have no effect.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection
from types import FunctionType
from typing import Any

from ..errors import DefinitionError
from ..facts import FACT_NAMES, OPTION_NAMES, build_facts, fits_fact

__all__ = ["read_attribute", "read_call_options", "read_stated_options"]

_FUNCTION_FACTS = frozenset(
    {"concurrency_safe", "approval", "preflight", "preview", "cost", "validate", "summary", "activity"}
)
"""The facts that may be functions of the arguments. A method of another name is called to get the fact."""

_METHODS = (FunctionType, staticmethod, classmethod)
_LEAST_SIMILARITY = 0.8


def read_call_options(source: Any) -> dict[str, Any]:
    """
    Return the options that a callable object states.

    A wrapper of a function states none. A method that is called `schema` or `describe` is no option, nor is any
    attribute that is called `parameters`, because the names are common ones.
    """
    if inspect.getattr_static(source, "__wrapped__", None) is not None:
        return {}
    names = {
        name
        for name in OPTION_NAMES - {"parameters"}
        if name in FACT_NAMES or not isinstance(inspect.getattr_static(source, name, None), _METHODS)
    }
    return read_stated_options(source, names, f"{type(source).__module__}.{type(source).__qualname__}")


def read_stated_options(
    source: Any, option_names: Collection[str], subject: str, *, ignored: Collection[str] = ()
) -> dict[str, Any]:
    """
    Return the options of *option_names* that the attributes of *source* state.

    Raises:
        DefinitionError: An attribute cannot be read, has the wrong type, or nearly has the name of a fact. Those in
            *ignored* may have such a name.
    """
    names = [name for name in _list_own_names(source) if not name.startswith("_")]
    stated = [name for name in names if name in option_names]
    for name in names:
        if name not in option_names and name not in ignored:
            _refuse_near_miss(source, name, stated, subject)
    options = {}
    for name in stated:
        try:
            options[name] = getattr(source, name) if name in _FUNCTION_FACTS else read_attribute(source, name)
        except AttributeError as error:
            if error.obj is not source or error.name != name:
                raise DefinitionError(f"{subject}: `{name}` cannot be read: {error}") from error
            # A slot that was never set states nothing.
        except Exception as error:
            raise DefinitionError(f"{subject}: `{name}` cannot be read: {type(error).__name__}: {error}") from error
    try:
        build_facts(options, subject)
    except DefinitionError as error:
        raise DefinitionError(f"{error}; attributes with the names of facts state facts, so rename any other") from None
    return options


def read_attribute(source: Any, name: str) -> Any:
    """Return the value of an attribute, or what it returns if it is a method."""
    value = getattr(source, name)
    return value() if callable(value) else value


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
