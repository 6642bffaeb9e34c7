import asyncio
import sys
from pathlib import Path

from agents import Agent, Runner, RunState, function_tool

from benchmarks.comparison.openai_agents_peer import play


@function_tool(needs_approval=True)
def pay(bill: str) -> str:
    """Pay a bill."""
    print("paid", bill)
    return "paid"


agent = Agent(name="payer", model=play(("pay", {"bill": "A-7"}), "All is paid."), tools=[pay])
file = Path("state.json")


async def main() -> None:
    prompt = "Pay A-7."
    if "approve" in sys.argv:
        prompt = await RunState.from_string(agent, file.read_text())  # noqa: ASYNC240 -- nothing else runs
        prompt.approve(prompt.get_interruptions()[0])
    run = await Runner.run(agent, prompt)
    file.write_text(run.to_state().to_string())  # noqa: ASYNC240 -- as above
    print("waiting" if run.interruptions else "done")


asyncio.run(main())
