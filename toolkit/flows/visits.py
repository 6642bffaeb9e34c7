"""
One visit of a step: run it, check what it returned, undo it and run it again, until the check passes.

    run → check → passed
       ↘       ↘ undo → run again with the problems, up to `attempts` times → broken

A visit is broken if the last attempt has failed. What the attempts have done is undone by then.

The type of the value that a step returned selects the next step. So it is that of the object which the function
returned, and is not guessed from the JSON: two classes with the same fields have the same JSON, and mean different
things.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .._plumbing.wording import MASK
from ..decisions import ApprovalRequest
from ..results import ToolResult
from ..spec import Tool
from ..steps.base import may_repeat
from ..steps.notes import read_pause
from .graph import Graph, StepNode
from .outcomes import Problems
from .step_calls import CallHeldBack, StepCaller, build_key
from .value_types import FlowTypes, FlowValue, TypeRef

__all__ = ["Broken", "HeldBack", "ItemVisit", "Passed", "Paused", "VisitOutcome"]


@dataclass(frozen=True, slots=True)
class Passed:
    """The step was done, and its check found nothing wrong. *attempt* is the number of the attempt that passed."""

    value: FlowValue
    attempt: int


@dataclass(frozen=True, slots=True)
class Broken:
    """
    The step could not be done. *left* is what is still there of it, in words.

    If it *is_final*, the flow has to end: it is not known what has happened, an undo has failed, or a hook ended it.
    """

    problems: tuple[str, ...]
    is_final: bool = False
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paused:
    """People have to answer before the step can go on. *left* is what is there of it already, in words."""

    requests: tuple[ApprovalRequest, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldBack:
    """The step was not started, because another item has to be done first or has ended the flow."""


VisitOutcome: TypeAlias = Passed | Broken | Paused | HeldBack


class ItemVisit:
    """
    The visit of a step for one value.

    The *number* of the visit counts from 1, and so does *item* if the step runs for each item of a list. Otherwise it
    is 0. *first_key* is the key of the first call of the step, and *label* names the step and the item.
    """

    def __init__(
        self, caller: StepCaller, graph: Graph, node: StepNode, *, number: int, item: int, value: FlowValue
    ) -> None:
        self._caller = caller
        self._graph = graph
        self._node = node
        self._value = value
        self._prefix = f"{caller.key}/{build_key(node.name, number, item)}"
        self.first_key = self._build_key("run", 1)
        self._passed: Passed | None = None
        self.item = item
        self.label = node.name if item == 0 else f"{node.name} (item {item})"

    async def run(self, problems: Problems) -> VisitOutcome:
        """Run the step until its check passes, and return how that ended. *problems* are those of the step before."""
        if self._passed is None:
            outcome = await self._run_attempts(problems)
            self._passed = outcome if isinstance(outcome, Passed) else None
            return outcome
        return self._passed

    async def _run_attempts(self, problems: Problems) -> VisitOutcome:
        attempt = failures = 0
        stands = False  # whether an effect of an attempt may still be there
        while True:
            attempt += 1
            try:
                result = await self._call_step(attempt, problems)
            except CallHeldBack:
                return HeldBack()
            stands = stands or self._may_have_effect(result)
            if (pause := _find_pause(result)) is not None:
                return self._pause(pause, stands=stands)
            output, texts = None, [describe_failure(result)] if result.kind != "ok" else []
            if result.kind == "ok":
                output = FlowValue.from_json(result.value, f"the record of {self.label}")
                self._graph.types.decode(output, f"the record of {self.label}")
                check = await self._check(attempt, output)
                if isinstance(check, Paused):
                    return self._pause(check, stands=stands)
                texts = check
                if not texts:
                    return Passed(output, attempt)
            if result.kind == "halted":
                return Broken(tuple(texts), is_final=True, left=(self.label,) if stands else ())
            if may_have_happened(result) and not may_repeat(self._node.tool) and self._node.undo is None:
                return Broken(tuple(texts), is_final=True, left=(f"{self.label}, which may or may not have happened",))
            if result.kind == "ok" or result.attempts or was_cut(result):
                undone = await self.undo(attempt, output, texts)
                if undone is not None:
                    return self._pause(undone, stands=stands) if isinstance(undone, Paused) else undone
                stands = stands and self._node.undo is None
            if was_cut(result):
                continue  # a crash is not a failed attempt
            failures += 1
            problems = Problems(tuple(texts), self._node.name)
            if failures >= self._node.attempts or result.kind in ("denied", "safety"):
                return Broken(tuple(texts), left=(self.label,) if stands else ())

    def _pause(self, pause: Paused, *, stands: bool) -> Paused:
        """Return *pause*, with the step itself in what is there already if *stands*."""
        return replace(pause, left=(self.label,)) if stands else pause

    def decode_arguments(self) -> dict[str, Any]:
        """Return the arguments of the step as its facts see them."""
        return {self._node.parameter: self._graph.types.decode(self._value, f"the record of {self.label}")}

    def _may_have_effect(self, result: ToolResult) -> bool:
        """Return whether an attempt with this result may have left something behind."""
        if self._node.tool.facts.read_only:
            return False
        if result.attempts == 1 and result.error is not None and result.error.details.get("happened") == "no":
            return False
        has_begun = read_pause(result) is not None  # an agent inside it waits, and may have done something before
        return has_begun or result.kind == "ok" or result.attempts > 0 or was_cut(result)

    def _build_key(self, action: str, attempt: int) -> str:
        return f"{self._prefix}/{build_key(action, attempt)}"

    async def _call_step(self, attempt: int, problems: Problems) -> ToolResult:
        arguments, key = {self._node.parameter: self._value.value}, self._build_key("run", attempt)
        # The type belongs to the value: another type may have the same fields. The name of the parameter does not.
        return await self._caller.call(
            key, self._node.tool, arguments, value=self._value.to_json(), problems=problems, finish=self._tag_value
        )

    def _tag_value(self, result: ToolResult) -> ToolResult:
        """Store the value of a result with the name of its type, or return a failure if it has none of the step's."""
        if result.kind != "ok":
            return result
        node, types = self._node, self._graph.types
        try:
            tagged = _find_value(result, node, types)
        except ValueError as error:  # the step ran, and returned what cannot go on
            failure = ToolResult.failure("failed", f"the step ran, but {error}", attempts=result.attempts)
            failure.tool, failure.call_id = result.tool, result.call_id
            failure.duration_seconds = result.duration_seconds
            return failure
        result.text, result.value, result.returned = f"returned {tagged.type}", tagged.to_json(), None
        return result

    async def _check(self, attempt: int, output: FlowValue) -> list[str] | Paused:
        if self._node.check is None:
            return []
        result = await self._call_helper("check", self._node.check, attempt, output)
        if (pause := _find_pause(result)) is not None:
            return pause
        if result.kind != "ok":
            return [f"the check of `{self._node.name}` could not be made: {describe_failure(result)}"]
        return list(result.value)

    async def _call_helper(self, action: str, tool: Tool, attempt: int, output: FlowValue | None) -> ToolResult:
        """Call the check or the undo of the step with the value before and the value after an attempt."""
        before = self._value.to_json()
        changed = await self._caller.find_changed_arguments(self._build_key("run", attempt))
        if changed is not None:  # a hook or a person has given the step another value
            before["value"] = changed[self._node.parameter]
        arguments = {"before": before, "after": None if output is None else output.to_json()}
        return await self._caller.call(self._build_key(action, attempt), tool, arguments)

    async def undo(self, attempt: int, output: FlowValue | None, texts: list[str]) -> Broken | Paused | None:
        """Undo an attempt because of *texts*, and return None if that worked or if the step has no undo."""
        if self._node.undo is None:
            return None
        if not await self._caller.wait_until_over(self._node.tool):
            reason = f"{self.label} could not be undone, because an attempt that could not be stopped still runs"
            return Broken((*texts, reason), is_final=True, left=(self.label,))
        result = await self._call_helper("undo", self._node.undo, attempt, output)
        if (pause := _find_pause(result)) is not None:
            return pause
        if result.kind == "ok":
            return None
        reason = f"{self.label} could not be undone: {describe_failure(result)}"
        return Broken((*texts, reason), is_final=True, left=(self.label,))


