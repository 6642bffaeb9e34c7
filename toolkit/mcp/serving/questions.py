"""
Questions to a client and its user: what elicitation shows, what the client's model and folders are asked for, and what
an answer means.

A request for approval is one form with the tool, its arguments, the reason and the preview. A question of a tool is a
form of its own. A request for credentials is an address that the user opens. An answer that does not fit its form is
no answer: it never approves a call.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp_types import ClientCapabilities, CreateMessageResult, ListRootsResult, TextContent

from ..._plumbing.newest_items import NewestItems
from ...approvals.terminal.screens import Screen, describe_grant
from ...context import Context
from ...decisions import ApprovalRequest, Decision
from ...errors import ToolError
from ...questions import DECLINED, Question
from ...values.strictjson.checks import loads
from ...values.visible import make_visible

__all__ = [
    "ClientHost",
    "UnusableAnswers",
    "build_requests",
    "can_ask",
    "describe_inability",
    "find_needed_capability",
    "has_questions",
    "read_decision",
]

_APPROVAL_KEY = "approval"
_CREDENTIALS_KEY = "credentials"
_ANSWER_KEY = "answer"
_MAX_UNUSABLE = 3
_MAX_COUNTED = 10_000
_ELICIT = "elicitation/create"
_SAMPLE = "sampling/createMessage"
_ROOTS = "roots/list"
_PRIMITIVES = ("string", "number", "integer", "boolean")


def has_questions(request: ApprovalRequest) -> bool:
    """Return whether *request* asks questions of a tool, and neither for approval nor for credentials."""
    return request.auth is None and bool(request.questions)


class ClientHost:
    """
    The client that a call came from: its model and its folders are asked for as a user is asked a question.

    Attributes:
        call_id: The id of that call. A call that its tool makes itself, with a dispatcher, cannot be asked about here.
    """

    def __init__(self, capabilities: ClientCapabilities | None) -> None:
        self.call_id: str | None = None
        self._capabilities = capabilities

    async def sample(
        self, context: Context, key: str, messages: Sequence[Mapping[str, str]], system: str, max_tokens: int
    ) -> str:
        """Return the text of the client's model. The call waits for it."""
        if context.call.id != self.call_id:
            raise ToolError(
                "there is no model to ask: the client has not made this call itself, but called a tool that makes it; "
                "let that tool ask the model"
            )
        turns = [{"role": turn["role"], "content": {"type": "text", "text": turn["content"]}} for turn in messages]
        params: dict[str, Any] = {"messages": turns, "maxTokens": max_tokens}
        if system:
            params["systemPrompt"] = system
        request = {"method": _SAMPLE, "params": params}
        message = f"Ask the model of the client: {messages[-1]['content']}"
        question = Question(key=key, message=message, schema={"type": "string"}, request=request)
        return str(await context.put_question(question))

    async def list_roots(self, context: Context) -> list[str] | None:
        """Return the folders of the client; None if it names none. The call waits for them."""
        if self._capabilities is None or self._capabilities.roots is None or context.call.id != self.call_id:
            return None
        schema = {"type": "array", "items": {"type": "string"}}
        request = {"method": _ROOTS, "params": {}}
        message = "Ask the client for the folders that its user works in."
        folders: list[str] = await context.put_question(
            Question(key="toolkit.roots", message=message, schema=schema, request=request)
        )
        return folders


def can_ask(request: ApprovalRequest, capabilities: ClientCapabilities | None) -> bool:
    """Return whether a client with *capabilities* can answer *request*, or put it to its user."""
    return find_needed_capability(request, capabilities) is None


def find_needed_capability(request: ApprovalRequest, capabilities: ClientCapabilities | None) -> dict[str, Any] | None:
    """Return the capability that a client with *capabilities* lacks to answer *request*; None if it lacks none."""
    known = ClientCapabilities() if capabilities is None else capabilities
    methods = {_method_of(question) for question in request.questions} if has_questions(request) else {_ELICIT}
    if _SAMPLE in methods and known.sampling is None:
        return {"sampling": {}}
    if _ROOTS in methods and known.roots is None:
        return {"roots": {}}
    elicitation = known.elicitation
    if request.auth is not None:
        can_open = elicitation is not None and elicitation.url is not None and request.auth.url is not None
        return None if can_open else {"elicitation": {"url": {}}}
    # A client that names no mode has forms, as all clients had before there was another mode.
    has_forms = elicitation is not None and (elicitation.form is not None or elicitation.url is None)
    return None if has_forms or _ELICIT not in methods else {"elicitation": {"form": {}}}


