"""
The Model Context Protocol, both ways: a catalog as a server, and the tools of other servers in a catalog.

    serve(dispatcher)         serve the tools of a dispatcher over standard input and output
    http_app(dispatcher)      return an ASGI application that serves them over HTTP
    Auth.jwt(...)             say who may use that application
    build_server(dispatcher)  return the server itself, for another transport
    Servers(catalog, ...)     use the tools of other servers
    RemoteResources, RemotePrompts    use their resources and prompts

The extra `mcp` installs the official SDK. It is imported when one of these names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .sdk import check_sdk_installed as _check_sdk_installed

if TYPE_CHECKING:
    from .importing.pins import Pins
    from .importing.remote_content import RemotePrompts, RemoteResources
    from .importing.remote_server import RemoteServer, ServerLimits
    from .importing.server_file import ServerFileError
    from .importing.servers import Servers
    from .serving.auth import Auth
    from .serving.changes import ResourceChanges
    from .serving.http_app import http_app
    from .serving.stdio import serve
    from .serving.tool_server import build_server

__all__ = [
    "Auth",
    "Pins",
    "RemotePrompts",
    "RemoteResources",
    "RemoteServer",
    "ResourceChanges",
    "ServerFileError",
    "ServerLimits",
    "Servers",
    "build_server",
    "http_app",
    "serve",
]

_load = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("ServerLimits", "RemoteServer"), "importing.remote_server"),
        **dict.fromkeys(("RemotePrompts", "RemoteResources"), "importing.remote_content"),
        "Auth": "serving.auth",
        "Pins": "importing.pins",
        "ResourceChanges": "serving.changes",
        "ServerFileError": "importing.server_file",
        "Servers": "importing.servers",
        "build_server": "serving.tool_server",
        "http_app": "serving.http_app",
        "serve": "serving.stdio",
    },
)


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except ModuleNotFoundError:
        _check_sdk_installed()
        raise
