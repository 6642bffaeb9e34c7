from pydantic_ai import Agent, Tool

from benchmarks.comparison.library import many_functions
from benchmarks.comparison.pydantic_ai_peer import play

tools = [Tool(function, defer_loading=True) for function in many_functions(1000)]
agent = Agent(play(("search_tools", {"queries": ["task 7"]}), ("task_7", {"path": "a.txt"}), "Done."), tools=tools)
print(agent.run_sync("Do task 7 with a.txt.").output)
