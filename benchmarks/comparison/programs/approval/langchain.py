from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from benchmarks.comparison.langchain_peer import play


def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


model = play(("delete", {"path": "a.txt"}), "Gone.")
asking = HumanInTheLoopMiddleware({"delete": True})
agent = create_agent(model, [delete], middleware=[asking], checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "1"}}
state = agent.invoke({"messages": [("user", "Delete a.txt.")]}, thread)
print(state["__interrupt__"][0].value["action_requests"][0]["name"])
state = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
print(state["messages"][-1].content)
