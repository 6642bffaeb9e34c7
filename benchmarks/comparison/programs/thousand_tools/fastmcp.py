import asyncio

from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform

from benchmarks.comparison.library import many_functions

server = FastMCP("tasks", transforms=[BM25SearchTransform()])
for function in many_functions(1000):
    server.tool(function)


async def main() -> None:
    async with Client(server) as client:
        await client.call_tool("search_tools", {"query": "task 7"})
        print((await client.call_tool("call_tool", {"name": "task_7", "arguments": {"path": "a.txt"}})).data)


asyncio.run(main())
