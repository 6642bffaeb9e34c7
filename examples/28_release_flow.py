"""
Release a change in checked steps: an agent writes it, a check refuses it, and the agent repairs it.

The type of the value that a step returns selects the next step. The model plays a script: its first
answer is wrong, and its second one answers the problems that the check has found. A person approves
the last step, which cannot be undone. The run is kept in a database, so any process could go on. The
agent in the step is a part of that run: its steps are kept, and its requests would be the flow's.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from toolkit import Agent, Approvals, Catalog, Decision, Dispatcher, Inject, Permissions
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow, Problems, Waiting
from toolkit.providers import ScriptedProvider


@dataclass
class Task:
    """What a person wants."""

    file: str
    wish: str


@dataclass
class Plan:
    """What will be changed, and what was there before."""

    file: str
    wish: str
    before: str


@dataclass
class Rejected:
    """Why nothing is done."""

    reason: str


@dataclass
class Edited:
    """The change."""

    file: str
    after: str


@dataclass
class Released:
    """The end."""

    version: str


# A request of this flow never expires: a person may answer after days.
dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(expires_seconds=None))
release = Flow[Released | Rejected]("release", dispatcher=dispatcher)


@release.step(read_only=True)
def plan(task: Task, folder: Inject[Path]) -> Plan | Rejected:
    """Look at the file."""
    path = folder / task.file
    return Plan(task.file, task.wish, path.read_text()) if path.is_file() else Rejected(f"there is no {task.file}")


def tests_pass(before: Plan, after: Edited) -> list[str]:
    """Try the change, and return what is wrong with it."""
    names: dict[str, object] = {}
    try:
        exec(after.after, names)  # noqa: S102 -- the text is the script's; a real check would use a sandbox
        price = names["price"](10, 0.5)  # type: ignore[operator]  # an error here is a problem as well
    except Exception as error:  # noqa: BLE001 -- whatever the change raises is a problem
        return [f"{type(error).__name__}: {error}"]
    return [] if price == 5 else [f"price(10, 0.5) is {price}, and should be 5"]


def restore(before: Plan, folder: Inject[Path]) -> None:
    """Write the file as it was. It does no harm if the step has not changed it."""
    (folder / before.file).write_text(before.before)
    print("  undone:", before.file)


@release.step(check=tests_pass, undo=restore, attempts=3)
async def edit(plan: Plan, problems: Inject[Problems], agent: Inject[Agent], folder: Inject[Path]) -> Edited:
    """Let the agent write the file."""
    prompt = f"{plan.wish}\n\n{plan.before}" + (f"\n\nLast time this was wrong:\n{problems}" if problems else "")
    print("  the model is asked", f"with {len(problems)} problem: {problems[0]}" if problems else "for the first time")
    after = (await agent.run(prompt)).unwrap()
    (folder / plan.file).write_text(after)
    return Edited(plan.file, after)


@release.step(destructive=True, preview=lambda arguments: arguments["edited"].after, back_to=edit)
def publish(edited: Edited) -> Released:
    """Publish the file, which cannot be taken back."""
    return Released("1.1")


SCRIPT = [
    "def price(amount, discount):\n    return amount * (1 + discount)\n",
    "def price(amount, discount):\n    return amount * (1 - discount)\n",
]


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "shop.py").write_text("def price(amount, discount):\n    return amount\n")
        agent = Agent(ScriptedProvider(SCRIPT), Catalog())
        resources = {Agent: agent, Path: folder}
        async with DurableHost(f"sqlite:///{folder}/runs.sqlite") as host:
            task = Task("shop.py", "Let `price` take a discount.")
            outcome = await release.run(task, host, id="release-7", resources=resources)
            if isinstance(outcome, Waiting):
                (request,) = outcome.requests
                print(f"a person is asked about {request.tool}:\n{request.preview}")
                answers = {request.id: Decision.approve(by="ada")}
                outcome = await release.resume("release-7", answers, host, resources=resources)
            match outcome:
                case Released(version):
                    print("released", version)
                case Rejected(reason):
                    print("rejected:", reason)
                case Waiting(requests):
                    print("waiting for", [request.tool for request in requests])
                case Failed(step, problems):
                    print(step, "failed:", problems)
            print("\nwhat happened:")
            for event in await release.replay("release-7", host):
                if event.action != "other" and not event.text.endswith("began"):
                    print(" ", event)


asyncio.run(main())
