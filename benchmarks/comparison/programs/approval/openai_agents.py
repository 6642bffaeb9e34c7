from agents import Agent, Runner, function_tool

from benchmarks.comparison.openai_agents_peer import play


@function_tool(needs_approval=True)
def delete(path: str) -> str:
    """Delete a file."""
    return f"deleted {path}"


agent = Agent(name="cleaner", model=play(("delete", {"path": "a.txt"}), "Gone."), tools=[delete])
run = Runner.run_sync(agent, "Delete a.txt.")
print(run.interruptions[0].name)
state = run.to_state()
state.approve(run.interruptions[0])
print(Runner.run_sync(agent, state).final_output)
