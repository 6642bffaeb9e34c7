from benchmarks.comparison.ours import play
from toolkit import Agent, Decision


def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


agent = Agent(play(("delete", {"path": "a.txt"}), "Gone."), [delete])
run = agent.run_sync("Delete a.txt.")
print(run.requests[0].tool)
print(agent.resume_sync(run, Decision.approve()).output)
