import asyncio

from fastmcp import Client, FastMCP
from fastmcp.server.middleware.error_handling import RetryMiddleware

server = FastMCP("shop", middleware=[RetryMiddleware()])
attempts: list[str] = []


@server.tool(timeout=2)
def stock(item: str) -> int:
    """Look up how many are left."""
    attempts.append(item)
    if len(attempts) == 1:
        raise ConnectionError("the connection was lost")
    return 3


async def main() -> None:
    async with Client(server) as client:
        print((await client.call_tool("stock", {"item": "tea"})).data, len(attempts))


asyncio.run(main())
