"""
What a person is asked before a call may run, and what they may answer.

Everything here but a `Decision` is plain JSON with a version, so that it can
be stored, sent and shown elsewhere.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from .errors import ToolError

__all__ = ["ApprovalRequest", "AuthNeeded", "AuthRequest", "Changed", "Decision", "Grant", "Precondition"]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Precondition:
    """
    What has to be as it was when somebody agreed: a file's content, or what the tool itself compares.

    Attributes:
        path: The file, resolved; of what a tool compares, the place that it is about.
        sha256: The digest of its content in hexadecimal; None if there was no such file.
        kind: "file" is looked at before the call runs; "tool" by the tool, in `context.permissions.preconditions`,
            which raises `Changed`.
    """

    path: str
    sha256: str | None
    kind: Literal["file", "tool"] = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """
    A person's "always", for one session and one tool.

    Attributes:
        tool: The identity of the tool; a grant never holds for another.
        scope: "tool" for every call of it, "command" for a command prefix, "folder" for what lies under one.
        target: The prefix or the folder; empty for "tool".
        shown: The same in words: what a person reads before they agree.
    """

    tool: str
    scope: Literal["tool", "command", "folder"]
    target: str = ""
    shown: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthRequest:
    """
    Credentials that a tool needs before it can go on.

    Attributes:
        provider: Whose: "github".
        scopes: What they have to permit.
        url: Where a person can give them.
        reason: Why the tool needs them.
    """

    provider: str
    scopes: tuple[str, ...] = ()
    url: str | None = None
    reason: str = ""


class AuthNeeded(ToolError):  # noqa: N818 -- named by what happens next
    """
    A tool, or what makes its resources, cannot go on without credentials; nothing has happened yet.

        raise AuthNeeded(AuthRequest(provider="github", scopes=("repo",), url="https://github.com/login/device"))
    """

    def __init__(self, request: AuthRequest) -> None:
        super().__init__(request.reason or f"{request.provider} wants credentials")
        self.request = request


class Changed(ToolError):  # noqa: N818 -- named by what happened
    """What a person saw before they agreed is no longer so; nothing has happened, and they are asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """
    A call that waits for a person's word.

    Attributes:
        id: 128 random bits; what an answer names.
        tool: The tool's name.
        arguments: What would run, in JSON form, defaults filled in; secrets masked.
        reason: Why somebody has to agree.
        asked_by: What asks: rules, checks, hooks, the mode.
        preview: What the tool says it is about to do; a cut one says so in its first line.
        is_cut: Whether the preview was too long to be shown whole.
        preconditions: What must not have changed when the answer comes.
        grants: What a person may agree to for the rest of the session.
        repairs: What was mended in the arguments before.
        waits_for: The id of the call this one is held back for, if it does not wait for itself.
        auth: The credentials that are missing, if that is what is asked for.
        created_at: Seconds since 1970.
        expires_at: When it is too late to answer; None if never.
        digest: Over the tool's identity, the canonical arguments, session and principal. It authorises nothing.
        seal: The dispatcher's signature, where no store keeps the request.
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
    session: str | None = None
    principal: str | None = None
    waits_for: str | None = None
    auth: AuthRequest | None = None
    created_at: float = field(default_factory=time.time)
    expires_at: float | None = None
    digest: str = ""
    seal: str | None = None
    id: str = field(default_factory=lambda: secrets.token_hex(16))

    def to_json(self) -> dict[str, Any]:
        """Everything, as plain JSON with a version."""
        return {"version": _VERSION, **{name: _plain(getattr(self, name)) for name in _SHAPES}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ApprovalRequest:
        """The inverse of `to_json`; `ValueError` for a version or a shape nobody knows."""
        version = data.get("version") if isinstance(data, Mapping) else None
        if type(version) is not int or version != _VERSION:
            raise ValueError(f"an approval request of version {version!r} cannot be read; version {_VERSION} can")
        given = {name: value for name, value in data.items() if name != "version"}
        for name, value in given.items():
            if (
                name not in _SHAPES
                or not isinstance(value, _SHAPES[name])
                or isinstance(value, bool) != (name == "is_cut")
            ):
                raise ValueError(f"not an approval request: {name!r} cannot be {type(value).__name__}")
        if missing := {"id", "tool", "call_id", "reason", "created_at"} - given.keys():
            # A request without its id would be given a new one, and nobody could answer it.
            raise ValueError(f"not an approval request: it lacks {', '.join(sorted(missing))}")
        for name, kind in (("preconditions", Precondition), ("grants", Grant)):
            given[name] = tuple(_record(kind, each) for each in given.get(name, ()))
        for name in ("asked_by", "repairs"):
            given[name] = tuple(given.get(name, ()))
            if not _all_texts(given[name]):
                raise ValueError(f"not an approval request: {name!r} is a list of texts")
        if given.get("auth") is not None:
            given["auth"] = _record(AuthRequest, given["auth"])
        return cls(**given)


_SHAPES: dict[str, Any] = {
    **dict.fromkeys(("id", "tool", "call_id", "reason", "digest"), str),
    **dict.fromkeys(("preview", "session", "principal", "waits_for", "seal"), (str, type(None))),
    **dict.fromkeys(("preconditions", "grants", "repairs", "asked_by"), list),
    "arguments": dict,
    "is_cut": bool,
    "auth": (dict, type(None)),
    "created_at": (int, float),
    "expires_at": (int, float, type(None)),
}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, (Precondition, Grant, AuthRequest)):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return dict(value) if isinstance(value, Mapping) else value


def _record(kind: type[Any], data: Any) -> Any:
    known = {each.name for each in fields(kind)}
    if not isinstance(data, Mapping) or not data.keys() <= known:
        raise ValueError(f"not an approval request: {data!r:.60} is no {kind.__name__}")
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    for name, value in given.items():
        if not (_all_texts(value) if name == "scopes" else isinstance(value, str) or (value is None and name in _OPEN)):
            raise ValueError(f"not an approval request: `{name}` of a {kind.__name__} cannot be {value!r:.60}")
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"not an approval request: {error}") from None


_OPEN = ("sha256", "url")


def _all_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(each, str) for each in value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """
    A person's answer; `Decision.approve()` and `Decision.deny(reason)` make one.

    Attributes:
        approved: Whether the call may run.
        reason: Why not; the model reads it.
        arguments: What should run instead, in JSON form; judged anew.
        grant: One of the request's grants, to agree to more than this call.
        by: Who answered; written to the audit log.
        principal: On whose behalf; has to be the request's, if that has one.
    """

    approved: bool
    reason: str = ""
    arguments: Mapping[str, Any] | None = None
    grant: Grant | None = None
    by: str | None = None
    principal: str | None = None

    def __post_init__(self) -> None:
        # Exactly these: a text such as "no" is true, too.
        if type(self.approved) is not bool:
            raise TypeError(f"approved is True or False, got {self.approved!r:.60}")
        if not (self.arguments is None or isinstance(self.arguments, Mapping)):
            raise TypeError(f"arguments are a dictionary, got {type(self.arguments).__name__}")
        if not (self.grant is None or isinstance(self.grant, Grant)):
            raise TypeError(f"a grant is one of request.grants, got {type(self.grant).__name__}")

    @classmethod
    def approve(
        cls,
        *,
        arguments: Mapping[str, Any] | None = None,
        grant: Grant | None = None,
        by: str | None = None,
        principal: str | None = None,
    ) -> Decision:
        """Let it run: as it is, with a *grant* for the session, or with other *arguments*."""
        return cls(approved=True, arguments=arguments, grant=grant, by=by, principal=principal)

    @classmethod
    def deny(cls, reason: str = "", *, by: str | None = None, principal: str | None = None) -> Decision:
        """Do not let it run; the model is told *reason*."""
        return cls(approved=False, reason=reason, by=by, principal=principal)
