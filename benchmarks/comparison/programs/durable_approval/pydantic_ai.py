import sys
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.messages import ModelMessagesTypeAdapter

from benchmarks.comparison.pydantic_ai_peer import play


def pay(bill: str) -> str:
    """Pay a bill."""
    print("paid", bill)
    return "paid"


tools, file = [Tool(pay, requires_approval=True)], Path("messages.json")
agent = Agent(play(("pay", {"bill": "A-7"}), "All is paid."), tools=tools, output_type=[str, DeferredToolRequests])
if "approve" in sys.argv:
    history = ModelMessagesTypeAdapter.validate_json(file.read_bytes())
    answers = DeferredToolResults(approvals={call.tool_call_id: True for call in history[-1].tool_calls})
    run = agent.run_sync(message_history=history, deferred_tool_results=answers)
else:
    run = agent.run_sync("Pay A-7.")
file.write_bytes(run.all_messages_json())
print("waiting" if isinstance(run.output, DeferredToolRequests) else "done")
