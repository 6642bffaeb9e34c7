"""
The inspector: a page in the browser that shows the tools of a dispatcher, and what happens with them.

`docs/inspector.md` describes every address.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ..dispatcher import Dispatcher
from ..durable.journal.records import RunStatus
from ..errors import ToolkitError
from ..flows.flow import Flow
from ..formats import FORMATS
from ..permissions import Permissions
from ..policies.audit import encode_line
from ..results import KINDS
from ..session import Session
from ..settings.records import shown_value
from .api_requests import (
    ApiError,
    Endpoint,
    answer_json,
    read_body,
    read_number,
    read_seconds,
    refuse,
    refuse_http,
    require_text,
)
from .approval_desk import ApprovalDesk
from .audit_history import AuditHistory
from .call_rows import CallRow
from .flow_views import describe_flow
from .guard import InspectorGuard
from .history import History
from .run_database import RunDatabase
from .run_desk import RunDesk
from .tool_views import count_tools, describe_tool, explain_call, list_tools, search_tools

__all__ = ["Inspector"]

_PAGE = Path(__file__).parent / "page"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_MAX_LISTENERS = 64
_MAX_PAGE = 5_000


class Inspector:
    """
    A page in the browser for the tools of a dispatcher: `inspector.app()` is the application.

    The page shows the calls that it makes itself, and those of a dispatcher that has a `History` among its hooks. Calls
    of a program, an agent or a flow are also shown if they are made with `inspector.dispatcher`.

    Args:
        dispatcher: The dispatcher, with its policies. Calls of the page go through all of it.
        database: The address of the database of durable runs, such as "sqlite:///runs.sqlite".
        audit: An audit log, whose calls are in the history.
        read_only: Whether the page can only look: it makes no call, and answers, cancels and retries nothing.
        name: What is inspected, for the title of the page.
        flows: The flows whose graphs are shown.
        sources: Objects with `problems`, such as `Servers` and `Skills`. The catalog is looked at anyway.
        token: What a browser has to bring; random unless given.

    Attributes:
        dispatcher: The given dispatcher, extended by the history.
        history: What has happened.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        database: str | None = None,
        audit: str | os.PathLike[str] | None = None,
        read_only: bool = False,
        *,
        name: str = "toolkit",
        flows: Sequence[Flow[Any]] = (),
        sources: Iterable[object] = (),
        token: str | None = None,
    ) -> None:
        if not isinstance(dispatcher, Dispatcher):
            raise TypeError(f"an inspector is for a Dispatcher, got {type(dispatcher).__name__}")
        if token is not None and re.fullmatch(r"[A-Za-z0-9_-]{16,}", token) is None:
            raise ValueError("the token has to have at least 16 letters, digits, `_` or `-`")
        settings = dispatcher.settings
        given_history = next((hook for hook in settings.chain.hooks if isinstance(hook, History)), None)
        self.history = history = given_history or History()
        history.redaction = settings.redaction
        is_told = settings.on_progress == history.on_progress
        self.dispatcher = dispatcher.extended(
            hooks=() if given_history else (history,), on_progress=None if is_told else history.on_progress
        )
        self.token = token or secrets.token_urlsafe(24)
        self.read_only = read_only
        self._name = name
        self._database = None if database is None else RunDatabase(database)
        self._flows = tuple(flows)
        self._sources = (dispatcher.catalog, *sources)
        self._session = Session(id=f"inspector-{secrets.token_hex(4)}")
        history.remember(self._session)
        self._approvals = ApprovalDesk(self.dispatcher, history, self._database)
        self._runs = RunDesk(self.dispatcher, history, self._database, read_only=read_only)
        self._audit: AuditHistory | None = None
        if audit is not None:
            own = None if settings.audit is None else os.path.realpath(settings.audit.path)
            self._audit = AuditHistory(audit, history, follows=os.path.realpath(audit) != own)
            self._audit.refresh()
        self._files = {path.name: path for path in _PAGE.iterdir() if path.suffix in _MEDIA_TYPES}

    def app(self, *, hosts: Sequence[str] = (), any_address: bool = False) -> Starlette:
        """
        Return the application, for a web server or to be mounted: `Mount("/inspect", inspector.app())`.

        Every request to its `api/` needs the token: `http://127.0.0.1:8000/inspect/#token=TOKEN`.

        Args:
            hosts: The names by which browsers reach it, besides those of the loopback address.
            any_address: Whether browsers may also reach it by any IP address.
        """
        guard = Middleware(InspectorGuard, token=self.token, hosts=hosts, any_address=any_address)
        handlers: dict[Any, Any] = {ToolkitError: refuse, HTTPException: refuse_http}
        return Starlette(routes=self._list_routes(), middleware=[guard], exception_handlers=handlers)

    def drain(self) -> None:
        """End the connections that only wait for news, because the web server is about to stop."""
        self.history.events.close()

    def close(self) -> None:
        """Close the database, and do what `drain` does. The dispatcher stays open."""
        self.drain()
        if self._database is not None:
            self._database.close()

    def _list_routes(self) -> list[Route]:
        readers: dict[str, Endpoint] = {
            "about": self._about,
            "tools": self._tools,
            "tool": self._tool,
            "calls": self._calls,
            "calls/{number:int}": self._call_in_full,
            "approvals": self._approvals.list_all,
            "runs": self._runs.list_all,
            "run": self._runs.read,
            "flows": self._list_flows,
            "search": self._search,
            "numbers": self._numbers,
        }
        writers: dict[str, Endpoint] = {
            "call": self._make_call,
            "approvals": self._approvals.answer,
            "run/cancel": self._runs.cancel,
            "run/retry": self._runs.retry,
        }
        return [
            Route("/", self._send_page),
            Route("/page/{file}", self._send_page),
            Route("/api/events", self._listen),
            Route("/api/explain", answer_json(self._explain), methods=["POST"]),
            *(Route(f"/api/{path}", answer_json(endpoint)) for path, endpoint in readers.items()),
            *(
                Route(f"/api/{path}", answer_json(endpoint), methods=["POST"])
                for path, endpoint in writers.items()
                if not self.read_only
            ),
        ]

    # The page.

    async def _send_page(self, request: Request) -> Response:
        path = self._files.get(request.path_params.get("file", "index.html"))
        if path is None:
            raise HTTPException(404)
        data = await asyncio.to_thread(path.read_bytes)
        return Response(data, media_type=_MEDIA_TYPES[path.suffix])

    async def _listen(self, request: Request) -> Response:
        events = self.history.events
        if events.listener_count >= _MAX_LISTENERS:
            return await refuse(request, ApiError(503, f"{_MAX_LISTENERS} pages listen already; close some"))
        after = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return StreamingResponse(events.follow(after), media_type="text/event-stream")

    # Tools.

    async def _about(self, request: Request) -> Any:
        permissions = self.dispatcher.settings.judges.find_all(Permissions)
        return {
            "name": self._name,
            **await asyncio.to_thread(count_tools, self.dispatcher.catalog),
            "mode": permissions[0].mode_of(self._session) if permissions else None,
            "session": self._session.id,
            "read_only": self.read_only,
            "database": None if self._database is None else shown_value(self._database.address),
            "audit": None if self._audit is None else self._audit.path,
            "flows": [flow.name for flow in self._flows],
            "formats": FORMATS,
            "kinds": sorted(KINDS),
            "statuses": get_args(RunStatus),
            "problems": self._list_problems(),
            "place": self.history.events.place,
        }

    def _list_problems(self) -> list[dict[str, str]]:
        unique = {id(source): source for source in self._sources}.values()
        kinds = {"Skills": "skill", "Servers": "server"}
        return [
            {"of": kinds.get(type(source).__name__, type(source).__name__), "text": str(problem)}
            for source in unique
            for problem in getattr(source, "problems", ())
        ]

    async def _tools(self, request: Request) -> Any:
        return {"tools": await asyncio.to_thread(list_tools, self.dispatcher.catalog)}

    async def _tool(self, request: Request) -> Any:
        return await asyncio.to_thread(describe_tool, self.dispatcher.catalog, require_text(request, "name"))

    async def _explain(self, request: Request) -> Any:
        body = await read_body(request)
        name, arguments, session = self._read_call(body)
        return await explain_call(self.dispatcher, name, arguments, session)

    async def _search(self, request: Request) -> Any:
        query, group = require_text(request, "query"), request.query_params.get("group") or None
        view = self.dispatcher.permitted(self._session)
        return await asyncio.to_thread(search_tools, view, query, read_number(request, "limit", 10), group)

    async def _numbers(self, request: Request) -> Any:
        await self._refresh()
        tools = [asdict(entry) for entry in self.history.stats.snapshot()]
        return {"tools": tools, "problem": None if self._audit is None else self._audit.problem}

    # Calls.

    def _read_call(self, body: dict[str, Any]) -> tuple[str, Any, Session]:
        name, session_id = body.get("tool"), body.get("session")
        if not isinstance(name, str):
            raise ApiError(400, "`tool` has to be the name of a tool")
        if not isinstance(body.get("arguments", {}), (dict, str)):
            raise ApiError(400, "`arguments` has to be an object, or JSON text")
        session = self._session if session_id is None else self.history.find_session(str(session_id))
        if session is None:
            raise ApiError(404, f"the conversation {str(session_id)[:64]!r} is not known here; leave `session` out")
        return name, body.get("arguments", {}), session

    async def _make_call(self, request: Request) -> Any:
        body = await read_body(request)
        name, arguments, session = self._read_call(body)
        seconds = read_seconds(body, "timeout_seconds")
        call_id = f"inspect-{secrets.token_hex(6)}"
        with contextlib.suppress(Exception):  # with `raise_bugs`, a tool's own exception; the history has the call
            await self.dispatcher.call(name, arguments, id=call_id, session=session, timeout_seconds=seconds)
        number = self.history.find_number(call_id)
        data = None if number is None else self.history.read_call(number)
        if data is None:
            raise ApiError(503, f"the call of {name[:64]!r} has left no trace; the dispatcher may be closed")
        return b'{"call":%s}' % (data if isinstance(data, bytes) else encode_line(data).encode())

    async def _refresh(self) -> None:
        if self._audit is not None:
            await asyncio.to_thread(self._audit.refresh)

    async def _calls(self, request: Request) -> Any:
        await self._refresh()
        before = read_number(request, "before", 0) or None
        limit = min(max(1, read_number(request, "limit", 500)), _MAX_PAGE)
        fits = _read_filter(request)
        page, following, total = await asyncio.to_thread(self.history.list_calls, fits, before=before, limit=limit)
        return {"calls": page, "next": following, "total": total}

    async def _call_in_full(self, request: Request) -> Any:
        number = request.path_params["number"]
        data = self.history.read_call(number)
        if data is None:
            raise ApiError(404, f"there is no call {number}; it may be too old")
        return data

    async def _list_flows(self, request: Request) -> Any:
        return {"flows": [describe_flow(flow) for flow in self._flows]}


def _read_filter(request: Request) -> Callable[[CallRow], bool]:
    """Return whether a call is one of those that the address asks for."""
    query = request.query_params
    tool, session = query.get("tool"), query.get("session")
    kinds = {None if kind == "running" else kind for kind in query.get("kind", "").split(",") if kind}
    try:
        slow = float(query.get("slow") or 0)
    except ValueError:
        raise ApiError(400, f"`slow` has to be a number of seconds, got {query['slow'][:60]!r}") from None
    only_failed = query.get("failed") in ("1", "true")

    def fits(row: CallRow) -> bool:
        return (
            (not tool or tool in (row.tool, row.alias))
            and (not session or row.session == session)
            and (not kinds or row.kind in kinds)
            and row.seconds >= slow
            and not (only_failed and row.kind in (None, "ok", "waiting"))
        )

    return fits
