import sys

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command

from benchmarks.comparison.langchain_peer import play


def pay(bill: str) -> str:
    """Pay a bill."""
    print("paid", bill)
    return "paid"


model, asking = play(("pay", {"bill": "A-7"}), "All is paid."), HumanInTheLoopMiddleware({"pay": True})
answer = Command(resume={"decisions": [{"type": "approve"}]})
with SqliteSaver.from_conn_string("runs.sqlite") as saver:
    agent = create_agent(model, [pay], middleware=[asking], checkpointer=saver)
    message = answer if "approve" in sys.argv else {"messages": [("user", "Pay A-7.")]}
    state = agent.invoke(message, {"configurable": {"thread_id": "bills"}})
    print("waiting" if "__interrupt__" in state else "done")
