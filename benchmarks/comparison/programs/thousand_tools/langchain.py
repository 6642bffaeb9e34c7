from langchain.agents import create_agent
from langchain.agents.middleware import LLMToolSelectorMiddleware

from benchmarks.comparison.langchain_peer import play
from benchmarks.comparison.library import many_functions

model = play(("task_7", {"path": "a.txt"}), "Done.")
agent = create_agent(model, many_functions(1000), middleware=[LLMToolSelectorMiddleware(model=model, max_tools=1)])
print(agent.invoke({"messages": [("user", "Do task 7 with a.txt.")]})["messages"][-1].content)
