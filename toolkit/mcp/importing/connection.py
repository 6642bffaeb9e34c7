"""
The connection to one server: it opens the transport, lists the tools, runs calls, and connects again after a loss.

A connection lives in the event loop that `Servers` runs in a thread, and everything here runs in that loop. A server
that is dead, slow or floods fails its own calls, and no others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, METHOD_NOT_FOUND
from mcp_types.jsonrpc import JSONRPCMessage, JSONRPCResponse
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from ..._plumbing.distribution import DISTRIBUTION
from ..._plumbing.wording import format_seconds
from ...catalogs.foreign_text import clean_text
from ...errors import ToolError, Transient
from ...policies.retry import RetryPolicy, random_chance
from .call_errors import UnusableAnswer, explain_validation, read_call_error
from .credentials import ServerCredentials
from .flood_guard import guard_transport
from .http_client import McpHttpClient
from .list_watcher import ListWatcher
from .questions import CallLink, QuestionRouter
from .remote_server import RemoteServer
from .remote_tools import RemoteListing, RemoteTool, leave_out_unusable, list_tools
from .stdio_transport import ErrorTail, open_stdio
from .tasks import TaskCaller, offers_tasks

__all__ = ["Connection", "ResultT"]

_log = logging.getLogger("toolkit")

ResultT = TypeVar("ResultT", bound=BaseModel)

_ANSWER: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
_STATE_ONLY_SECONDS = 0.1
_GOODBYE_SECONDS = 3.0
_STABLE_SECONDS = 10.0
"""How long a connection has to last so that the waits before new attempts begin anew."""


class Connection:
    """
    One server, for as long as it is used.

    Args:
        server: Where the server is, and the limits for it.
        on_tools: Awaited with each list of tools, in the loop of the connection, one list at a time.
        on_problem: Called with what is wrong with the server, and with None when it works again.
    """

    def __init__(
        self,
        server: RemoteServer,
        *,
        on_tools: Callable[[RemoteListing], Awaitable[None]],
        on_problem: Callable[[str | None], None],
    ) -> None:
        self.server = server
        self._limits = server.limits
        self._on_tools = on_tools
        self._import_lock = asyncio.Lock()  # an older list must not replace a newer one
        self._on_problem = on_problem
        self._client: Client | None = None
        self._lost = asyncio.Event()
        self._wake = asyncio.Event()
        self._attempted = asyncio.Event()  # the present attempt, or the next one, has succeeded or failed
        self._scope: anyio.CancelScope | None = None
        self._is_closing = False
        self._is_wanted = False  # a call waits for the connection
        self._revision = server.revision
        self._questions = QuestionRouter(server.name)
        self._tasks = TaskCaller(server.name, server.timeout_seconds)
        self._credentials = ServerCredentials(server)
        self._errors = ErrorTail(self._credentials.mask_text)
        self._listed_revision = LATEST_HANDSHAKE_VERSION
        self._left_out: list[str] = []
        self.problem: str | None = None

    # Being connected.

    @property
    def is_open(self) -> bool:
        """Whether a call could be sent now."""
        return self._client is not None and not self._lost.is_set()

    async def run(self) -> None:
        """Connect, and connect again after each loss with growing waits, until `close` is called."""
        failures = 0
        while not self._is_closing:
            self._lost, self._errors = asyncio.Event(), ErrorTail(self._credentials.mask_text)
            problem = f"it did not answer within {format_seconds(self._limits.connect_seconds)}"
            was_open, has_ended, opened_at = False, False, 0.0
            try:
                with anyio.CancelScope() as self._scope:
                    async with self._connect() as watcher:
                        was_open, opened_at, problem = True, anyio.current_time(), "the connection was lost"
                        await self._follow(watcher)
            except Exception as error:  # noqa: BLE001 -- whatever a server causes, the other servers go on
                problem, has_ended = self._describe(error), self._lost.is_set()
            finally:
                self._note_loss()
            if not was_open and self._chooses_handshake(has_ended=has_ended):
                continue
            has_lasted = was_open and anyio.current_time() - opened_at > _STABLE_SECONDS
            failures = 1 if has_lasted else failures + 1
            if not self._is_closing:
                self._report(problem)
            if not was_open or self._is_closing:
                self._end_attempt()
            await self._wait_before_attempt(failures)

    async def wait_for_first_attempt(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._attempted.wait()

    def close(self) -> None:
        """End the connection. The task that runs `run` ends when the server is gone, which takes a limited time."""
        self._is_closing = True
        self._wake.set()
        if self._scope is None:
            return
        if self._client is None:
            self._scope.cancel()
        else:
            # A server at an address is told that its session is over, which it may be slow to hear.
            self._scope.deadline = anyio.current_time() + _GOODBYE_SECONDS
            self._note_loss()

    @contextlib.asynccontextmanager
    async def _connect(self) -> AsyncIterator[ListWatcher]:
        """Open the transport, agree on a revision and list the tools, all within the time limit."""
        async with contextlib.AsyncExitStack() as stack:
            # The limit is on the scope around the connection: a scope of its own could not end before the transport.
            scope = self._scope
            assert scope is not None  # noqa: S101 -- `run` has set it
            scope.deadline = anyio.current_time() + self._limits.connect_seconds
            watcher = ListWatcher(self._limits)
            client = await stack.enter_async_context(await self._open_client(stack, watcher))
            listing = await self._list(client)
            scope.deadline = float("inf")
            self._client = client
            async with self._import_lock:
                await self._on_tools(listing)
            self._report(None)
            self._attempted.set()
            yield watcher

    async def _open_client(self, stack: contextlib.AsyncExitStack, watcher: ListWatcher) -> Client:
        server = self.server
        target: Any = server.target
        if server.kind == "command":
            target = open_stdio(server, self._errors, self._note_loss)
        elif server.kind == "address" and server.transport == "sse":
            # The client has the headers, the time limits and the login of the server, and not those of the SDK.
            target = sse_client(server.target, httpx_client_factory=lambda *_, **__: self._build_http_client())
        elif server.kind == "address":
            http = await stack.enter_async_context(self._build_http_client())
            max_bytes = int(self._limits.max_message_bytes)
            target = streamable_http_client(server.target, http_client=http, max_sse_event_size=max_bytes)
        if server.kind != "object":
            target = guard_transport(target, watcher.note_dropped, self._check_message, self._note_loss)
        return Client(
            target,
            mode="legacy" if server.transport == "sse" else self._revision,
            cache=None,
            client_info=types.Implementation(name="toolkit", version=version(DISTRIBUTION)),
            elicitation_callback=self._questions.answer,
            message_handler=watcher.handle_message,
        )

    def _build_http_client(self) -> McpHttpClient:
        return McpHttpClient(self.server, self._note_loss, self._credentials)

    def _check_message(self, message: JSONRPCMessage) -> None:
        """Mask the credentials in *message*. Leave what is no tool out of a list of tools."""
        self._credentials.mask_message(message)
        if isinstance(message, JSONRPCResponse) and isinstance(message.result.get("tools"), list):
            self._left_out += leave_out_unusable(message.result, self._listed_revision, self._limits)

    def _chooses_handshake(self, *, has_ended: bool) -> bool:
        """
        Return whether to try again at once with the older handshake.

        A program that is older than the newest revision may end when it is asked for it.
        """
        is_old = has_ended and self._revision == "auto" and self.server.kind == "command"
        self._revision = "legacy" if is_old else self.server.revision
        return is_old

    async def _list(self, client: Client) -> RemoteListing:
        self._left_out, self._listed_revision = [], client.protocol_version
        try:
            listing = await list_tools(client.session, self._limits)
            return RemoteListing(listing.tools, (*self._left_out, *listing.problems))
        except ValidationError as error:
            raise explain_validation(error, self.server.name) from None

    async def _import(self, client: Client) -> None:
        """List the tools, and hand them on."""
        async with self._import_lock:
            with anyio.fail_after(self._limits.connect_seconds):
                listing = await self._list(client)
            await self._on_tools(listing)  # it has a time limit of its own

    async def _follow(self, watcher: ListWatcher) -> None:
        """List the tools again whenever the server says that they changed, until the connection is lost."""
        client = self._client
        assert client is not None  # noqa: S101 -- `_connect` has set it
        async with anyio.create_task_group() as tasks:
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                tasks.start_soon(watcher.listen, client, self.server.revision == client.protocol_version)
            tasks.start_soon(self._refresh, client, watcher)
            await self._lost.wait()
            tasks.cancel_scope.cancel()

    async def _refresh(self, client: Client, watcher: ListWatcher) -> None:
        while True:
            await watcher.wait_for_change()
            try:
                await self._import(client)
                self._on_problem(None)
            except (MCPError, ToolError, TimeoutError) as error:
                self._on_problem(f"its tools cannot be listed again: {self._describe(error)}")

    def _note_loss(self) -> None:
        """Take note that the connection is gone. Calls from now on wait for the next attempt to connect."""
        self._lost.set()
        if self._client is not None:
            self._client = None
            self._attempted = asyncio.Event()

    def _end_attempt(self) -> None:
        """Free the calls that wait for an attempt that has failed. Later calls wait for the next one."""
        self._attempted.set()
        self._attempted = asyncio.Event()
        self._is_wanted = False

    def _describe(self, error: BaseException) -> str:
        """Return why the connection failed, in few words and without credentials, which an address may have."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            return "it did not answer in time"
        # They are masked twice: a cut may leave a part of a credential, and cleaning may put one together.
        mask = self._credentials.mask_text
        return mask(clean_text(mask(str(error)), 400)) or type(error).__name__

    def _report(self, problem: str | None) -> None:
        """Tell what is wrong with the server; None if nothing is."""
        if problem is not None and str(self._errors):
            problem += f"; it wrote: {self._errors}"
        if problem is not None:
            problem = self._credentials.mask_text(problem)
            _log.warning("MCP server %s: %s", self.server.name, problem)
        self.problem = problem
        self._on_problem(problem)

    async def _wait_before_attempt(self, failures: int) -> None:
        """Wait longer after each failure, or until a call asks for the connection."""
        waits = RetryPolicy(wait_initial=self._limits.wait_initial, wait_max=self._limits.wait_max)
        self._wake.clear()
        if self._is_closing or self._is_wanted:
            return
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), waits.wait_before(failures + 1, chance=random_chance()))

    # Calls.

    async def call(self, tool: RemoteTool, arguments: Mapping[str, Any], link: CallLink) -> types.CallToolResult:
        """
        Return the server's answer to a call of *tool*.

        Raises:
            Transient: The server cannot be reached, or was lost during the call.
            UnusableAnswer: The server answered, and the answer cannot be used.
            ToolError: The server refused the call.
        """
        client = await self._find_client()
        params = types.CallToolRequestParams(name=tool.name, arguments=dict(arguments))
        try:
            return await self._run_rounds(params, lambda: self._send(client, tool, params, link), link)
        except asyncio.CancelledError:
            if not self._is_closing:
                raise
            # `Servers` ends the calls that still wait when it is closed. The caller has not cancelled this one.
            raise Transient(
                f"the connection to the server {self.server.name} was closed during the call", happened="maybe"
            ) from None

    async def request(self, request: Any, result_type: type[ResultT], link: CallLink | None = None) -> ResultT | None:
        """
        Return the server's answer to *request*, which is no call; None if the server does not know the method.

        The server may ask the person of *link* before it answers.
        """
        client = await self._find_client()
        try:
            if link is None:
                return await client.session.send_request(request, result_type)
            form: Any = result_type | types.InputRequiredResult
            send = partial(client.session.send_request, request, TypeAdapter(form), progress_callback=link.report)
            answer: ResultT = await self._run_rounds(request.params, send, link)
        except MCPError as error:
            if error.code == METHOD_NOT_FOUND:
                return None
            raise read_call_error(error, self.server.name, is_open=self.is_open) from None
        except ValidationError as error:
            raise explain_validation(error, self.server.name) from None
        return answer

    async def _run_rounds(
        self, params: Any, send: Callable[[], Awaitable[ResultT | types.InputRequiredResult]], link: CallLink
    ) -> ResultT:
        """Call *send*, and add the answers to the questions of the server to *params*, until there is a result."""
        with self._questions.follow(link):
            for _ in range(int(self._limits.max_rounds) + 1):
                answer = await send()
                if not isinstance(answer, types.InputRequiredResult):
                    return answer
                params.request_state = answer.request_state
                params.input_responses = await self._questions.answer_all(answer.input_requests or {}, link)
                if not params.input_responses:
                    await asyncio.sleep(_STATE_ONLY_SECONDS)
        raise UnusableAnswer(
            f"the server {self.server.name} asked for input more than {int(self._limits.max_rounds)} times"
        )

    async def _find_client(self) -> Client:
        """Return the client, after a new attempt to connect if the connection is not there."""
        if not self.is_open and not self._is_closing:
            self._is_wanted = True
            self._wake.set()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._attempted.wait(), self._limits.connect_seconds)
        client = self._client
        if client is None or not self.is_open:
            reason = self.problem or "it does not answer"
            raise Transient(f"the server {self.server.name} cannot be reached: {reason}", happened="no")
        return client

    async def _send(
        self, client: Client, tool: RemoteTool, params: types.CallToolRequestParams, link: CallLink, tries: int = 2
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            if tool.is_task and offers_tasks(client):
                return await self._tasks.call(client, params, link)
            # `Client.call_tool` would check the structured content with jsonschema, whose patterns can take for ever.
            answer: types.CallToolResult | types.InputRequiredResult = await client.session.send_request(
                types.CallToolRequest(params=params), _ANSWER, progress_callback=link.report
            )
        except MCPError as error:
            if error.code == HEADER_MISMATCH and tries > 1:
                # The server wants the headers of a newer definition, and has not run the call.
                await self._import(client)
                return await self._send(client, tool, params, link, tries - 1)
            raise read_call_error(error, self.server.name, is_open=self.is_open) from None
        except ValidationError as error:
            raise explain_validation(error, self.server.name) from None
        return answer
