"""
One `tools/call` request: run it, ask the user of the client if that is needed, and answer.

    call ──▶ result ──▶ answer
               │
            waiting ──▶ older revision: ask now, and resume the call with the answer
                    ──▶ older revision, stateless server: say where a person answers; the client calls again later
                    ──▶ 2026-07-28: return the question with a sealed state; the client calls again with the answer

What runs is the call that the store of the approvals holds. The client sends no more than the answer to a question
that it was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError

from ...approvals.records import ApprovalError
from ...context import current_host
from ...decisions import ApprovalRequest, Decision
from ...dispatcher import Dispatcher
from ...permissions.patterns.names import OWN_ORIGIN
from ...results import ToolResult
from ...session import Session
from .answers import build_answer, build_error_answer
from .client_log import ClientLog
from .conversations import Conversations, RequestContext, is_modern, is_stateless, name_client
from .progress import ProgressRouter, ProgressSender, run_to_end, run_with_progress
from .questions import (
    ClientHost,
    UnusableAnswers,
    build_requests,
    can_ask,
    describe_inability,
    find_needed_capability,
    has_questions,
    read_decision,
)
from .sealed_state import OpenQuestion, StateError, StateSeal, digest_request
from .waiting_calls import WaitingCalls

__all__ = ["Exchange", "ToolCaller"]

_MAX_QUESTIONS = 20
"""The most questions that one call of an older revision asks."""

_UNINTERRUPTED = ("await", "loop")
"""
How a tool runs that never waits for anything. Its call ends before a cancellation can reach it, so it needs no task of
its own, which would take a tenth more of the processor time of a call in memory (483 in place of 437 microseconds).
"""

_REQUESTS: Mapping[str, tuple[Any, Any]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}
"""The requests to a client in an older revision, and their results."""

_MISTAKES = ("answers", "grant")
"""Why an answer is refused that its user can correct. The question stays open, and is asked again."""


@dataclass(slots=True)
class Exchange:
    """A request of a client, for whom it is made, and the conversation that it belongs to."""

    context: RequestContext
    params: types.CallToolRequestParams
    principal: str | None
    session: Session | None = None


class ToolCaller:
    """
    Answers `tools/call` requests with the tools of *dispatcher*.

    *router* gets the progress of all calls of the dispatcher. *on_load* is called when a call has loaded deferred tools
    into its conversation. A client of an older revision may take *answer_seconds* to answer a question. Calls whose
    client cannot be asked are left to *waiting*, if it is given.
    """

    kind: ClassVar[str] = "tool"

    def __init__(
        self,
        dispatcher: Dispatcher,
        conversations: Conversations,
        seal: StateSeal,
        router: ProgressRouter,
        *,
        on_load: Callable[[], object],
        answer_seconds: float,
        log: ClientLog,
        waiting: WaitingCalls | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._conversations = conversations
        self._seal = seal
        self._router = router
        self._on_load = on_load
        self._answer_seconds = answer_seconds
        self._log = log
        self._waiting = waiting
        self._unusable = UnusableAnswers()

    async def call(self, context: RequestContext, params: types.CallToolRequestParams) -> dict[str, Any]:
        """Return the result of one request; raise `MCPError` for an unknown tool, or an answer that is not accepted."""
        token = current_host.set(self._build_host(context))
        try:
            return await self._call(Exchange(context, params, self._conversations.principal_of(context)))
        finally:
            current_host.reset(token)

    def _build_host(self, context: RequestContext) -> ClientHost | None:
        """Return what lets tools ask the model and the folders of the client."""
        # An asker of the program answers all questions, and is no model.
        return ClientHost(context.session.client_capabilities) if self._dispatcher.approvals.asker is None else None

    async def _call(self, exchange: Exchange) -> dict[str, Any]:
        context, params = exchange.context, exchange.params
        if params.request_state is not None and is_modern(context):
            result = await self._continue(exchange)
            if isinstance(result, dict):
                return result
        else:
            result = await self._run(exchange)
            if params.input_responses and result.kind == "waiting" and is_modern(context):
                result = await self._use_answers(exchange, result)
        if result.kind != "waiting":
            return self._finish(exchange, result)
        if not can_ask(_request_of(result), context.session.client_capabilities):
            return await self._refuse_to_ask(exchange, _request_of(result))
        if is_modern(context):
            return self._ask_later(exchange, _request_of(result))
        return await self._ask_now(exchange, result)

    # Running.

    async def _run(self, exchange: Exchange) -> ToolResult:
        context, principal = exchange.context, exchange.principal
        name = exchange.params.name
        session = self._conversations.session_of(context, principal)
        options: dict[str, Any] = {"principal": principal}
        if self._waiting is not None and is_stateless(context):
            session, options["request_id"] = await self._waiting.prepare(
                self._digest(exchange.params), session, principal
            )
        options["session"] = exchange.session = session
        arguments = self._arguments_of(exchange)
        call_id = None
        plan = self._dispatcher.find_plan(name)
        if plan is not None and plan.direct_call in _UNINTERRUPTED:
            return await self._dispatcher.call(name, arguments, **options)
        if plan is not None and (plan.tool.signature.injected or plan.tool.facts.streaming):
            call_id = self._router.create_id()
        _name_served_call(call_id)
        run = self._dispatcher.call(name, arguments, id=call_id, **options)
        if call_id is None:
            return await run_to_end(run)
        sender = ProgressSender(context.session.report_progress)
        with self._router.follow(call_id, sender):
            return await self._watch(exchange, sender, run)

    async def _watch(
        self, exchange: Exchange, sender: ProgressSender, run: Coroutine[Any, Any, ToolResult]
    ) -> ToolResult:
        """Return the result of *run*. Its client hears what it reports and logs, and that it has loaded tools."""
        session = exchange.session
        loaded = None if session is None else session.loaded
        async with self._log.open(exchange.context):
            result = await run_with_progress(sender, run)
        if session is not None and session.loaded != loaded:
            self._on_load()
        return result

    def _arguments_of(self, exchange: Exchange) -> dict[str, Any] | None:
        return exchange.params.arguments

    def _finish(self, exchange: Exchange, result: ToolResult) -> dict[str, Any]:
        """Return the answer to a request whose call has this *result*, which does not wait."""
        return self._answer(exchange.params.name, result)

    def _answer(self, name: str, result: ToolResult) -> dict[str, Any]:
        if result.kind == "not_found":
            message = result.text if result.error is None else result.error.message
            raise MCPError(types.INVALID_PARAMS, message)
        plan = self._dispatcher.find_plan(name)
        if plan is None:  # the tool was removed while it ran
            return build_error_answer(result.text)
        settings = self._dispatcher.settings
        is_unchecked = not settings.check_output or bool(settings.chain.hooks)
        # An API may answer with a status that its document says nothing about, which the dispatcher lets pass.
        return build_answer(plan, result, checks_value=is_unchecked or plan.tool.origin != OWN_ORIGIN)

    # Asking in an older revision: the client is asked while the call waits.

    async def _ask_now(self, exchange: Exchange, result: ToolResult) -> dict[str, Any]:
        context, principal = exchange.context, exchange.principal
        for _ in range(_MAX_QUESTIONS):
            request = _request_of(result)
            if not can_ask(request, context.session.client_capabilities):
                return await self._refuse_to_ask(exchange, request)
            try:
                responses = await self._elicit(context, request)
            except BaseException as error:
                await self._withdraw(request, principal)
                if not isinstance(error, (MCPError, ValidationError)):
                    raise
                return build_error_answer(f"error: denied: the client could not ask its user: {error}")
            try:
                outcome = await self._take_answers(exchange, request, responses)
            except ApprovalError as error:
                await self._withdraw(request, principal)
                return build_error_answer(f"error: denied: {error}")
            if isinstance(outcome, dict):
                return outcome
            if outcome is not None and outcome.kind != "waiting":
                return self._answer(exchange.params.name, outcome)
            result = outcome or result
        await self._withdraw(_request_of(result), principal)
        return build_error_answer(f"error: denied: the call has asked {_MAX_QUESTIONS} questions, and asks another one")

    async def _elicit(self, context: RequestContext, request: ApprovalRequest) -> dict[str, Any]:
        """Return the answers of the client to what *request* needs, one after the other."""
        metadata = ServerMessageMetadata(related_request_id=context.request_id)
        responses: dict[str, Any] = {}
        for key, data in build_requests(request, offers_grants=True).items():
            request_type, result_type = _REQUESTS[data["method"]]
            response: BaseModel = await context.session.send_request(
                request_type.model_validate(data),
                result_type,
                request_read_timeout_seconds=self._answer_seconds,
                metadata=metadata,
            )
            responses[key] = response.model_dump(by_alias=True)
        return responses

    # Asking in revision 2026-07-28: the client calls again, and brings the answer.

    def _ask_later(self, exchange: Exchange, request: ApprovalRequest) -> dict[str, Any]:
        question = OpenQuestion(
            request=request.id if self._dispatcher.approvals.seal is None else request.to_json(),
            digest=self._digest(exchange.params),
            principal=exchange.principal,
            session=request.session,
        )
        return {
            "resultType": "input_required",
            "inputRequests": build_requests(request, offers_grants=exchange.principal is not None),
            "requestState": self._seal.seal(question),
        }

    async def _continue(self, exchange: Exchange) -> ToolResult | dict[str, Any]:
        """Return the result of a call whose question came back, or the question; raise `MCPError` for a wrong state."""
        params, principal = exchange.params, exchange.principal
        try:
            question = self._seal.open(params.request_state or "", digest=self._digest(params), principal=principal)
            request = await self._find_request(question)
            exchange.session = self._conversations.session_of_question(question.session, principal)
            outcome = await self._take_answers(exchange, request, _responses_of(params))
            return outcome or self._ask_later(exchange, request)
        except (StateError, ApprovalError) as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"reason": error.why}) from error
        except ValueError as error:
            raise MCPError(
                types.INVALID_PARAMS, f"the arguments are no JSON: {error}", {"reason": "arguments"}
            ) from error

    async def _use_answers(self, exchange: Exchange, result: ToolResult) -> ToolResult:
        """
        Return the result of a call whose client knows the questions of the tool, and sent the answers with it.

        An approval or credentials are never taken from such a request: the person has not seen what they agree to.
        """
        for _ in range(_MAX_QUESTIONS):
            if result.kind != "waiting" or not has_questions(_request_of(result)):
                break
            try:
                outcome = await self._take_answers(exchange, _request_of(result), _responses_of(exchange.params))
            except ApprovalError as error:
                raise MCPError(types.INVALID_PARAMS, str(error), {"reason": error.why}) from error
            if not isinstance(outcome, ToolResult):
                break
            result = outcome
        return result

    def _digest(self, params: types.CallToolRequestParams) -> str:
        """Return the digest of a call. A caller of another kind, with a function of the same name, has another one."""
        return digest_request(self.kind, params.name, params.arguments)

    async def _find_request(self, question: OpenQuestion) -> ApprovalRequest:
        if not isinstance(question.request, str):
            return ApprovalRequest.from_json(question.request)
        record = await self._dispatcher.settings.store_runner.find_record(question.request)
        if record is None:
            raise ApprovalError(
                "the question is not known here: it was removed, or another process of the server asked it; let all "
                "processes share one store of approvals, or call the tool again",
                why="unknown",
            )
        if record.state != "pending":
            raise ApprovalError("this question was answered before; call the tool again", why="answered")
        return record.request

    # Both revisions.

    async def _take_answers(
        self, exchange: Exchange, request: ApprovalRequest, responses: Mapping[str, Any]
    ) -> ToolResult | dict[str, Any] | None:
        """Return the result of the call; None if *responses* cannot be used; the denial if that happens too often."""
        problem = "it does not fit its form"
        by, principal = name_client(exchange.context), exchange.principal
        decision = read_decision(request, responses, by=by, principal=principal)
        if decision is not None:
            try:
                return await self._resume(exchange, request, decision)
            except ApprovalError as error:
                if error.why not in _MISTAKES:
                    raise
                problem = str(error)
        denial = self._unusable.note(request.id, problem)
        if denial is None:
            return None
        await self._withdraw(request, principal)
        return build_error_answer(f"error: denied: {denial}")

    async def _refuse_to_ask(self, exchange: Exchange, request: ApprovalRequest) -> dict[str, Any]:
        """Return the answer to a call whose client cannot be asked. The newer revision has an `MCPError` for that."""
        stateless = is_stateless(exchange.context)
        if stateless and self._waiting is not None:
            answer = self._waiting.build_answer(exchange.context, request)
            if answer is not None:
                return answer
        await self._withdraw(request, exchange.principal)
        text = f"denied: {describe_inability(request, stateless=stateless)}"
        if is_modern(exchange.context) and not (request.auth is not None and request.auth.url is None):
            needed = find_needed_capability(request, exchange.context.session.client_capabilities)
            data: dict[str, Any] = {"requiredCapabilities": needed}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, text, data)
        return build_error_answer(f"error: {text}")

    async def _resume(self, exchange: Exchange, request: ApprovalRequest, decision: Decision) -> ToolResult:
        sender = ProgressSender(exchange.context.session.report_progress)
        _name_served_call(request.call_id)
        # A dispatcher for this run alone: the id of the call does not tell apart two answers that arrive at once.
        dispatcher = self._dispatcher.extended(on_progress=sender.add)
        run = dispatcher.resume(
            self._handle_of(request), decision, session=exchange.session, principal=exchange.principal
        )
        return await self._watch(exchange, sender, run)

    def _handle_of(self, request: ApprovalRequest) -> Any:
        return request if self._dispatcher.approvals.seal is not None else request.id

    async def _withdraw(self, request: ApprovalRequest, principal: str | None) -> None:
        """Close *request*, so that no later answer lets the call run. This also happens if the call is cancelled."""
        denial = Decision.deny("the client did not answer", principal=principal)
        with anyio.CancelScope(shield=True):
            try:
                await self._dispatcher.resume(self._handle_of(request), denial, principal=principal)
            except ApprovalError:
                return  # it was answered meanwhile, or has expired


def _name_served_call(call_id: str | None) -> None:
    """Tell the host of the running request which call the client has made."""
    host = current_host.get()
    if isinstance(host, ClientHost):
        host.call_id = call_id


def _request_of(result: ToolResult) -> ApprovalRequest:
    assert result.request is not None  # noqa: S101 -- a result of kind "waiting" has one
    return result.request


def _responses_of(params: types.CallToolRequestParams) -> dict[str, Any]:
    return {key: response.model_dump(by_alias=True) for key, response in (params.input_responses or {}).items()}
