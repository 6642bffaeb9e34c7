from benchmarks.comparison.library import many_functions
from benchmarks.comparison.ours import play
from toolkit import Agent, Tool

tools = [Tool.described(function, read_only=True, defer=True) for function in many_functions(1000)]
agent = Agent(play(("tool_search", {"query": "task 7"}), ("task_7", {"path": "a.txt"}), "Done."), tools)
print(agent.run_sync("Do task 7 with a.txt.").output)
