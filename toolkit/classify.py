"""
What an exception means for the call: the model's fault, the tool's, or the world's.

The table knows the errors of httpx, httpx2, requests, aiohttp, urllib, sockets
and processes by name, without importing any of those packages. Users put their
own rules in front: a class and what it counts as, or a function.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .errors import BadArgs, ToolError, Transient

__all__ = ["Rule", "Rules", "classified", "retry_after_seconds"]

Rule: TypeAlias = Callable[[BaseException], "ToolError | type[ToolError] | None"]
Rules: TypeAlias = "Mapping[type[BaseException], type[ToolError] | Rule] | Rule | Sequence[Any]"

_BEFORE = "no"
_PERHAPS = "maybe"

# Package, class, and whether the request may have left by then.
_TRANSIENT: dict[tuple[str, str], str] = {
    ("httpx", "ConnectError"): _BEFORE,
    ("httpx", "ConnectTimeout"): _BEFORE,
    ("httpx", "PoolTimeout"): _BEFORE,
    ("httpx", "TimeoutException"): _PERHAPS,
    ("httpx", "NetworkError"): _PERHAPS,
    ("httpx", "RemoteProtocolError"): _PERHAPS,
    ("requests", "ConnectTimeout"): _BEFORE,
    ("requests", "Timeout"): _PERHAPS,
    ("requests", "ConnectionError"): _PERHAPS,
    ("requests", "ChunkedEncodingError"): _PERHAPS,
    ("aiohttp", "ClientConnectorError"): _BEFORE,
    ("aiohttp", "ConnectionTimeoutError"): _BEFORE,
    ("aiohttp", "ClientConnectionError"): _PERHAPS,
    ("aiohttp", "ClientPayloadError"): _PERHAPS,
    ("aiohttp", "ServerTimeoutError"): _PERHAPS,
    ("http", "RemoteDisconnected"): _PERHAPS,
    ("http", "IncompleteRead"): _PERHAPS,
    ("http", "BadStatusLine"): _PERHAPS,
    ("socket", "gaierror"): _BEFORE,
    ("subprocess", "TimeoutExpired"): _PERHAPS,
    ("builtins", "ConnectionRefusedError"): _BEFORE,
    ("builtins", "ConnectionError"): _PERHAPS,
    ("builtins", "TimeoutError"): _PERHAPS,
}
_SAME_AS = {"httpx2": "httpx"}


def classified(error: BaseException, rules: Rules = (), *, now: Callable[[], float] = time.time) -> ToolError:
    """What *error* counts as: itself if it is a `ToolError`, else what the user's rules or the table say."""
    if isinstance(error, ToolError):
        return error
    for rule in _rules(rules):
        found = rule(error)
        if found is not None:
            return found if isinstance(found, ToolError) else _made(found, error)
    status = _status(error)
    if status is not None:
        return _by_status(status, error, now)
    happened = _by_name(error)
    if happened is not None:
        return Transient(_message(error), happened="no" if happened == _BEFORE else "maybe")
    return ToolError(_message(error))


def _rules(rules: Rules) -> list[Rule]:
    if callable(rules):
        return [rules]
    if isinstance(rules, Mapping):
        return [_rule_for(kind, meant) for kind, meant in rules.items()]
    return [rule for each in rules for rule in _rules(each)]


def _rule_for(kind: type[BaseException], meant: Any) -> Rule:
    def rule(error: BaseException) -> ToolError | type[ToolError] | None:
        if not isinstance(error, kind):
            return None
        if isinstance(meant, type):
            return meant
        found: ToolError | type[ToolError] | None = meant(error)
        return found

    return rule


def _made(kind: type[ToolError], error: BaseException) -> ToolError:
    message = _message(error)
    return BadArgs(message) if issubclass(kind, BadArgs) else kind(message)


def _message(error: BaseException) -> str:
    text = str(error).strip()
    name = type(error).__name__
    return f"{name}: {text}"[:2000] if text else name


def _by_name(error: BaseException) -> str | None:
    """The first class in the error's family that the table knows: the nearest one wins."""
    for kind in type(error).__mro__:
        package = (kind.__module__ or "").partition(".")[0]
        found = _TRANSIENT.get((_SAME_AS.get(package, package), kind.__name__))
        if found is not None:
            return found
    reason = getattr(error, "reason", None)  # urllib wraps what happened below
    if isinstance(reason, BaseException) and type(error).__module__ == "urllib.error":
        return _by_name(reason)
    return None


def _status(error: BaseException) -> int | None:
    """The HTTP status an error carries: httpx and requests on the response, aiohttp and urllib on itself."""
    for holder, name in ((getattr(error, "response", None), "status_code"), (error, "status"), (error, "code")):
        status = getattr(holder, name, None)
        if isinstance(status, int) and 400 <= status <= 599:
            return status
    return None


def _by_status(status: int, error: BaseException, now: Callable[[], float]) -> ToolError:
    if status != 429 and status < 500:
        return ToolError(_message(error))
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    return Transient(
        _message(error),
        retry_after_seconds=retry_after_seconds(headers, now=now),
        # Too many requests is said before anything is done; a server that fails may have begun.
        happened="no" if status == 429 else "maybe",
    )


def retry_after_seconds(headers: Any, *, now: Callable[[], float] = time.time) -> float | None:
    """What a Retry-After header asks for, given in seconds or as a date; None if it asks for nothing sensible."""
    try:
        text = next((str(headers[name]) for name in ("Retry-After", "retry-after") if name in headers), "").strip()
    except TypeError:
        return None
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - now()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds - seconds == 0 else None
