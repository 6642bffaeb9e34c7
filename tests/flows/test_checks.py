"""A step is checked, undone and run again, and the flow goes back if that does not help."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.flows.kit import Built, Edited, Part, Plan, Released, Task
from toolkit import Catalog, DefinitionError, Dispatcher, Inject, Permissions, ToolError, ToolResult, Transient
from toolkit.flows import Failed, Flow, Problems
from toolkit.hooks import Deny, Proceed, Replace

pytestmark = pytest.mark.anyio


class Shop:
    """Steps that write down what they do. The check of `edit` passes at the visit and attempt that it is told."""

    def __init__(self, *, edit_passes_at=1, publish_passes_at=1, attempts=3, undo_fails=False, **publish_options):
        self.log, self.edits, self.publications = [], 0, 0
        self.flow = flow = Flow[Released]("release")

        @flow.step(read_only=True)
        async def plan(task: Task) -> Plan:
            self.log.append("plan")
            return Plan([task.file])

        async def tests_pass(before: Plan, after: Edited):
            return [] if self.edits >= edit_passes_at else [f"test {self.edits} fails", "and another"]

        def restore(before: Plan, after: Edited | None):
            self.log.append(f"restore {after.text if after else after}")
            if undo_fails:
                raise ToolError("the disk is full")

        @flow.step(check=tests_pass, undo=restore, attempts=attempts)
        async def edit(plan: Plan, problems: Inject[Problems]) -> Edited:
            self.edits += 1
            self.log.append(f"edit {self.edits} after {list(problems)}")
            return Edited(f"text {self.edits}")

        def was_published(before, after):
            return None if self.publications >= publish_passes_at else "nothing arrived"

        @flow.step(check=was_published, back_to=edit, **publish_options)
        def publish(edited: Edited) -> Released:
            self.publications += 1
            self.log.append("publish")
            return Released(edited.text)


async def test_every_step_runs_once_if_its_check_passes():
    shop = Shop()
    assert await shop.flow.run(Task()) == Released("text 1")
    assert shop.log == ["plan", "edit 1 after []", "publish"]


async def test_a_failed_check_undoes_the_step_and_runs_it_again_with_the_problems():
    """The step learns what was wrong."""
    shop = Shop(edit_passes_at=2)
    assert await shop.flow.run(Task()) == Released("text 2")
    assert shop.log == [
        "plan",
        "edit 1 after []",
        "restore text 1",
        "edit 2 after ['test 1 fails', 'and another']",
        "publish",
    ]


async def test_a_flow_fails_after_the_last_attempt_of_a_step():
    """The last attempt is undone, too."""
    shop = Shop(edit_passes_at=9, attempts=2)
    assert await shop.flow.run(Task()) == Failed("edit", ("test 2 fails", "and another"))
    assert shop.log[-1] == "restore text 2"


async def test_a_step_goes_back_to_an_earlier_one():
    """The earlier step is undone and gets the problems of the later one."""
    shop = Shop(publish_passes_at=2)
    assert await shop.flow.run(Task()) == Released("text 2")
    assert shop.log == [
        "plan",
        "edit 1 after []",
        "publish",
        "restore text 1",
        "edit 2 after ['nothing arrived']",
        "publish",
    ]


async def test_the_way_back_is_bounded():
    """Each step is visited at most `max_visits` times."""
    shop = Shop(publish_passes_at=99)
    shop.flow.max_visits = 3
    outcome = await shop.flow.run(Task())
    assert isinstance(outcome, Failed)
    assert outcome.step == "edit"
    assert shop.publications == 3


async def test_a_failed_undo_ends_the_flow_with_a_list_of_remaining_effects():
    """No other step runs after that."""
    shop = Shop(edit_passes_at=2, undo_fails=True)
    outcome = await shop.flow.run(Task())
    problems = ("test 1 fails", "and another", "edit could not be undone: the disk is full")
    assert outcome == Failed("edit", problems, left=("edit",))
    assert str(outcome).endswith("(still in place: edit)")
    assert shop.log == ["plan", "edit 1 after []", "restore text 1"]


async def test_an_undo_that_fails_on_the_way_back_names_the_step_that_could_not_be_done():
    """The step that is left is another one than the step that failed."""
    shop = Shop(publish_passes_at=2, undo_fails=True)
    outcome = await shop.flow.run(Task())
    assert isinstance(outcome, Failed)
    assert (outcome.step, outcome.left) == ("publish", ("edit", "publish"))


async def test_the_steps_are_undone_in_reverse_order():
    """The order begins with the step that failed and ends with the step that it names."""
    flow, log = Flow("chain"), []

    def undo_with(word):
        return lambda before: log.append(f"undo {word}")

    @flow.step(undo=undo_with("first"))
    def first(task: Task) -> Plan:
        return Plan()

    @flow.step(undo=undo_with("second"))
    def second(plan: Plan) -> list[Part]:
        return [Part(1), Part(2)]

    @flow.step(undo=lambda before, after: log.append(f"undo third {before.number} {after.number}"))
    def third(part: Part) -> Built:
        return Built(part.number * 10)

    def check(before, after):
        return "wrong" if "undo first" not in log else None

    @flow.step(check=check, back_to=first, undo=undo_with("fourth"))
    def fourth(built: list[Built]) -> Released:
        return Released("1")

    assert await flow.run(Task()) == Released("1")
    assert log == ["undo fourth", "undo third 2 20", "undo third 1 10", "undo second", "undo first"]


async def test_items_that_passed_are_undone_in_reverse_order_if_another_fails():
    flow, log = Flow("items"), []

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2), Part(3)]

    def check(before, after):
        return "odd" if after.number == 20 else None

    @flow.step(check=check, undo=lambda before: log.append(before.number))
    def build(part: Part) -> Built:
        return Built(part.number * 10)

    assert await flow.run(Task()) == Failed("build", ("build (item 2): odd",))
    assert log == [2, 3, 1]


async def test_an_item_that_cannot_be_undone_is_left():
    """The items after it were undone, and those before it were not."""
    flow = Flow("items")

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2), Part(3), Part(4)]

    def undo(before):
        if before.number == 2:
            raise ToolError("stuck")

    @flow.step(check=lambda before, after: "odd" if after.number == 4 else None, undo=undo)
    def build(part: Part) -> Built:
        return Built(part.number)

    outcome = await flow.run(Task())
    assert outcome == Failed(
        "build",
        ("build (item 4): odd", "build (item 2) could not be undone: stuck"),
        left=("build (item 1)", "build (item 2)"),
    )


async def test_a_step_goes_back_only_to_a_step_before_it():
    """A flow that began later cannot go back further."""
    flow = Flow("late")

    @flow.step(start=True)
    def plan(task: Task) -> Plan:
        return Plan()

    @flow.step(start=True, back_to=plan)
    def publish(plan: Plan) -> Released:
        raise ToolError("no")

    outcome = await flow.run(Plan())
    assert isinstance(outcome, Failed)
    assert outcome.problems == ("no", "the flow has not come through `plan`, so it cannot go back")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("bad", "bad"),
        (("bad",), "bad"),
        (" ", "the check gave no reason"),
        (False, "a check returns None, a text, or a list of texts"),
        ([1], "a check returns None, a text, or a list of texts"),
    ],
)
async def test_an_answer_of_a_check_that_is_not_a_pass_is_a_problem(answer, problem):
    flow = Flow("answers")

    @flow.step(check=lambda before, after: answer)
    def build(part: Part) -> Built:
        return Built(1)

    outcome = await flow.run(Part(1))
    assert isinstance(outcome, Failed)
    assert problem in outcome.problems[0]
    assert outcome.left == ("build",)


async def test_the_error_of_a_check_that_raises_is_a_problem():
    flow = Flow("raising")

    def check(before, after):
        raise ValueError("no such table")

    @flow.step(check=check)
    def build(part: Part) -> Built:
        return Built(1)

    outcome = await flow.run(Part(1))
    assert isinstance(outcome, Failed)
    assert "the check of `build` could not be made" in outcome.problems[0]


async def test_a_check_has_a_time_limit():
    """It runs as a call of its own."""
    flow = Flow("slow")

    async def check(before, after):
        await asyncio.Event().wait()

    @flow.step(check=check, check_timeout_seconds=0.01)
    def build(part: Part) -> Built:
        return Built(1)

    async def no_sleep(seconds):
        return None

    outcome = await flow.run(Part(1), dispatcher=Dispatcher(Catalog(), sleep=no_sleep))
    assert isinstance(outcome, Failed)
    assert "took longer" in outcome.problems[0]


async def test_rules_hold_for_checks_and_undos():
    """They are calls with the names `edit.check` and `edit.undo`."""
    shop = Shop(edit_passes_at=2)
    permissions = Permissions("auto", ["deny edit.undo"])
    outcome = await shop.flow.run(Task(), dispatcher=Dispatcher(Catalog(), permissions=permissions))
    assert isinstance(outcome, Failed)
    assert outcome.left == ("edit",)
    assert "restore text 1" not in shop.log


def test_problems_are_a_sequence_of_texts():
    """They are lines in a prompt."""
    problems = Problems(("a", "b"), "edit")
    assert (len(problems), problems[0], list(problems), problems[1:]) == (2, "a", ["a", "b"], ("b",))
    assert str(problems) == "- a\n- b"
    assert not Problems()


# What is left.


def build_shop(log, **charge_facts):
    """Return a flow whose last step goes back over `charge`, which cannot be undone unless the facts say so."""
    flow = Flow[Released]("shop", max_visits=3)

    @flow.step(undo=lambda before: log.append("undo"))
    def edit(plan: Plan) -> Edited:
        if log.count("edit") == 1:
            raise ToolError("no second edit")
        log.append("edit")
        return Edited("")

    @flow.step(**charge_facts)
    def charge(edited: Edited) -> Built:
        log.append("charge")
        return Built(1)

    @flow.step(read_only=True, back_to=edit)
    def publish(built: Built) -> Released:
        raise ToolError("refused")

    return flow


async def test_a_step_without_an_undo_is_left_if_the_flow_goes_back_before_that_step():
    """The step has happened, also if the flow fails before reaching it again."""
    log = []
    outcome = await build_shop(log).run(Plan())
    assert outcome == Failed("edit", ("no second edit",), left=("charge",))
    assert log == ["edit", "charge", "undo", "undo"]


async def test_a_flow_cannot_go_back_over_a_destructive_step_without_an_undo():
    """It would run twice, so the flow is refused."""
    with pytest.raises(DefinitionError, match="the way back to `edit` is over `charge`, which is destructive"):
        await build_shop([], destructive=True).run(Plan())
    assert build_shop([], destructive=True, undo=lambda before: None).graph.nodes["charge"].undo is not None


async def test_a_destructive_step_that_has_run_is_not_run_again_by_going_back():
    """The flow ends, and says why and what is left; a step that may have run only on this way counts, too."""
    shop = Shop(publish_passes_at=2, destructive=True)
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("bypass"))
    outcome = await shop.flow.run(Task(), dispatcher=dispatcher)
    reason = (
        "the flow cannot go back to `edit`, because `publish` has run, is destructive and has no `undo`, and is not "
        "run twice"
    )
    assert outcome == Failed("publish", ("nothing arrived", reason), left=("edit", "publish"))
    assert shop.publications == 1


async def test_a_destructive_step_on_one_of_two_ways_is_not_run_again():
    """The graph is right, because the other way can be gone back."""
    flow, log = Flow[Released]("two_ways"), []

    @flow.step(read_only=True)
    def plan(task: Task) -> Edited | Plan:
        return Plan() if task.file else Edited("")

    @flow.step(destructive=True)
    def charge(plan: Plan) -> Edited:
        log.append("charge")
        return Edited("")

    @flow.step(read_only=True, back_to=plan)
    def publish(edited: Edited) -> Released:
        raise ToolError("refused")

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("bypass"))
    outcome = await flow.run(Task(), dispatcher=dispatcher)
    assert (outcome.step, outcome.left, log) == ("publish", ("charge",), ["charge"])
    other = await flow.run(Task(""), dispatcher=dispatcher)
    assert (other.step, other.left) == ("plan", ())


async def test_an_attempt_before_a_denied_one_is_left():
    """The first attempt ran and had no undo, and a hook denies the second one."""
    flow, log = Flow("denied"), []

    class Hook:
        def before(self, call):
            return Deny("once is enough") if call.name == "edit" and log else Proceed()

    @flow.step(attempts=3, check=lambda before, after: "bad")
    def edit(plan: Plan) -> Edited:
        log.append("edit")
        return Edited("")

    outcome = await flow.run(Plan(), dispatcher=Dispatcher(Catalog(), hooks=[Hook()]))
    assert (outcome.step, outcome.left, log) == ("edit", ("edit",), ["edit"])


@pytest.mark.parametrize("facts", [{}, {"undo": lambda before: None}])
async def test_the_effect_of_a_step_that_was_halted_stays(facts):
    """No step is undone after a halt."""
    flow = Flow("halted")

    class Hook:
        def after(self, call, result):
            return ToolResult.failure("halted", "enough")

    @flow.step(**facts)
    def edit(plan: Plan) -> Edited:
        return Edited("")

    outcome = await flow.run(Plan(), dispatcher=Dispatcher(Catalog(), hooks=[Hook()]))
    assert outcome == Failed("edit", ("enough",), left=("edit",))


async def test_a_step_that_did_not_happen_is_not_listed_as_left():
    flow = Flow("no_effect")

    @flow.step(destructive=True)
    def publish(plan: Plan) -> Released:
        raise Transient("connection refused", happened="no")

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("bypass"))
    outcome = await flow.run(Plan(), dispatcher=dispatcher)
    assert (outcome.step, outcome.left) == ("publish", ())


@pytest.mark.parametrize("facts", [{"idempotent": True}, {"undo": lambda before: None}])
async def test_a_maybe_from_a_hook_counts_as_an_attempt(facts):
    """Only a crash costs no attempt. Otherwise the flow would never end."""
    flow, calls = Flow("maybe"), []

    class Hook:
        def before(self, call):
            if call.name != "edit":
                return Proceed()
            calls.append(call.name)
            return Replace(ToolResult.failure("transient", "lost", details={"happened": "maybe"}))

    @flow.step(attempts=2, **facts)
    def edit(plan: Plan) -> Edited:
        return Edited("")

    outcome = await flow.run(Plan(), dispatcher=Dispatcher(Catalog(), hooks=[Hook()]))
    assert (outcome.problems, calls) == (("lost",), ["edit", "edit"])


@pytest.mark.parametrize("concurrency_safe", [True, False])
async def test_an_undo_waits_for_an_attempt_that_cannot_be_stopped(concurrency_safe):
    """A thread goes on after its time limit, and its effect must not come after the undo."""
    flow, log, gate = Flow("threads"), [], threading.Event()
    loop = asyncio.get_running_loop()

    class Hook:
        async def after(self, call, result):
            if call.name == "edit":
                loop.call_later(0.02, gate.set)
            return result

    @flow.step(concurrency_safe=concurrency_safe, timeout_seconds=0.05, undo=lambda before: log.append("undo"))
    def edit(plan: Plan) -> Edited:
        gate.wait()
        log.append("effect")
        return Edited("")

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), hooks=[Hook()], cleanup_seconds=0.01)
    outcome = await flow.run(Plan(), dispatcher=dispatcher)
    assert (outcome.step, outcome.left, log) == ("edit", (), ["effect", "undo"])


async def test_an_attempt_that_does_not_end_is_left():
    """The flow does not wait longer than a call may take."""
    flow, log, gate = Flow("threads"), [], threading.Event()

    @flow.step(concurrency_safe=True, timeout_seconds=0.05, undo=lambda before: log.append("undo"))
    def edit(plan: Plan) -> Edited:
        gate.wait()
        return Edited("")

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), cleanup_seconds=0.01, timeout_seconds=0.1)
    try:
        outcome = await flow.run(Plan(), dispatcher=dispatcher)
    finally:
        gate.set()
    assert outcome.problems[-1] == "edit could not be undone, because an attempt that could not be stopped still runs"
    assert (outcome.left, log) == (("edit",), [])
