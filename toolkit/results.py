"""
A call and its result.

A `ToolCall` is what a model asks for. A `ToolResult` is what the model gets back, also if the call failed. Both are
values by convention. They are not frozen, because a frozen dataclass of this size takes three times as long to create.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from ._option_checks import explain_unknown_choice
from ._plumbing.generated_ids import GeneratedId
from ._plumbing.markdown import show_result
from ._plumbing.result_attributes import NoError, WrittenWhenRead
from ._plumbing.tracebacks import drop_own_traceback
from ._plumbing.versioned_json import check_field_types, remove_version
from ._plumbing.wording import MASK
from .content import Part, part_from_json
from .errors import DefinitionError, ErrorInfo, Problem, ToolkitError, UnknownTool, find_nearest, rebuild_error
from .session import Session
from .values.strictjson.digests import digest_call

if TYPE_CHECKING:  # not loaded here, because most calls ask no person
    from .decisions import ApprovalRequest

__all__ = ["KINDS", "Kind", "ToolCall", "ToolResult", "UndescribedResult", "build_call_id", "format_call_id"]

Kind = Literal[
    "ok", "failed", "bad_args", "safety", "transient", "not_found", "denied", "timeout", "cancelled", "halted",
    "internal", "waiting",
]  # fmt: skip
"""How a call ended, named by what happens next."""

KINDS: frozenset[str] = frozenset(get_args(Kind))
"""All kinds of results."""

_VERSION = 1

_PHRASES: dict[str, tuple[str, str]] = {
    "failed": ("tool failed", "Try another way, or tell the user."),
    "bad_args": ("invalid arguments", "Correct the arguments and call again."),
    "safety": ("safety check failed", "Do not try again; tell the user why it was refused."),
    "transient": ("transient failure", "It may work later."),
    "not_found": ("unknown tool", "Call one of the tools you were given."),
    "denied": ("denied", "Do not call it again like this; choose another way."),
    "timeout": ("timed out", "Ask for less, or try another way."),
    "cancelled": ("cancelled", "It was stopped before it had finished."),
    "halted": ("halted", "Stop calling tools."),
    "internal": ("internal error", "It is not your fault; try another way."),
}


class ToolCall:
    """
    A call that a model asks for.

    Attributes:
        name: The name of the tool, or an alias.
        arguments: A JSON object, or the JSON text as the provider sent it.
        id: The id of the call, as the provider gave it.
        session: The conversation that the call belongs to.
        principal: On whose behalf the call is made.
        turn: The number of the model's turn, if the caller counts turns.
        metadata: Data that the caller wants to read again in hooks.
        tool: The `Tool`, once the dispatcher has found it. Hooks read its facts there.
        request_id: The id that a request for approval of this call gets. None lets the dispatcher choose a random one.
        idempotency_key: What the tool gets as `context.idempotency_key`. None lets the dispatcher choose a random one.
        claim_mark: Marks the claim that this call makes to the approval of a person. A later attempt with the same mark
            takes the claim over, so it must be certain that the earlier one never began. An agent sets it for the steps
            of a run.
        former_request: The id of an earlier request of this call, whose answer counts no more. A new request says what
            has changed in the tool since then.
    """

    session: Session | None = None
    principal: str | None = None
    turn: int | None = None
    metadata: dict[str, Any] | None = None
    tool: Any = None
    request_id: str | None = None
    idempotency_key: str | None = None
    claim_mark: str = ""
    former_request: str = ""

    def __init__(
        self,
        name: str,
        arguments: Any = None,
        id: str = "",  # noqa: A002 -- the usual name for it
        session: Session | None = None,
        principal: str | None = None,
        turn: int | None = None,
        metadata: dict[str, Any] | None = None,
        tool: Any = None,
        request_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        self.name = name
        self.arguments = {} if arguments is None else arguments
        self.id = id
        self.session = session
        self.principal = principal
        self.turn = turn
        self.metadata = metadata
        self.tool = tool
        if request_id is not None:
            self.request_id = request_id
        if idempotency_key is not None:
            self.idempotency_key = idempotency_key

    def __repr__(self) -> str:
        return f"ToolCall({self.name!r}, {_mask_secret_arguments(self.tool, self.arguments)!r}, id={self.id!r})"

    @property
    def session_key(self) -> str:
        """The key that distinguishes this conversation from others; empty without a session."""
        return "" if self.session is None else self.session.id

    def digest(self) -> str:
        """
        Return a digest that is the same for all calls of the same tool with the same arguments.

        The order of the arguments, and whether they came as an object or as JSON text, makes no difference.
        """
        return digest_call(self.name if self.tool is None else self.tool.name, self.arguments)


def _mask_secret_arguments(tool: Any, arguments: Any) -> Any:
    """Return *arguments*, or their JSON text, with a mask for each that *tool* marks `Secret` or does not have."""
    try:
        secrets = () if tool is None else tool.signature.secrets
    except DefinitionError:  # a type in the signature is not defined yet, so any argument may be secret
        return MASK
    if not secrets:
        return arguments
    if not isinstance(arguments, Mapping):
        return MASK  # JSON text, in which a secret may stand anywhere
    shown = tool.signature.schema.get("properties", {}).keys() - secrets
    return {name: value if name in shown else MASK for name, value in arguments.items()}


DeferredText: TypeAlias = tuple[Callable[["ToolResult", Any, Any], None], Any, Any]
"""A function that sets the text of a result, and what it needs: the value, and the limit of the text."""


def format_call_id(number: int | str) -> str:
    """
    Return the id of a call: *number* itself if it is a text, or an id made from the number.

    A call gets a number if its caller gave no id. The id is made when it is read, because few programs read it.
    """
    return f"call_{number}" if type(number) is int else str(number)


def build_call_id(number: int | str) -> str:
    """Return the id of a call as `format_call_id` does, marked as made by the library if *number* is a number."""
    return GeneratedId(format_call_id(number)) if type(number) is int else str(number)


class ToolResult:
    """
    The result of a call. All fields but the first three are *further* keywords.

    Attributes:
        kind: How the call ended.
        text: The text that the model reads. If it is the JSON text of `value`, it is written when it is first read.
        value: The structured value in JSON form, which follows the output schema if there is one.
        parts: Further content, such as images, sound, resources and files.
        error: What went wrong, for kinds that are errors.
        request: The question to a person, if the kind is "waiting".
        repairs: The repairs made to the arguments.
        attempts: How many times the tool was tried; 0 if it never ran.
        retries: Why the call was retried, or why not.
        truncated: Whether the text was cut.
        alias: The alias that the tool was called by; None if it was called by its own name.
        cost: What the call has cost in US dollars, by the fact `cost` of its tool; 0 if the tool did not run.
        returned: The object that the tool returned, neither copied nor encoded; also if the call failed because the
            object has no JSON form. It is None if the result comes from a cache, was stored, pickled or sent, and if
            redaction masked something in the result.
        deferred_text, bound_full_text: What `text` and `full_text` are made from when they are read.
    """

    # Values that seldom differ are on the class, so the usual result sets six attributes instead of fourteen.
    text: str = cast("str", WrittenWhenRead(""))
    value: Any = None
    kind: Kind = "ok"
    number: int | str = ""
    tool: str = ""
    alias: str | None = None
    cost: float = 0.0
    parts: Sequence[Part] = ()
    request: ApprovalRequest | None = None
    repairs: Sequence[str] = ()
    attempts: int = 0
    retries: Sequence[str] = ()
    duration_seconds: float = 0.0
    truncated: bool = cast("bool", WrittenWhenRead(default=False))
    metadata: dict[str, Any] | None = None
    error: ErrorInfo | None = cast("ErrorInfo | None", NoError())
    returned: Any = None
    deferred_text: DeferredText | None = None
    bound_full_text: tuple[str, str] | None = None

    def __init__(self, text: str = "", value: Any = None, kind: Kind = "ok", **further: Any) -> None:
        self.text = text
        self.value = value
        if kind != "ok":
            if not isinstance(kind, str) or kind not in KINDS:
                raise ValueError(f"ToolResult: the kind {explain_unknown_choice(kind, get_args(Kind))}")
            self.kind = kind
        if further:
            for name, field_value in further.items():
                if name not in _FIELDS:
                    near = find_nearest(name, _FIELDS, max_items=1)
                    remedy = f"did you mean {near[0]!r}?" if near else f"its fields are {', '.join(sorted(_FIELDS))}"
                    raise TypeError(f"a result has no {name!r}; {remedy}")
                setattr(self, name, field_value)

    @property
    def call_id(self) -> str:
        """The id of the call, which a `number` is turned into when the id is read."""
        return format_call_id(self.number)

    @call_id.setter
    def call_id(self, value: str) -> None:
        # The id replaces the number. If it were stored beside it, an id set by a hook would outlast the dispatcher's.
        self.number = str(value)

    @property
    def full_text(self) -> str | None:
        """
        The whole text, if the tool shows only a part of it in `text`; None otherwise.

        A tool sets it, and the dispatcher keeps it in the session, so that the model can read what `text` leaves out.
        It is None once `text` has changed: a hook that removes something from `text` removes it from what is kept.
        """
        bound = self.bound_full_text
        return bound[0] if bound is not None and bound[1] == self.text else None

    @full_text.setter
    def full_text(self, value: str | None) -> None:
        self.bound_full_text = None if value is None else (value, self.text)

    def __copy__(self) -> ToolResult:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __getstate__(self) -> dict[str, Any]:
        # A pickle or a deep copy would have to copy the returned object, which may be of any class.
        text, truncated = self.text, self.truncated  # reading them may change other fields
        fields = {**self.__dict__, "text": text, "truncated": truncated, "returned": None}
        fields.pop("deferred_text", None)
        fields.pop("bound_full_text", None)
        return fields

    @classmethod
    def failure(
        cls,
        kind: Kind,
        message: str,
        *,
        details: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
        cause: BaseException | None = None,
        advice: str | None = None,
        **fields: Any,
    ) -> ToolResult:
        """
        Return the result of a call that failed. Its text says what went wrong, and what the model should do.

        Args:
            kind: The kind of error.
            message: The message for the model, which becomes `result.error.message`.
            details: Plain JSON for programs, or a function that returns it, which is called when the details are first
                read.
            cause: The exception that ended the call.
            advice: What the model should do, in place of the usual sentence for *kind*.
            fields: Further fields of the result.
        """
        if kind not in _PHRASES:
            raise ValueError(f"{kind!r} is not a kind of error; use one of {', '.join(_PHRASES)}")
        phrase, usual_advice = _PHRASES[kind]
        if isinstance(cause, UnknownTool) or message.startswith(phrase):
            sentence = message
        else:
            sentence = f"{phrase}: {message}" if message else phrase
        text = f"error: {sentence}\n{usual_advice if advice is None else advice}".rstrip()
        return cls(text, None, kind, error=ErrorInfo(message, details, cause), **fields)

    @property
    def is_error(self) -> bool:
        """Whether the model should treat the result as a failure. A waiting call is not a failure."""
        return self.kind not in ("ok", "waiting")

    @property
    def reason(self) -> str:
        """Why the call failed or waits, in words; empty for a call that succeeded."""
        waits_for = "" if self.request is None else self.request.reason
        return waits_for if self.error is None else self.error.message

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the arguments, one `Problem` for each mistake; empty if they fit."""
        details = {} if self.kind != "bad_args" or self.error is None else self.error.details
        return tuple(Problem(problem["message"], problem["path"]) for problem in details.get("problems", ()))

    def unwrap(self) -> Any:
        """Return the value of a call that succeeded, or raise its error."""
        if self.kind == "ok":
            return self.value
        __tracebackhide__ = True  # pytest then shows the line of the test, not the lines of this method
        error = self.error or ErrorInfo(self.text)
        if isinstance(error.cause, ToolkitError):
            drop_own_traceback(error.cause)
            raise error.cause
        raise rebuild_error(self.kind, error.message, error.details, self.tool) from error.cause

    def __repr__(self) -> str:
        return f"<ToolResult {self.kind} of {self.tool or '?'}: {self.text[:60]!r}>"

    _repr_markdown_ = show_result

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON with a version, without the exception."""
        error, truncated = self.error, self.truncated
        # Few results have these. The others look the same as before the fields existed.
        further = {name: value for name in ("alias", "cost") if (value := getattr(self, name))}
        return {
            "version": _VERSION,
            "call_id": self.call_id,
            "tool": self.tool,
            **further,
            "kind": self.kind,
            "text": self.text,
            "value": self.value,
            "error": None if error is None else {"message": error.message, "details": error.details},
            "parts": [part.to_json() for part in self.parts],
            "request": None if self.request is None else self.request.to_json(),
            "repairs": list(self.repairs),
            "attempts": self.attempts,
            "retries": list(self.retries),
            "duration_seconds": self.duration_seconds,
            "truncated": truncated,
            "metadata": self.metadata or {},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolResult:
        """
        Return the result that *data* describes. This is the inverse of `to_json`.

        Raises:
            ValueError: *data* has an unknown version or an unknown shape.
        """
        fields = remove_version(data, "a result", _VERSION)
        check_field_types(fields, "a result", _FIELD_TYPES)
        if fields.get("kind") not in KINDS:
            raise ValueError(f"not a result: unknown kind {fields.get('kind')!r}")
        error, request = fields.pop("error", None), fields.pop("request", None)
        if request is not None:
            from .decisions import ApprovalRequest

            request = ApprovalRequest.from_json(request)
        parts = tuple(map(part_from_json, fields.pop("parts", ())))
        try:
            return cls(
                **{**fields, "metadata": fields.get("metadata") or None, "returned": None},
                parts=parts,
                error=None if error is None else ErrorInfo(error["message"], error.get("details") or {}),
                request=request,
            )
        except KeyError as missing:
            raise ValueError(f"not a result: its error lacks {missing}") from None


_UNSENT = {"number", "deferred_text", "bound_full_text"}
_FIELDS = frozenset([*ToolResult.__annotations__, "call_id", "full_text"]) - _UNSENT

_FIELD_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("text", "kind", "call_id", "tool"), (str,)),
    "value": (object,),
    "alias": (str, type(None)),
    "cost": (int, float),
    "attempts": (int,),
    "duration_seconds": (int, float),
    "truncated": (bool,),
    **dict.fromkeys(("parts", "repairs", "retries"), (list,)),
    **dict.fromkeys(("metadata", "error", "request"), (dict, type(None))),
}


class UndescribedResult(ToolResult):
    """
    A result that a tool returns and that its output schema is not about, so that it is not checked.

    The answer of an API with another status than the one that the schema was written for is such a result. *further*
    are the same fields as those of `ToolResult`.
    """
