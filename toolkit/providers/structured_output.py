"""
The schema of a final answer in the form in which each provider takes it.

The schema is that of a tool's arguments, so an answer in this form can be read in the same way as a call of the tool.
"""

from __future__ import annotations

import re
from typing import Any

from ..formats.openai import parameters_of
from ..formats.schemas.dialects import ANTHROPIC, GEMINI, OPENAI
from ..formats.schemas.remarks import prepare_schema
from ..formats.schemas.rewriting import rewrite_schema
from ..spec import Tool

__all__ = [
    "build_anthropic_output",
    "build_gemini_output",
    "build_openai_output",
    "can_openai_structure",
]

# OpenAI's models from before its structured output. https://platform.openai.com/docs/guides/structured-outputs
_UNSTRUCTURED_MODEL = re.compile(
    r"(?:ft:)?(?:gpt-3|gpt-4$|gpt-4-|gpt-4o-2024-05-13|gpt-4o-audio|chatgpt|o1-mini|o1-preview)"
)


def can_openai_structure(model: str, tool: Tool) -> bool:
    """Return whether OpenAI's *model* has structured output, and its strict mode can express the schema of *tool*."""
    return not _UNSTRUCTURED_MODEL.match(model) and not rewrite_schema(tool.schema, OPENAI).obstacles


def build_openai_output(tool: Tool) -> dict[str, Any]:
    """Return the name, the schema and the strictness of the answer, for both of OpenAI's APIs."""
    schema, is_strict = parameters_of(tool, [], strict=True)
    return {"name": tool.name, "schema": schema, "strict": is_strict}


def build_anthropic_output(tool: Tool) -> dict[str, Any]:
    """Return the value for `output_config` of Anthropic's Messages API."""
    rewriting = rewrite_schema(tool.schema, ANTHROPIC)
    schema = prepare_schema(tool, []) if rewriting.obstacles else rewriting.schema
    return {"format": {"type": "json_schema", "schema": schema}}


def build_gemini_output(tool: Tool) -> dict[str, Any]:
    """Return the fields of Gemini's `generationConfig` for the answer."""
    schema = rewrite_schema(tool.schema, GEMINI).schema
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}
