"""
The result of a call as a client gets it.

A value is sent as `structuredContent` if the tool has an output schema for clients, and only if it fits that schema:
the official clients raise an error on a value that does not. A value without a schema is sent unless the text says it.
"""

from __future__ import annotations

from typing import Any

from ...calls.plan import CallPlan
from ...calls.render_result import find_schema_problem
from ...formats import mcp as mcp_format
from ...results import ToolResult
from ...values.rendering import as_text
from .listing import has_structured_output

__all__ = ["build_answer", "build_error_answer"]


def build_error_answer(text: str) -> dict[str, Any]:
    """Return the answer to a call that failed, with *text* for the model."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": True}


def build_answer(plan: CallPlan, result: ToolResult, *, checks_value: bool) -> dict[str, Any]:
    """
    Return the answer for *result*, a result of the tool of *plan* that is not waiting.

    With *checks_value*, the value is checked against the output schema, because the dispatcher has not done so.
    """
    name, value, promises_value = plan.tool.name, result.value, has_structured_output(plan.tool)
    answer = mcp_format.build_result(result)
    answer["resultType"] = "complete"
    if "structuredContent" not in answer:
        if promises_value and not answer["isError"]:
            return build_error_answer(f"error: `{name}` returned no value, and its schema promises one")
        return answer
    if not promises_value and _is_said_by_text(result):
        return _leave_value_out(answer)
    if promises_value and checks_value and (problem := find_schema_problem(value, plan)) is not None:
        return build_error_answer(
            f"error: `{name}` has run, and returned a value that its output schema does not allow: {problem}\n"
            f"It returned: {result.text}"
        )
    if not result.truncated and (isinstance(value, (bool, int, float)) or plan.limit.allows(as_text(value))):
        return answer
    _leave_value_out(answer)
    if promises_value:
        # A client refuses a result without the value that the schema promises, unless it is an error.
        # The remark comes first: the text is as long as a result may be, so a client may cut what stands after it.
        remark = (
            f"`{name}` has run, and succeeded. Its value has {len(as_text(value)):,} characters, which is more than is "
            "sent at once; the text below is its beginning. Ask for less."
        )
        answer["content"].insert(0, {"type": "text", "text": remark})
        answer["isError"] = True
    return answer


def _is_said_by_text(result: ToolResult) -> bool:
    """Return whether the value of *result* is a text that is not blank, or nothing beside a text of its own."""
    value = result.value
    return bool(value.strip()) if isinstance(value, str) else value is None and result.text != as_text(None)


def _leave_value_out(answer: dict[str, Any]) -> dict[str, Any]:
    del answer["structuredContent"]
    answer.pop("_meta", None)
    return answer
