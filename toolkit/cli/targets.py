"""
Load the target of a command: the tools that its first argument names.

    package.module               the tools that a module defines or exports
    package.module:catalog       the tools of a catalog in a module
    package.module:dispatcher    the tools of a dispatcher in a module, under its policies too
    tools.py, tools.py:catalog   the same for a file
    builtin                      the built-in tools, bound to the current folder
    builtin,tools.py             the tools of several targets
    openapi.yaml                 the operations of an HTTP API; also `--base-url URL` and `openapi:ADDRESS`
    https://docs.example/mcp     the tools of an MCP server; also `--command "..."`, `.mcp.json` and `mcp:NAME`

Loading a target runs its code.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import builtin
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..errors import CatalogError, ToolkitWarning
from ..permissions import Permissions
from ..safety import SafetyChecks
from ..testing.load_target import catalog_of, load_module, load_object
from .completion.known_names import BUILTIN, is_path
from .openapi_targets import is_document, load_document
from .server_targets import COMMAND_PREFIX, is_address, is_server, open_server

if TYPE_CHECKING:  # it loads the agent, which most commands do not need
    from ..mcp import Servers
    from ..settings import MergedSettings

__all__ = ["Target", "is_code", "list_module_values", "open_target", "split_targets"]


@dataclass(frozen=True, slots=True)
class Target:
    """
    The tools that a command works on.

    Attributes:
        catalog: The tools.
        safety: The safety checks for these tools. None means the usual checks in the current folder.
        dispatcher: The dispatcher whose policies hold for these tools as well, if the target names one.
        servers: The MCP servers among the targets.
    """

    catalog: CatalogView
    safety: SafetyChecks | None = None
    dispatcher: Dispatcher | None = None
    servers: tuple[Servers, ...] = ()


@contextlib.contextmanager
def open_target(target: str, *, settings: MergedSettings | None = None, **options: Any) -> Iterator[Target]:
    """
    Yield the tools of *target*, which can be used until the end of the block.

    Args:
        target: The name of a module, a catalog or a dispatcher in a module, a file, or `builtin`; or several of these,
            with commas in between.
        settings: The settings, whose protected files the built-in tools do not touch, and which may name servers.
        options: Which functions of a module are tools; see `catalog_of`.

    Raises:
        CatalogError: The tools cannot be loaded. Its cause is the exception that the target raised, if it raised one.
        DuplicateTool: Two targets have a tool of the same name.
    """
    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(_open_one(name, settings, options)) for name in split_targets(target)]
        yield parts[0] if len(parts) == 1 else _merge(target, parts)


def split_targets(target: str) -> list[str]:
    """Return the targets that *target* names. A file, a command and an address may have a comma in them."""
    is_one = os.path.isfile(target) or target.startswith(COMMAND_PREFIX) or is_address(target)
    return [target] if is_one else [name.strip() for name in target.split(",")]


def is_code(target: str) -> bool:
    """Return whether *target*, which is one target, names Python code: a module, a file, or an object in one."""
    return target != BUILTIN and not is_document(target) and not is_server(target)


def list_module_values(target: str) -> list[Any]:
    """Return all values in the modules that *target* names, each value once."""
    modules = [load_module(name.partition(":")[0]) for name in split_targets(target) if is_code(name)]
    return list({id(value): value for module in modules for value in vars(module).values()}.values())


def _merge(target: str, parts: Sequence[Target]) -> Target:
    dispatchers = [part.dispatcher for part in parts if part.dispatcher is not None]
    checks = [part.safety for part in parts if part.safety is not None]
    if len(dispatchers) + len(checks) > 1:
        raise CatalogError(
            f"{target}: two of these targets have policies of their own, and one call has the policies of one "
            "dispatcher; name one dispatcher or builtin, and of the others the catalogs, `package.module:catalog`"
        )
    catalog = parts[0].catalog.merged(*(part.catalog for part in parts[1:]))
    servers = tuple(server for part in parts for server in part.servers)
    return Target(catalog, checks[0] if checks else None, dispatchers[0] if dispatchers else None, servers)


@contextlib.contextmanager
def _open_one(target: str, settings: MergedSettings | None, options: Mapping[str, Any]) -> Iterator[Target]:
    if target == BUILTIN:
        lists = ("protected", "unprotected")
        protection = {} if settings is None else {name: settings[f"files.{name}"] for name in lists}
        with builtin.Workspace(".", **protection) as workspace:
            yield Target(builtin.builtin_catalog(workspace), workspace.safety())
    elif is_document(target):
        yield Target(*load_document(target))
    elif is_server(target):
        with open_server(target, settings) as servers:
            yield Target(servers, servers=(servers,))
    else:
        yield _load_code(target, options)


def _load_code(target: str, options: Mapping[str, Any]) -> Target:
    where, colon, _ = target.partition(":")
    if is_path(where) and not where.endswith(".py"):
        raise CatalogError(f"{where} is no Python file; name one that ends in `.py`, or a module, `package.module`")
    value = load_object(target) if colon else None
    if isinstance(value, Dispatcher):
        return Target(value.catalog, dispatcher=value)
    catalog = catalog_of(target, **options)
    if not colon:
        _warn_of_unused_policies(target)
    return Target(catalog)


def _warn_of_unused_policies(target: str) -> None:
    """Warn if the module *target* has a dispatcher with policies, which hold only if the target names it."""
    for name, value in vars(load_module(target)).items():
        if isinstance(value, Dispatcher):
            settings = value.settings
            if settings.chain.hooks or settings.classify_rules or settings.judges.find_all(Permissions):
                text = f"{target} has the dispatcher `{name}`, whose rules, hooks and resources do not hold here"
                warnings.warn(f"{text}; {target}:{name} uses it", ToolkitWarning, stacklevel=2)
