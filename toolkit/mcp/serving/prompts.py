"""
Skills as prompts: `prompts/list` and `prompts/get`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS

from ...catalogs.views import CatalogView
from ...errors import BadArgs, ToolError
from ...skills.prompts import prompt_of
from ...skills.records import Argument, Skill
from ...skills.skill_tools import skill_of

__all__ = ["build_prompt", "list_prompts"]


def list_prompts(catalog: CatalogView) -> dict[str, Any]:
    """Return the result of `prompts/list`: the skills of *catalog*."""
    prompts = [_describe(skill) for tool in catalog if (skill := skill_of(tool)) is not None]
    return {"resultType": "complete", "prompts": prompts, "ttlMs": 0, "cacheScope": "private"}


def build_prompt(
    catalog: CatalogView, name: str, texts: Mapping[str, str] | None, *, other_names: Sequence[str] = ()
) -> dict[str, Any]:
    """
    Return the result of `prompts/get` for the skill *name* with the arguments *texts*.

    The error about an unknown prompt names the skills, and the prompts with *other_names*.

    Raises:
        MCPError: There is no such skill, or the arguments do not fit it.
    """
    tool = catalog.get(name)
    skill = None if tool is None else skill_of(tool)
    if tool is None or skill is None:
        names = [*other_names, *(skill.name for skill in map(skill_of, catalog) if skill is not None)]
        raise MCPError(INVALID_PARAMS, f"unknown prompt {name[:64]!r}; there are {', '.join(names) or 'none'}")
    try:
        text = prompt_of(skill, tool.check(_read_arguments(skill, texts or {})))
    except (BadArgs, ToolError) as error:
        raise MCPError(INVALID_PARAMS, f"prompt `{name}`: {error}") from error
    return {
        "resultType": "complete",
        "description": skill.description,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


def _describe(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "arguments": [
            {"name": argument.name, "description": argument.description, "required": argument.required}
            for argument in skill.arguments
        ],
    }


def _read_arguments(skill: Skill, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments that *texts* state. The protocol sends each of them as text."""
    arguments = {argument.name: argument for argument in skill.arguments}
    return {name: _read_value(arguments.get(name), text) for name, text in texts.items()}


def _read_value(argument: Argument | None, text: str) -> Any:
    if argument is None or argument.type in ("string", "text"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text  # the check of the arguments says what is wrong with it
