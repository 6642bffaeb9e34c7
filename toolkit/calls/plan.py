"""
The plan of a tool: what a dispatcher computes once for each of its tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ..errors import ToolError
from ..functions.coroutines import is_coroutine_function, may_suspend
from ..permissions.judgement import names_of
from ..policies.redaction import Redaction
from ..results import ToolResult
from ..session import Session
from ..spec import Tool
from ..values.codecs import UNSURE
from ..values.rendering import own_copy
from .attempt import has_to_pass
from .settings import Settings
from .tool_logger import ToolLogger

__all__ = ["Plan", "Stopped", "may_have_company"]


class Stopped(ToolError):  # noqa: N818 -- the name says what happened
    """Raised if the tool was cancelled although no caller requested it."""


class Plan:
    """
    How one dispatcher calls one tool.

    Attributes:
        fast: The generated check. If jsonschema validates every call, a check that always answers `UNSURE`.
        is_direct: Whether the function can be awaited with the decoded arguments as they are.
        may_suspend: Whether the function of a direct tool can wait for something, so that it can be cancelled.
        is_demanding: Whether a call needs more than check, hooks that do not intervene, await, render.
        names: Every name that the tool has or had.
        gate: A quick check whether a call may run. If it returns False, the call is judged. If it is None, every call
            is judged.
        hides: Whether a value has to be masked.
        lane: The fast path of the tool, if there is one.
    """

    __slots__ = (
        "_secrets",
        "_settings",
        "checker",
        "encode",
        "fast",
        "function",
        "gate",
        "hides",
        "is_demanding",
        "is_direct",
        "lane",
        "logger",
        "max_chars",
        "may_suspend",
        "name",
        "names",
        "output_judge",
        "plain",
        "timeout_seconds",
        "tool",
        "validate",
    )

    def __init__(self, tool: Tool, settings: Settings, aliases: Mapping[str, str]) -> None:
        facts, signature = tool.facts, tool.signature
        self.tool = tool
        self.name = tool.name
        self.function = tool.function
        self.checker = tool.about.checker
        self.fast: Callable[[Any, int], Any] = (
            self.checker.generated() if settings.validation == "fast" else _never_sure
        )
        self.encode = None if signature.output is None else signature.output.encode
        self.output_judge: Any = None
        # A value of exactly this type is its own JSON form, so it needs no encoding.
        output = signature.output
        self.plain = output.type if output is not None and output.schema in _PLAIN else None
        self.timeout_seconds = settings.timeout_seconds if facts.timeout_seconds is None else facts.timeout_seconds
        self.max_chars = settings.max_chars if facts.max_chars is None else facts.max_chars
        self.names = names_of(tool, aliases)
        self.gate = settings.judges.gate(tool, self.names)
        self.validate = facts.validate
        self.logger = ToolLogger(tool.name)
        self._secrets = signature.secrets
        self._settings = settings
        self.lane: Callable[..., Coroutine[Any, Any, ToolResult]] | None = None
        self.hides = bool(settings.redaction) or bool(signature.secrets)
        # A wrapper may be sync although the function that it wraps is async.
        is_async = signature.style == "async" and is_coroutine_function(tool.function)
        self.is_direct = is_async and signature.by_keyword and not signature.wanted
        self.may_suspend = self.is_direct and may_suspend(tool.function)
        self.is_demanding = bool(
            not settings.chain.is_plain
            or self.gate is None
            or settings.audit is not None
            or self.validate is not None
            or self.timeout_seconds is not None
            or not self.is_direct
            or settings.check_output
        )

    def may_run(self, session: Session | None) -> bool:
        """Return whether a call may run with any arguments. Otherwise it has to be judged."""
        return self.gate is not None and self.gate(session)

    def could_be_allowed(self, session: Session | None) -> bool:
        """Return whether any call could ever run in *session*. If not, the model is not told about the parameters."""
        return self._settings.judges.could_allow(self.tool, self.names, session)

    def redaction(self, *arguments: Any) -> Redaction:
        """
        Return the redaction for the output of a call with these arguments.

        *arguments* are the arguments of the call in all their forms, such as decoded and as they were sent.
        """
        if not self._secrets:
            return self._settings.redaction
        secrets = [secret for mapping in arguments for secret in _values_of(mapping, self._secrets)]
        return self._settings.redaction.with_secrets(secrets)


def _values_of(arguments: Any, names: frozenset[str]) -> list[Any]:
    """Return the values of *names* in *arguments*, or none if the caller's own mapping raises."""
    if not isinstance(arguments, Mapping):
        return []
    try:
        return [arguments[name] for name in names & arguments.keys()]
    except BaseException as error:
        if has_to_pass(error):
            raise
        return []


async def may_have_company(tool: Tool, decoded: Mapping[str, Any]) -> bool:
    """Return whether a call of *tool* may run beside others. If that cannot be determined, return False."""
    stated = tool.facts.concurrency_safe
    if isinstance(stated, bool):
        return stated
    try:
        answer: Any = stated(own_copy(decoded))
        return (await answer if inspect.isawaitable(answer) else answer) is True
    except BaseException as error:
        if has_to_pass(error):
            raise
        return False  # the safe answer: the call runs alone


_PLAIN = ({"type": "string"}, {"type": "integer"})


def _never_sure(arguments: Any, depth: int) -> Any:
    return UNSURE
