"""Tools of every shape, for formats to be tried on."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from toolkit import Catalog, Context, Tool
from toolkit.formats.base import Definitions

__all__ = ["TreeNode", "everything", "build_definitions", "module", "union"]


@dataclass
class TreeNode:
    """A node of a tree."""

    value: int
    children: list[TreeNode]
    parent: TreeNode | None = None


@dataclass
class Address:
    """Where a person lives."""

    city: str
    street: str = ""


def module(name: str) -> Any:
    """Return the module of the format *name*."""
    return importlib.import_module(f"toolkit.formats.{name}")


def build_definitions(name: str, catalog: Any, *arguments: Any, **options: Any) -> Definitions:
    """Return the definitions of *catalog* in the format *name*."""
    return module(name).definitions(catalog, *arguments, **options)


def union() -> Tool:
    """Return a hand-written schema with a union at its top."""
    schema = {
        "oneOf": [
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"type": "object", "properties": {"id": {"type": "string"}, "by": {"const": "name"}}, "required": ["id"]},
        ]
    }
    return Tool.from_schema("find_user", "Find a user.", schema, lambda arguments: arguments)


def everything() -> Catalog:
    """Return a catalog of tools whose schemas use what schemas have."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def ping() -> str:
        """Say that you are there."""
        return "pong"

    @catalog.tool(name="git.log", read_only=True)
    def log(
        path: str,
        most: Annotated[int, "How many."] = 10,
        *,
        since: date | None = None,
        kind: Literal["full", "short"] = "full",
        span: tuple[int, str] = (1, "day"),
    ) -> list[str]:
        """
        Show what was committed.

        Args:
            path: Where to look.
        """
        return []

    @catalog.tool(destructive=True)
    def plant(node: TreeNode, where: Address, depth: int | None = None) -> TreeNode:
        """
        Plant a tree.

        Args:
            node: The root of it.
        """
        return node

    @catalog.tool()
    def export(variables: dict[str, str], anything: Any = None, **more: int) -> dict[str, int]:
        """Set variables."""
        return {}

    @catalog.tool(open_world=True)
    def send(to: list[Address], flags: set[Literal["a", "b"]], context: Context) -> bool:
        """Send a parcel."""
        return True

    catalog.add(union())

    @catalog.tool(name="mail.search", defer=True)
    def search_mail(words: str, folder: str | None = None) -> str:
        """Search the mail."""
        return words

    @catalog.tool(defer=True)
    def forecast(city: str) -> str:
        """Tell the weather."""
        return city

    return catalog


PNG = b"\x89PNG\r\n\x1a\n0123456789"
