"""An MCP server with one tool, for the clients to call."""

from __future__ import annotations

from fastmcp import FastMCP

server = FastMCP("echo")


@server.tool
def echo(text: str) -> str:
    """Return the text."""
    return text


if __name__ == "__main__":
    server.run(show_banner=False, log_level="ERROR")
