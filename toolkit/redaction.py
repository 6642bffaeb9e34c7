"""
Keeps secrets out of everything that leaves the dispatcher.

Applied to texts, values, parts, errors, repairs, requests, logs and progress;
never to what runs. Rules are texts, regular expressions or functions; the
values of parameters marked `Secret` are always masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from .context import Progress
from .requests import ApprovalRequest
from .results import ErrorInfo, JsonPart, Part, TextPart, ToolResult

__all__ = ["MASK", "Redaction", "RedactionRule"]

MASK = "[redacted]"

RedactionRule: TypeAlias = "str | re.Pattern[str] | Callable[[str], str]"


class Redaction:
    """What is masked, for one call or for all."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Iterable[RedactionRule] = ()) -> None:
        self._rules = [_compiled(rule) for rule in rules]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def with_secrets(self, secrets: Iterable[Any]) -> Redaction:
        """The same, and the given values too, wherever they stand in a text."""
        texts = {str(secret) for secret in secrets if secret not in (None, "", True, False)}
        if not texts:
            return self
        extended = Redaction()
        # The longest first: one secret may be part of another.
        extended._rules = [*self._rules, *(_compiled(text) for text in sorted(texts, key=len, reverse=True))]
        return extended

    def text(self, text: str) -> str:
        for rule in self._rules:
            text = rule(text)
        return text

    def value(self, value: Any) -> Any:
        """*value*, which is JSON, with every text in it masked."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(each) for each in value]
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(each) for key, each in value.items()}
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            shown = self.text(repr(value))
            return value if shown == repr(value) else shown
        return value

    def result(self, result: ToolResult) -> ToolResult:
        """*result*, masked in place."""
        result.text = self.text(result.text)
        result.value = self.value(result.value)
        result.parts = [self._part(part) for part in result.parts]
        result.repairs = [self.text(note) for note in result.repairs]
        result.retries = [self.text(note) for note in result.retries]
        result.metadata = self.value(result.metadata)
        if result.error is not None:
            result.error = ErrorInfo(
                self.text(result.error.message), self.value(result.error.details), result.error.cause
            )
        if result.request is not None:
            result.request = self.request(result.request)
        return result

    def request(self, request: ApprovalRequest) -> ApprovalRequest:
        return replace(
            request,
            arguments=self.value(dict(request.arguments)),
            reason=self.text(request.reason),
            preview=None if request.preview is None else self.text(request.preview),
            repairs=tuple(self.text(note) for note in request.repairs),
        )

    def progress(self, progress: Progress) -> Progress:
        message = None if progress.message is None else self.text(progress.message)
        return replace(progress, message=message, value=self.value(progress.value))

    def _part(self, part: Part) -> Part:
        if isinstance(part, TextPart):
            return TextPart(self.text(part.text))
        return JsonPart(self.value(part.value)) if isinstance(part, JsonPart) else part


def _compiled(rule: RedactionRule) -> Callable[[str], str]:
    if isinstance(rule, str):
        if not rule:
            raise ValueError("an empty text cannot be redacted; name what has to be masked")
        return lambda text: text.replace(rule, MASK)
    if isinstance(rule, re.Pattern):
        return lambda text: rule.sub(MASK, text)
    if callable(rule):
        return rule
    raise TypeError(f"redact wants texts, compiled patterns or functions, got {rule!r}")
