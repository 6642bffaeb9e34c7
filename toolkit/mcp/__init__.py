"""
The Model Context Protocol: a catalog as a server.

    serve(dispatcher)         serve the tools of a dispatcher over standard input and output
    http_app(dispatcher)      return an ASGI application that serves them over HTTP
    build_server(dispatcher)  return the server itself, for another transport

The extra `mcp` installs the official SDK. It is imported when one of these names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr

if TYPE_CHECKING:
    from .serving.http_app import http_app
    from .serving.stdio import serve
    from .serving.tool_server import build_server

__all__ = ["build_server", "http_app", "serve"]

__getattr__ = lazy_getattr(
    __name__,
    {"build_server": "serving.tool_server", "http_app": "serving.http_app", "serve": "serving.stdio"},
)
