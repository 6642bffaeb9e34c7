"""
Resume a run in another process than the one in which it waits.

The saved run is data, not authority. The request that Ada answers is the store's copy, so a changed
file cannot make her approve another call.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from toolkit import Agent, Approvals, Catalog, Decision, Dispatcher, Permissions, SQLiteApprovals, ToolCall, tool
from toolkit.agent import Run
from toolkit.providers import ScriptedProvider


@tool(destructive=True, summary=lambda arguments: f"refund {arguments['amount']:.2f} for {arguments['order']}")
async def refund(order: str, amount: float) -> str:
    """
    Pay money back for an order.

    Args:
        order: Its number.
        amount: In euros.
    """
    return f"{amount:.2f} paid back for {order}"


def agent_in(folder: Path, script: list[object]) -> Agent:
    """Make the same agent in every process; the processes share only the store."""
    approvals = Approvals(SQLiteApprovals(folder / "approvals.sqlite"))
    dispatcher = Dispatcher(Catalog(refund), permissions=Permissions("default"), approvals=approvals)
    return Agent(ScriptedProvider(script), dispatcher, system="You answer customers.")


async def ask(folder: Path) -> None:
    agent = agent_in(folder, [[ToolCall("refund", {"order": "A-7", "amount": 12.5})]])
    run = await agent.run("Order A-7 arrived broken.")
    print(f"first process: {run.status}, for {[request.tool for request in run.requests]}; it ends here", flush=True)
    (folder / "run.json").write_text(run.dumps(), encoding="utf-8")


async def answer(folder: Path) -> None:
    run = Run.loads((folder / "run.json").read_text(encoding="utf-8"))
    agent = agent_in(folder, ["I have paid 12.50 back to you."])
    decisions = {request.id: Decision.approve(by="ada") for request in run.requests}
    run = await agent.resume(run, decisions)
    print(f"second process: {run.status}: {run.text}")
    print("the tool said:", run.messages[2].results[0].text)


def main() -> None:
    if len(sys.argv) > 1:
        asyncio.run(answer(Path(sys.argv[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(ask(Path(folder)))
        subprocess.run([sys.executable, "-W", "error", __file__, folder], check=True)  # noqa: S603 -- this file again


if __name__ == "__main__":
    main()
