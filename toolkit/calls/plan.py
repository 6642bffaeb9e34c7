"""
The plan of a tool: what a dispatcher computes once for each of its tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal, TypeAlias

from ..catalogs.views import CatalogView
from ..errors import ToolError
from ..functions.coroutines import is_coroutine_function, may_suspend
from ..permissions.judgement import names_of
from ..policies.redaction import Redaction
from ..results import ToolResult
from ..session import Session
from ..spec import Tool
from ..values.arrays import Shape
from ..values.codecs import UNSURE
from ..values.rendering import copy_arguments
from ..values.schemas.vocabulary import stated_types
from .attempt import must_propagate
from .settings import Settings
from .tool_logger import ToolLogger

__all__ = ["CallPlan", "DirectCall", "SelfCancelled", "may_run_concurrently"]


class SelfCancelled(ToolError):  # noqa: N818 -- the name says what happened
    """Raised if the tool was cancelled although no caller requested it."""


class CallPlan:
    """
    How one dispatcher calls one tool.

    Attributes:
        catalog: The tools of the dispatcher, if the plan was made for one.
        check_and_convert: The generated check. If jsonschema validates every call, a check that always answers
            `UNSURE`.
        encode_quickly: The generated function that encodes a return value. If it returns `UNSURE`, the codec encodes.
        direct_call: How the function can be called with the decoded arguments as they are. "await": it is awaited and
            never waits for anything. "wait": it is awaited and may wait, so that it can be cancelled. "thread": it is
            called in a thread. "loop": it is called on the event loop. None: it needs an argument that is not in the
            decoded arguments, it yields, or it runs in the thread of its caller.
        gate: A quick check whether a call may run. If it returns False, the call is judged. If it is None, every call
            is judged.
        names: Every name that the tool has or had.
        needs_redaction: Whether a value has to be masked.
        pipeline: The stages that a call runs through. The planner sets it.
        settings: The policies by which its calls run. A tool that may run in the background has settings of its own.
        pipeline_with_options: The same for calls that bring resources or a time limit, once there was such a call.
    """

    __slots__ = (
        "_secrets",
        "catalog",
        "check_and_convert",
        "checker",
        "checks_output",
        "direct_call",
        "encode",
        "encode_quickly",
        "function",
        "gate",
        "logger",
        "max_chars",
        "name",
        "names",
        "needs_redaction",
        "output_has_metadata",
        "output_is_exact",
        "output_shape",
        "output_validator",
        "pipeline",
        "pipeline_with_options",
        "plain_output_type",
        "settings",
        "timeout_seconds",
        "tool",
        "validate",
    )

    def __init__(
        self, tool: Tool, settings: Settings, aliases: Mapping[str, str], catalog: CatalogView | None = None
    ) -> None:
        facts, signature = tool.facts, tool.signature
        self.tool = tool
        self.catalog = catalog
        self.name = tool.name
        self.function = tool.function
        self.checker = tool.about.checker
        self.check_and_convert: Callable[[Any, int], Any] = (
            self.checker.compile_check() if settings.validation == "fast" else _never_sure
        )
        self.encode = None if signature.output is None else signature.output.encode
        self.checks_output = settings.check_output
        # With an exact codec, everything that can be encoded fits the output schema, and needs no further check.
        self.output_is_exact = signature.output_is_exact
        self.output_has_metadata = signature.output_has_metadata
        self.output_shape = _find_output_shape(signature.output_schema)
        self.output_validator: Any = None
        # A value of exactly this type is its own JSON form, so it needs no encoding.
        output = signature.output
        self.plain_output_type = (
            output.type
            if output is not None and output.type in (int, str) and output.schema in _PLAIN_SCHEMAS
            else None
        )
        self.encode_quickly: Callable[[Any, int], Any] = tool.about.encode_output
        self.timeout_seconds = settings.timeout_seconds if facts.timeout_seconds is None else facts.timeout_seconds
        self.max_chars = settings.max_chars if facts.max_chars is None else facts.max_chars
        self.names = names_of(tool, aliases)
        self.gate = settings.judges.gate(tool, self.names)
        self.validate = facts.validate
        self.logger = ToolLogger(tool.name)
        self._secrets = signature.secrets
        self.settings = settings
        self.pipeline: Callable[..., Coroutine[Any, Any, ToolResult]]
        self.pipeline_with_options: Callable[..., Coroutine[Any, Any, ToolResult]] | None = None
        self.needs_redaction = bool(settings.redaction) or bool(signature.secrets)
        self.direct_call = _choose_direct_call(tool)

    def may_run(self, session: Session | None) -> bool:
        """Return whether a call may run with any arguments. Otherwise it has to be judged."""
        return self.gate is not None and self.gate(session, None)

    def could_be_allowed(self, session: Session | None) -> bool:
        """Return whether any call could ever run in *session*. If not, the model is not told about the parameters."""
        return self.settings.judges.could_allow(self.tool, self.names, session)

    @property
    def audit_origin(self) -> dict[str, str]:
        """The field of an audit line that says where the tool comes from; empty for tools of this program."""
        return {} if self.tool.origin == "python" else {"origin": self.tool.origin}

    def redaction(self, *arguments: Any) -> Redaction:
        """
        Return the redaction for the output of a call with these arguments.

        *arguments* are the arguments of the call in all their forms, such as decoded and as they were sent.
        """
        if not self._secrets:
            return self.settings.redaction
        secrets = [secret for mapping in arguments for secret in _read_values(mapping, self._secrets)]
        return self.settings.redaction.with_secrets(secrets)


DirectCall: TypeAlias = Literal["await", "wait", "thread", "loop"]


def _choose_direct_call(tool: Tool) -> DirectCall | None:
    signature, function = tool.signature, tool.function
    if not signature.by_keyword or signature.injected or tool.facts.thread == "caller":
        return None
    if signature.style == "sync":
        return "thread" if tool.facts.thread else "loop"
    # A wrapper may be sync although the function that it wraps is async.
    if signature.style == "async" and is_coroutine_function(function):
        return "wait" if may_suspend(function) else "await"
    return None


def _read_values(arguments: Any, names: frozenset[str]) -> list[Any]:
    """Return the values of *names* in *arguments*, or none if the caller's own mapping raises."""
    if not isinstance(arguments, Mapping):
        return []
    try:
        return [arguments[name] for name in names & arguments.keys()]
    except BaseException as error:
        if must_propagate(error):
            raise
        return []


async def may_run_concurrently(tool: Tool, decoded: Mapping[str, Any]) -> bool:
    """Return whether a call of *tool* may run beside others. If that cannot be determined, return False."""
    fact = tool.facts.concurrency_safe
    if isinstance(fact, bool):
        return fact
    try:
        answer: Any = fact(copy_arguments(decoded))
        return (await answer if inspect.isawaitable(answer) else answer) is True
    except BaseException as error:
        if must_propagate(error):
            raise
        return False  # the safe answer: the call runs alone


def _find_output_shape(schema: Mapping[str, Any] | None) -> Shape | None:
    """Return whether a table has to become an array or an object, if the output schema says that."""
    types = stated_types(schema or {})
    if "array" in types:
        return None if "object" in types else "array"
    return "object" if "object" in types else None


_PLAIN_SCHEMAS = ({"type": "string"}, {"type": "integer"})


def _never_sure(arguments: Any, depth: int) -> Any:
    return UNSURE
