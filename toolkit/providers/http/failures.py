"""
The meaning of a provider's error, with a message for the host that runs the agent.

The providers report the same errors in four shapes. One table classifies them. An error that is worth a retry becomes
`Transient`. Any other error becomes a `ProviderFailure`, and a program can decide by its `why` what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ...errors import ProviderError, Transient
from ...values.visible import make_visible

__all__ = ["ProviderFailure", "SentRequest", "StreamRefused", "classify_failure", "read_error_facts"]

FailureReason: TypeAlias = Literal[
    "key", "permission", "credit", "model", "context", "schema", "request", "unavailable", "broke_off", "answer"
]

_MAX_MESSAGE_CHARS = 500


class ProviderFailure(ProviderError):  # noqa: N818 -- its parent is named `ProviderError`
    """
    A provider refused, failed or could not be reached.

    Attributes:
        why: "key" (it is missing or was refused), "permission" (the key may not do this), "credit" (none is left),
            "model" (it is unknown), "context" (the conversation is too long), "schema" (a tool's definition was
            refused), "request" (another part of the request was refused), "unavailable" (the provider failed or was
            not reached, also after retries), "broke_off" (the stream ended in the middle of an answer), "answer" (it
            cannot be read).
        status: The HTTP status, if there was one.
    """

    def __init__(self, message: str, *, why: FailureReason = "request", status: int | None = None) -> None:
        super().__init__(message)
        self.why: FailureReason = why
        self.status = status


class StreamRefused(ProviderFailure):
    """A server refused a request, and named streams as the reason. It may answer without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFacts:
    """
    The facts in the body of an error.

    Attributes:
        kinds: The words that the body gives for the type, the code and the status of the error.
        place: The part of the request that the error is about.
        status: The HTTP status that the body names, if it names one.
    """

    message: str = ""
    kinds: frozenset[str] = frozenset()
    place: str = ""
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """
    The facts about a request that error messages name.

    `tools` has the catalog's names of the tools, by the names they were sent under, in the order they were sent.
    """

    provider: str
    host: str
    model: str
    key_source: str
    tools: Mapping[str, str]


def read_error_facts(body: Any) -> ErrorFacts:
    """Return the facts about the error in *body*, which is JSON or text."""
    if isinstance(body, list) and body:
        body = body[0]  # Google sends a list if a stream was requested
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return ErrorFacts(message=_shorten(error if isinstance(error, str) else ""))
    details = error.get("details")
    code = error.get("code")
    words = [error.get("type"), code, error.get("status")]
    if isinstance(details, Mapping):
        words.append(details.get("error_code"))
    elif isinstance(details, list):
        words += [detail.get("reason") for detail in details if isinstance(detail, Mapping)]
    message = error.get("message") or error.get("detail") or ""
    kinds = [word for word in words if isinstance(word, str)]
    statuses = [code, *(_STATUSES.get(kind) for kind in kinds)]
    return ErrorFacts(
        message=_shorten(message if isinstance(message, str) else ""),
        kinds=frozenset(kinds),
        place=str(error.get("param") or "")[:200],
        status=next((status for status in statuses if type(status) is int and 400 <= status <= 599), None),
    )


_STATUSES = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "RESOURCE_EXHAUSTED": 429,
    "api_error": 500,
    "server_error": 500,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "timeout_error": 504,
    "DEADLINE_EXCEEDED": 504,
    "overloaded_error": 529,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _FailureRule:
    """One kind of failure. An error is of this kind if its status, one of its kinds or its message fits."""

    why: FailureReason
    words: str
    statuses: frozenset[int] = frozenset()
    kinds: frozenset[str] = frozenset()
    pattern: str = "(?!)"

    def fits(self, status: int | None, facts: ErrorFacts) -> bool:
        if status in self.statuses or not self.kinds.isdisjoint(facts.kinds):
            return True
        # The message of a rate limit can look like any other error: too many tokens, quota exceeded.
        return status != 429 and bool(re.search(self.pattern, facts.message, re.IGNORECASE))


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RULES_BEFORE_RETRY = (
    _FailureRule(
        why="credit",
        words="the account at {where} has no credit left, or has reached its limit; look at its billing page",
        statuses=frozenset([402]),
        kinds=_split_words(
            "insufficient_quota billing_error billing_hard_limit_reached billing_not_active "
            "enforced_spend_limit_reached"
        ),
        pattern="credit balance is too low|api usage limits",
    ),
    _FailureRule(
        why="context",
        words="the conversation is too long for the model {model!r}; shorten it, or compact old tool results",
        statuses=frozenset([413]),
        kinds=_split_words(
            "context_length_exceeded request_too_large string_above_max_length exceed_context_size_error "
            "request_body_too_large_after_decoding"
        ),
        pattern=r"prompt is too long|context (length|window|size)|input token count|maximum.{0,30} tokens allowed",
    ),
)
_RULES_AFTER_RETRY = (
    _FailureRule(
        why="key",
        words="{where} refused the key from {key_source}; check that it is right, and still valid",
        statuses=frozenset([401]),
        kinds=_split_words("authentication_error invalid_api_key API_KEY_INVALID UNAUTHENTICATED"),
        pattern="api key not valid",
    ),
    _FailureRule(
        why="permission",
        words="the key from {key_source} may not do this at {where}; look at what it is allowed to use",
        statuses=frozenset([403]),
        kinds=_split_words("permission_error PERMISSION_DENIED"),
    ),
    _FailureRule(
        why="model",
        words="{where} knows no model {model!r}, or is not the right address; check the model and `base_url`",
        statuses=frozenset([404]),
        kinds=_split_words("model_not_found not_found_error NOT_FOUND"),
    ),
)
_SCHEMA_RULE = _FailureRule(
    why="schema",
    words="the definition of a tool was refused",
    kinds=_split_words("invalid_function_parameters"),
    pattern=r"invalid schema for function|input_schema|function_declarations|\btools?[.\[]\d+",
)
_RETRIED_STATUSES = frozenset([408, 409, 429])
_STREAM = re.compile(r"\bstream", re.IGNORECASE)


