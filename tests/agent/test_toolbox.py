"""
A toolbox shares a dispatcher's policies, and leaves nothing behind.
"""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.agent.kit import Shed, call
from toolkit.agent import Agent, Run
from toolkit.agent.agent_inputs import with_own_tools
from toolkit.agent.toolbox import Toolbox
from toolkit.approvals import Approvals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Judge, Permissions, Visibility
from toolkit.policies.audit import AuditLog
from toolkit.providers import ScriptedProvider
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("with_permissions", [True, False])
async def test_an_agent_that_was_collected_leaves_no_listeners(with_permissions):
    """A catalog may outlive thousands of agents."""
    shed = Shed("bypass")
    dispatcher = Dispatcher(shed.catalog, permissions=shed.permissions if with_permissions else None)
    before = len(shed.catalog._watchers)
    agent = Agent(ScriptedProvider([[call("look", what="x")], "Done."]), dispatcher, plan_tools=["look"])
    assert (await agent.run("go")).status == "done"
    assert len(shed.catalog._watchers) == before + 1
    reference = weakref.ref(agent)
    del agent
    gc.collect()
    assert (reference(), len(shed.catalog._watchers)) == (None, before)


async def test_a_dispatcher_lives_as_long_as_its_agent():
    done = []

    def cut(wood: str) -> str:
        """Cut wood."""
        done.append(wood)
        return "cut"

    agent = Agent(ScriptedProvider([[call("cut", wood="oak")], "Done."]), Dispatcher(Catalog(cut)))
    gc.collect()
    assert (await agent.run("go")).status == "done"
    assert done == ["oak"]


async def test_requests_are_in_the_store_of_the_dispatcher():
    """The dispatcher may have been made without a store."""
    shed = Shed()
    dispatcher = shed.dispatcher()
    run = await shed.agent([[call("cut", wood="oak")]], dispatcher=dispatcher).run("go")
    result = await dispatcher.resume(run.requests[0].id, Decision.approve(), session=run.session)
    assert result.text == "cut oak"


async def test_everything_an_agent_calls_is_in_the_audit_log(tmp_path):
    """The calls of its own tools and of unknown tools are included."""
    shed = Shed("plan")
    log = tmp_path / "work.audit.jsonl"
    dispatcher = shed.dispatcher(audit=AuditLog(log))
    calls = [call("look", what="x"), call("cut", wood="x"), call("nothing"), call("exit_plan", plan="Cut.")]
    await shed.agent([calls], dispatcher=dispatcher).run("go")
    outcomes = {line["tool"]: line["kind"] for line in AuditLog.read(log) if line["event"] == "outcome"}
    assert outcomes == {"look": "ok", "cut": "denied", "nothing": "not_found", "exit_plan": "ok"}


async def test_rules_hold_for_the_tools_of_the_agent():
    shed = Shed("plan", rules=("deny exit_plan",))
    agent = shed.agent([[call("exit_plan", plan="x")], "Plan."])
    run = await agent.run("go")
    assert (run.plan, "exit_plan" in agent.asked[0].tools) == ("Plan.", False)


async def test_secrets_are_masked_in_a_saved_run():
    """The rules of the dispatcher hold also for the texts of a sub-run and of a request."""
    shed = Shed()
    dispatcher = shed.dispatcher(Approvals(), redact=["oak"])
    agent = shed.agent([[call("look", what="oak"), call("cut", wood="oak")], "Done."], dispatcher=dispatcher)
    run = Run.loads((await agent.run("go")).dumps())
    assert run.messages[-1].results[0].text == "a [redacted]"
    assert run.requests[0].arguments["wood"] == "[redacted]"
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, shed.done) == ("done", ["look oak", "cut oak"])


def test_a_toolbox_has_the_mode_of_its_dispatcher():
    """The mode is None without permissions."""
    shed = Shed("bypass")
    assert Toolbox(shed.dispatcher(), with_own_tools(shed.catalog)).mode_of(None) == "bypass"
    assert Toolbox(Dispatcher(shed.catalog), shed.catalog).mode_of(None) is None


def test_a_tool_that_cannot_be_described_is_summarized_by_its_name():
    """Its call has the reason."""
    shed = Shed()

    @shed.catalog.tool(defer=True)
    async def broken(what: NotThere) -> str:  # noqa: F821 -- that is the point
        """Break."""

    toolbox = Toolbox(shed.dispatcher(), shed.catalog)
    assert toolbox.summary_of(call("broken", what=1)) == "broken"


