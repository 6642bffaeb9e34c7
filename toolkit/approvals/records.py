"""
Records of calls that wait for a person, from the question to the outcome.

    pending → denied
    pending → claimed → done

A record is plain JSON with a version. No store pickles anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from .._plumbing.versioned_json import check_field_types, remove_version
from ..decisions import ApprovalRequest, to_json_value
from ..errors import ToolkitError
from ..questions import AnsweredQuestion, Question
from ..values.strictjson.canonical import encode_canonical

__all__ = [
    "CORRECTABLE",
    "ApprovalError",
    "Claim",
    "Record",
    "State",
    "Why",
    "check_arguments",
    "dump_record",
    "encode_record",
    "is_past",
    "is_temporary",
    "load_record",
]

State = Literal["pending", "denied", "claimed", "done"]
Why = Literal[
    "unknown",
    "answered",
    "running",
    "expired",
    "principal",
    "changed",
    "forged",
    "grant",
    "arguments",
    "answers",
    "store",
]

CORRECTABLE = frozenset(("principal", "grant", "arguments", "answers"))
"""Why an answer was refused that the person can correct: by answering as another principal, or in another way."""

_VERSION = 1


class ApprovalError(ToolkitError):
    """
    An answer that cannot be accepted, or a store that cannot keep it.

    Attributes:
        why: The reason in one word, for programs; "store" if the store itself fails.
        outcome: The result of the call, as `ToolResult.to_json` returns it, if `why` is "answered" and the call ended.
    """

    def __init__(self, message: str, *, why: Why, outcome: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.why = why
        self.outcome = outcome

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ApprovalError, why=self.why, outcome=self.outcome), (str(self),)


def is_temporary(error: BaseException | None) -> bool:
    """Return whether *error* says that a decision cannot be applied now, but as it is a little later."""
    return isinstance(error, ApprovalError) and error.why in ("store", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """
    The claim of a process to run an approved call.

    Attributes:
        owner: The process, as `owner()` returns it, perhaps with the mark of a step.
        at: The time of the claim, in seconds since 1970.
    """

    owner: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """
    The record that a store keeps of one request.

    Attributes:
        request: The request that the person sees.
        arguments: The arguments that really run, in JSON form and including secrets. They are never shown.
        identity: The digest of the tool's identity.
        state: The state that the request has reached.
        claim: The claim of the process that runs the call, or ran it.
        outcome: The result of the call, in the form of `ToolResult.to_json`.
        decided_by: The person who answered.
        decided_at: The time of the answer, in seconds since 1970.
        questions: The questions of the request as the tool asked them, if secrets are masked in those of the request;
            otherwise empty.
        answers: The questions of the call that were answered so far, including secrets. They are never shown. Those of
            this request are among them once it is claimed.
        denial: The reason that the person who denied the request gave, as the model was told, or an empty text.
        replaces: The id of the approved request in whose place this one asks for credentials or answers, if any.
        tool: What the tool was like when the person was asked, from `describe_tool`; empty if that is not known.
        seal: The signature over the other fields, if the store has a key. It does not count when records are compared.
    """

    request: ApprovalRequest
    arguments: Any = field(repr=False)
    identity: str
    state: State = "pending"
    claim: Claim | None = None
    outcome: dict[str, Any] | None = field(default=None, repr=False)
    decided_by: str | None = None
    decided_at: float | None = None
    questions: tuple[Question, ...] = field(default=(), repr=False)
    answers: tuple[AnsweredQuestion, ...] = field(default=(), repr=False)
    denial: str = ""
    replaces: str | None = None
    tool: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seal: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        present_fields = (self.decided_at is not None, self.claim is not None, self.outcome is not None)
        if self.state not in _FIELDS_BY_STATE:
            raise ValueError(f"unknown state {self.state!r}; use one of {', '.join(_FIELDS_BY_STATE)}")
        if present_fields != _FIELDS_BY_STATE[self.state]:
            raise ValueError(f"a record that is {self.state} has to have {_FIELDS_IN_WORDS[self.state]}")

    @property
    def asked_questions(self) -> tuple[Question, ...]:
        """The questions of the request, exactly as the tool asked them."""
        return self.questions or self.request.questions

    def is_expired(self, now: float) -> bool:
        """Return whether it is too late to answer the request."""
        return is_past(self.request.expires_at, now)

    def over_since(self) -> float | None:
        """
        Return the time since which the request is over, or from which it will be.

        Return None if the request waits without a limit, or if its call may be running.
        """
        if self.state == "pending":
            return self.request.expires_at
        return None if self.state == "claimed" else self.decided_at

    def to_json(self) -> dict[str, Any]:
        """Return the whole record as plain JSON with a version."""
        names = [name for name in _FIELD_TYPES if name not in ("arguments", "outcome")]
        data = {name: to_json_value(getattr(self, name)) for name in names}
        return {"version": _VERSION, **data, "arguments": self.arguments, "outcome": self.outcome}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """Return the record that `to_json` wrote; raise `ValueError` if the version or the shape is unknown."""
        fields = remove_version(data, "an approval record", _VERSION)
        if fields.keys() != _FIELD_TYPES.keys():
            differing_names = ", ".join(sorted(map(str, fields.keys() ^ _FIELD_TYPES.keys())))
            raise ValueError(f"not an approval record: it lacks or adds {differing_names}")
        check_field_types(fields, "an approval record", _FIELD_TYPES)
        claim = fields.pop("claim")
        questions = tuple(map(Question.from_json, fields.pop("questions")))
        answers = tuple(map(AnsweredQuestion.from_json, fields.pop("answers")))
        return cls(
            **{**fields, "request": ApprovalRequest.from_json(fields["request"])},
            questions=questions,
            answers=answers,
            claim=None if claim is None else _read_claim(claim),
        )


# For each state: whether a record has a decision, a claim and an outcome.
_FIELDS_BY_STATE: dict[str, tuple[bool, bool, bool]] = {
    "pending": (False, False, False),
    "denied": (True, False, False),
    "claimed": (True, True, False),
    "done": (True, True, True),
}
_FIELDS_IN_WORDS = {
    "pending": "no decision, claim or outcome",
    "denied": "the time of the decision, and no claim or outcome",
    "claimed": "the time of the decision and a claim, and no outcome",
    "done": "the time of the decision, a claim and an outcome",
}
_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    "request": (dict,),
    "arguments": (object,),
    "identity": (str,),
    "state": (str,),
    "claim": (dict, type(None)),
    "outcome": (dict, type(None)),
    "decided_by": (str, type(None)),
    "decided_at": (int, float, type(None)),
    "questions": (list,),
    "answers": (list,),
    "denial": (str,),
    "replaces": (str, type(None)),
    "tool": (dict,),
    "seal": (str, type(None)),
}


def is_past(expires_at: float | None, now: float) -> bool:
    """Return whether the time *expires_at* has passed; None is no limit."""
    # With the comparison in this order, a time that is NaN counts as passed.
    return expires_at is not None and not now < expires_at


def _read_claim(data: dict[str, Any]) -> Claim:
    if data.keys() == {"owner", "at"} and isinstance(data["owner"], str) and type(data["at"]) in (int, float):
        return Claim(owner=data["owner"], at=data["at"])
    raise ValueError("not an approval record: its claim is not an owner and a time")


def dump_record(record: Record) -> str:
    """Return *record* as ASCII text; raise `ValueError` if a part of it is not JSON."""
    check_arguments(record)
    return encode_record(record)


def check_arguments(record: Record) -> None:
    """Raise `ValueError` unless the arguments of *record* are JSON that can be read back exactly."""
    try:
        encode_canonical(record.arguments)
    except ValueError as error:
        raise ValueError(f"the arguments of `{record.request.tool}` cannot be kept: {error}") from None


def encode_record(record: Record) -> str:
    """Return *record* as ASCII text; raise `ValueError` if a part of it has no JSON form."""
    try:
        return _ENCODER.encode(record.to_json())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the record of `{record.request.tool}` cannot be kept as JSON: {error}") from None


def load_record(text: str) -> Record:
    """Return the record that `dump_record` wrote as *text*; raise `ValueError` for any other text."""
    try:
        return Record.from_json(_DECODER.decode(text))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not an approval record: {error}") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
