"""
What a catalog is given, and the tools in it.

A function is a tool, an object has decorated methods or is a tool by its
shape, a module exports some, another catalog holds some.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..errors import CatalogError
from ..functions.callables import underlying
from ..spec import Tool, attached
from .views import CatalogView

__all__ = ["Offer", "offers_of", "tools_in"]

_SHAPE = ("name", "description", "schema", "call")
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool to be added, and the other names it should answer to."""

    tool: Tool
    aliases: tuple[str, ...]


def offers_of(thing: Any) -> list[Offer]:
    """The tools that *thing* is, has or holds."""
    if isinstance(thing, CatalogView):
        # The aliases given by a catalog count, not only those that a tool's author stated.
        table = thing.table
        answering: dict[str, list[str]] = {name: [] for name in table.tools}
        for alias, name in table.aliases.items():
            answering[name].append(alias)
        return [Offer(tool, tuple(answering[name])) for name, tool in table.tools.items()]
    return [Offer(tool, tool.facts.aliases) for tool in _tools_of(thing)]


def _tools_of(thing: Any) -> Sequence[Tool]:
    if isinstance(thing, Tool):
        return [_complete(thing)]
    if isinstance(thing, (str, ModuleType, type)):
        remedy = {str: "`catalog.load` adds a module by name", type: "add an instance"}
        hint = next((text for kind, text in remedy.items() if isinstance(thing, kind)), "use `catalog.load`")
        raise CatalogError(f"{reprlib.repr(thing)} is not a tool; {hint}")
    found = attached(thing)
    if found is not None:
        return [_complete(found)]
    methods = _methods(thing)
    if methods:
        return methods
    if all(inspect.getattr_static(thing, name, _ABSENT) is not _ABSENT for name in _SHAPE):
        return [_by_shape(thing)]
    if callable(thing):
        return [Tool.of(thing)]
    raise CatalogError(
        f"{reprlib.repr(thing)} is not a tool: add a function, a Tool, a catalog, an object with decorated methods, "
        f"or one that has name, description, schema and call"
    )


def _complete(tool: Tool) -> Tool:
    if tool.takes_object(tool.function):
        raise CatalogError(f"{tool.about.subject} is a method of a class; add an instance of the class")
    return tool.bound(tool.function) if tool.is_method else tool


def _methods(thing: Any) -> list[Tool]:
    """The decorated methods of an object's class, bound to it, in the order they were written."""
    if inspect.isroutine(thing):
        return []
    # What a subclass has written over is replaced, in its place; properties are never asked.
    written: dict[str, Any] = {}
    for owner in reversed(type(thing).__mro__):
        written.update(vars(owner))
    found = []
    for name, each in written.items():
        tool = attached(each)
        if tool is None and isinstance(each, (staticmethod, classmethod)):
            tool = attached(each.__func__)
        if tool is not None and tool.is_method:
            found.append(tool.bound(getattr(thing, name)))
    return found


def _by_shape(thing: Any) -> Tool:
    values = {}
    for name in ("name", "description", "schema"):
        value = getattr(thing, name)
        values[name] = value() if callable(value) else value
    return Tool.from_schema(values["name"], values["description"], values["schema"], thing.call)


def tools_in(module: ModuleType, shared: CatalogView) -> list[Any]:
    """
    What a module offers: its `__all__`, or else what it defines; of that, tools and catalogs.

    *shared* is the catalog that everyone adds to: nobody's export, but the only one to know the tool of
    something that takes no attributes.
    """
    listed = getattr(module, "__all__", None)
    found: list[Any] = []
    for name in vars(module) if listed is None else listed:
        thing = _exported(module, name)
        if issubclass(type(thing), CatalogView):
            if thing is not shared:
                found.append(thing)
            continue
        tool = thing if isinstance(thing, Tool) else attached(thing) or _registered(thing, shared)
        if tool is None or tool.takes_object(tool.function):
            # An object with decorated methods counts where its author lists it: there may be several of a kind.
            found += [] if listed is None else _methods(thing)
            continue
        home = getattr(underlying(tool.function), "__module__", None)
        if listed is not None or home == module.__name__ or isinstance(thing, Tool):
            found.append(tool)
    return found


def _exported(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        raise CatalogError(f"{module.__name__} lists {name!r} in `__all__`, but has no such name") from None


def _registered(thing: Any, shared: CatalogView) -> Tool | None:
    if not callable(thing) or isinstance(thing, type):
        return None
    return next((tool for tool in shared if tool.function is thing), None)
