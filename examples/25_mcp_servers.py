"""Use the tools of an MCP server. In place of the object may stand a command, `["npx", ...]`, or an address."""

from mcp.server.mcpserver import MCPServer

from toolkit import Dispatcher, Permissions
from toolkit.mcp import Servers

server = MCPServer("weather")
server.tool("say", description="Say how the weather is.")(lambda city: f"In {city} it rains.")

with Servers(weather=server) as tools:
    dispatcher = Dispatcher(tools, permissions=Permissions("default", ["allow mcp:weather/*"]))
    print(tools.names(), dispatcher.call_sync("weather_say", {"city": "Bergen"}).text)