def _method_of(question: Question) -> str:
    return _ELICIT if question.request is None else str(question.request["method"])


def describe_inability(request: ApprovalRequest, *, stateless: bool = False) -> str:
    """Return the reason why a call ends that had to ask, and what its user can do."""
    lack = "it declares no elicitation"
    if stateless:
        lack = "a stateless server keeps no connection to it; give all its processes one key and one store of approvals"
    tool = make_visible(request.tool, keep_lines=False)
    if request.auth is not None:
        where = "it names no address" if request.auth.url is None else f"open {request.auth.url}, and call it again"
        return f"`{tool}` needs credentials of {request.auth.provider}, which this client cannot ask for; {where}"
    if any(question.request is not None for question in request.questions):
        return f"`{tool}` asks for the model or the folders of this client, which declares neither sampling nor roots"
    if request.questions:
        return f"`{tool}` has a question for the user, and this client cannot ask it: {lack}"
    # A tool that reaches outside needs a rule that names its place, as an origin does.
    rule = tool if request.origin == "python" else f"{request.origin}/{tool}"
    return (
        f"`{tool}` needs the approval of a person ({request.reason}), and this client cannot ask for it: {lack}"
        f"{'' if stateless else '; use a client that does'}, or start the server with a rule such as 'allow {rule}'"
    )


def build_requests(request: ApprovalRequest, *, offers_grants: bool) -> dict[str, dict[str, Any]]:
    """
    Return the requests to the client that *request* needs, each with its method and parameters, by a key of the server.

    With *offers_grants*, the user may also agree to more than this call, for the rest of the conversation.
    """
    if request.auth is not None:
        url_form = {"mode": "url", "message": _render(request), "url": request.auth.url, "elicitationId": request.id}
        return {_CREDENTIALS_KEY: {"method": _ELICIT, "params": url_form}}
    if not has_questions(request):
        schema = _build_approval_schema(request, offers_grants=offers_grants)
        return {_APPROVAL_KEY: _build_form(_render(request), schema)}
    return {
        question.key: _build_form(make_visible(question.message), _flatten_schema(question.schema))
        if question.request is None
        else dict(question.request)
        for question in request.questions
    }