def classify_failure(
    status: int | None,
    facts: ErrorFacts,
    sent: SentRequest,
    *,
    wait: float | None = None,
    should_retry: bool | None = None,
) -> ProviderFailure | Transient:
    """
    Return the exception for an error with this *status*.

    The provider may ask the client to *wait* some seconds, and may say whether a retry makes sense.
    """
    for rule in _RULES_BEFORE_RETRY:
        if rule.fits(status, facts):
            return _build_failure(rule, status, facts, sent)
    if should_retry is None:
        should_retry = status is not None and (status in _RETRIED_STATUSES or status >= 500)
    if should_retry:
        words = f"{sent.provider} at {sent.host} failed{_show_status(status)}{_quote_message(facts)}"
        return Transient(words, retry_after_seconds=wait, happened="no" if status == 429 else "maybe")
    for rule in _RULES_AFTER_RETRY:
        if rule.fits(status, facts):
            return _build_failure(rule, status, facts, sent)
    tool = _find_tool_name(facts, sent)
    if tool is not None or _SCHEMA_RULE.fits(status, facts):
        words = _SCHEMA_RULE.words if tool is None else f"the definition of the tool `{tool}` was refused"
        remedy = "change its signature, leave it out, or try `strict=False`"
        text = f"{sent.provider}: {words}{_quote_message(facts)}; {remedy}"
        return ProviderFailure(text, why="schema", status=status)
    why: FailureReason = "unavailable" if status is not None and (status == 429 or status >= 500) else "request"
    text = f"{sent.provider} at {sent.host} refused the request{_show_status(status)}{_quote_message(facts)}"
    is_about_streams = status in (400, 422) and _STREAM.search(f"{facts.place} {facts.message}")
    return (StreamRefused if is_about_streams else ProviderFailure)(text, why=why, status=status)


def _build_failure(rule: _FailureRule, status: int | None, facts: ErrorFacts, sent: SentRequest) -> ProviderFailure:
    words = rule.words.format(where=sent.host, model=sent.model, key_source=sent.key_source)
    # A message about a key may show a part of the key.
    quoted = "" if rule.why == "key" else _quote_message(facts)
    return ProviderFailure(f"{sent.provider}: {words}{_show_status(status)}{quoted}", why=rule.why, status=status)


# Google has one list of tools, and the index is inside it: `tools[0].function_declarations[3]`.
_INDEX_PATTERNS = [
    re.compile(rf"{word}[.\[](\d{{1,4}})", re.IGNORECASE) for word in ("function_?declarations", r"\btools")
]
_NAME = re.compile(r"(?:function|tool)s?[^'\"`]{0,20}['\"`]([A-Za-z_][\w.-]{0,63})['\"`]", re.IGNORECASE)


def _find_tool_name(facts: ErrorFacts, sent: SentRequest) -> str | None:
    """Return the catalog's name of the tool that the error is about, if the error gives an index or a name."""
    tools = list(sent.tools.values())
    for text in (facts.place, facts.message):
        index_match = next((match for pattern in _INDEX_PATTERNS if (match := pattern.search(text))), None)
        if index_match is not None and int(index_match[1]) < len(tools):
            return tools[int(index_match[1])]
        for name in _NAME.findall(text):
            if name in sent.tools:
                return sent.tools[name]
    return None


def _show_status(status: int | None) -> str:
    return "" if status is None else f" ({status})"


def _quote_message(facts: ErrorFacts) -> str:
    return f": {facts.message}" if facts.message else ""


def _shorten(text: str) -> str:
    short_text = make_visible(text.strip()[: 2 * _MAX_MESSAGE_CHARS], keep_lines=False)
    return short_text if len(short_text) <= _MAX_MESSAGE_CHARS else f"{short_text[:_MAX_MESSAGE_CHARS]}..."
