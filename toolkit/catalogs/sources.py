"""
The objects that a catalog accepts, and the tools in them.

A function is a tool. An object has decorated methods, or is a tool because it can be called or has the attributes of
one. A module exports tools. Another catalog holds tools.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .._plumbing.records import record
from ..errors import CatalogError
from ..facts import FACT_NAMES
from ..functions.callables import is_same_callable, unwrap_function
from ..spec import Tool, get_attached_tool
from .views import CatalogView

__all__ = ["CatalogEntry", "bind_method", "collect_entries", "tools_in"]

_TOOL_ATTRIBUTES = ("name", "description", "schema", "call")
_ABSENT = object()


@record(frozen=True, slots=True)
class CatalogEntry:
    """
    A tool to add to a catalog, with its aliases there.

    Attributes:
        is_plain: Whether it was given as a function that states nothing, so that it is the same as what a catalog
            already has for this function.
    """

    tool: Tool
    aliases: tuple[str, ...]
    is_plain: bool = False


def collect_entries(source: Any) -> list[CatalogEntry]:
    """Return the tools that *source* is, has or holds, each with its aliases."""
    if isinstance(source, CatalogView):
        # The source catalog may have added aliases, so its aliases count and not only those that the tool's author
        # stated.
        table = source.table
        return [CatalogEntry(tool, tuple(table.aliases_of(name))) for name, tool in table.tools.items()]
    if type(source) in (list, tuple, set, frozenset):
        return [entry for member in source for entry in collect_entries(member)]
    return [
        CatalogEntry(tool, tool.facts.aliases, not tool.options and is_same_callable(tool.function, source))
        for tool in _tools_of(source)
    ]


def _tools_of(source: Any) -> Sequence[Tool]:
    if isinstance(source, Tool):
        return [bind_method(source)]
    if isinstance(source, (str, ModuleType, type)):
        remedy = {str: "`catalog.load` adds a module by name", type: "add an instance"}
        hint = next((text for kind, text in remedy.items() if isinstance(source, kind)), "use `catalog.load`")
        raise CatalogError(f"{reprlib.repr(source)} is not a tool; {hint}")
    tool = get_attached_tool(source)
    if tool is not None:
        return [bind_method(tool)]
    methods = _list_methods(source)
    if methods:
        return methods
    if _has_tool_attributes(source):
        return [_build_object_tool(source)]
    if callable(source):
        return [bind_method(Tool.of(source))]
    if isinstance(source, classmethod):
        raise CatalogError(
            f"{reprlib.repr(source)} is not a tool; add the method as the class or an instance provides it"
        )
    if inspect.getattr_static(source, "as_tool", None) is not None:
        raise CatalogError(f"{reprlib.repr(source)} is not a tool; write `agent.as_tool(name, description)`")
    if overrides := _list_overrides(type(source)):
        raise CatalogError(
            f"{reprlib.repr(source)} is not a tool: {', '.join(overrides)}; decorate the method of the subclass, too"
        )
    raise CatalogError(
        f"{reprlib.repr(source)} is not a tool: add a function, a Tool, a catalog, an object with decorated methods, "
        f"or one that has name, description, schema and call"
    )


def _has_tool_attributes(source: Any) -> bool:
    """Return whether *source* has the attributes of a tool. Attributes that it only makes up do not count."""
    return all(inspect.getattr_static(source, name, _ABSENT) is not _ABSENT for name in _TOOL_ATTRIBUTES)


def _build_object_tool(source: Any) -> Tool:
    """Return the tool that *source* is. Its attributes with the names of facts, as `destructive`, state the facts."""
    from ..functions.object_options import read_attribute, read_stated_options  # few programs have such objects

    name, description, schema = (read_attribute(source, name) for name in _TOOL_ATTRIBUTES[:3])
    subject = f"{type(source).__module__}.{type(source).__qualname__}, the tool `{name}`"
    options = read_stated_options(source, FACT_NAMES, subject, ignored=_TOOL_ATTRIBUTES)
    return Tool.from_schema(name, description, schema, source.call, **options)


def bind_method(tool: Tool) -> Tool:
    """Return *tool* ready to be called, or raise `CatalogError` if it is a method that needs an instance."""
    if tool.takes_object(tool.function):
        raise CatalogError(f"{tool.about.subject} is a method of a class; add an instance of the class")
    return tool.bound(tool.function) if tool.is_method else tool


def _list_methods(instance: Any) -> list[Tool]:
    """Return the decorated methods of an object's class, bound to the object, in the order of definition."""
    if inspect.isroutine(instance):
        return []
    # A method that a subclass overrides keeps the place of the original. The class's own dictionary is read, so that no
    # property of the object is evaluated.
    members: dict[str, Any] = {}
    for owner in reversed(type(instance).__mro__):
        members.update(vars(owner))
    tools = []
    for name, member in members.items():
        tool = _find_tool(member)
        if tool is not None and tool.is_method:
            tools.append(tool.bound(getattr(instance, name)))
    return tools


def _list_overrides(cls: type) -> list[str]:
    """Return, in words, the methods of *cls* that are no tools and override decorated methods of its bases."""
    overrides = []
    for name in {name: None for owner in cls.__mro__ for name in vars(owner)}:
        owners = [owner for owner in cls.__mro__ if name in vars(owner)]
        base = next((owner for owner in owners if _find_tool(vars(owner)[name]) is not None), None)
        if base is not None and base is not owners[0]:
            overrides.append(f"`{owners[0].__name__}.{name}` overrides the tool `{base.__name__}.{name}`")
    return overrides


def _find_tool(member: Any) -> Tool | None:
    tool = get_attached_tool(member)
    return (
        get_attached_tool(member.__func__) if tool is None and isinstance(member, (staticmethod, classmethod)) else tool
    )


def tools_in(module: ModuleType, shared: CatalogView) -> list[Any]:
    """
    Return the tools and catalogs that a module offers.

    The module offers the names in its `__all__`. Without `__all__`, it offers the tools that it defines, and the `Tool`
    objects and catalogs among its global names.

    Args:
        module: The module to read.
        shared: The catalog that all modules add their tools to. It is never an export of the module itself. Some
            callables cannot have attributes, so only this catalog knows the tool that belongs to such a callable.
    """
    listed = getattr(module, "__all__", None)
    exports: list[Any] = []
    for name in vars(module) if listed is None else listed:
        value = _get_export(module, name)
        if issubclass(type(value), CatalogView):
            if value is not shared:
                exports.append(value)
            continue
        tool = value if isinstance(value, Tool) else get_attached_tool(value) or _find_registered(value, shared)
        if tool is None or tool.takes_object(tool.function):
            # An object with decorated methods counts only if the module lists it in `__all__`: a module may have
            # several objects of one class.
            exports += [] if listed is None else _list_methods(value)
            continue
        home = getattr(unwrap_function(tool.function), "__module__", None)
        if listed is not None or home == module.__name__ or isinstance(value, Tool):
            exports.append(tool)
    return exports


def _get_export(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        raise CatalogError(f"{module.__name__} lists {name!r} in `__all__`, but has no such name") from None


def _find_registered(function: Any, shared: CatalogView) -> Tool | None:
    if not callable(function) or isinstance(function, type):
        return None
    return next((tool for tool in shared if tool.function is function), None)
