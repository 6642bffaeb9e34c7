"""
What is worked out once: for a dispatcher (`Settings`) and for each of its tools (`Plan`).
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .attempt import Abandoned
from .classify import Rules, classified
from .codecs import UNSURE
from .context import Progress
from .errors import ToolError
from .hooks.base import Chain
from .redaction import Redaction
from .retry import RetryPolicy
from .spec import Tool
from .threads import Threads
from .validation import Validation

__all__ = ["Plan", "Settings", "Stopped"]


class Stopped(ToolError):  # noqa: N818 -- named by what happened
    """The tool was cancelled, and nobody here had asked for it."""


class Settings:
    """The policies of a dispatcher."""

    def __init__(
        self,
        *,
        chain: Chain,
        retry: RetryPolicy,
        repair: bool,
        validation: Validation,
        resources: Mapping[Any, Any],
        classify: Rules,
        redaction: Redaction,
        timeout_seconds: float | None,
        max_chars: int,
        check_output: bool,
        raise_bugs: bool,
        threads: Threads,
        on_progress: Callable[[Progress], object] | None,
        cleanup_seconds: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[object]],
        chance: Callable[[], float],
    ) -> None:
        self.chain = chain
        self.retry = retry
        self.repair = repair
        self.validation = validation
        self.resources = resources
        self.redaction = redaction
        self.timeout_seconds = timeout_seconds
        self.max_chars = max_chars
        self.check_output = check_output
        self.raise_bugs = raise_bugs
        self.threads = threads
        self.abandoned = Abandoned()
        self.on_progress = on_progress
        self.cleanup_seconds = cleanup_seconds
        self.clock = clock
        self.sleep = sleep
        self.chance = chance
        self._classify = classify

    def classified(self, error: BaseException) -> ToolError:
        return classified(error, self._classify)

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Where blocking hooks go."""
        return await self.threads.run(work)


class Plan:
    """
    How one tool is called by one dispatcher.

    Attributes:
        fast: The generated check, or one that is never sure where jsonschema judges every call.
        is_demanding: Whether a call needs more than check, await, render.
        is_unsafe: Whether it must not run beside others.
        may_ask: Whether a person may have to agree.
        hides: Whether something has to be masked.
    """

    __slots__ = (
        "_secrets",
        "_settings",
        "checker",
        "encode",
        "fast",
        "function",
        "hides",
        "is_demanding",
        "is_unsafe",
        "logger",
        "max_chars",
        "may_ask",
        "name",
        "output_judge",
        "plain",
        "timeout_seconds",
        "tool",
    )

    def __init__(self, tool: Tool, settings: Settings) -> None:
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
        self.may_ask = facts.approval != "never"
        self.is_unsafe = facts.concurrency_safe is False
        self.logger = logging.getLogger(f"toolkit.tools.{tool.name}")
        self._secrets = signature.secrets
        self._settings = settings
        self.hides = bool(settings.redaction) or bool(signature.secrets)
        chain = settings.chain
        self.is_demanding = bool(
            chain.before
            or chain.around
            or chain.after
            or self.may_ask
            or facts.validate is not None
            or self.timeout_seconds is not None
            or signature.wanted
            or signature.style != "async"
            or not signature.by_keyword
            or settings.check_output
        )

    def redaction(self, decoded: Mapping[str, Any] | None) -> Redaction:
        """What to mask in the exits of a call with these arguments."""
        if not self._secrets or not decoded:
            return self._settings.redaction
        return self._settings.redaction.with_secrets(decoded.get(name) for name in self._secrets)

    def cancelled(self) -> ToolError:
        return Stopped("it was cancelled from inside")


_PLAIN = ({"type": "string"}, {"type": "integer"})


def _never_sure(arguments: Any, depth: int) -> Any:
    return UNSURE
