"""
Takes the final answer of a run with a typed answer, or sends it back to the model with what is wrong.

An answer is a call of `final_answer`, or a text in the same form. A refused answer is sent back a limited number of
times. After that the run is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import BadArgs
from ..providers.messages import UserMessage
from ..results import ToolCall, ToolResult
from .active_run import ActiveRun, RunEnding
from .final_answers import is_final_answer
from .model_requests import provider_structures_output
from .prompts import FINAL_ANSWER

__all__ = ["find_answer_calls", "refuse_beside_calls", "take_answer_call", "take_answer_text"]

_TAKEN_TEXT = "The answer was handed over."


def find_answer_calls(active_run: ActiveRun, calls: Sequence[ToolCall]) -> list[ToolCall]:
    """Return those of *calls* that hand over a final answer. A tool of the host with a similar name is not one."""
    if active_run.answer_format is None:
        return []
    catalog = active_run.toolbox.dispatcher.catalog
    return [call for call in calls if is_final_answer(call.name) and catalog.get(call.name) is None]


def take_answer_call(active_run: ActiveRun, call: ToolCall) -> RunEnding | None:
    """Take the answer in *call*. Return how the run ends; None if the answer was sent back to the model."""
    answer_format = active_run.answer_format
    assert answer_format is not None  # noqa: S101 -- `find_answer_calls` has found the call
    try:
        active_run.answer = answer_format.read_arguments(call.arguments)
    except BadArgs as error:
        problems = [{"path": list(problem.path), "message": problem.message} for problem in error.problems]
        refusal = ToolResult.failure(
            "bad_args", str(error), details={"problems": problems}, call_id=call.id, tool=call.name
        )
        active_run.add_results([call], [refusal])
        return _count_refusal(active_run, error)
    active_run.add_results(
        [call], [ToolResult(_TAKEN_TEXT, repairs=active_run.answer.repairs, call_id=call.id, tool=call.name)]
    )
    return RunEnding(status="done")


def take_answer_text(active_run: ActiveRun, text: str) -> RunEnding | None:
    """Take the answer in *text*. Return how the run ends; None if the answer was sent back to the model."""
    answer_format = active_run.answer_format
    if answer_format is None:
        return RunEnding(status="done")
    try:
        active_run.answer = answer_format.read_text(text)
    except BadArgs as error:
        way = (
            "Answer with JSON in the requested form, and nothing else."
            if provider_structures_output(active_run)
            else f"Hand it over by calling `{FINAL_ANSWER}`."
        )
        active_run.conversation.add_prompt(UserMessage.of(f"This answer cannot be read by the program: {error}\n{way}"))
        return _count_refusal(active_run, error)
    return RunEnding(status="done")


def refuse_beside_calls(answer_calls: Sequence[ToolCall]) -> dict[str, ToolResult]:
    """Return the results of *answer_calls*, which the model made beside other calls, by the ids of the calls."""
    return {
        call.id: ToolResult.failure(
            "cancelled",
            "the answer was not taken, because other calls stand beside it",
            advice=f"Read their results first. Then call `{FINAL_ANSWER}` once, and alone.",
            call_id=call.id,
            tool=call.name,
        )
        for call in answer_calls
    }


def _count_refusal(active_run: ActiveRun, error: BadArgs) -> RunEnding | None:
    active_run.refused_answers += 1
    count = active_run.refused_answers
    if count <= active_run.options.output_retries:
        return None
    times = "once" if count == 1 else f"{count} times"
    return RunEnding(status="stopped", stop="output", reason=f"the answer was refused {times}: {error}")
