"""Steps of an agent: approvals in a store, the options, and records that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.agent.kit import Shed, call, results_of
from tests.agent.step_kit import dispatch
from tests.agent.stepped_runs import resume_with_steps, run_with_steps
from tests.steps.crashing_steps import CrashingSteps, Process
from toolkit.agent import Agent, Run, Steps
from toolkit.agent.inner_agents import with_approval_store
from toolkit.agent.saved.run_seal import dump_run, load_run
from toolkit.agent.stepped_runs import find_dispatcher
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.durable.run_kinds import keeps_approvals
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


# Approvals.


async def test_a_grant_holds_when_the_run_is_replayed(steps: CrashingSteps) -> None:
    """The next call does not ask, because the grant that came with the approval is there again."""
    shed = Shed("default")
    approvals = Approvals(MemoryApprovals())

    def make_agent(script: list[Any]) -> Agent:
        return shed.agent(script, dispatcher=shed.dispatcher(approvals))

    waiting = await run_with_steps(
        make_agent([[call("cut", "t1", wood="oak")]]), "go", run_id="r", steps=steps, secret="s"
    )
    saved, request = dump_run(waiting), waiting.requests[0]
    decisions = {request.id: Decision.approve(grant=request.grants[0])}
    script = [[call("cut", "t2", wood="ash")], "done"]
    for own_script in (script, []):
        run = await resume_with_steps(make_agent(own_script), load_run(saved), decisions, steps=steps, secret="s")
        assert run.status == "done"
        assert run.session.grants == (request.grants[0],)
    assert shed.done == ["cut oak", "cut ash"]


async def test_question_of_a_tool_is_asked_in_a_step(steps: CrashingSteps) -> None:
    """A tool that asks its user waits, and runs again from its start with the answer and the same idempotency key."""
    keys: set[str] = set()

    async def order(context: Context) -> str:
        """Order something."""
        keys.add(context.idempotency_key)
        return f"ordered {await context.ask('size', 'Which size?')}"

    agent = Agent(ScriptedProvider([[call("order", "t1")], "done"]), dispatch(order))
    waiting = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    request = waiting.requests[0]
    run = await resume_with_steps(
        agent, waiting, {request.id: Decision.approve(answers={"size": "M"})}, steps=steps, secret="s"
    )
    assert results_of(run)[0].text == "ordered M"
    assert len(keys) == 1
    assert steps.began == ["r/call/1.t1", f"r/resume/{request.id}"]


async def test_request_has_the_same_id_when_its_step_is_repeated(steps: CrashingSteps) -> None:
    """A step that asked, and has no record, makes the same request again; another run makes another one."""
    shed = Shed("auto")
    approvals = Approvals(MemoryApprovals())

    async def ask(run_id: str = "r", secret: str = "s") -> str:
        agent = shed.agent([[call("burn", "t1", wood="oak")]], dispatcher=shed.dispatcher(approvals))
        run = await run_with_steps(agent, "go", run_id=run_id, steps=CrashingSteps(Process()), secret=secret)
        return run.requests[0].id

    first = await ask()
    assert await ask() == first
    assert await ask(run_id="r2") != first
    assert await ask(secret="t") != first
    assert len(approvals.store.pending()) == 3


async def test_default_approvals_are_moved_to_a_store(steps: CrashingSteps, tmp_path: Any) -> None:
    """An agent with approvals in memory gets another store, and keeps its asker, its times and its key."""
    shed = Shed("auto")
    store = SQLiteApprovals(tmp_path / "approvals.sqlite")
    approvals = Approvals(key="k" * 32, ask=lambda request: Decision.approve(by="ada"), expires_seconds=60)
    agent = shed.agent([[call("burn", "t1", wood="oak")], "done"], dispatcher=shed.dispatcher(approvals))
    other = with_approval_store(agent, store)
    assert tuple(keeps_approvals(find_dispatcher(an_agent).approvals) for an_agent in (agent, other)) == (False, True)
    own = other._toolbox.dispatcher.approvals
    assert (own.asker, own.expires_seconds, own.seal) == (approvals.asker, 60, None)
    assert store.is_signed
    run = await run_with_steps(other, "go", run_id="r", steps=steps, secret="s")
    assert run.status == "done"
    assert shed.done == ["burn oak"]


async def test_tools_cannot_touch_the_file_of_the_store(steps: CrashingSteps, tmp_path: Any) -> None:
    """The file of the store that an agent gets is as protected as that of its own store."""
    from toolkit.builtin import builtin_catalog

    store = SQLiteApprovals(tmp_path / "approvals.sqlite")
    dispatcher = Dispatcher(builtin_catalog(tmp_path), permissions=Permissions("bypass"))
    script = [[call("read", "t1", path=str(tmp_path / "approvals.sqlite"))], "done"]
    agent = with_approval_store(Agent(ScriptedProvider(script), dispatcher), store)
    run = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    assert results_of(run)[0].kind == "safety"


async def test_approvals_without_another_store_are_refused() -> None:
    """Approvals of a class of the user's own, which cannot have another store, are refused with the remedy."""

    class OwnApprovals:
        store = MemoryApprovals()

        def sealed(self, record: Any) -> Any: ...

        async def answer(self, request: Any, in_thread: Any) -> None: ...

    shed = Shed()
    with pytest.raises(TypeError, match=r"OwnApprovals, cannot have another store; .*with_store"):
        with_approval_store(shed.agent([], dispatcher=shed.dispatcher(OwnApprovals())), MemoryApprovals())  # type: ignore[arg-type]  # on purpose


