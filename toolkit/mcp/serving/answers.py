"""
The result of a call as a client gets it.

A value is sent as `structuredContent` if the tool has an output schema for clients, and only if it fits that schema:
the official clients raise an error on a value that does not. A value without a schema is sent if it is more than text.
"""

from __future__ import annotations

from typing import Any

from ...formats import mcp as mcp_format
from ...results import ToolResult
from ...spec import Tool
from ...values.rendering import as_text
from ...values.schemas.engine import SchemaValidator
from ...values.schemas.validator import compile_schema
from .listing import has_structured_output

__all__ = ["AnswerBuilder", "build_error_answer"]


def build_error_answer(text: str) -> dict[str, Any]:
    """Return the answer to a call that failed, with *text* for the model."""
    return {"resultType": "complete", "content": [{"type": "text", "text": text}], "isError": True}


class AnswerBuilder:
    """
    Builds the answers to the calls of one tool.

    Args:
        tool: The tool.
        max_chars: The most characters that the JSON of a structured value may have.
        checks_values: Whether values have to be checked against the output schema, because the dispatcher does not.
    """

    def __init__(self, tool: Tool, *, max_chars: int, checks_values: bool) -> None:
        self._name = tool.name
        self._max_chars = tool.facts.max_chars or max_chars
        self._promises_value = has_structured_output(tool)
        self._validator: SchemaValidator | None = None
        if self._promises_value and checks_values and tool.output_schema is not None:
            self._validator = compile_schema(tool.output_schema)

    def build(self, result: ToolResult) -> dict[str, Any]:
        """Return the answer for *result*, a result of the tool that is not waiting."""
        answer: dict[str, Any] = mcp_format.results([result])[0]
        answer["resultType"] = "complete"
        if "structuredContent" not in answer:
            if self._promises_value and not answer["isError"]:
                return build_error_answer(f"error: `{self._name}` returned no value, and its schema promises one")
            return answer
        value = result.value
        if not self._promises_value and (value is None or isinstance(value, str)):
            del answer["structuredContent"]
            return answer
        if self._validator is not None:
            problem = next(self._validator.iter_errors(value), None)
            if problem is not None:
                return build_error_answer(
                    f"error: `{self._name}` has run, and returned a value that its output schema does not allow: "
                    f"{problem.message[:200]}"
                )
        if self._is_too_long(result):
            del answer["structuredContent"]
            if self._promises_value:
                # A client refuses a result without the value that the schema promises, unless it is an error.
                answer["content"].append({"type": "text", "text": self._explain_length(value)})
                answer["isError"] = True
        return answer

    def _is_too_long(self, result: ToolResult) -> bool:
        return result.truncated or (
            not isinstance(result.value, (bool, int, float)) and len(as_text(result.value)) > self._max_chars
        )

    def _explain_length(self, value: Any) -> str:
        return (
            f"`{self._name}` has run, and succeeded. Its value has {len(as_text(value)):,} characters, and "
            f"{self._max_chars:,} are sent at most; the text above is its beginning. Ask for less."
        )