@pytest.mark.parametrize("modes", [("default", "plan"), ("plan", "default"), ("bypass", "plan")])
async def test_an_agent_plans_if_any_permissions_are_in_plan_mode(modes):
    """A host may put a dispatcher with its own permissions into mode `plan`, and the plan is carried out as usual."""
    shed = Shed()
    own, added = (Permissions(mode) for mode in modes)
    dispatcher = shed.dispatcher(permissions=own).extended(permissions=added)
    agent = shed.agent([[call("exit_plan", plan="Cut.")], [call("cut", wood="oak")], "Done."], dispatcher=dispatcher)
    run = await agent.run("go")
    assert (run.status, shed.done) == ("planned", [])
    assert {tool.name for tool in agent.asked[0].catalog} >= {"look", "exit_plan"}
    assert "cut" not in {tool.name for tool in agent.asked[0].catalog}
    run = await agent.execute(run, mode="auto")
    assert (run.status, shed.done) == ("done", ["cut oak"])


async def test_an_agent_with_a_tool_for_the_background_has_the_tools_that_read_and_end_its_jobs():
    """The result of such a tool names them, so the model has to find them."""
    catalog = Catalog()

    @catalog.tool(background=True, read_only=True)
    async def build() -> str:
        """Build it."""
        return "built"

    script = [[call("build", background=True)], [call("job_output", job="job_1", wait_seconds=30)], "done"]
    run = await Agent(ScriptedProvider(script), Dispatcher(catalog)).run("go")
    results = [result for message in run.messages for result in getattr(message, "results", ())]
    assert [result.kind for result in results] == ["ok", "ok"]
    assert "built" in results[-1].text


@pytest.mark.parametrize("own_names", [["job_output"], ["job_output", "job_stop"]])
def test_the_agent_does_not_replace_job_tools_of_the_catalog(own_names):
    """The agent adds only what is missing."""

    def build() -> str:
        """Build it."""
        return "built"

    def look(job: str) -> str:
        """Look."""
        return job

    catalog = Catalog()
    catalog.tool(background=True)(build)
    for name in own_names:
        catalog.tool(name=name)(look)
    view = with_own_tools(catalog)
    assert [view[name].function is look for name in ("job_output", "job_stop")] == [
        name in own_names for name in ("job_output", "job_stop")
    ]


def test_an_agent_without_background_tools_has_no_tools_about_jobs():
    """They would cost tokens in each request."""
    assert "job_output" not in with_own_tools(Shed().catalog).names()


class CountingJudge(Judge):
    """Shows everything, and counts the tools that it is asked about."""

    def __init__(self):
        self.asked = 0

    def judge(self, request):
        return "allow"

    def could_allow(self, tool, names, session=None):
        return self.visibility(session).could_allow(tool, names)

    def visibility(self, session):
        return Visibility("", self._count)

    def _count(self, tool, names):
        self.asked += 1
        return True


@pytest.mark.parametrize("output", [None, int])
async def test_a_turn_with_the_same_tools_asks_about_none(output):
    """The first turn asks about each tool, and later turns only about those that are called."""
    shed, judge = Shed(), CountingJudge()
    shed.catalog.add(*(Tool.of(shed.catalog["look"].function).renamed(f"look_{number}") for number in range(50)))
    dispatcher = Dispatcher(shed.catalog, permissions=[shed.permissions, judge])
    answer = [call("final_answer", answer=1)] if output else "Done."
    agent = Agent(ScriptedProvider([answer, answer, "A plan."]), dispatcher, output=output)
    assert (await agent.run("go")).status == "done"
    count = judge.asked
    assert count > 50
    assert (await agent.run("go")).status == "done"
    assert judge.asked == count
    shed.permissions.set_mode("plan")
    await agent.run("go")
    assert judge.asked > count


async def test_tools_are_offered_by_the_mode_of_the_turn():
    """The tools of an earlier turn do not count."""
    shed = Shed("auto")
    agent = shed.agent(["Done.", "A plan.", "Done."])
    for mode in ("auto", "plan", "auto"):
        shed.permissions.set_mode(mode)
        await agent.run("go")
    first, planning, last = (request.tools for request in agent.asked)
    assert first == last
    assert "burn" in first
    assert "burn" not in planning
    assert "exit_plan" in planning


def test_definitions_are_made_once_for_turns_with_the_same_tools():
    shed, session = Shed(), Session()
    dispatcher = shed.dispatcher()
    toolbox = Toolbox(dispatcher, with_own_tools(shed.catalog))
    view = toolbox.select_offered_tools(session)
    assert toolbox.select_offered_tools(Session()) is view
    shed.permissions.set_mode("plan", session=session)
    assert toolbox.select_offered_tools(session) is not view
