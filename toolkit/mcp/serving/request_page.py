"""
The page on which a person answers a call that waits: `/mcp/requests/ID`.

It shows the forms that elicitation would show, and reads them in the same way. The id cannot be guessed, and a person
who has the address can read the request. The answer counts only with a token of the user who made the call, if the
server has users: the model that passes the address on has no token.
"""

from __future__ import annotations

import contextlib
import html
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from ...approvals.records import ApprovalError
from ...context import ClientRequest, current_request
from ...decisions import ApprovalRequest, Decision
from ...results import ToolResult
from ...values.strictjson.checks import loads
from ...values.visible import make_visible
from .auth import Auth
from .conversations import Conversations
from .http_guard import HttpGuard, read_chosen_headers
from .issuer_pages import AuthError
from .questions import build_requests, read_decision
from .waiting_calls import WaitingCalls

__all__ = ["RequestPage"]

_HEADERS = {
    # No script, no frame of another site, and no copy.
    "content-security-policy": "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
}


class RequestPage:
    """
    An ASGI application for the pages of *waiting*.

    Args:
        auth: Finds the users; None if no token is needed.
        guard_options: The limits of `HttpGuard`, which sees every request first.
    """

    def __init__(
        self, waiting: WaitingCalls, conversations: Conversations, *, auth: Auth | None, **guard_options: Any
    ) -> None:
        self._waiting = waiting
        self._conversations = conversations
        self._auth = auth
        self._request_headers = guard_options["request_headers"]
        # The token is in the form, as a browser sends no header of its own.
        self._guard = PageGuard(self._answer, auth=None, **guard_options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._guard(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._build_response(Request(scope, receive))
        await response(scope, receive, send)

    async def _build_response(self, request: Request) -> Response:
        store_runner = self._waiting.dispatcher.settings.store_runner
        record = await store_runner.find_record(request.url.path.rpartition("/")[2])
        if record is None:
            return _build_page("<p>There is no such request. It may be over.</p>", 404)
        if record.state != "pending":
            return _build_page(
                "<p>The request was answered before. The client gets the result when it calls again.</p>"
            )
        if record.is_expired(self._waiting.dispatcher.approvals.clock()):
            return _build_page("<p>It is too late to answer: the request has expired. The call did not run.</p>")
        if request.method != "POST":
            return self._show_forms(record.request, "")
        # The guard has limited the body, and the time for it.
        fields = parse_qs((await request.body()).decode("utf-8", "replace"))
        try:
            headers = read_chosen_headers(request.scope, self._request_headers)
            result = await self._take(record.request, fields, headers)
        except (AuthError, ApprovalError) as error:
            return self._show_forms(record.request, str(error), getattr(error, "status", 409))
        if result is None:
            return self._show_forms(record.request, "An answer is missing, or does not fit its field.", 400)
        if result.request is not None:  # the call has one more question
            return RedirectResponse(result.request.id, 303)
        start = "<p>The answer was taken. The client gets this when it calls again:</p>"
        return _build_page(f"{start}<pre>{_show(result.text)}</pre>")

    async def _take(
        self, request: ApprovalRequest, fields: Mapping[str, list[str]], headers: Mapping[str, str]
    ) -> ToolResult | None:
        """
        Return the result of the call with the answer in *fields*; None if there is no answer. Its tool sees *headers*.

        Raise `AuthError` for the token of another user, and `ApprovalError` for an answer that cannot be accepted.
        """
        header = f"Bearer {fields.get('token', [''])[0]}"
        user = None if self._auth is None else await self._auth.find_user(header)
        principal = self._conversations.find_principal(user)
        if principal != request.principal:
            raise AuthError("this call was made for another user", None, 403)
        decision = _read_fields(request, fields, principal)
        if decision is None:
            return None
        scopes = () if user is None else user.scopes
        client = ClientRequest(principal=principal, scopes=frozenset(scopes), headers=dict(headers))
        token = current_request.set(client)
        try:
            session = self._conversations.session_of_question(request.session, principal)
            return await self._waiting.dispatcher.resume(request.id, decision, session=session, principal=principal)
        finally:
            current_request.reset(token)

    def _show_forms(self, request: ApprovalRequest, problem: str, status: int = 200) -> Response:
        lines = [f"<p><strong>{html.escape(problem)}</strong></p>"] if problem else []
        lines.append('<form method="post">')
        for key, form in _build_forms(request).items():
            lines.append(f"<pre>{html.escape(form['message'])}</pre>")
            if form["mode"] == "url":
                lines.append(f"<p>Open {_show(str(form['url']))}, and come back.</p>")
            schema = form.get("requestedSchema", {})
            lines += [_show_field(f"{key}.{name}", member) for name, member in schema.get("properties", {}).items()]
        if self._auth is not None:
            lines.append('<p><label>Your token: <input type="password" name="token" autocomplete="off"></label></p>')
        lines.append('<p><button name="action" value="accept">Send the answer</button>')
        lines.append('<button name="action" value="decline">Decline</button></p></form>')
        return _build_page("\n".join(lines), status)


class PageGuard(HttpGuard):
    """The guard of a page: a browser sends a form, and it comes from the page itself."""

    def _check_message(self, body: bytes, scope: Scope) -> Response | None:
        return None  # a form is no message

    def _is_allowed_page(self, authority: str, host: str) -> bool:
        return authority.lower() == host.lower() or super()._is_allowed_page(authority, host)


def _build_page(body: str, status: int = 200) -> Response:
    title = "A call that waits for you"
    text = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1>{body}</html>'
    return HTMLResponse(text, status, _HEADERS)


def _build_forms(request: ApprovalRequest) -> dict[str, dict[str, Any]]:
    """Return the forms of *request*. What only a client can answer, such as a request to its model, has none."""
    requests = build_requests(request, offers_grants=request.principal is not None)
    return {key: entry["params"] for key, entry in requests.items() if entry["method"] == "elicitation/create"}


def _show_field(name: str, schema: Mapping[str, Any]) -> str:
    """Return the field of a form for a value that *schema* describes."""
    label = _show(f"{schema.get('title') or name.partition('.')[2]}: {schema.get('description', '')}")
    is_list = schema.get("type") == "array"
    options = [f'<option value="{html.escape(value)}">{_show(text)}' for value, text in _list_choices(schema).items()]
    start = f'<input name="{html.escape(name)}">'
    if options:
        start = f'<select name="{html.escape(name)}"{" multiple>" if is_list else "><option>"}'
        options.append("</select>")
    return f"<p><label>{label}<br>{start}{''.join(options)}</label></p>"


def _show(text: str) -> str:
    return html.escape(make_visible(text))


def _list_choices(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the values that *schema*, or the schema of its items, allows; none if it names none."""
    schema = schema.get("items", schema)
    if schema.get("type") == "boolean":
        return {"true": "yes", "false": "no"}
    titled = [*schema.get("oneOf", ()), *schema.get("anyOf", ()), *({"const": item} for item in schema.get("enum", ()))]
    return {str(choice["const"]): str(choice.get("title", choice["const"])) for choice in titled if "const" in choice}


def _read_fields(request: ApprovalRequest, fields: Mapping[str, list[str]], principal: str | None) -> Decision | None:
    """Return the decision that the fields of a form state; None if they state none."""
    responses: dict[str, Any] = {}
    for key, form in _build_forms(request).items():
        content: dict[str, Any] = {}
        form_schema = form.get("requestedSchema", {})
        for name, schema in form_schema.get("properties", {}).items():
            texts, is_list = fields.get(f"{key}.{name}", []), schema.get("type") == "array"
            # A browser sends nothing for a list in which nothing is chosen.
            if texts or (is_list and name in form_schema.get("required", ())):
                content[name] = texts if is_list else _read_value(schema, texts[0])
        responses[key] = {"action": fields.get("action", [""])[0], "content": content}
    return read_decision(request, responses, by="the page of the MCP server", principal=principal)


def _read_value(schema: Mapping[str, Any], text: str) -> Any:
    """Return the value that *text* stands for. A text that stands for none is refused by the check of the answer."""
    if schema.get("type") in ("boolean", "integer", "number"):
        with contextlib.suppress(ValueError):
            return loads(text)
    return text
