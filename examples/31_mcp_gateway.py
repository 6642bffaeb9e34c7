"""Put rules before servers that you have: clients of the gateway get what the rules allow, under one name."""

import asyncio

from mcp import Client
from mcp.server.mcpserver import MCPServer

from toolkit import Dispatcher, Permissions
from toolkit.mcp import Servers, build_server

files = MCPServer("files")  # in its place may stand a command, ["npx", ...], or an address
files.tool("read", description="Read a file.")(lambda path: f"the content of {path}")
files.tool("delete", description="Delete a file.")(lambda path: f"{path} is gone")


async def main() -> None:
    """Use the gateway as a client does; `serve(dispatcher, servers=[tools])` is for clients that start this file."""
    async with Servers(files=files) as tools:
        rules = ["allow mcp:files/read", "deny mcp:files/delete"]
        dispatcher = Dispatcher(tools, permissions=Permissions("default", rules))
        async with Client(build_server(dispatcher, servers=[tools])) as client:
            print([tool.name for tool in (await client.list_tools()).tools])
            print((await client.call_tool("files_read", {"path": "notes.txt"})).structured_content)


asyncio.run(main())
