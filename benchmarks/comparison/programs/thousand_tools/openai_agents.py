from agents import Agent, Runner, ToolSearchTool, function_tool

from benchmarks.comparison.library import many_functions
from benchmarks.comparison.openai_agents_peer import play

tools = [function_tool(function, defer_loading=True) for function in many_functions(1000)]
agent = Agent(name="worker", model=play(("task_7", {"path": "a.txt"}), "Done."), tools=[*tools, ToolSearchTool()])
print(Runner.run_sync(agent, "Do task 7 with a.txt.").final_output)
