"""
The questions that a person is asked before a call may run, and the answers that they may give.

All records here except `Decision` are plain JSON with a version, so a program can store, send and show them elsewhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, Literal

from ._option_checks import OptionTypes, add_other_words, check_option_types
from ._plumbing.records import record
from ._plumbing.versioned_json import check_field_types, remove_version
from .errors import ToolError
from .questions import AnsweredQuestion, Question

__all__ = [
    "ApprovalRequest",
    "ArgumentEdit",
    "AuthNeeded",
    "AuthRequest",
    "Changed",
    "Decision",
    "Grant",
    "Precondition",
    "to_json_value",
]

_VERSION = 1


@record(frozen=True, slots=True, kw_only=True)
class Precondition:
    """
    A condition that must still hold since a person approved the call.

    It is about the content of a file, or about a state that the tool itself compares.

    Attributes:
        path: The file, resolved. For a state that a tool compares, the place that the state is about.
        sha256: The digest of the content in hexadecimal; None if the file did not exist.
        kind: "file" is checked before the call runs. "tool" is checked by the tool, which reads it from
            `context.permissions.preconditions` and raises `Changed`.
    """

    path: str
    sha256: str | None
    kind: Literal["file", "tool"] = "file"


@record(frozen=True, slots=True, kw_only=True)
class Grant:
    """
    A person's answer "always", for one session and one tool.

    Attributes:
        tool: The identity of the tool. A grant never holds for another tool.
        scope: "tool" for every call of the tool, "command" for a command prefix, "folder" for the files in a folder.
        target: The prefix or the folder; empty for "tool".
        shown: The grant in words, which a person reads before they agree.
        rule: The allow rule that permits the same in every session, such as "bash(npm test:*)"; empty if there is none.
    """

    tool: str
    scope: Literal["tool", "command", "folder"]
    target: str = ""
    shown: str = field(default="", compare=False)
    rule: str = field(default="", compare=False)


@record(frozen=True, slots=True, kw_only=True)
class ArgumentEdit:
    """
    What a person has changed in the arguments of a call while approving it.

    Attributes:
        by: The person, as in `Decision.by`.
        before: The changed arguments as they were, in JSON form. An argument that the person added is not in it.
        after: The same arguments as the person wrote them. An argument that the person left out is not in it.
    """

    by: str | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        return {"by": self.by, "before": dict(self.before), "after": dict(self.after)}


@record(frozen=True, slots=True, kw_only=True)
class AuthRequest:
    """
    The credentials that a tool needs before it can continue.

    Attributes:
        provider: The service that the credentials are for, such as "github".
        scopes: The permissions that the credentials must include.
        url: The address where a person can provide the credentials.
        reason: Why the tool needs them.
    """

    provider: str
    scopes: tuple[str, ...] = ()
    url: str | None = None
    reason: str = ""


class AuthNeeded(ToolError):  # noqa: N818 -- errors are named by what happens next
    """
    Raised by a tool, or by the code that makes its resources, if it needs credentials before it has done anything.

        raise AuthNeeded(AuthRequest(provider="github", scopes=("repo",), url="https://github.com/login/device"))
    """

    def __init__(self, request: AuthRequest) -> None:
        super().__init__(request.reason or f"{request.provider} wants credentials")
        self.request = request


class Changed(ToolError):  # noqa: N818 -- the name says what happened
    """
    Raised if the state that a person saw before they agreed has changed.

    The call has had no effect, and the person is asked again.
    """


@record(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """
    A call that waits for a person's answer.

    Attributes:
        id: 128 random bits. An answer names the request by this id.
        tool: The tool's name.
        call_id: The id of the call that waits.
        session: The id of the conversation; None if the call has none.
        principal: On whose behalf the call is made.
        alias: The alias that the tool was called by; None if it was called by its own name.
        cost: What the call costs in US dollars, by the fact `cost` of the tool; 0 if the tool does not say.
        origin: Where the tool comes from: "python", or for example "mcp:github".
        arguments: The arguments that the call would run with, in JSON form. Defaults are filled in, secrets are masked.
        reason: Why a person has to agree.
        asked_by: The rules, checks, hooks or mode that require the approval.
        preview: The tool's own description of what it is about to do. If it was cut, its first line says so.
        is_cut: Whether the preview was too long to be shown whole.
        preconditions: The conditions that must still hold when the answer comes.
        grants: What a person may agree to for the rest of the session.
        repairs: The repairs made to the arguments before.
        edits: What people have changed in the arguments, if the call is asked about again after that.
        waits_for: The id of the call that this one is held back for, if it does not wait for its own approval.
        auth: The missing credentials, if the request asks for credentials.
        questions: What the tool asks its user, if the request is about questions. An approval has to answer all of
            them: `Decision.approve(answers={question.key: ...})`.
        answers: The questions of the same call that were answered before, in requests that came before this one.
        created_at: Seconds since 1970.
        expires_at: The time after which an answer is too late; None if there is no limit.
        digest: A digest of the tool's identity, the canonical arguments, the session and the principal. It authorises
            nothing.
        seal: The dispatcher's signature, used if no store keeps the request.
        trace_parent: The span in which the call has waited, as W3C trace context, if a hook records spans.
    """

    tool: str
    call_id: str
    reason: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    asked_by: tuple[str, ...] = ()
    preview: str | None = None
    is_cut: bool = False
    preconditions: tuple[Precondition, ...] = ()
    grants: tuple[Grant, ...] = ()
    repairs: tuple[str, ...] = ()
    edits: tuple[ArgumentEdit, ...] = ()
    session: str | None = None
    principal: str | None = None
    waits_for: str | None = None
    auth: AuthRequest | None = None
    questions: tuple[Question, ...] = ()
    answers: tuple[AnsweredQuestion, ...] = ()
    created_at: float = field(default_factory=time.time)
    expires_at: float | None = None
    digest: str = ""
    seal: str | None = None
    origin: str = "python"
    alias: str | None = None
    cost: float = 0.0
    trace_parent: str | None = None
    id: str = field(default_factory=lambda: os.urandom(16).hex())

    @property
    def is_approval(self) -> bool:
        """Whether the person decides if the call may run: it asks for no credentials and has no questions."""
        return self.auth is None and not self.questions

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON with a version."""
        usual = {name for name, value in _USUAL_VALUES.items() if getattr(self, name) == value}
        names = (name for name in _FIELD_TYPES if name not in usual)
        return {"version": _VERSION, **{name: to_json_value(getattr(self, name)) for name in names}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ApprovalRequest:
        """
        Return the request that *data* describes. This is the inverse of `to_json`.

        Raises:
            ValueError: *data* has an unknown version or an unknown shape.
        """
        values = remove_version(data, "an approval request", _VERSION)
        check_field_types(values, "an approval request", _FIELD_TYPES)
        if missing := {"id", "tool", "call_id", "reason", "created_at"} - values.keys():
            # A request without its id would get a new one, and then an answer to the old id would not find it.
            raise ValueError(f"not an approval request: it lacks {', '.join(sorted(missing))}")
        for name, kind in (("preconditions", Precondition), ("grants", Grant)):
            values[name] = tuple(_build_record(kind, item) for item in values.get(name, ()))
        values["edits"] = tuple(map(_build_edit, values.get("edits", ())))
        for name, record_class in (("questions", Question), ("answers", AnsweredQuestion)):
            values[name] = tuple(_build_question(record_class, item) for item in values.get(name, ()))
        for name in ("asked_by", "repairs"):
            values[name] = tuple(values.get(name, ()))
            if not _is_tuple_of_texts(values[name]):
                raise ValueError(f"not an approval request: {name!r} is a list of texts")
        if values.get("auth") is not None:
            values["auth"] = _build_record(AuthRequest, values["auth"])
        return cls(**values)


_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "tool", "origin", "call_id", "reason", "digest"), (str,)),
    **dict.fromkeys(
        ("alias", "preview", "session", "principal", "waits_for", "seal", "trace_parent"), (str, type(None))
    ),
    **dict.fromkeys(("preconditions", "grants", "repairs", "edits", "asked_by", "questions", "answers"), (list,)),
    "arguments": (dict,),
    "is_cut": (bool,),
    "cost": (int, float),
    "auth": (dict, type(None)),
    "created_at": (int, float),
    "expires_at": (int, float, type(None)),
}

