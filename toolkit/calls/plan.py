"""
What is worked out once for each tool of a dispatcher.
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


class Stopped(ToolError):  # noqa: N818 -- named by what happened
    """The tool was cancelled, and nobody here had asked for it."""


class Plan:
    """
    How one tool is called by one dispatcher.

    Attributes:
        fast: The generated check, or one that is never sure where jsonschema judges every call.
        is_direct: Whether the function can be awaited with the decoded arguments as they are.
        may_suspend: Whether the function of a direct tool can wait for anything, and so be cancelled.
        is_demanding: Whether a call needs more than check, hooks that have nothing to say, await, render.
        names: Every name the tool has or had.
        gate: A quick way to learn that a call may run; what it answers with False is judged. None: every call is.
        hides: Whether something has to be masked.
        lane: The short way, if there is one.
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
        # What needs no encoding: a value of exactly this type is its own JSON form.
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
        # A wrapper need not be async because what it wraps is.
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
        """Whether a call may run whatever its arguments; otherwise it has to be judged."""
        return self.gate is not None and self.gate(session)

    def could_be_allowed(self, session: Session | None) -> bool:
        """Whether any call could ever run in *session*: what may be told of the tool."""
        return self._settings.judges.could_allow(self.tool, self.names, session)

    def redaction(self, *arguments: Any) -> Redaction:
        """What to mask in the exits of a call with these arguments, in whatever forms they came."""
        if not self._secrets:
            return self._settings.redaction
        secrets = [secret for mapping in arguments for secret in _values_of(mapping, self._secrets)]
        return self._settings.redaction.with_secrets(secrets)


def _values_of(arguments: Any, names: frozenset[str]) -> list[Any]:
    """Return the values of *names* in *arguments*; a caller's own mapping that fails has none."""
    if not isinstance(arguments, Mapping):
        return []
    try:
        return [arguments[name] for name in names & arguments.keys()]
    except BaseException as error:
        if has_to_pass(error):
            raise
        return []


async def may_have_company(tool: Tool, decoded: Mapping[str, Any]) -> bool:
    """Whether a call of *tool* may run beside others; what cannot tell, may not."""
    stated = tool.facts.concurrency_safe
    if isinstance(stated, bool):
        return stated
    try:
        found: Any = stated(own_copy(decoded))
        return (await found if inspect.isawaitable(found) else found) is True
    except BaseException as error:
        if has_to_pass(error):
            raise
        return False  # fails closed: it runs alone


_PLAIN = ({"type": "string"}, {"type": "integer"})


def _never_sure(arguments: Any, depth: int) -> Any:
    return UNSURE
