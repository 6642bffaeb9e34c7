"""
Calls that run as tasks, for clients of revision 2026-07-28 with the extension `io.modelcontextprotocol/tasks`.

    tools/call ──▶ a job in the background, and its name ──▶ tasks/get, until it has ended
                                                         ──▶ tasks/update, with the answers to its questions
                                                         ──▶ tasks/cancel

A tool that states `background=True` runs as a task if its client has the extension, whether or not the model asks for
that. A call that needs approval asks before its task begins. The tasks are those of one process: a server that is
stateless, or shares a key with others, does not offer the extension.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from mcp import MCPError

from ...approvals.records import ApprovalError
from ...calls.background.jobs import CallJob, jobs_of
from ...context import current_host
from ...decisions import ApprovalRequest, Decision
from ...functions.background_parameter import BACKGROUND
from ...results import ToolResult
from ...session import Session
from .answers import build_error_answer
from .calling import Exchange, ToolCaller
from .conversations import RequestContext, is_modern, open_single_call
from .questions import build_requests, can_ask

__all__ = ["EXTENSION", "ServedTask", "ToolTasks", "UpdateTaskParams"]

EXTENSION = "io.modelcontextprotocol/tasks"

_MAX_TASKS = 1_000
_KEEP_SECONDS = 3_600.0
_POLL_MILLISECONDS = 500
_MAX_MESSAGE_CHARS = 300


class UpdateTaskParams(types.GetTaskRequestParams):
    """The parameters of `tasks/update`. An answer that belongs to no question is ignored, whatever its form."""

    input_responses: dict[str, Any]


@dataclass(slots=True)
class ServedTask:
    """
    A call that runs as a task, for the exchange that began it.

    Attributes:
        id: The name of the task, which cannot be guessed.
        job: The call in the background; None while it is resumed with an answer.
        outcome: The result of a call that is no job any more, or the answer about it.
        round: How often the task has asked. It makes the keys of its questions unique.
        answers: The answers that the client has sent to the questions of this round.
        ended_at: When the end of the task was first noticed.
    """

    id: str
    exchange: Exchange
    session: Session
    job: CallJob | None
    outcome: ToolResult | dict[str, Any] | None = None
    round: int = 0
    answers: dict[str, Any] = field(default_factory=dict)
    is_cancelled: bool = False
    message: str = ""
    created_at: float = field(default_factory=time.time)
    ended_at: float | None = None

    @property
    def result(self) -> ToolResult | dict[str, Any] | None:
        """What came of the call; None while it runs, and if it was stopped."""
        return self.outcome if self.outcome is not None or self.job is None else self.job.result

    @property
    def request(self) -> ApprovalRequest | None:
        """What the task waits for; None if it does not wait."""
        return self.result.request if isinstance(self.result, ToolResult) and not self.is_cancelled else None

    def is_over(self) -> bool:
        """Return whether the task has ended, and note when that was first seen."""
        runs = self.job is not None and not self.job.is_over
        is_over = self.is_cancelled or not (runs or self.request or (self.job is None and self.outcome is None))
        if is_over and self.ended_at is None:
            self.ended_at = time.time()
        return is_over

    def list_questions(self) -> dict[str, dict[str, Any]]:
        """Return the requests to the client that have no answer yet, by their keys on the wire."""
        requests = {} if self.request is None else build_requests(self.request, offers_grants=False)
        keyed = {f"{key}-{self.round}": request for key, request in requests.items()}
        return {key: request for key, request in keyed.items() if key not in self.answers}


class ToolTasks(ToolCaller):
    """
    Answers `tools/call` requests as `ToolCaller` does, and runs calls as tasks.

    *tasks* are those of the server, by their names; None if it offers none.
    """

    def __init__(self, *arguments: Any, tasks: dict[str, ServedTask] | None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._offers_tasks = tasks is not None
        self._tasks = {} if tasks is None else tasks

    def _arguments_of(self, exchange: Exchange) -> dict[str, Any] | None:
        arguments, plan = exchange.params.arguments, self._dispatcher.find_plan(exchange.params.name)
        if plan is None or not plan.may_detach or not self._may_begin(exchange.context) or not self._has_room():
            return arguments
        if exchange.session is not None:
            jobs_of(exchange.session)  # also if its conversation is this call alone: a task is found by its own name
        return {**(arguments or {}), BACKGROUND: True}

    def _may_begin(self, context: RequestContext) -> bool:
        return self._offers_tasks and _has_extension(context)

    def _has_room(self) -> bool:
        """Return whether one more task may begin. A call that begins none runs while its client waits."""
        now = time.time()
        for task in list(self._tasks.values()):
            if task.is_over() and now > (task.ended_at or now) + _KEEP_SECONDS:
                del self._tasks[task.id]
        return len(self._tasks) < _MAX_TASKS

    async def _resume(self, exchange: Exchange, request: ApprovalRequest, decision: Decision) -> ToolResult:
        plan = self._dispatcher.find_plan(exchange.params.name)
        if exchange.session is None and plan is not None and plan.may_detach and self._may_begin(exchange.context):
            exchange.session = open_single_call(request.session)
            jobs_of(exchange.session)
        return await super()._resume(exchange, request, decision)

    def _finish(self, exchange: Exchange, result: ToolResult) -> dict[str, Any]:
        job = _find_job(exchange.session, result)
        if job is None or exchange.session is None or not self._may_begin(exchange.context):
            return super()._finish(exchange, result)
        task = ServedTask(uuid.uuid4().hex, exchange, exchange.session, job)
        self._tasks[task.id] = task
        return {**_describe(task, "working"), "resultType": "task"}

    # The requests about a task.

    async def get(self, context: RequestContext, params: types.GetTaskRequestParams) -> dict[str, Any]:
        """Return the state of a task, and its result; raise `MCPError` if the client may not know it."""
        task = self._find(context, params.task_id)
        status, further = await self._read(task, context)
        return {**_describe(task, status), **further}

    async def update(self, context: RequestContext, params: UpdateTaskParams) -> dict[str, Any]:
        """Take the answers of the client to questions of a task. The call goes on when none is missing."""
        task = self._find(context, params.task_id)
        questions, request = task.list_questions(), task.request
        task.answers |= {key: answer for key, answer in params.input_responses.items() if key in questions}
        if request is not None and not task.list_questions():
            answers = {key.removesuffix(f"-{task.round}"): answer for key, answer in task.answers.items()}
            await self._go_on(task, context, request, answers)
        return {"resultType": "complete"}

    async def cancel(self, context: RequestContext, params: types.GetTaskRequestParams) -> dict[str, Any]:
        """Ask a task to end. One that waits for an answer ends at once."""
        task = self._find(context, params.task_id)
        request = task.request
        if request is not None:
            task.is_cancelled = True
            await self._withdraw(request, task.exchange.principal)
        elif task.job is not None:
            task.job.stop()
        return {"resultType": "complete"}

    def _find(self, context: RequestContext, task_id: str) -> ServedTask:
        if not is_modern(context):
            raise MCPError(types.METHOD_NOT_FOUND, "tasks are an extension of revision 2026-07-28")
        if not _has_extension(context):
            needed: Any = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY, f"the request lacks the extension {EXTENSION}", needed
            )
        if context.request is not None and context.request.headers.get("mcp-name") != task_id:
            raise MCPError(types.HEADER_MISMATCH, "the header Mcp-Name has to be the name of the task")
        task = self._tasks.get(task_id)
        if task is None or task.exchange.principal != self._conversations.principal_of(context):
            raise MCPError(types.INVALID_PARAMS, f"there is no task {task_id[:64]!r}; it may have expired")
        return task

    async def _read(self, task: ServedTask, context: RequestContext) -> tuple[str, dict[str, Any]]:
        """Return the status of *task*, and the fields that belong to it."""
        request, capabilities = task.request, context.session.client_capabilities
        if request is not None and can_ask(request, capabilities):
            return "input_required", {"inputRequests": task.list_questions()}
        if request is not None:
            try:
                task.outcome = await self._refuse_to_ask(task.exchange, request)
            except MCPError as error:
                task.outcome = build_error_answer(error.error.message)
        if not task.is_over():
            return "working", {}
        result = task.result
        if task.is_cancelled or (isinstance(result, ToolResult) and result.kind == "cancelled"):
            return "cancelled", {}
        if result is None:
            state = "stopped" if task.job is None else task.job.state()
            failure = {"error": {"code": types.INTERNAL_ERROR, "message": state}}
            return ("cancelled", {}) if state == "stopped" else ("failed", failure)
        try:
            answer = result if isinstance(result, dict) else self._answer(task.exchange.params.name, result)
        except MCPError as error:
            return "failed", {"error": {"code": error.error.code, "message": error.error.message}}
        return "completed", {"result": answer}

    async def _go_on(
        self, task: ServedTask, context: RequestContext, request: ApprovalRequest, answers: Mapping[str, Any]
    ) -> None:
        """Resume the call of *task*, which has all answers. If they cannot be used, it asks again."""
        waiting = task.result
        task.job, task.outcome = None, None
        exchange = Exchange(context, task.exchange.params, task.exchange.principal, task.session)
        token = current_host.set(self._build_host(context))
        try:
            outcome = await self._take_answers(exchange, request, answers) or waiting
        except ApprovalError as error:
            outcome = build_error_answer(f"error: denied: {error}")
        finally:
            current_host.reset(token)
        task.job = _find_job(task.session, outcome) if isinstance(outcome, ToolResult) else None
        task.outcome = None if task.job is not None else outcome
        task.round, task.answers = task.round + 1, {}


def _has_extension(context: RequestContext) -> bool:
    """Return whether the client says with this request that it knows tasks."""
    capabilities = context.session.client_capabilities
    return is_modern(context) and capabilities is not None and EXTENSION in (capabilities.extensions or {})


def _find_job(session: Session | None, result: ToolResult) -> CallJob | None:
    """Return the job that a call has become; None if its *result* names none."""
    name = (result.metadata or {}).get("job")
    jobs = [] if session is None or name is None else jobs_of(session).all()
    return next((job for job in jobs if job.id == name), None)


def _describe(task: ServedTask, status: str) -> dict[str, Any]:
    if task.job is not None and (reports := task.job.read().splitlines()) and status == "working":
        task.message = reports[-1][:_MAX_MESSAGE_CHARS]
    changed_at = time.time() if task.ended_at is None else task.ended_at
    described = {
        "resultType": "complete",
        "taskId": task.id,
        "status": status,
        "createdAt": _write_time(task.created_at),
        "lastUpdatedAt": _write_time(changed_at),
        "ttlMs": None if task.ended_at is None else int((task.ended_at - task.created_at + _KEEP_SECONDS) * 1000),
        "pollIntervalMs": _POLL_MILLISECONDS,
    }
    return {**described, "statusMessage": task.message} if task.message and status == "working" else described


def _write_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
