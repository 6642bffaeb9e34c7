"""
Flows as users write them; checked by mypy and pyright, never run.

The ends in the brackets of `Flow` are the type of `run`, besides `Waiting` and `Failed`, and `match` narrows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from typing_extensions import assert_never, assert_type

from toolkit import Agent, ApprovalRequest, Context, Decision, Inject
from toolkit.flows import Failed, Flow, Problems, Waiting


@dataclass
class Task:
    file: str


@dataclass
class Plan:
    files: list[str]


@dataclass
class Rejected:
    reason: str


@dataclass
class Edited:
    text: str


@dataclass
class Released:
    version: str


release = Flow[Released | Rejected]("release")


async def tests_pass(before: Plan, after: Edited) -> str | None:
    return None if after.text else "the text is empty"


def restore(before: Plan) -> None:
    before.files.clear()


def show(arguments: Any) -> str:
    return str(arguments)


@release.step(read_only=True)
async def plan(task: Task, agent: Inject[Agent]) -> Plan | Rejected:
    run = await agent.run(f"Plan the change of {task.file}.")
    return Plan([run.text])


@release.step(check=tests_pass, undo=restore, attempts=3)
async def edit(plan: Plan, problems: Inject[Problems]) -> Edited:
    assert_type(problems, Problems)
    return Edited("\n".join(problems) + str(problems) + problems.step)


@release.step(destructive=True, preview=show, back_to=edit)
async def publish(edited: Edited) -> Released:
    return Released(edited.text)


async def read_the_end(agent: Agent) -> str:
    assert_type(await edit(Plan([]), Problems()), Edited)  # the function stays itself
    outcome = await release.run(Task("parser.py"), resources={Agent: agent})
    assert_type(outcome, Released | Rejected | Waiting | Failed)
    match outcome:
        case Released(version):
            assert_type(version, str)
            return version
        case Rejected(reason):
            assert_type(reason, str)
            return reason
        case Waiting(requests):
            assert_type(requests, tuple[ApprovalRequest, ...])
            answers = {request.id: Decision.approve(by="ada") for request in requests}
            assert_type(await release.resume(outcome, answers), Released | Rejected | Waiting | Failed)
            return "waiting"
        case Failed(step, problems):
            assert_type(step, str)
            assert_type(problems, tuple[str, ...])
            return f"{step}: {problems} {outcome.left}"
        case _:
            assert_never(outcome)


several = Flow[list[Released] | None]("several", max_visits=3)


async def run_several() -> None:
    assert_type(await several.run(Task("")), list[Released] | None | Waiting | Failed)
    assert_type(several.mermaid(), str)


unnamed = Flow("unnamed")


@unnamed.step
def only(task: Task, context: Context) -> Released:
    return Released(task.file)


async def run_unnamed(context: Context) -> Any:
    assert_type(unnamed, Flow[Any])
    assert_type(only(Task(""), context), Released)
    return await unnamed.run(Task(""))


# What a type checker finds.

release.step(attempts="3")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
release.step(chek=tests_pass)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


async def read_wrongly() -> None:
    outcome = await release.run(Task(""))
    _ = outcome.version  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]