# Options.


@pytest.mark.parametrize("steps", [object(), CrashingSteps, "steps.sqlite"])
def test_wrong_steps_are_refused(steps: Any) -> None:
    """Steps that cannot do a step are refused when the agent is made."""
    with pytest.raises(TypeError, match="steps have `reply` and `call`"):
        Shed().agent([], steps=steps)


def test_steps_are_a_protocol(steps: CrashingSteps) -> None:
    """A class need not inherit from anything to be steps."""
    own_steps: Steps = steps
    assert own_steps is steps


async def test_principal_of_the_agent_is_that_of_its_runs(steps: CrashingSteps) -> None:
    """A run with steps acts for the principal of the agent's session, unless another one is given."""
    agent = Shed().agent(["one", "two"], session=Session(principal="ada"))
    first = await run_with_steps(agent, "go", run_id="r1", steps=steps, secret="s")
    second = await run_with_steps(agent, "go", run_id="r2", steps=steps, secret="s", principal="bob")
    assert (first.session.principal, second.session.principal) == ("ada", "bob")
    assert first.session.id != second.session.id


# Records that cannot be read, and skills.


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ([], "not the notes of a step"),
        ({"plan": 1}, "not the notes of a step"),
        ({"spent": {}}, "`spent` has to be"),
        ({"sub_run": {"call_id": "t1"}}, "not a sub-run"),
    ],
)
async def test_notes_that_cannot_be_read_are_refused(steps: CrashingSteps, notes: Any, words: str) -> None:
    """A record whose notes were altered ends the run with an error that names the place."""
    from toolkit.steps.records import dump_call

    shed = Shed("bypass")
    script = [[call("look", "t1", what="axe")], "done"]
    await run_with_steps(shed.agent(script), "go", run_id="r", steps=steps, secret="s")
    result = ToolResult("a axe", metadata={"toolkit.step": notes})
    steps.records["r/call/1.t1"] = json.dumps(dump_call(result, Session()))
    with pytest.raises(ValueError, match=words):
        await run_with_steps(shed.agent([]), "go", run_id="r", steps=steps, secret="s")


async def test_tool_cannot_write_the_notes_of_its_step(steps: CrashingSteps) -> None:
    """A value of a tool in the place of the notes is dropped, so a tool cannot hand over a plan or a sub-run."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look() -> ToolResult:
        """Look."""
        return ToolResult("a view", metadata={"toolkit.step": {"plan": "burn all"}, "own": 1})

    def make_agent(script: list[Any]) -> Agent:
        return Agent(ScriptedProvider(script), catalog, mode="plan")

    script = [[call("look", "t1")], [call("exit_plan", "t2", plan="wait")]]
    for own_script in (script, []):
        run = await run_with_steps(make_agent(own_script), "go", run_id="r", steps=steps, secret="s")
        assert (run.status, run.plan) == ("planned", "wait")
        assert results_of(run, 0)[0].metadata == {"own": 1}


def test_the_number_of_replies_is_saved() -> None:
    counted = Run(status="stopped", reply_count=3)
    assert Run.loads(counted.dumps()) == counted
    with pytest.raises(ValueError, match="`reply_count` has to be a whole number"):
        Run.from_json({**counted.to_json(), "reply_count": -1})


async def test_skill_that_was_cut_off_goes_on(steps: CrashingSteps, tmp_path: Any) -> None:
    """A skill with destructive tools is run again after a crash, and its own steps are not."""
    from toolkit.skills import Skills
    from toolkit.steps.base import may_repeat

    folder = tmp_path / "tidy"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidy up.\ntools: [burn]\n---\nTidy up.\n")
    shed = Shed("bypass")
    skills = Skills(shed.catalog, str(tmp_path))
    assert skills["tidy"].facts.destructive
    assert [may_repeat(skills.get(name)) for name in ("tidy", "burn", "none")] == [True, False, False]
    dispatcher = Dispatcher(skills, permissions=Permissions("bypass"))
    script = [[call("tidy", "t1", input="all")], [call("burn", "t2", wood="oak")], "tidy", "done"]
    await run_with_steps(Agent(ScriptedProvider(script), dispatcher), "go", run_id="r", steps=steps, secret="s")
    for key in ("r/call/1.t1", "r/call/1.t1/reply/2", "r/reply/2"):
        del steps.records[key]
    run = await run_with_steps(
        Agent(ScriptedProvider(["tidy again", "done"]), dispatcher), "go", run_id="r", steps=steps, secret="s"
    )
    assert results_of(run)[0].text == "tidy again"
    assert shed.done == ["burn oak"]
