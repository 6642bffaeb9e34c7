"""
The resources of a command: values for the `Inject` parameters of tools, from `--with MODULE:NAME`.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import click

from ..calls.resources import PER_CALL, missing_resources
from ..catalogs.views import CatalogView
from ..errors import DefinitionError
from ..spec import Tool
from ..testing.load_target import load_object
from .failures import Failure

__all__ = ["complete_resources", "load_resources", "with_option"]

with_option = click.option(
    "--with",
    "resource_names",
    multiple=True,
    metavar="MODULE:NAME",
    help="Values for Inject parameters: a dictionary from types to values, or a function that returns one.",
)


def load_resources(names: Iterable[str]) -> dict[Any, Any]:
    """Return the resources of all objects that *names* name, each as `module:name`."""
    resources: dict[Any, Any] = {}
    for name in names:
        if not name.partition(":")[2]:
            raise Failure(f"--with {name}: name the dictionary in the module too: {name}:resources")
        for kind, value in _read_mapping(name).items():
            if kind in resources:
                type_name = getattr(kind, "__name__", None) or repr(kind)
                raise Failure(f"--with {name}: {type_name} has a value already; give one for each type")
            resources[kind] = value
    return resources


def _read_mapping(name: str) -> Mapping[Any, Any]:
    value = load_object(name)
    if callable(value) and not isinstance(value, Mapping):
        try:
            value = value()
        except Exception as error:
            raise Failure(f"--with {name}: it raised {type(error).__name__}: {error}") from error
    if inspect.iscoroutine(value):
        value.close()
        raise Failure(f"--with {name}: it is async; give a dictionary, whose values may be async functions")
    if not isinstance(value, Mapping):
        raise Failure(
            f"--with {name}: expected a dictionary from types to values, such as {{Database: Database()}}, or a "
            f"function that returns one; got {type(value).__name__}"
        )
    return value


def complete_resources(
    catalog: CatalogView, resources: Mapping[Any, Any], *, needed_by: Collection[str] | None = None
) -> dict[Any, Any]:
    """
    Return *resources* for a dispatcher of *catalog*; raise `Failure` if a tool wants a type that has no value.

    *needed_by* are the names of the tools that may be called; all tools if it is None. For the types that only other
    tools want, the result has `PER_CALL`, so that these tools are in nobody's way.
    """
    tools = list(catalog) if needed_by is None else [catalog[name] for name in needed_by if catalog.get(name)]
    missing = {tool.name: names for tool in tools if (names := _list_missing(tool, resources))}
    if missing:
        wants = "; ".join(f"`{name}` wants {', '.join(kinds)}" for name, kinds in missing.items())
        raise Failure(f"resources are missing: {wants}; give them with --with MODULE:NAME, a dictionary by type")
    others = {kind: PER_CALL for tool in catalog for kind in _injected_types(tool) if kind not in resources}
    return {**(others if needed_by is not None else {}), **resources}


def _list_missing(tool: Tool, resources: Mapping[Any, Any]) -> list[str]:
    try:
        return missing_resources(tool, resources)
    except DefinitionError:
        return []  # a name in the annotations is not defined yet; the call reports it


def _injected_types(tool: Tool) -> list[Any]:
    try:
        return list(tool.signature.injected.values())
    except DefinitionError:
        return []