def _build_form(message: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"method": _ELICIT, "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def _render(request: ApprovalRequest) -> str:
    text = io.StringIO()
    Screen(text, colour=False).show(request, time.time())
    return text.getvalue().strip()


def _build_approval_schema(request: ApprovalRequest, *, offers_grants: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "approve": {"type": "boolean", "title": "Run this call", "description": "Yes runs it once, exactly as shown."}
    }
    if offers_grants and request.grants:
        properties["remember"] = {
            "type": "string",
            "title": "Also allow",
            "description": "Leave this empty to allow this call only.",
            "enum": [describe_grant(grant) for grant in request.grants],
        }
    return {"type": "object", "properties": properties, "required": ["approve"]}


def _flatten_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return *schema* as a form can have it: an object whose members are texts, numbers, yes or no, and choices."""
    if _is_flat(schema):
        members = {name: _name_type(member) for name, member in schema["properties"].items()}
        return {**schema, "properties": members}
    if _is_primitive(schema):
        member = _name_type(schema)
    else:
        member = {"type": "string", "title": "Answer", "description": "The answer as JSON text."}
    return {"type": "object", "properties": {_ANSWER_KEY: member}, "required": [_ANSWER_KEY]}


def _name_type(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return *member* with a type, which clients want. A list of choices need not say that they are texts."""
    return {"type": "string", **member}


def _is_flat(schema: Mapping[str, Any]) -> bool:
    properties = schema.get("properties")
    return (
        schema.get("type") == "object"
        and isinstance(properties, Mapping)
        and all(isinstance(member, Mapping) and _is_primitive(member) for member in properties.values())
        and not schema.keys() & {"$defs", "$ref", "anyOf", "oneOf", "allOf"}
    )


def _is_primitive(schema: Mapping[str, Any]) -> bool:
    if "$ref" in schema or "anyOf" in schema:
        return False
    if schema.get("type") == "array":
        items = schema.get("items")
        return isinstance(items, Mapping) and (
            (items.get("type") == "string" and "enum" in items) or _has_titled_choices(items)
        )
    choices = schema.get("enum")
    if "type" not in schema and isinstance(choices, list):
        return all(isinstance(choice, str) for choice in choices)
    if "type" not in schema and "oneOf" in schema:
        return _has_titled_choices(schema)
    return schema.get("type") in _PRIMITIVES


def _has_titled_choices(schema: Mapping[str, Any]) -> bool:
    choices = schema.get("anyOf") or schema.get("oneOf")
    return isinstance(choices, list) and all(
        isinstance(choice, Mapping) and isinstance(choice.get("const"), str) for choice in choices
    )


def read_decision(
    request: ApprovalRequest, responses: Mapping[str, Any], *, by: str | None, principal: str | None
) -> Decision | None:
    """
    Return what the user decided, or None if *responses* do not answer *request*.

    *responses* has the result of each request by its key. Nothing but a form that was accepted, with
    the word that it asks for, approves a call.
    """
    answered = {key: responses.get(key) for key in build_requests(request, offers_grants=True)}
    decision = _read_answered(request, answered)
    return None if decision is None else replace(decision, by=by, principal=principal)


def _read_answered(request: ApprovalRequest, answered: Mapping[str, Any]) -> Decision | None:
    by_program = {question.key for question in request.questions if question.request is not None}
    actions = {key: _action_of(response) for key, response in answered.items() if key not in by_program}
    if None in actions.values():
        return None
    if "cancel" in actions.values():
        return Decision.deny("the user closed the question without an answer")
    if has_questions(request):
        return _read_answers(request, answered)
    [(key, action)] = actions.items()
    if action == "decline":
        return Decision.deny("the user declined")
    return Decision.approve() if key == _CREDENTIALS_KEY else _read_approval(request, _content_of(answered[key]))


def _action_of(response: Any) -> Literal["accept", "decline", "cancel"] | None:
    action = response.get("action") if isinstance(response, Mapping) else None
    return action if action in ("accept", "decline", "cancel") else None


def _content_of(response: Any) -> Mapping[str, Any]:
    content = response.get("content")
    return content if isinstance(content, Mapping) else {}


def _read_approval(request: ApprovalRequest, content: Mapping[str, Any]) -> Decision | None:
    approve, remember = content.get("approve"), content.get("remember")
    # Only a bool counts: a text such as "no" is true in Python.
    if type(approve) is not bool or not content.keys() <= {"approve", "remember"}:
        return None
    if not approve:
        return Decision.deny("the user said no")
    if remember in (None, ""):
        return Decision.approve()
    grant = next((grant for grant in request.grants if describe_grant(grant) == remember), None)
    return None if grant is None else Decision.approve(grant=grant)


def _read_answers(request: ApprovalRequest, responses: Mapping[str, Any]) -> Decision | None:
    answers: dict[str, Any] = {}
    for question in request.questions:
        response = responses[question.key]
        if question.request is not None:
            try:
                answers[question.key] = _ANSWER_READERS[_method_of(question)](response)
            except (TypeError, ValueError):
                return None
            continue
        if _action_of(response) == "decline":
            answers[question.key] = DECLINED
            continue
        try:
            answers[question.key] = _read_answer(question.schema, dict(_content_of(response)))
        except (KeyError, ValueError):
            return None
    return Decision.approve(answers=answers)


def _read_answer(schema: Mapping[str, Any], content: dict[str, Any]) -> Any:
    if _is_flat(schema):
        return content
    return content[_ANSWER_KEY] if _is_primitive(schema) else loads(content[_ANSWER_KEY])


def _read_sample(response: Any) -> str:
    content = CreateMessageResult.model_validate(response).content
    if not isinstance(content, TextContent):
        raise TypeError("a tool reads only texts")
    return content.text


def _read_roots(response: Any) -> list[str]:
    uris = [str(root.uri) for root in ListRootsResult.model_validate(response).roots]
    return [url2pathname(urlsplit(uri).path) if uri.startswith("file://") else uri for uri in uris]


_ANSWER_READERS: Mapping[str, Callable[[Any], Any]] = {_SAMPLE: _read_sample, _ROOTS: _read_roots}


class UnusableAnswers:
    """
    Counts the answers to each question that cannot be used, so that a client is not asked without end.

    The count is kept here and not in the state that a client carries, because a client may send an old state again.
    """

    def __init__(self) -> None:
        self._counts: NewestItems[str, int] = NewestItems(_MAX_COUNTED)

    def note(self, request_id: str, problem: str) -> str | None:
        """Count one more answer. Return why the call is denied; None if its client may be asked again."""
        count = self._counts[request_id] = self._counts.get(request_id, 0) + 1
        if count < _MAX_UNUSABLE:
            return None
        del self._counts[request_id]
        return f"the client was asked {_MAX_UNUSABLE} times, and its last answer cannot be used either: {problem}"
