import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    async with Client(StdioTransport(sys.argv[1], sys.argv[2:])) as client:
        print((await client.call_tool("echo", {"text": "hello"})).content[0].text)


asyncio.run(main())
