from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool

from benchmarks.comparison.pydantic_ai_peer import play


def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


tools = [Tool(delete, requires_approval=True)]
agent = Agent(play(("delete", {"path": "a.txt"}), "Gone."), tools=tools, output_type=[str, DeferredToolRequests])
run = agent.run_sync("Delete a.txt.")
call = run.output.approvals[0]
print(call.tool_name)
answers = DeferredToolResults(approvals={call.tool_call_id: True})
print(agent.run_sync(message_history=run.all_messages(), deferred_tool_results=answers).output)
