"""Helpers for the tests of recorded steps."""

from __future__ import annotations

from typing import Any

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions

__all__ = ["dispatch"]


def dispatch(*tools: Any, mode: str = "bypass", **options: Any) -> Dispatcher:
    """Return a dispatcher with these tools."""
    return Dispatcher(Catalog(*tools), permissions=Permissions(mode), **options)
