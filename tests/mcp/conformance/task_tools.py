"""The tools that the scenarios of the tasks extension call by name."""

from __future__ import annotations

import asyncio

from toolkit import Catalog, Context, ToolError, ToolResult

__all__ = ["task_tools"]

task_tools = Catalog()

CONFIRMATION = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "confirm": {"type": "boolean"}},
}


@task_tools.tool(read_only=True)
def greet(name: str) -> str:
    """Greet somebody, at once."""
    return f"Hello, {name}!"


@task_tools.tool(read_only=True, background=True)
async def slow_compute(seconds: float, label: str = "") -> str:
    """Compute for some seconds."""
    await asyncio.sleep(seconds)
    return f"computed {label} in {seconds} seconds"


@task_tools.tool(read_only=True, background=True)
async def failing_job() -> str:
    """Fail, as a tool fails."""
    raise ToolError("this job always fails")


@task_tools.tool(read_only=True, background=True)
async def protocol_error_job() -> ToolResult:
    """Fail, as the protocol fails: the answer is that of a tool that is gone."""
    return ToolResult.failure("not_found", "this job is gone")


@task_tools.tool(read_only=True, background=True)
async def confirm_delete(filename: str, context: Context) -> str:
    """Ask one question."""
    return f"{filename}: {await context.ask('delete', f'Delete {filename}?', CONFIRMATION)}"


@task_tools.tool(read_only=True, background=True)
async def multi_input(context: Context) -> str:
    """Ask two questions at once."""
    questions = (context.ask(key, f"What is the {key} name?", CONFIRMATION) for key in ("first", "last"))
    return str(await asyncio.gather(*questions))
