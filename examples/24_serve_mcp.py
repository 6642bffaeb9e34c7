"""Serve a tool to any MCP client: a client starts this file, and talks to it over standard input and output."""

from toolkit import Catalog, Dispatcher
from toolkit.mcp import serve


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


serve(Dispatcher(Catalog(add)))
