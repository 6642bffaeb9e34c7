"""The official SDK of the Model Context Protocol, which is an optional package."""

from __future__ import annotations

from importlib.util import find_spec

from .._plumbing.distribution import install_hint
from ..errors import ToolkitError

__all__ = ["check_sdk_installed"]


def check_sdk_installed() -> None:
    """Raise `ToolkitError`, which says what to install, if the SDK is missing."""
    if find_spec("mcp") is None:
        raise ToolkitError(f"MCP needs the official SDK, the package `mcp`; {install_hint('mcp')}") from None
