"""
The Model Context Protocol, both ways: `Servers` uses other servers.

This package needs the extra `mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .._plumbing.distribution import install_hint as _install_hint
from ..errors import ToolkitError as _ToolkitError

if TYPE_CHECKING:
    from .importing.pins import Pins
    from .importing.remote_server import Limits, RemoteServer
    from .importing.servers import Servers

__all__ = ["Limits", "Pins", "RemoteServer", "Servers"]

_load = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("Limits", "RemoteServer"), "importing.remote_server"),
        "Pins": "importing.pins",
        "Servers": "importing.servers",
    },
)


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "httpx2", "anyio"):
            raise
        raise _ToolkitError(f"the package `mcp` is not installed; {_install_hint('mcp')}") from None