def describe_failure(result: ToolResult) -> str:
    if result.kind == "waiting":
        return (
            f"`{result.tool}` waits for an answer, but has no request that a person could answer; a hook returned this"
        )
    return (result.text if result.error is None else result.error.message) or result.kind


def may_have_happened(result: ToolResult) -> bool:
    """Return whether it is not known if a call has taken effect."""
    return result.kind != "ok" and result.error is not None and result.error.details.get("happened") == "maybe"


def was_cut(result: ToolResult) -> bool:
    """Return whether the process ended while the call was running, so that nothing is known of the attempt."""
    return may_have_happened(result) and result.attempts == 0


def _find_pause(result: ToolResult) -> Paused | None:
    """Return the requests that a result waits for; None if it has none, so that no answer can come."""
    if (pause := read_pause(result)) is not None:
        return Paused(pause.requests)
    return Paused((result.request,)) if result.kind == "waiting" and result.request is not None else None


def _find_value(result: ToolResult, node: StepNode, types: FlowTypes) -> FlowValue:
    """
    Return what the step returned. If a hook has changed the fields of the value, its type stays.

    The message of a `ValueError` ends the sentence "the step ran, but".
    """
    value = result.returned
    if value is None and result.value is not None:
        return _read_foreign_value(result.value, node, types)
    ref = types.find_ref(value, node.returns)
    if ref is None:
        raise ValueError(
            f"it returned {_show_type(value)}, and `{node.name}` ({node.place}) declares {_name_types(node.returns)}; "
            f"return a value of exactly this type, or add the other one to the annotation"
        )
    own = types.encode(value, ref)
    if node.tool.signature.output is None or _is_same_json(own.value, result.value):
        return own
    try:
        return types.read(result.value, ref)
    except ValueError as error:
        raise ValueError(f"a hook changed its value, a `{ref.name}`, to one of another type: {error}") from error


