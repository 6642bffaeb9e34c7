"""A flow runs its steps by the types of their values."""

from __future__ import annotations

import pytest
from typing_extensions import TypeAliasType

from tests.flows.kit import Built, Edited, Part, Plan, Rejected, Released, Task
from toolkit import (
    Catalog,
    Context,
    DefinitionError,
    Dispatcher,
    Inject,
    Session,
    Tool,
    ToolError,
    ToolResult,
    Transient,
    tool,
)
from toolkit.flows import Failed, Flow, Problems
from toolkit.hooks import Deny, Halt, Proceed, Replace
from toolkit.steps.base import MemorySteps

pytestmark = pytest.mark.anyio


@pytest.fixture
def release():
    """A flow with two ends."""
    flow = Flow[Released | Rejected]("release")

    @flow.step(read_only=True)
    async def plan(task: Task) -> Plan | Rejected:
        return Plan([task.file]) if task.file else Rejected("no file")

    @flow.step
    def publish(plan: Plan) -> Released:
        return Released(f"1 with {plan.files[0]}")

    return flow


async def test_the_type_of_the_value_selects_the_next_step(release):
    """A plan goes to the step that takes plans, and a type that no step takes ends the flow."""
    assert await release.run(Task("a.py")) == Released("1 with a.py")
    assert await release.run(Task("")) == Rejected("no file")


async def test_a_decorated_step_stays_a_function():
    """It can be called as before, and its tool is attached to it."""
    flow = Flow("own")

    @flow.step(read_only=True)
    def double(part: Part) -> Built:
        """Double it."""
        return Built(part.number * 2)

    assert double(Part(2)) == Built(4)
    assert Tool.of(double).facts.read_only
    assert await flow.run(Part(3)) == Built(6)


@pytest.mark.parametrize("name", ["build", "make"])
async def test_a_tool_can_be_a_step(name):
    """Its facts and its name stay."""
    flow = Flow("tools")

    @flow.step
    @tool(read_only=True, name=name, catalog=None, description="Build a part.")
    def build(part: Part) -> Built:
        return Built(part.number)

    assert flow.graph.nodes[name].tool.facts.read_only
    assert await flow.run(Part(1)) == Built(1)


async def test_a_step_gets_resources_and_the_context():
    """`Inject` and `Context` work as in every tool, in the check and in the undo too."""
    flow, calls = Flow("resources"), []

    def check(before, after, words: Inject[list], context: Context):
        calls.append((words, context.call.name))

    @flow.step(check=check)
    async def build(part: Part, words: Inject[list], context: Context, problems: Inject[Problems]) -> Built:
        calls.append((words, context.call.name, tuple(problems)))
        return Built(part.number)

    assert await flow.run(Part(1), resources={list: ["a"]}) == Built(1)
    assert calls == [(["a"], "build", ()), (["a"], "build.check")]


async def test_a_missing_resource_is_named(release):
    """The error comes before the first step."""

    @release.step
    async def review(edited: Edited, words: Inject[list]) -> Rejected:
        return Rejected("")

    @release.step(start=True)
    async def begin(part: Part) -> Task | Edited:
        return Task()

    with pytest.raises(DefinitionError, match="`review` wants list"):
        await release.run(Part(1))


async def test_a_start_of_another_type_is_refused(release):
    """The message names the type that the flow begins with."""
    with pytest.raises(TypeError, match="begins with `Task`, got `Plan`"):
        await release.run(Plan(["a"]))


async def test_a_flow_may_have_several_starts():
    """A step with `start=True` is another place to begin."""
    flow = Flow("two")

    @flow.step(start=True)
    def one(task: Task) -> Plan:
        return Plan([task.file])

    @flow.step(start=True)
    def two(plan: Plan) -> Released:
        return Released(",".join(plan.files))

    assert await flow.run(Task("x")) == Released("x")
    assert await flow.run(Plan(["y", "z"])) == Released("y,z")


async def test_a_flow_may_loop_until_the_most_visits():
    """A step that returns the type of an earlier step is a loop, and the loop ends."""
    flow = Flow("loop", max_visits=5)

    @flow.step
    def count(part: Part) -> Built | Part:
        return Built(part.number) if part.number == 3 else Part(part.number + 1)

    assert await flow.run(Part(0)) == Built(3)
    outcome = await flow.run(Part(4))
    assert isinstance(outcome, Failed)
    assert outcome.step == "count"
    assert "5 times" in outcome.problems[0]
    assert outcome.left == ("count",)


async def test_none_and_plain_values_are_types_too():
    """A flow may go from a text to nothing."""
    flow = Flow[None]("plain")

    @flow.step
    def measure(text: str) -> int:
        return len(text)

    @flow.step
    def forget(number: int) -> None:
        return None

    assert await flow.run("abc") is None


# What a step does wrong.


async def test_a_step_that_raises_is_tried_again_and_fails():
    """The exception is a problem for the next attempt."""
    flow, problems_of_attempts = Flow("raising"), []

    @flow.step(attempts=2)
    def build(part: Part, problems: Inject[Problems]) -> Built:
        problems_of_attempts.append(list(problems))
        raise ToolError("no compiler")

    assert await flow.run(Part(1)) == Failed("build", ("no compiler",), left=("build",))
    assert problems_of_attempts == [[], ["no compiler"]]


