import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

from benchmarks.comparison.pydantic_ai_peer import play

toolset = MCPToolset(StdioTransport(sys.argv[1], sys.argv[2:]))
agent = Agent(play(("echo", {"text": "hello"}), "It said hello."), toolsets=[toolset])
print(agent.run_sync("Say hello.").output)
