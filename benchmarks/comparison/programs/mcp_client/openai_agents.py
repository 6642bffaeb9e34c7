import asyncio
import sys

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

from benchmarks.comparison.openai_agents_peer import play


async def main() -> None:
    async with MCPServerStdio({"command": sys.argv[1], "args": sys.argv[2:]}) as server:
        model = play(("echo", {"text": "hello"}), "It said hello.")
        agent = Agent(name="caller", model=model, mcp_servers=[server])
        print((await Runner.run(agent, "Say hello.")).final_output)


asyncio.run(main())