def _read_foreign_value(form: Any, node: StepNode, types: FlowTypes) -> FlowValue:
    """Return a value of which only the JSON is there, because it was masked, or a hook has put it in place."""
    if MASK in json.dumps(form):
        raise ValueError(
            f"its value holds a secret, and was masked as {MASK}; give secrets to the steps that need them as "
            f"resources, with `Inject[T]`"
        )
    values: dict[TypeRef, FlowValue] = {}
    problems: list[str] = []
    for ref in node.returns:
        try:
            values[ref] = types.read(form, ref)
        except ValueError as error:
            problems.append(str(error))
    if len(values) == 1:
        return next(iter(values.values()))
    if not values:
        raise ValueError(f"a hook replaced its value with one of another type: {'; '.join(problems)}")
    raise ValueError(
        f"a hook replaced its value with one that can be {_name_types(values)}; let "
        f"the hook change the value of the result that it got, so that the type stays"
    )


def _is_same_json(one: Any, other: Any) -> bool:
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except (TypeError, ValueError, RecursionError):  # a hook may have put anything there
        return False


def _name_types(refs: Iterable[TypeRef]) -> str:
    return " or ".join(f"`{ref.name}`" for ref in refs)


def _show_type(value: Any) -> str:
    if type(value) is list:
        names = sorted({type(item).__name__ for item in value})
        return f"a list of {' and '.join(names)}" if names else "an empty list"
    return f"`{type(value).__name__}`"
