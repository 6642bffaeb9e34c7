"""fastmcp: a server and its client in one process. It has no agent, so the client stands for the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.server.middleware.error_handling import RetryMiddleware
from fastmcp.server.middleware.response_limiting import ResponseLimitingMiddleware
from fastmcp.server.transforms.search import BM25SearchTransform

from .library import Library, Reply

__all__ = ["FastMCPPeer"]


class FastMCPPeer(Library):
    distribution = "fastmcp"
    imports = "from fastmcp import Client, FastMCP"

    async def call(
        self, function: Callable[..., Any], arguments: dict[str, Any], middleware: Any = None, **options: Any
    ) -> Reply:
        server = FastMCP("peer")
        server.tool(function, **options)
        if middleware is not None:
            server.add_middleware(middleware)
        async with Client(server) as client:
            result = await client.call_tool(function.__name__, arguments, raise_on_error=False)
            return Reply("\n".join(getattr(block, "text", "") for block in result.content))

    async def call_with_time_limit(self, function: Callable[..., Any], seconds: float) -> Reply:
        return await self.call(function, {}, timeout=seconds)

    async def call_with_retries(self, function: Callable[..., Any], *, destructive: bool) -> Reply:
        hints = {"destructiveHint": destructive, "readOnlyHint": not destructive}
        return await self.call(function, {}, RetryMiddleware(base_delay=0.01), annotations=hints)

    async def call_with_text_limit(self, function: Callable[..., Any], characters: int) -> Reply:
        return await self.call(function, {}, ResponseLimitingMiddleware(max_size=characters))

    async def shown_definitions(self, functions: list[Callable[..., Any]]) -> int:
        server = FastMCP("peer", transforms=[BM25SearchTransform()])
        for function in functions:
            server.tool(function)
        async with Client(server) as client:
            return len(await client.list_tools())

    async def call_over_mcp(self, command: list[str]) -> str:
        async with Client(StdioTransport(command[0], command[1:])) as client:
            result = await client.call_tool("echo", {"text": "hello"})
            return str(result.data)

    async def call_operation(self, document: dict[str, Any], arguments: dict[str, Any], client: Any) -> None:
        async with Client(FastMCP.from_openapi(document, client=client)) as connection:
            await connection.call_tool("send", arguments, raise_on_error=False)

    async def serve_over_mcp(self) -> str:
        def echo(text: str) -> str:
            return text

        return (await self.call(echo, {"text": "hello"})).text