_USUAL_VALUES: dict[str, Any] = {
    **dict.fromkeys(("edits", "questions", "answers"), ()),
    "origin": "python",
    "alias": None,
    "cost": 0.0,
    "trace_parent": None,
}
"""The fields that few requests have, each with the value that is not written."""


def to_json_value(value: Any) -> Any:
    """Return a field of a request or of its record as plain JSON."""
    if isinstance(value, tuple):
        return [to_json_value(item) for item in value]
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        # The rule of a grant is not written if it is empty.
        names = (member.name for member in fields(value) if member.name != "rule" or getattr(value, member.name))
        return {name: to_json_value(getattr(value, name)) for name in names}
    return dict(value) if isinstance(value, Mapping) else value


def _build_record(kind: type[Any], data: Any) -> Any:
    names = {member.name for member in fields(kind)}
    if not isinstance(data, Mapping) or not data.keys() <= names:
        raise ValueError(f"not an approval request: {data!r:.60} is no {kind.__name__}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    for name, value in values.items():
        if not (
            _is_tuple_of_texts(value)
            if name == "scopes"
            else isinstance(value, str) or (value is None and name in _NULLABLE)
        ):
            raise ValueError(f"not an approval request: `{name}` of a {kind.__name__} cannot be {value!r:.60}")
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"not an approval request: {error}") from None


