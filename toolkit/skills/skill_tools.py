"""
A skill as a tool. The arguments of the skill become the signature, and a call becomes a sub-run of the agent.

If the call does not come from an agent, the result is the prompt with its arguments filled in, and the caller can do
what it says. The digest of the file is part of the version, so the approval of a person does not hold for another text.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal

from ..agent.subruns import is_in_run, sub_run
from ..context import Context
from ..errors import ToolError
from ..facts import Arguments
from ..spec import Tool
from ..steps.base import ONLY_SUB_RUNS, ONLY_SUB_RUNS_KEY
from .prompts import prompt_of
from .records import ARGUMENT_TYPES, METADATA_KEY, Argument, Skill, skill_of

__all__ = ["PROJECT_ORIGIN", "tool_of"]

PROJECT_ORIGIN = "skill:project"
"""
The origin of the skills of a project.

The user's own skills have the origin of tools that are written in the program itself.
"""

_GROUP = "skills"


def tool_of(
    skill: Skill, find_tool: Callable[[str], Tool | None], look_again: Callable[[], None] = lambda: None
) -> Tool:
    """
    Return *skill* as a tool, with the facts that its file states.

    *find_tool* returns the tools that the skill may call. *look_again* reads the files of skills if they have changed.
    """

    def tools() -> list[Tool]:
        # Pass tools and not names: if the catalog is part of another one, a name may mean another tool there.
        return [tool for name in skill.tools if (tool := find_tool(name)) is not None]

    async def run(**values: Any) -> str:
        context: Context = values.pop(context_name)
        if skill.folder is not None:
            look_again()  # The files beside it are read only from here on, by the tools of the model.
        current = find_tool(skill.name)
        if current is None or skill_of(current) is not skill:
            raise ToolError(f"the skill `{skill.name}` was changed or removed since it was looked up; call it again")
        prompt = prompt_of(skill, values)
        return await sub_run(prompt, context=context, tools=tools()) if is_in_run() else prompt

    def preview(arguments: Arguments) -> str:
        listed = ", ".join(f"`{tool.name}`" for tool in tools()) or "no tools"
        return f"A model is asked to do this, with {listed}:\n\n{prompt_of(skill, arguments)}"

    context_name = "context"
    while any(argument.name == context_name for argument in skill.arguments):
        context_name += "_"
    context_parameter = inspect.Parameter(context_name, inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*map(_build_parameter, skill.arguments), context_parameter], return_annotation=str
    )
    run.__qualname__ = f"skill {skill.name}"
    stated = dict(skill.stated)
    version = f"sha256:{skill.digest}"
    if "version" in stated:
        version = f"{stated.pop('version')} {version}"
    tool = Tool.described(
        run,
        **{
            "defer": True,
            "group": _GROUP,
            "activity": f"running the skill {skill.name}",
            **stated,
            "name": skill.name,
            "description": skill.description,
            "version": version,
            "preview": preview,
            "metadata": {METADATA_KEY: skill, ONLY_SUB_RUNS_KEY: ONLY_SUB_RUNS},
        },
    )
    return replace(tool, origin=PROJECT_ORIGIN) if skill.project else tool


def _build_parameter(argument: Argument) -> inspect.Parameter:
    hint = Literal[argument.choices] if argument.choices else ARGUMENT_TYPES[argument.type]
    if not argument.required and argument.default is None:
        hint = hint | None
    return inspect.Parameter(
        argument.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[hint, argument.description] if argument.description else hint,
        default=inspect.Parameter.empty if argument.required else argument.default,
    )
