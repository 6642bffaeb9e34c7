"""Which span is the parent of which, and which one is linked to the span in which a call has waited."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextvars import copy_context
from dataclasses import replace

import pytest
from mcp import Client
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased

from tests.agent.kit import Shed, call
from tests.flows.kit import Edited, Plan, Released, Task
from tests.telemetry.kept_spans import KeptSpans, linked_ids
from toolkit import Catalog, Context, Decision, Dispatcher, Permissions, Session, SQLiteApprovals, ToolCall
from toolkit.agent import Agent, sub_run
from toolkit.approvals import Approvals
from toolkit.builtin import end_shells
from toolkit.decisions import ApprovalRequest
from toolkit.flows import Flow
from toolkit.mcp import Servers, build_server
from toolkit.providers import ScriptedProvider, Usage

pytestmark = pytest.mark.anyio


def current_span_id() -> int:
    return trace.get_current_span().get_span_context().span_id


async def test_a_thousand_parallel_calls_have_the_right_parents(recording):
    """Each outer call makes two inner calls, one of them in a thread."""
    catalog = Catalog()
    dispatcher = Dispatcher(catalog, hooks=[recording.hook()], max_concurrency=100)

    @catalog.tool(read_only=True)
    async def outer(number: int) -> int:
        """Call two more."""
        await asyncio.sleep(0)
        calls = [ToolCall(name, {"number": number}, f"{name}-{number}") for name in ("inner", "threaded")]
        await dispatcher.call_many(calls)
        return current_span_id()

    @catalog.tool(read_only=True)
    async def inner(number: int) -> int:
        """Say which span this is."""
        return current_span_id()

    @catalog.tool(read_only=True)
    def threaded(number: int) -> int:
        """Say which span this is."""
        return current_span_id()

    results = await dispatcher.call_many(
        [ToolCall("outer", {"number": number}, f"outer-{number}") for number in range(334)]
    )
    by_id = {span.attributes["gen_ai.tool.call.id"]: span for span in recording.spans}
    assert len(by_id) == 1002
    for number, result in enumerate(results):
        span = by_id[f"outer-{number}"]
        assert (span.parent, span.context.span_id) == (None, result.value)
        for name in ("inner", "threaded"):
            assert by_id[f"{name}-{number}"].parent.span_id == span.context.span_id
    assert not trace.get_current_span().get_span_context().is_valid


async def test_the_span_is_current_in_threads_generators_and_jobs(recording):
    catalog, session, span_ids = Catalog(), Session(), {}
    ended = asyncio.Event()

    @catalog.tool(read_only=True)
    def thread() -> None:
        """Run in a thread, and start another one."""
        work = threading.Thread(target=copy_context().run, args=(lambda: span_ids.update(thread=current_span_id()),))
        work.start()
        work.join()

    @catalog.tool(read_only=True)
    def generator() -> Iterator[int]:
        """Yield."""
        yield 1
        span_ids["generator"] = current_span_id()

    @catalog.tool(background=True, read_only=True)
    async def job() -> None:
        """Work in the background."""
        await asyncio.sleep(0)
        span_ids["job"] = current_span_id()
        ended.set()

    async with Dispatcher(catalog, hooks=[recording.hook()]) as dispatcher:
        await dispatcher.call("thread")
        await dispatcher.call("generator")
        await dispatcher.call("job", {"background": True}, session=session)
        await ended.wait()
    end_shells(session)
    for name, span_id in span_ids.items():
        assert recording.one(f"execute_tool {name}").context.span_id == span_id
    assert len(span_ids) == 3


async def test_a_run_is_the_parent_of_its_models_and_its_calls(recording):
    shed = Shed()

    @shed.catalog.tool(read_only=True)
    async def delegate(task: str, context: Context) -> str:
        """Let a sub-run do it."""
        return await sub_run(task, context=context)

    def say(request):
        turns = {"go": [[call("delegate", task="sub")], "Done."], "sub": ["Sub."]}
        return turns[request.messages[0].text][len(request.messages) // 2]

    agent = shed.agent([say] * 3, dispatcher=shed.dispatcher(hooks=[recording.hook()]), name="carpenter")
    await agent.run("go")
    top = "invoke_agent carpenter"
    assert recording.tree == sorted(
        [
            top,
            f"{top} / chat scripted",
            f"{top} / chat scripted",
            f"{top} / execute_tool delegate",
            f"{top} / execute_tool delegate / {top}",
            f"{top} / execute_tool delegate / {top} / chat scripted",
        ]
    )
    assert recording.one("execute_tool delegate").attributes["gen_ai.agent.name"] == "carpenter"


async def test_a_stream_of_an_agent_is_one_tree(recording):
    """This holds also if the program has a span of its own around it."""
    shed = Shed()
    agent = shed.agent([[call("look", what="oak")], "Done."], dispatcher=shed.dispatcher(hooks=[recording.hook()]))
    with recording.tracers.get_tracer("test").start_as_current_span("program"):
        async for _ in agent.stream("go"):
            assert trace.get_current_span().name == "program"
    assert "program / invoke_agent / execute_tool look" in recording.tree
    assert all(path.startswith("program") for path in recording.tree)


def test_a_call_from_a_program_without_a_loop_has_its_parent(recording):
    shed = Shed()
    with recording.tracers.get_tracer("test").start_as_current_span("program"):
        shed.dispatcher(hooks=[recording.hook()]).call_sync("look", {"what": "oak"})
    assert recording.tree == ["program", "program / execute_tool look"]


async def test_two_hooks_of_one_dispatcher_leave_no_span_behind(recording):
    other, shed = KeptSpans(), Shed()
    hooks = [recording.hook(), other.hook()]
    dispatcher = shed.dispatcher(hooks=hooks)
    for _ in range(2):
        await dispatcher.call("look", {"what": "oak"})
        assert not trace.get_current_span().get_span_context().is_valid
    assert [span.parent for span in recording.spans] == [None, None]
    inner = {span.parent.span_id for span in other.spans}
    assert inner == {span.context.span_id for span in recording.spans}
    assert [hook._open for hook in hooks] == [{}, {}]


# Calls that wait.


async def test_a_resumed_call_is_linked_to_the_span_of_its_wait(recording, tmp_path):
    """Another dispatcher with other providers goes on, as in another process."""
    shed, later = Shed(), KeptSpans()
    first = shed.dispatcher(Approvals(SQLiteApprovals(tmp_path / "kept.sqlite")), hooks=[recording.hook()])
    waiting = await first.call("cut", {"wood": "oak"}, id="c1", session=Session(id="s"))
    span = recording.one("execute_tool cut")
    assert span.attributes["toolkit.request.id"] == waiting.request.id
    stored = ApprovalRequest.from_json(waiting.request.to_json())
    assert stored.trace_parent == waiting.request.trace_parent
    second = shed.dispatcher(Approvals(SQLiteApprovals(tmp_path / "kept.sqlite")), hooks=[later.hook()])
    assert (await second.resume(waiting.request.id, Decision.approve())).kind == "ok"
    resumed = later.one("execute_tool cut")
    assert linked_ids(resumed) == [(span.context.trace_id, span.context.span_id)]
    assert resumed.parent is None
    assert resumed.attributes["toolkit.request.id"] == waiting.request.id
    assert resumed.attributes["toolkit.waited_seconds"] >= 0


async def test_a_run_that_goes_on_is_linked_to_the_call_that_waited(recording):
    shed = Shed()
    agent = shed.agent([[call("cut", wood="oak")], "Done."], dispatcher=shed.dispatcher(hooks=[recording.hook()]))
    run = await agent.run("go")
    await agent.resume(type(run).from_json(run.to_json()), Decision.approve())
    first, second = recording.named("invoke_agent")
    waited, resumed = recording.named("execute_tool cut")
    assert (first.attributes["toolkit.run.status"], second.attributes["toolkit.run.verb"]) == ("waiting", "resume")
    assert linked_ids(second) == linked_ids(resumed) == [(waited.context.trace_id, waited.context.span_id)]
    assert resumed.parent.span_id == second.context.span_id


async def test_a_run_that_goes_on_counts_the_tokens_of_a_reply_once(recording):
    """A span of a run has the tokens of the model inside it, with those of sub-runs, and not those of earlier spans."""
    shed = Shed()

    @shed.catalog.tool(read_only=True)
    async def delegate(context: Context) -> str:
        """Ask again."""
        return await sub_run("Think.", context=context)

    script = [[call("delegate")], "Thought.", [call("cut", wood="oak")], "Done.", "You are welcome."]
    replies = [play_with_tokens(reply, 10**number) for number, reply in enumerate(script)]
    agent = shed.agent(replies, dispatcher=shed.dispatcher(hooks=[recording.hook(), recording.hook()]))
    run = await agent.run("go")
    run = await agent.resume(run, Decision.approve())
    run = await agent.run("Thank you.", run=run)
    assert run.usage.input_tokens == 11_111
    counts = [span.attributes["gen_ai.usage.input_tokens"] for span in recording.named("invoke_agent")]
    assert sorted(counts) == sorted([10, 111, 1_000, 10_000] * 2)


def play_with_tokens(reply, count):
    """Return a turn of a script that answers with *reply*, and has read *count* tokens."""

    async def play(request):
        answer = await ScriptedProvider([reply]).reply(request)
        return replace(answer, usage=Usage(input_tokens=count))

    return play


async def test_a_durable_run_that_goes_on_is_linked_by_its_journal(tmp_path):
    """The second agent shares nothing with the first one but the database."""
    durable_module = pytest.importorskip("toolkit.durable", reason="the extra `durable` is not installed")
    script = [[call("cut", id="c1", wood="oak")], "Done."]
    first, second = KeptSpans(), KeptSpans()

    def play(request):
        return play_with_tokens(script[len(request.messages) // 2], 5)(request)

    def build(recording):
        shed = Shed()
        agent = shed.agent([play] * 2, dispatcher=shed.dispatcher(hooks=[recording.hook()]))
        return durable_module.DurableAgent(agent, f"sqlite:///{tmp_path}/runs.sqlite")

    async with build(first) as durable:
        run = await durable.run("go", id="r1")
    async with build(second) as durable:
        run = await durable.resume("r1", {request.id: Decision.approve() for request in run.requests})
    assert run.status == "done"
    waited = first.one("execute_tool cut").context
    for name in ("invoke_agent", "execute_tool cut"):
        assert linked_ids(second.one(name)) == [(waited.trace_id, waited.span_id)]
    # The reply that the journal keeps was counted where the model gave it.
    assert [recording.one("invoke_agent").attributes["gen_ai.usage.input_tokens"] for recording in (first, second)] == [
        5,
        5,
    ]


async def test_a_durable_run_that_was_cut_off_is_linked_to_its_first_span(tmp_path):
    """The run does not wait for a person. Its process ends in the middle of a call."""
    durable_module = pytest.importorskip("toolkit.durable", reason="the extra `durable` is not installed")
    first, second, begun = KeptSpans(), KeptSpans(), asyncio.Event()

    def build(recording, *, hangs):
        catalog = Catalog()

        @catalog.tool(read_only=True)
        async def look() -> str:
            """Look around."""
            begun.set()
            await asyncio.sleep(60 if hangs else 0)
            return "nothing"

        provider = ScriptedProvider(
            [lambda request: [[ToolCall("look", {}, "c1")], "Done."][len(request.messages) // 2]] * 2
        )
        agent = Agent(provider, Dispatcher(catalog, hooks=[recording.hook()]))
        return durable_module.DurableAgent(agent, f"sqlite:///{tmp_path}/runs.sqlite")

    async with build(first, hangs=True) as durable:
        task = asyncio.create_task(durable.run("go", id="r1"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with build(second, hangs=False) as durable:
        assert (await durable.run("go", id="r1")).status == "done"
    began = first.one("invoke_agent").context
    assert linked_ids(second.one("invoke_agent")) == [(began.trace_id, began.span_id)]
    assert linked_ids(first.one("invoke_agent")) == []


@pytest.mark.parametrize("text", ["", "00-" + "0" * 52, "x" * 55, "00-" + "f" * 1_000_000, "00-\x00" + "1" * 51])
async def test_a_link_that_cannot_be_read_is_left_out(recording, text):
    from toolkit.hooks import CallEnded, CallStarted
    from toolkit.hooks.base import ShownCall

    hook, shown_call = recording.hook(), ShownCall.of(ToolCall("look", {}, "c1"), {})
    hook.on_event(CallStarted(shown_call, "r1", text))
    hook.on_event(CallEnded(shown_call, "ok"))
    assert recording.one("execute_tool look").links == ()


async def test_a_request_of_a_call_that_no_span_records_has_no_trace():
    waiting = await Shed().dispatcher(hooks=[]).call("cut", {"wood": "oak"})
    assert waiting.request.trace_parent is None
    assert "trace_parent" not in waiting.request.to_json()


async def test_a_flow_is_the_parent_of_its_steps(recording):
    flow = Flow[Released](
        "release", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto"), hooks=[recording.hook()])
    )

    @flow.step
    def edit(plan: Plan) -> Edited:
        return Edited("text")

    @flow.step(destructive=True)
    def publish(edited: Edited) -> Released:
        return Released(edited.text)

    waiting = await flow.run(Plan(), id="r1")
    await flow.resume(waiting, Decision.approve())
    top = "invoke_workflow release"
    assert recording.tree == [top, top, f"{top} / execute_tool edit"] + [f"{top} / execute_tool publish"] * 2
    assert [span.attributes["toolkit.flow.status"] for span in recording.named(top)] == ["waiting", "done"]
    waited, resumed = recording.named("execute_tool publish")
    assert linked_ids(resumed) == [(waited.context.trace_id, waited.context.span_id)]


@pytest.mark.parametrize("where", ["everywhere", "outermost"])
async def test_agents_flows_and_calls_are_inside_each_other_in_any_order(recording, where):
    """
    A flow, its step, an agent, another agent as a tool, its tool, a flow again, and calls of one turn beside it.

    Given to the outermost flow, telemetry records what has dispatchers of its own as well.
    """
    telemetry = recording.hook()
    hooks = [telemetry] if where == "everywhere" else []
    shed, inner = Shed(), Flow[Edited]("inner", dispatcher=Dispatcher(Catalog(), hooks=hooks))

    @inner.step
    def edit(plan: Plan) -> Edited:
        return Edited("text")

    @shed.catalog.tool(read_only=True)
    async def plan() -> str:
        """Run a flow."""
        await inner.run(Plan())
        return "planned"

    helper = shed.agent([[call("plan")], "Helped."], dispatcher=shed.dispatcher(hooks=hooks), name="helper")
    outer_shed = Shed()
    outer_shed.catalog.add(helper.as_tool(description="Help.", read_only=True))
    turns = [[call("helper", prompt="go"), call("look", what="oak"), call("look", what="ash")], "Done."]
    agent = outer_shed.agent(turns, dispatcher=outer_shed.dispatcher(hooks=hooks), name="boss")
    flow = Flow[Released]("outer", dispatcher=Dispatcher(Catalog(), hooks=hooks), telemetry=telemetry)

    @flow.step
    async def release(task: Task) -> Released:
        return Released((await agent.run("go")).text)

    await flow.run(Task())
    boss = "invoke_workflow outer / execute_tool release / invoke_agent boss"
    help_path = f"{boss} / execute_tool helper / invoke_agent helper"
    assert f"{help_path} / execute_tool plan / invoke_workflow inner / execute_tool edit" in recording.tree
    assert recording.tree.count(f"{boss} / execute_tool look") == 2
    assert [path for path in recording.tree if not path.startswith("invoke_workflow outer")] == []
    assert len({span.context.span_id for span in recording.spans}) == len(recording.spans) == 14


# Where it is given.


async def test_a_dispatcher_and_an_agent_take_telemetry(recording):
    shed, telemetry = Shed(), recording.hook()
    await Dispatcher(shed.catalog, telemetry=telemetry).call("look", {"what": "oak"})
    agent = Agent(ScriptedProvider([[call("look", what="oak")], "Seen."]), shed.catalog, telemetry=telemetry)
    await agent.run("Look.")
    assert [path for path in recording.tree if "chat" not in path] == [
        "execute_tool look",
        "invoke_agent",
        "invoke_agent / execute_tool look",
    ]


@pytest.mark.parametrize(
    "give", [Dispatcher, lambda tools, **options: Agent(ScriptedProvider(["a"]), tools, **options)]
)
def test_an_invalid_telemetry_option_is_refused(give):
    with pytest.raises(TypeError, match=r"telemetry cannot be .*; give Telemetry\(\) or TraceFile\(path\)"):
        give([], telemetry="otlp")


async def test_an_agent_that_a_call_starts_is_recorded_as_a_part_of_the_call(recording):
    """A plain function starts it, and it has a dispatcher of its own. Started by itself, it is not recorded."""
    shed = Shed()
    helper = shed.agent([[call("look", what="oak")], "Seen.", [call("look", what="ash")], "Seen."], name="helper")

    async def ask() -> str:
        """Ask the helper."""
        return (await helper.run("Look.")).text

    await Dispatcher([ask], telemetry=recording.hook()).call("ask")
    assert "execute_tool ask / invoke_agent helper / execute_tool look" in recording.tree
    count = len(recording.spans)
    await helper.run("Look.")
    assert len(recording.spans) == count


async def test_an_agent_that_takes_over_a_conversation_is_recorded(recording):
    script = ScriptedProvider([[call("look", what="bill")], "Paid."])
    billing = Agent(script, Shed().catalog, name="billing", description="Pays.")
    script = ScriptedProvider([[call("hand_over_to_billing")]])
    desk = Agent(script, name="desk", hand_over_to=[billing], telemetry=recording.hook())
    run = await desk.run("Pay.")
    assert run.text == "Paid."
    look, desk = recording.one("execute_tool look"), recording.one("invoke_agent desk")
    assert look.parent.span_id == desk.context.span_id
    assert look.attributes["gen_ai.agent.name"] == "billing"
    assert recording.one("execute_tool hand_over_to_billing").attributes["gen_ai.agent.name"] == "desk"
    [[attributes, _]] = recording.metrics["gen_ai.invoke_agent.duration"]
    assert attributes["gen_ai.agent.name"] == "desk"


async def test_a_question_in_an_inner_run_is_one_event(recording):
    shed, outer = Shed(), Shed()
    helper = Agent(
        ScriptedProvider([[call("cut", wood="oak")], "Cut."]),
        Dispatcher(shed.catalog, permissions=Permissions("default")),
        name="helper",
    )
    outer.catalog.add(helper.as_tool(description="Help.", read_only=True))
    agent = outer.agent([[call("helper", prompt="go")], "Done."], dispatcher=outer.dispatcher(hooks=[recording.hook()]))
    run = await agent.run("go")
    assert run.status == "waiting"
    assert [event.name for event in recording.one("execute_tool cut").events] == ["toolkit.person_asked"]


# MCP.


async def test_a_trace_goes_through_mcp_in_both_directions(recording):
    """The client writes the context of its call into the request, and the server reads it."""
    shed = Shed()
    server = build_server(shed.dispatcher(hooks=[recording.hook()]))
    async with Servers(wood=server) as tools:
        client = Dispatcher(tools, permissions=Permissions("bypass"), hooks=[recording.hook()])
        with recording.tracers.get_tracer("test").start_as_current_span("program"):
            assert (await client.call("wood_look", {"what": "oak"})).kind == "ok"
    assert "program / execute_tool wood_look / execute_tool look" in recording.tree
    sent = recording.one("execute_tool wood_look")
    assert (sent.attributes["gen_ai.tool.type"], sent.attributes["toolkit.origin"]) == ("extension", "mcp:wood")


async def call_with_header(recording, header):
    """Call a tool over MCP as a client that sends *header*."""
    async with Client(build_server(Shed().dispatcher(hooks=[recording.hook()]))) as client:
        token = otel_context.attach(otel_context.Context())
        try:
            await client.session.call_tool("look", {"what": "oak"}, meta={"traceparent": header})
        finally:
            otel_context.detach(token)


@pytest.mark.parametrize("header", ["", "00-" + "0" * 52, "junk", "00-" + "f" * 1_000_000])
async def test_a_malformed_trace_of_a_client_is_left_out(recording, header):
    await call_with_header(recording, header)
    assert recording.one("execute_tool look").parent is None


@pytest.mark.parametrize("sampler", [ALWAYS_OFF, ParentBased(ALWAYS_OFF, remote_parent_sampled=ALWAYS_OFF)])
async def test_a_client_cannot_have_its_calls_sampled_against_the_will_of_the_host(sampler):
    """The flag of its header says that the trace is sampled. The sampler of the host decides."""
    header, recording = f"00-{1:032x}-{2:016x}-01", KeptSpans(sampler)
    await call_with_header(recording, header)
    assert recording.spans == []
    recording = KeptSpans()
    await call_with_header(recording, header)
    assert recording.one("execute_tool look").parent.span_id == 2
