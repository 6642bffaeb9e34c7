"""
Calls that a server runs as tasks, as revision 2025-11-25 of the protocol has them.

    tools/call ──▶ a task ──▶ tasks/get, until the task has ended or asks something ──▶ tasks/result

A tool that says so (`execution.taskSupport` is "required") can be called in no other way.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from pydantic import TypeAdapter, ValidationError

from ...catalogs.foreign_text import clean_text
from ...errors import ToolError
from .call_errors import UnusableAnswer
from .questions import CallLink

__all__ = ["TaskCaller", "offers_tasks"]

_CREATED: TypeAdapter[Any] = TypeAdapter(types.CreateTaskResult | types.CallToolResult)
_POLL_SECONDS = 1.0
_MIN_POLL_SECONDS = 0.05
_MAX_POLL_SECONDS = 5.0
_CANCEL_SECONDS = 5.0
_MAX_CHARS = 300


def offers_tasks(client: Client) -> bool:
    """Return whether the server of *client* runs calls of tools as tasks."""
    tasks = client.server_capabilities.tasks
    return bool(tasks and tasks.requests and tasks.requests.tools and tasks.requests.tools.call)


class TaskCaller:
    """Makes calls that *server* runs as tasks. The server should keep a task and its result for *keep_seconds*."""

    def __init__(self, server: str, keep_seconds: float) -> None:
        self._server = server
        self._keep_milliseconds = int(keep_seconds * 1000) + 1
        self._cancellations: set[asyncio.Task[None]] = set()

    async def call(self, client: Client, params: types.CallToolRequestParams, link: CallLink) -> types.CallToolResult:
        """
        Return the result of a call. If this is cancelled, so is the task. *link* gets messages about it as progress.

        Besides the errors of the SDK, it raises `UnusableAnswer` if the server no longer knows the task, and
        `ToolError` if the server has cancelled it.
        """
        params.task = types.TaskMetadata(ttl=self._keep_milliseconds)
        answer = await _start(client, types.CallToolRequest(params=params), link)
        if isinstance(answer, types.CallToolResult):
            return answer
        task_id = answer.task.task_id
        try:
            await _wait_for_end(client, answer.task, link, self._server)
            request = types.GetTaskPayloadRequest(params=types.GetTaskPayloadRequestParams(task_id=task_id))
            result: types.CallToolResult = await client.session.send_request(request, types.CallToolResult)
        except asyncio.CancelledError:
            # The caller does not wait for the server, which may be slow to answer.
            cancellation = asyncio.create_task(_cancel(client, task_id))
            self._cancellations.add(cancellation)
            cancellation.add_done_callback(self._cancellations.discard)
            raise
        return result


async def _start(client: Client, request: types.CallToolRequest, link: CallLink) -> Any:
    """Return the answer to *request*: a task, or the result of a server that needed none."""
    try:
        return await client.session.send_request(request, _CREATED, progress_callback=link.report)
    except ValidationError as error:
        # The SDK knows tasks, but allows no task as the answer to a call. What it refuses is in its error.
        for entry in error.errors(include_url=False):
            if entry["type"] == "missing" and isinstance(entry["input"], dict) and "task" in entry["input"]:
                return types.CreateTaskResult.model_validate(entry["input"], by_name=False)
        raise


async def _wait_for_end(client: Client, task: types.Task, link: CallLink, server: str) -> None:
    """Wait until *task* has a result, or asks the user something, which it does while its result is waited for."""
    count, message = 0, None
    while task.status == "working":
        if task.status_message and task.status_message != message:
            message, count = task.status_message, count + 1
            await link.report(count, None, message)
        milliseconds = task.poll_interval or _POLL_SECONDS * 1000
        await asyncio.sleep(min(max(milliseconds / 1000, _MIN_POLL_SECONDS), _MAX_POLL_SECONDS))
        task = await _get(client, task.task_id, server)
    if task.status == "cancelled":
        reason = clean_text(task.status_message or "it gives no reason", _MAX_CHARS)
        raise ToolError(f"the server {server} has cancelled the task of this call: {reason}")


async def _get(client: Client, task_id: str, server: str) -> types.Task:
    request = types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=task_id))
    try:
        task: types.Task = await client.session.send_request(request, types.GetTaskResult)
    except MCPError as error:
        if error.code not in (INVALID_PARAMS, METHOD_NOT_FOUND):
            raise
        reason = clean_text(str(error.message), _MAX_CHARS)
        raise UnusableAnswer(
            f"the server {server} has started a task for this call, and no longer knows it: {reason}"
        ) from None
    return task


async def _cancel(client: Client, task_id: str) -> None:
    """Ask the server to cancel a task. A server that does not answer is waited for a short time only."""
    request = types.CancelTaskRequest(params=types.CancelTaskRequestParams(task_id=task_id))
    with contextlib.suppress(MCPError, ValidationError, TimeoutError):
        async with asyncio.timeout(_CANCEL_SECONDS):
            await client.session.send_request(request, types.CancelTaskResult)
