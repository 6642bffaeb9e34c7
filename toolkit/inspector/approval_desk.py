"""
The requests that people have to answer: those of the dispatcher's store, and those of runs that wait in a database.

The answer to a request of the store lets the call go on here. The answer to a request of a run is written to the
database, and a worker goes on with the run. If two people answer, the store or the database lets one answer count.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from ..approvals.askers import find_user
from ..approvals.records import ApprovalError
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..durable.errors import DurableError
from ..durable.journal.records import RunRow
from ..durable.journal.run_journal import Journal
from ..durable.run_hosts import open_host
from ..durable.run_reports import format_time, iterate_runs, read_requests, row_to_json
from ..errors import ToolkitError
from ..questions import DECLINED
from ..session import Session
from .api_requests import ApiError, read_body, read_id
from .call_rows import describe_result
from .history import History
from .run_database import RunDatabase

__all__ = ["ApprovalDesk"]

_MAX_RUNS = 500
_UNSENT = ("version", "seal", "digest", "trace_parent")
_USUAL: dict[str, Any] = {"questions": [], "auth": None, "edits": [], "repairs": [], "answers": [], "origin": "python"}
_USUAL |= {"alias": None, "cost": 0.0}


class ApprovalDesk:
    """Lists and answers the requests of *dispatcher*, and of the runs in *database* if there is one."""

    def __init__(self, dispatcher: Dispatcher, history: History, database: RunDatabase | None) -> None:
        self._dispatcher = dispatcher
        self._history = history
        self._database = database

    async def list_all(self, _: Request) -> dict[str, Any]:
        """Return the open requests, the oldest first, and what was decided, the newest first."""
        requests, problems = dict[str, tuple[ApprovalRequest, str | None]](), list[str]()
        approvals = self._dispatcher.approvals
        try:
            runner = self._dispatcher.settings.store_runner
            pending = await runner.run("list requests", "", lambda store: store.pending(now=approvals.clock()))
            requests |= {request.id: (request, None) for request in pending}
        except ApprovalError as error:
            problems.append(str(error))
        try:
            for row, request in await self._find_in_runs():
                requests.pop(request.id, None)  # the store may have it too
                if request.id not in row.decisions:
                    requests[request.id] = request, row.id
        except DurableError as error:
            problems.append(str(error))
        ordered = sorted(requests.values(), key=lambda pair: pair[0].created_at)
        return {
            "open": [_describe_request(request, run) for request, run in ordered],
            "decided": [*reversed(self._history.decisions)],
            "problem": "; ".join(problems) or None,
        }

    async def _find_in_runs(self) -> list[tuple[RunRow, ApprovalRequest]]:
        """Return the requests of waiting runs, with the rows of their runs, which have the answers so far."""
        if self._database is None:
            return []

        def read(journal: Journal) -> list[tuple[RunRow, ApprovalRequest]]:
            requests = []
            for row in iterate_runs(journal, status="waiting", max_runs=_MAX_RUNS):
                with contextlib.suppress(DurableError):  # a run of another version is shown among the runs
                    requests += [(row, request) for request in read_requests(row)]
            return requests

        return await self._database.read(read)

    async def answer(self, http_request: Request) -> dict[str, Any]:
        """
        Answer the request that the body of *http_request* names, and return what came of it.

        Raises:
            ApiError: The request is not open, or the answer does not fit it.
        """
        body = await read_body(http_request)
        request_id = read_id(body, "request")
        for row, request in await self._find_in_runs():
            if request.id == request_id and self._database is not None:
                return await self._answer_run(self._database, row, request, _read_decision(body, request))
        record = await self._dispatcher.settings.store_runner.find_record(request_id)
        if record is None:
            raise ApiError(404, f"there is no open request {request_id[:64]!r}; it may be over", why="unknown")
        request = record.request
        decision = _read_decision(body, request)
        session = None
        if request.session is not None:  # a conversation of another process has no grants here
            session = self._history.find_session(request.session)
            session = session or Session(id=request.session, principal=request.principal)
        try:
            result = await self._dispatcher.resume(request_id, decision, session=session, principal=request.principal)
        except ApprovalError as error:
            raise await self._explain(error, request_id) from error
        outcome, _ = describe_result(result)
        at = self._dispatcher.approvals.clock()
        return {"decided": {**_describe_decision(request, decision), "at": at}, "result": outcome, "run": None}

    async def _answer_run(
        self, database: RunDatabase, row: RunRow, request: ApprovalRequest, decision: Decision
    ) -> dict[str, Any]:
        if request.id in row.decisions:
            earlier = row.decisions[request.id]
            first = _describe_first(earlier.get("by"), earlier.get("approved"), earlier.get("decided_at"))
            raise ApiError(409, f"request {request.id} was answered before: {first}", why="answered")
        async with open_host(database.address, run_id=row.id, kind=row.kind) as host:
            changed = await host.decide(row.id, {request.id: decision})
        decided = self._history.add_decision(**_describe_decision(request, decision), run=row.id)
        return {"decided": decided, "result": None, "run": row_to_json(changed)}

    async def _explain(self, error: ApprovalError, request_id: str) -> ApiError:
        """Return *error*, with who has answered before, if it was answered."""
        refusal = ApiError.of(error)
        with contextlib.suppress(ToolkitError):
            record = await self._dispatcher.settings.store_runner.find_record(request_id)
            if record is not None and record.decided_at is not None:
                first = _describe_first(record.decided_by, record.state != "denied", record.decided_at)
                return ApiError(refusal.status, f"{error}: {first}", **refusal.fields)
        return refusal


def _describe_request(request: ApprovalRequest, run: str | None) -> dict[str, Any]:
    fields = {name: value for name, value in request.to_json().items() if name not in _UNSENT}
    return {**_USUAL, **fields, "run": run}


def _describe_first(by: Any, approved: Any, at: Any) -> str:
    """Return who has answered a request, for a person whose answer comes later."""
    when = f" at {format_time(at)} UTC" if isinstance(at, (int, float)) else ""
    return f"{by or 'another user'} has {'approved' if approved else 'denied'} it{when}; this answer does not count"


def _describe_decision(request: ApprovalRequest, decision: Decision) -> dict[str, Any]:
    words = {name: getattr(decision, name) for name in ("approved", "by", "reason")}
    return {"id": request.id, "tool": request.tool, **words}


def _read_decision(body: Mapping[str, Any], request: ApprovalRequest) -> Decision:
    """Return the decision that *body* states about *request*; raise `ApiError` if it states none."""
    action, by = body.get("action"), body.get("by") or find_user("the inspector")
    try:
        if action == "deny":
            return Decision.deny(body.get("reason") or "", by=by, principal=request.principal)
        if action == "approve":
            return Decision.approve(
                arguments=body.get("arguments"),
                grant=_find_grant(body.get("grant"), request),
                answers=_read_answers(body),
                by=by,
                principal=request.principal,
            )
    except (TypeError, ValueError) as error:
        raise ApiError(400, str(error)) from error
    raise ApiError(400, f'`action` has to be "approve" or "deny", got {action!r:.60}')


def _find_grant(place: Any, request: ApprovalRequest) -> Any:
    if place is None:
        return None
    if type(place) is not int or not 0 <= place < len(request.grants):
        raise ValueError(f"`grant` has to be the place of one of its {len(request.grants)} grants, got {place!r:.60}")
    return request.grants[place]


def _read_answers(body: Mapping[str, Any]) -> dict[str, Any] | None:
    answers, declined = body.get("answers") or {}, body.get("declined") or []
    if not isinstance(answers, dict) or not isinstance(declined, list):
        raise TypeError("`answers` are an object by the keys of the questions, and `declined` is a list of keys")
    return {**answers, **dict.fromkeys(map(str, declined), DECLINED)} or None
