"""Mistakes in a graph are reported when the flow is first used, all at once, each with the place and the remedy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NewType, Protocol, TypedDict

import pytest

from tests.flows import kit
from tests.flows.kit import Built, Edited, Part, Plan, Rejected, Released, Task
from toolkit import DefinitionError
from toolkit.flows import Flow


def mistakes_of(flow):
    """Return the lines of the report, without the places."""
    with pytest.raises(DefinitionError) as caught:
        flow.mermaid()
    first, *lines = str(caught.value).splitlines()
    assert first.startswith(f"the flow `{flow.name}` has ")
    assert all(line.startswith("- ") for line in lines)
    return lines


def only_mistake_of(flow):
    (line,) = mistakes_of(flow)
    return line


def test_a_flow_without_steps_is_refused():
    with pytest.raises(DefinitionError, match=r"has no steps; write `@empty.step`"):
        Flow("empty").mermaid()


def test_all_mistakes_come_at_once():
    """Each names its step with the file and the line."""
    flow = Flow("many")

    @flow.step
    def plan(task: Task) -> Plan: ...

    @flow.step
    def plan_again(task: Task) -> Plan: ...

    @flow.step(back_to="plam")
    def publish(plan: Plan) -> Released: ...

    @flow.step
    def lonely(edited: Edited) -> Rejected: ...

    lines = mistakes_of(flow)
    assert len(lines) == 4
    assert all("test_mistakes.py:" in line for line in lines)
    assert "`plan_again` (" in lines[0]
    assert "it takes `Task`, which `plan` (" in lines[0]
    assert "`back_to` is `plam`, which is no step of this flow; did you mean `plan`?" in lines[3]


def test_an_unreachable_step():
    """No step returns what it takes."""
    flow = Flow("far")

    @flow.step
    def plan(task: Task) -> Plan: ...

    @flow.step
    def lonely(edited: Edited) -> Released: ...

    assert "it cannot be reached from `plan`: no step returns `Edited`" in only_mistake_of(flow)


def test_a_declared_end_that_cannot_be_reached():
    """No step returns it, or a step takes it."""
    flow = Flow[Released | Rejected | Plan]("ends")

    @flow.step
    def plan(task: Task) -> Plan: ...

    @flow.step
    def publish(plan: Plan) -> Released: ...

    lines = sorted(mistakes_of(flow))
    assert "the end `Plan` in `Flow[...]` cannot be reached: the step `publish` takes it" in lines[0]
    assert "the end `Rejected` in `Flow[...]` cannot be reached: no step returns it" in lines[1]


def test_an_end_that_is_not_declared():
    """A type checker would not know of it."""
    flow = Flow[Released]("ends")

    @flow.step
    def plan(task: Task) -> Released | Rejected: ...

    line = only_mistake_of(flow)
    assert "it returns `Rejected`, which no step takes and `Flow[...]` does not name as an end" in line
    assert "`Flow[Rejected | Released]`" in line


def test_a_flow_without_an_end():
    """Every step that cannot come to one is named."""
    flow = Flow("circle")

    @flow.step
    def one(task: Task) -> Plan: ...

    @flow.step
    def two(plan: Plan) -> Task: ...

    assert ["no end can be reached from it" in line for line in mistakes_of(flow)] == [True, True]


def test_an_end_that_is_not_a_class_is_refused():
    """The brackets of `Flow` name classes."""
    flow = Flow[dict[str, int]]("ends")

    @flow.step
    def plan(task: Task) -> Plan: ...

    assert "the ends in `Flow[...]`" in only_mistake_of(flow)
    quoted = Flow["Later"]("quoted")  # noqa: F821 -- it is the mistake

    @quoted.step
    def draw(task: Task) -> Plan: ...

    assert "`Later` in quotes" in only_mistake_of(quoted)


# Steps back.


def test_a_step_cannot_go_back_to_itself():
    """That is what attempts are for."""
    flow = Flow("self")

    @flow.step(back_to="plan")
    def plan(task: Task) -> Plan: ...

    assert "write `attempts=`" in only_mistake_of(flow)


def test_a_step_goes_back_to_an_earlier_step():
    """It cannot go back to a later step or to one beside it."""
    flow = Flow("forth")

    @flow.step(back_to="publish")
    def plan(task: Task) -> Plan: ...

    @flow.step
    def publish(plan: Plan) -> Released: ...

    assert "`publish`, which does not come before it" in only_mistake_of(flow)


def test_a_function_that_is_not_a_step_is_named():
    """Its name is in the message."""
    flow = Flow("other")

    def elsewhere(task: Task) -> Plan: ...

    @flow.step(back_to=elsewhere)
    def plan(task: Task) -> Plan: ...

    assert "elsewhere`, which is no step of this flow; name a step of this flow" in only_mistake_of(flow)


def test_a_circle_of_back_to_options_is_reported_once():
    flow = Flow("round")

    @flow.step(back_to="two")
    def one(task: Task) -> Plan: ...

    @flow.step(back_to=one)
    def two(plan: Plan) -> Task | Released: ...

    assert "the `back_to` of one -> two -> one is a circle" in only_mistake_of(flow)


# Types.


class Shape(TypedDict):
    side: int


class Walker(Protocol):
    def walk(self) -> None: ...


class Animal(ABC):
    @abstractmethod
    def walk(self) -> None: ...


Number = NewType("Number", int)


class Engine:
    """A class without a JSON form."""

    def __init__(self, handle):
        self.handle = handle


@pytest.mark.filterwarnings("ignore:.*in the return annotation has no JSON form:toolkit.ToolkitWarning")
@pytest.mark.parametrize(
    ("hint", "message"),
    [
        (Any, "`Any` says nothing about the type"),
        (object, "says nothing about the type"),
        (list, "`list` does not say what it holds"),
        (dict[str, int], "`dict[str, int]` is not a class"),
        (Shape, "`Shape` has plain dictionaries as its values"),
        (Walker, "`Walker` is a protocol"),
        (Animal, "`Animal` is abstract"),
        (Number, "is not a class"),
        (Annotated[Part, "note"], "has metadata"),
        (list[list[Part]], "write list[T] of a class T"),
        (Engine, "Engine"),
        ("Missing", "`Missing`, which is not defined"),
    ],
)
def test_a_type_without_values_is_refused_with_the_remedy(hint, message):
    """It may be that of a parameter or of the returned value."""
    taking, returning = Flow("taking"), Flow("returning")

    def take(value) -> Built: ...

    def give(task: Task): ...

    take.__annotations__["value"] = hint
    give.__annotations__["return"] = hint
    taking.step(take)
    returning.step(give)
    assert message in " ".join(mistakes_of(taking))
    assert message in only_mistake_of(returning)


@pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")
def test_a_signature_that_does_not_fit_a_step_is_refused():
    """One value goes in and one comes out."""
    flow = Flow("signatures")

    @flow.step
    def none() -> Plan: ...

    @flow.step
    def two(task: Task, plan: Plan) -> Plan: ...

    @flow.step
    def union(task: Task | Plan) -> Plan: ...

    @flow.step
    def stars(*tasks: Task) -> Plan: ...

    @flow.step
    def unsaid(task: Task): ...

    @flow.step
    def bare(task) -> Plan: ...

    @flow.step
    def stream(task: Task) -> Iterator[Plan]:
        yield Plan()

    @flow.step
    def lists(task: Task) -> list[Plan] | list[Part]: ...

    lines = mistakes_of(flow)
    expected = [
        "it has no parameter for a value",
        "it has 2 parameters for a value, `task`, `plan`",
        "`task` takes `Task | Plan`, and a step takes one type",
        "takes any number of values",
        "the return value: has no annotation",
        "`task`: it has no annotation",
        "it yields values",
        "which look the same if they are empty",
    ]
    assert [text in line for text, line in zip(expected, lines, strict=True)] == [True] * len(expected)


def test_two_classes_of_one_name():
    """Values are stored by the name of their type."""
    flow = Flow("names")

    @dataclass
    class Plan:
        other: int

    @flow.step
    def one(task: Task) -> kit.Plan: ...

    @flow.step
    def two(plan: Plan) -> Released: ...

    assert "two classes are called `Plan`" in only_mistake_of(flow)


def test_items_have_to_be_joined():
    """A step that runs for each item returns one class."""
    flow = Flow("items")

    @flow.step
    def split(task: Task) -> list[Part]: ...

    @flow.step
    def build(part: Part) -> Built | Rejected: ...

    assert "cannot be joined to one list" in only_mistake_of(flow)
    nested = Flow("nested")

    @nested.step
    def split_again(task: Task) -> list[Part]: ...

    @nested.step
    def build_again(part: Part) -> list[Built]: ...

    assert "lists of lists are not joined" in only_mistake_of(nested)


# Facts.


def test_facts_that_contradict_the_options_are_refused():
    """A destructive step is not run twice, and a read-only one has nothing to undo."""
    flow = Flow("facts")

    @flow.step(destructive=True, attempts=2)
    def wipe(task: Task) -> Plan: ...

    @flow.step(read_only=True, undo=print)
    def look(plan: Plan) -> Released: ...

    lines = mistakes_of(flow)
    assert "it is destructive and has 2 attempts" in lines[0]
    assert "there is nothing to undo" in lines[1]


def test_checks_and_undos_that_cannot_be_called():
    """A check gets two values, and an undo one or two."""
    flow = Flow("helpers")

    def needs_key(before, after, *, key): ...

    def takes_three(one, two, three): ...

    @flow.step(check=lambda before: None)
    def one(task: Task) -> Plan: ...

    @flow.step(undo=takes_three)
    def two(plan: Plan) -> Edited: ...

    @flow.step(check=needs_key)
    def three(edited: Edited) -> Released: ...

    @flow.step(check=type)
    def four(released: Released) -> Rejected: ...

    lines = mistakes_of(flow)
    assert "`check` takes 1 values; it is called with the value before and the value after" in lines[0]
    assert "`undo` takes 3 values" in lines[1]
    assert "`key` is filled by nothing" in lines[2]
    assert "`check` cannot be called" in lines[3]


def test_a_flow_does_not_keep_the_frames_around_its_steps():
    """The functions around its steps can be freed during its use."""
    flow = Flow("frames")

    @flow.step
    def plan(task: Task) -> Plan: ...

    flow.mermaid()
    assert all(spec.scope is None for spec in flow._specs.values())

    @flow.step
    def publish(plan: Plan) -> Released: ...

    assert "step_publish" in flow.mermaid()


@pytest.mark.parametrize(
    "option", [{"max_chars": 10}, {"max_bytes": 10}, {"background": True}, {"flat": True}, {"schema": {}}]
)
def test_a_tool_option_that_a_step_cannot_have_is_refused_with_the_reason(option):
    flow = Flow("odd")
    with pytest.raises(DefinitionError, match=f"a step cannot have `{next(iter(option))}`: "):
        flow.step(**option)(lambda: None)


def test_secrets_are_not_values_of_a_flow():
    """Their JSON form is a mask, and the next step would get that."""
    pydantic = pytest.importorskip("pydantic")
    login = pydantic.create_model("Login", password=(pydantic.SecretStr, ...))
    flow = Flow("secrets")

    def log_in(task):
        return login(password="hunter2")

    def use(login):
        return 1

    log_in.__annotations__.update({"task": Task, "return": login})
    use.__annotations__.update({"login": login, "return": int})
    flow.step(log_in)
    flow.step(use)
    with pytest.raises(DefinitionError) as caught:
        flow.mermaid()
    assert "the return value holds a secret, such as a `SecretStr`" in str(caught.value)
    assert "`login` holds a secret" in str(caught.value)


@pytest.mark.parametrize(
    ("option", "remedy"),
    [("bakc_to", "did you mean `back_to`?"), ("zzz", "the options are those of `@tool`, and check, ")],
)
def test_unknown_options(option, remedy):
    """The options of steps are among those that are named."""
    with pytest.raises(DefinitionError) as caught:
        Flow("odd").step(**{option: "x"})(lambda: None)
    assert f"unknown option `{option}`; {remedy}" in str(caught.value)


def test_names_of_checks_and_undos_are_checked():
    """They are the names of the steps with an ending. Another step may have such a name, or it may be too long."""
    flow, long_name = Flow("names"), "x" * 60

    @flow.step(check=lambda before, after: None)
    def plan(task: Task) -> Plan:
        return Plan()

    @flow.step(name="plan.check")
    def other(plan: Plan) -> Edited:
        return Edited("")

    @flow.step(name=long_name, undo=lambda before: None)
    def publish(edited: Edited) -> Released:
        return Released("1")

    with pytest.raises(DefinitionError, match="has 2 mistakes") as caught:
        flow.mermaid()
    assert "its check is called `plan.check`, as another step is; give that step another `name=`" in str(caught.value)
    assert f"its undo would be called `{long_name}.undo`, and a name has at most 64 characters" in str(caught.value)