def _build_edit(data: Any) -> ArgumentEdit:
    if (
        not isinstance(data, Mapping)
        or data.keys() != {"by", "before", "after"}
        or not isinstance(data["by"], str | None)
        or not (isinstance(data["before"], dict) and isinstance(data["after"], dict))
    ):
        raise ValueError(f"not an approval request: {data!r:.60} is no ArgumentEdit")
    return ArgumentEdit(**data)


def _build_question(kind: type[Question | AnsweredQuestion], data: Any) -> Question | AnsweredQuestion:
    try:
        return kind.from_json(data)
    except ValueError as error:
        raise ValueError(f"not an approval request: {error}") from None


_NULLABLE = ("sha256", "url")


def _is_tuple_of_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(item, str) for item in value)


_DECISION_TYPES: OptionTypes = {
    "by": ((str, type(None)), "the name of the person as a text, or None"),
    "principal": ((str, type(None)), "a text, or None"),
    "reason": ((str,), "a text"),
    "decided_at": ((int, float, type(None)), "seconds since 1970, or None"),
}


@record(frozen=True, slots=True, kw_only=True)
class Decision:
    """
    A person's answer. Make one with `Decision.approve()` or `Decision.deny(reason)`.

    Attributes:
        approved: Whether the call may run.
        reason: Why the call may not run. The model reads it.
        arguments: Arguments to run the call with instead, in JSON form. They are judged anew.
        answers: The answers to the questions of the request, by their keys: JSON values, or `DECLINED`.
        grant: One of the request's grants, to agree to more than this call.
        by: The person who answered. It is written to the audit log.
        principal: On whose behalf the person answered. If the request has a principal, this must be the same.
        decided_at: When the person answered, in seconds since 1970, if the answer was kept since then. It must be
            before the request expires. None stands for the moment at which the answer is given to the dispatcher.
    """

    approved: bool
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    grant: Grant | None = None
    by: str | None = None
    principal: str | None = None
    answers: Mapping[str, Any] | None = None
    decided_at: float | None = None

    def __post_init__(self) -> None:
        # Only a bool is accepted, because a text such as "no" is true in Python.
        if type(self.approved) is not bool:
            raise TypeError(f"approved is True or False, got {self.approved!r:.60}")
        if not (self.arguments is None or isinstance(self.arguments, Mapping)):
            raise TypeError(f"arguments are a dictionary, got {type(self.arguments).__name__}")
        if not (self.answers is None or isinstance(self.answers, Mapping)):
            raise TypeError(
                f"answers are a dictionary from the keys of request.questions, got {type(self.answers).__name__}"
            )
        if not (self.grant is None or isinstance(self.grant, Grant)):
            raise TypeError(f"a grant is one of request.grants, got {type(self.grant).__name__}")
        # The record is stored with the name of the person, and could not be read back with another type.
        options = {"by": self.by, "principal": self.principal, "reason": self.reason, "decided_at": self.decided_at}
        check_option_types(options, _DECISION_TYPES)
        if not self.approved and not (self.arguments is None and self.grant is None and self.answers is None):
            raise ValueError(
                "a denial has no arguments, grant or answers, because nothing runs; approve, or leave them out"
            )

    @classmethod
    def approve(
        cls,
        *,
        arguments: Mapping[str, Any] | None = None,
        grant: Grant | None = None,
        by: str | None = None,
        principal: str | None = None,
        answers: Mapping[str, Any] | None = None,
    ) -> Decision:
        """
        Return an answer that lets the call run: as it is, with a session *grant*, or with other *arguments*.

        *answers* are needed if the request has questions. `DECLINED` is the answer of a user who does not answer one.
        """
        return cls(approved=True, arguments=arguments, grant=grant, by=by, principal=principal, answers=answers)

    @classmethod
    def deny(cls, reason: str = "", *, by: str | None = None, principal: str | None = None) -> Decision:
        """Return an answer that forbids the call. The model reads *reason*."""
        return cls(approved=False, reason=reason, by=by, principal=principal)


add_other_words(Decision, {"reject": "write `Decision.deny(reason)`"})
