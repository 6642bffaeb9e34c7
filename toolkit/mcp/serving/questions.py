"""
Questions to the user of a client: what elicitation shows, and what an answer means.

A request for approval is one form with the tool, its arguments, the reason and the preview. A question of a tool is a
form of its own. A request for credentials is an address that the user opens. An answer that does not fit its form is
no answer: it never approves a call.
"""

from __future__ import annotations

import io
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from mcp_types import ClientCapabilities

from ...approvals.terminal.screens import Screen, describe_grant
from ...decisions import ApprovalRequest, Decision
from ...questions import DECLINED
from ...values.strictjson.checks import loads
from ...values.visible import make_visible

__all__ = ["UnusableAnswers", "build_forms", "can_ask", "describe_inability", "has_questions", "read_decision"]

_APPROVAL_KEY = "approval"
_CREDENTIALS_KEY = "credentials"
_ANSWER_KEY = "answer"
_MAX_UNUSABLE = 3
_MAX_COUNTED = 10_000
_PRIMITIVES = ("string", "number", "integer", "boolean")


def has_questions(request: ApprovalRequest) -> bool:
    """Return whether *request* asks questions of a tool, and neither for approval nor for credentials."""
    return request.auth is None and bool(request.questions)


def can_ask(request: ApprovalRequest, capabilities: ClientCapabilities | None) -> bool:
    """Return whether a client with *capabilities* can put *request* to its user."""
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None:
        return False
    if request.auth is not None:
        return elicitation.url is not None and request.auth.url is not None
    # A client that names no mode has forms, as all clients had before there was another mode.
    return elicitation.form is not None or elicitation.url is None


def describe_inability(request: ApprovalRequest, *, stateless: bool = False) -> str:
    """Return the reason why a call ends that had to ask, and what its user can do."""
    lack = "it declares no elicitation"
    if stateless:
        lack = "a stateless server keeps no connection to it; give all its processes one key and one store of approvals"
    tool = make_visible(request.tool, keep_lines=False)
    if request.auth is not None:
        where = "it names no address" if request.auth.url is None else f"open {request.auth.url}, and call it again"
        return f"`{tool}` needs credentials of {request.auth.provider}, which this client cannot ask for; {where}"
    if request.questions:
        return f"`{tool}` has a question for the user, and this client cannot ask it: {lack}"
    return (
        f"`{tool}` needs the approval of a person ({request.reason}), and this client cannot ask for it: {lack}"
        f"{'' if stateless else '; use a client that does'}, or start the server with a rule such as 'allow {tool}'"
    )


def build_forms(request: ApprovalRequest, *, offers_grants: bool) -> dict[str, dict[str, Any]]:
    """
    Return the parameters of the `elicitation/create` requests of *request*, by a key of the server.

    With *offers_grants*, the user may also agree to more than this call, for the rest of the conversation.
    """
    if request.auth is not None:
        url_form = {"mode": "url", "message": _render(request), "url": request.auth.url, "elicitationId": request.id}
        return {_CREDENTIALS_KEY: url_form}
    if not has_questions(request):
        schema = _build_approval_schema(request, offers_grants=offers_grants)
        return {_APPROVAL_KEY: {"mode": "form", "message": _render(request), "requestedSchema": schema}}
    return {
        question.key: {
            "mode": "form",
            "message": make_visible(question.message),
            "requestedSchema": _flatten_schema(question.schema),
        }
        for question in request.questions
    }


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
        return dict(schema)
    if _is_primitive(schema):
        member = {"type": "string", **schema}  # a list of choices need not say that they are texts
    else:
        member = {"type": "string", "title": "Answer", "description": "The answer as JSON text."}
    return {"type": "object", "properties": {_ANSWER_KEY: member}, "required": [_ANSWER_KEY]}


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

    *responses* has the result of each elicitation by the key of its form. Nothing but a form that was accepted, with
    the word that it asks for, approves a call.
    """
    answered = {key: responses.get(key) for key in build_forms(request, offers_grants=True)}
    decision = _read_answered(request, answered)
    return None if decision is None else replace(decision, by=by, principal=principal)


def _read_answered(request: ApprovalRequest, answered: Mapping[str, Any]) -> Decision | None:
    actions = {key: _action_of(response) for key, response in answered.items()}
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


class UnusableAnswers:
    """
    Counts the answers to each question that cannot be used, so that a client is not asked without end.

    The count is kept here and not in the state that a client carries, because a client may send an old state again.
    """

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def note(self, request_id: str, problem: str) -> str | None:
        """Count one more answer. Return why the call is denied; None if its client may be asked again."""
        count = self._counts[request_id] = self._counts.pop(request_id, 0) + 1
        if len(self._counts) > _MAX_COUNTED:
            self._counts.popitem(last=False)
        if count < _MAX_UNUSABLE:
            return None
        del self._counts[request_id]
        return f"the client was asked {_MAX_UNUSABLE} times, and its last answer cannot be used either: {problem}"