async def test_a_transient_failure_is_retried_by_the_dispatcher():
    """Retries are those of every call, and do not count as attempts of the step."""
    flow, calls = Flow("flaky"), []

    @flow.step(idempotent=True)
    def build(part: Part) -> Built:
        calls.append(1)
        if len(calls) < 3:
            raise Transient("busy")
        return Built(part.number)

    async def no_sleep(seconds):
        return None

    assert await flow.run(Part(1), dispatcher=Dispatcher(Catalog(), sleep=no_sleep)) == Built(1)
    assert len(calls) == 3


async def test_an_effect_in_doubt_ends_the_flow():
    """A step that may have happened is not repeated, although it has attempts left."""
    flow = Flow("doubt")

    @flow.step(attempts=3)
    def build(part: Part) -> Built:
        raise Transient("the line is dead", happened="maybe")

    outcome = await flow.run(Part(1))
    assert isinstance(outcome, Failed)
    assert "may or may not have happened" in outcome.problems[0]
    assert outcome.left == ("build, which may or may not have happened",)


async def test_a_step_that_returns_another_type_fails():
    """The message names the step, its place and the types that it declares."""
    flow = Flow("wrong")

    class Special(Built):
        pass

    @flow.step
    def build(part: Part) -> Built:
        return Special(1)

    outcome = await flow.run(Part(1))
    assert isinstance(outcome, Failed)
    assert "it returned `Special`, and `build` (" in outcome.problems[0]
    assert "test_flow.py" in outcome.problems[0]
    assert "declares `Built`" in outcome.problems[0]


async def test_a_list_with_an_item_of_a_wrong_type_fails_the_flow():
    flow = Flow("items")

    @flow.step
    def split(task: Task) -> list[Part]:
        return [Part(1), Built(1)]

    outcome = await flow.run(Task())
    assert isinstance(outcome, Failed)


async def test_a_step_that_returns_a_value_without_a_json_form_fails_the_flow():
    """Infinity is such a value. A start value without a JSON form is refused."""
    flow = Flow("numbers")

    @flow.step
    def measure(task: Task) -> float:
        return float("inf")

    outcome = await flow.run(Task())
    assert isinstance(outcome, Failed)
    with pytest.raises(ValueError, match="not JSON"):
        await flow.run(Task("\ud800"))


# The policies of a dispatcher.


class Hook:
    """Answers before every call of a step."""

    def __init__(self, outcome):
        self.outcome = outcome

    def before(self, call):
        return self.outcome if call.name == "publish" else Proceed()


async def test_a_denied_step_fails_without_having_run(release):
    """The reason of the hook is the problem, and nothing is left."""
    hook = Hook(Deny("not on Fridays"))
    assert await release.run(Task(), dispatcher=Dispatcher(Catalog(), hooks=[hook])) == Failed(
        "publish", ("not on Fridays",)
    )


async def test_a_hook_that_halts_ends_the_flow(release):
    dispatcher = Dispatcher(Catalog(), hooks=[Hook(Halt("enough"))])
    assert await release.run(Task(), dispatcher=dispatcher) == Failed("publish", ("enough",))


async def test_a_replaced_value_goes_to_the_next_step(release):
    """The value of a hook is read as the return type of the step."""
    dispatcher = Dispatcher(Catalog(), hooks=[Hook(Replace({"version": "from a cache"}))])
    assert await release.run(Task(), dispatcher=dispatcher) == Released("from a cache")
    dispatcher = Dispatcher(Catalog(), hooks=[Hook(Replace("nonsense"))])
    outcome = await release.run(Task(), dispatcher=dispatcher)
    assert isinstance(outcome, Failed)


async def test_an_after_hook_changes_the_value(release):
    """The next step gets the value of the hook."""

    class Shout:
        def after(self, call, result):
            if call.name == "publish":
                result.value = {"version": result.value["version"].upper()}
            return result

    outcome = await release.run(Task("a"), dispatcher=Dispatcher(Catalog(), hooks=[Shout()]))
    assert outcome == Released("1 WITH A")


async def test_every_call_has_the_session_of_the_caller(release):
    sessions = []

    class Note:
        def before(self, call):
            sessions.append(call.session_key)
            return Proceed()

    await release.run(Task(), session=Session(id="s1"), dispatcher=Dispatcher(Catalog(), hooks=[Note()]))
    assert sessions == ["s1", "s1"]


# Options.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attempts": 0}, "`attempts` has to be a whole number from 1, got 0"),
        ({"check": "tests"}, "`check` has to be a function"),
        ({"undo": 1}, "`undo` has to be a function"),
        ({"back_to": 3}, "`back_to` has to be a step, or its name"),
        ({"start": "yes"}, "`start` has to be True or False"),
        ({"check_timeout_seconds": 3.0}, "needs a `check`"),
        ({"check": print, "check_timeout_seconds": 0}, "a number of seconds above 0"),
        ({"background": True}, "the name of a job"),
        ({"schema": {}}, "described by the type of its parameter"),
        ({"read_only": 1}, "`read_only` has to be True or False"),
        ({"chek": print}, "unknown option `chek`"),
    ],
)
def test_a_wrong_option_is_refused_at_definition(options, message):
    """The error names the option and its possible values."""

    def build(part: Part) -> Built:
        return Built(part.number)

    with pytest.raises(DefinitionError, match=message):
        Flow("options").step(**options)(build)


