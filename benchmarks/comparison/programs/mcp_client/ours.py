import sys

from benchmarks.comparison.ours import play
from toolkit import Agent, Dispatcher, Permissions
from toolkit.mcp import Servers

with Servers(peer=sys.argv[1:]) as tools:
    dispatcher = Dispatcher(tools, permissions=Permissions("auto", ["allow mcp:peer/*"]))
    agent = Agent(play(("peer_echo", {"text": "hello"}), "It said hello."), dispatcher)
    print(agent.run_sync("Say hello.").output)
