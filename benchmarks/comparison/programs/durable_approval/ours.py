import asyncio
import sys

from benchmarks.comparison.ours import play
from toolkit import Agent, Decision
from toolkit.durable import DurableAgent


def pay(bill: str) -> str:
    """Pay a bill."""
    print("paid", bill)
    return "paid"


agent = Agent(play(("pay", {"bill": "A-7"}), "All is paid."), [pay])


async def main() -> None:
    async with DurableAgent(agent, "sqlite:///runs.sqlite") as durable:
        run = await durable.run("Pay A-7.", id="bills")
        if "approve" in sys.argv:
            run = await durable.resume("bills", {request.id: Decision.approve() for request in run.requests})
        print(run.status)


asyncio.run(main())