def test_a_class_or_a_method_is_not_a_step():
    """A class and a method cannot be steps."""
    flow = Flow("odd")
    with pytest.raises(DefinitionError, match="a step is a function, got type"):
        flow.step(Part)
    with pytest.raises(DefinitionError, match="not a method"):

        class Steps:
            @flow.step
            def build(self, part: Part) -> Built:
                return Built(part.number)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"max_visits": 0}, ValueError), ({"max_visits": True}, ValueError), ({"dispatcher": 1}, TypeError)],
)
def test_an_invalid_option_of_a_flow_is_refused(options, error):
    with pytest.raises(error):
        Flow("odd", **options)


def test_the_name_of_a_flow_is_checked():
    """It is part of the kind of a durable run."""
    with pytest.raises(DefinitionError):
        Flow("two words")
    assert repr(Flow("release")) == "<Flow release: no steps>"


async def test_a_step_that_is_defined_again_replaces_the_first():
    """A cell of a notebook may be run again after a change."""
    cell = """
@flow.step
def build(part: Part) -> Built:
    return Built(part.number + {})
"""
    names = {"flow": Flow("cells"), "Part": Part, "Built": Built, "__name__": "notebook"}
    exec(compile(cell.format(1), "cell", "exec"), names)
    assert await names["flow"].run(Part(1)) == Built(2)
    exec(compile(cell.format(5), "cell", "exec"), names)
    assert await names["flow"].run(Part(1)) == Built(6)


@pytest.mark.parametrize("is_tool", [True, False])
async def test_a_long_text_is_not_cut(is_tool):
    """The next step gets all of it, and so does the caller of the flow; no model reads it."""
    flow = Flow[str]("long", dispatcher=Dispatcher(Catalog(), max_chars=50, max_bytes=50))

    @flow.step
    def count(length: int) -> Built:
        return Built(length)

    def write(built: Built) -> str:
        """Write a text."""
        return "x" * built.number

    flow.step(tool(max_chars=50, catalog=None)(write) if is_tool else write)
    assert await flow.run(1000) == "x" * 1000


async def test_a_masked_value_does_not_go_on():
    """The next step would work with the mask, and nothing would say so."""
    flow, log = Flow("masked", dispatcher=Dispatcher(Catalog(), redact=["hunter2"])), []

    @flow.step
    def log_in(task: Task) -> Plan:
        return Plan(["hunter2"])

    @flow.step
    def publish(plan: Plan) -> Released:
        log.append(plan)
        return Released("1")

    outcome = await flow.run(Task())
    assert (outcome.step, outcome.left, log) == ("log_in", ("log_in",), [])
    assert "its value holds a secret, and was masked as [redacted]" in outcome.problems[0]


@pytest.mark.parametrize("name", ["edit", "edit.check", "edit.undo"])
async def test_a_waiting_result_without_a_request_is_a_failure(name):
    """No person could answer, so the flow does not wait."""
    flow = Flow("waiting")

    class Hook:
        def after(self, call, result):
            return ToolResult("", None, "waiting") if call.name == name else result

    @flow.step(check=lambda before, after: "bad" if name == "edit.undo" else None, undo=lambda before: None)
    def edit(plan: Plan) -> Edited:
        return Edited("")

    outcome = await flow.run(Plan(), dispatcher=Dispatcher(Catalog(), hooks=[Hook()]))
    assert isinstance(outcome, Failed)
    assert f"`{name}` waits for an answer, but has no request" in outcome.problems[-1]
    assert outcome.left == (("edit",) if name == "edit.undo" else ())


async def test_a_flow_refuses_a_start_value_without_a_json_form():
    flow = Flow("start")

    @flow.step
    def plan(task: Task) -> Plan:
        return Plan()

    with pytest.raises(ValueError, match="this `Task` has no JSON form"):
        await flow.run(Task(object()))


async def test_an_alias_names_its_types():
    """`type Ends = Released | Rejected` is such an alias."""
    flow = Flow("alias")
    ends = TypeAliasType("ends", "Released | Rejected")

    def plan(task: Task):
        return Released("1")

    plan.__annotations__["return"] = ends
    flow.step(plan)
    assert flow.graph.list_ends() == ["Released", "Rejected"]
    assert await flow.run(Task()) == Released("1")


async def test_memory_keeps_replies_too():
    """`MemorySteps` is a `Steps` for anything that asks a model."""
    steps, questions = MemorySteps(), []

    async def ask():
        questions.append(1)
        return "a reply"

    assert [await steps.reply("run/reply/1", ask), await steps.reply("run/reply/1", ask)] == ["a reply"] * 2
    assert questions == [1]
