"""
What an exception means for the call: the model's fault, the tool's, or the world's.

The table knows the errors of httpx, httpx2, requests, aiohttp, urllib, sockets
and processes by name, without importing any of those packages. Users put their
own rules in front: a class and what it counts as, or a function.
"""

from __future__ import annotations

import datetime as dt
import email.utils
import errno
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ..errors import BadArgs, Safety, ToolError, Transient
from ..values.rendering import described

__all__ = ["Rule", "Rules", "checked_rules", "classified", "retry_after_seconds"]

_log = logging.getLogger("toolkit")

Rule: TypeAlias = Callable[[BaseException], "ToolError | type[ToolError] | None"]
Rules: TypeAlias = "Mapping[type[BaseException], type[ToolError] | Rule] | Rule | Sequence[Any]"
_Happened: TypeAlias = Literal["no", "maybe"]

_MOST_CHARS = 2000

# Package, class, and whether the effect may have taken place by then; None for what looks transient and is not.
_TRANSIENT: dict[tuple[str, str], _Happened | None] = {
    ("httpx", "ConnectError"): "no",
    ("httpx", "ConnectTimeout"): "no",
    ("httpx", "PoolTimeout"): "no",
    ("httpx", "TimeoutException"): "maybe",
    ("httpx", "NetworkError"): "maybe",
    ("httpx", "RemoteProtocolError"): "maybe",
    ("requests", "SSLError"): None,
    ("requests", "ConnectTimeout"): "no",
    ("requests", "Timeout"): "maybe",
    ("requests", "ConnectionError"): "maybe",
    ("requests", "ChunkedEncodingError"): "maybe",
    ("urllib3", "NewConnectionError"): "no",
    ("urllib3", "ConnectTimeoutError"): "no",
    ("urllib3", "TimeoutError"): "maybe",
    ("urllib3", "ProtocolError"): "maybe",
    ("aiohttp", "ClientSSLError"): None,
    ("aiohttp", "ClientConnectorError"): "no",
    ("aiohttp", "ConnectionTimeoutError"): "no",
    ("aiohttp", "ClientConnectionError"): "maybe",
    ("aiohttp", "ClientPayloadError"): "maybe",
    ("aiohttp", "ServerTimeoutError"): "maybe",
    ("http", "RemoteDisconnected"): "maybe",
    ("http", "IncompleteRead"): "maybe",
    ("http", "BadStatusLine"): "maybe",
    ("urllib", "ContentTooShortError"): "maybe",
    ("asyncio", "IncompleteReadError"): "maybe",
    ("socket", "gaierror"): "no",
    ("subprocess", "TimeoutExpired"): "maybe",
    ("builtins", "ConnectionRefusedError"): "no",
    ("builtins", "ConnectionError"): "maybe",
    ("builtins", "TimeoutError"): "maybe",
}
_SAME_AS = {"httpx2": "httpx", "httpcore": "httpx", "httpcore2": "httpx"}
_WRAPPERS = frozenset(["urllib", "requests", "urllib3"])
_UNREACHABLE = frozenset([errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH])


def classified(error: BaseException, rules: Rules = (), *, now: Callable[[], float] = time.time) -> ToolError:
    """What *error* counts as: itself if it is a `ToolError`, else what the user's rules or the table say."""
    if isinstance(error, ToolError):
        return error
    for rule in checked_rules(rules):
        found = _answer(rule, error)
        if found is not None:
            return found if isinstance(found, ToolError) else _made(found, error, now)
    if isinstance(error, BaseExceptionGroup):
        return _of_group(error, rules, now)
    return _by_table(error, now)


def checked_rules(rules: Rules) -> list[Rule]:
    """*rules* as functions; `TypeError` for what is none, so that a mistake shows before the first failure."""
    if isinstance(rules, Mapping):
        for kind, meant in rules.items():
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError(f"classify maps exception classes, got {kind!r}")
            if not (issubclass(meant, ToolError) if isinstance(meant, type) else callable(meant)):
                raise TypeError(
                    f"classify: {kind.__name__} has to count as a ToolError class, or as what a function says"
                )
        return [_by_class(rules)] if rules else []
    if callable(rules) and not isinstance(rules, type):
        return [rules]
    if isinstance(rules, (list, tuple)):
        return [rule for each in rules for rule in checked_rules(each)]
    raise TypeError(f"classify wants a dictionary, a function, or a list of these, got {rules!r}")


def _by_class(rules: Mapping[type[BaseException], Any]) -> Rule:
    def rule(error: BaseException) -> ToolError | type[ToolError] | None:
        family = type(error).__mro__
        # The nearest class wins, however the dictionary is ordered; classes that only claim kinship come last.
        for kind in sorted(rules, key=lambda kind: family.index(kind) if kind in family else len(family)):
            if isinstance(error, kind):
                meant = rules[kind]
                found: ToolError | type[ToolError] | None = meant if isinstance(meant, type) else meant(error)
                if found is not None:
                    return found
        return None

    return rule


def _answer(rule: Rule, error: BaseException) -> ToolError | type[ToolError] | None:
    try:
        found: Any = rule(error)
    except Exception:  # noqa: BLE001 -- a stranger's rule; the call must not be lost with it
        _log.warning("a rule of `classify` failed; it is passed over", exc_info=True)
        return None
    if found is None or isinstance(found, ToolError) or (isinstance(found, type) and issubclass(found, ToolError)):
        return found
    _log.warning("a rule of `classify` has to return a ToolError, its class or None, got %s", type(found).__name__)
    return None


def _made(kind: type[ToolError], error: BaseException, now: Callable[[], float]) -> ToolError:
    if kind is Transient:
        known = _by_table(error, now)
        return known if isinstance(known, Transient) else Transient(_message(error))
    try:
        return BadArgs(_message(error)) if kind is BadArgs else kind(_message(error))
    except Exception:  # noqa: BLE001 -- a class that wants more than a message
        return ToolError(_message(error))


def _message(error: BaseException) -> str:
    return described(error)[:_MOST_CHARS]


# Groups: what a task group raises when its children failed.


def _of_group(group: BaseExceptionGroup[BaseException], rules: Rules, now: Callable[[], float]) -> ToolError:
    """The gravest of what is inside; transient only if everything is, and then it may have happened."""
    meant = [classified(error, rules, now=now) for error in _leaves(group)]
    for family in (Safety, BadArgs):
        for each in meant:
            if isinstance(each, family):
                return each
    message = "; ".join(dict.fromkeys(map(str, meant)))[:_MOST_CHARS]
    waits = [each.retry_after_seconds for each in meant if isinstance(each, Transient)]
    if len(waits) < len(meant):
        return ToolError(message)
    # A sibling of the one that failed may have done its work.
    return Transient(message, retry_after_seconds=max(filter(None, waits), default=None), happened="maybe")


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


# The table.


def _by_table(error: BaseException, now: Callable[[], float]) -> ToolError:
    status = _status(error)
    if status is not None:
        return _by_status(status, error, now)
    happened = _by_name(error)
    return ToolError(_message(error)) if happened is None else Transient(_message(error), happened=happened)


def _by_name(error: BaseException) -> _Happened | None:
    """What the nearest class in the error's family says that the table knows."""
    package = _package(type(error))
    inner = _wrapped(error) if package in _WRAPPERS else None
    if inner is not None and (found := _by_name(inner)) is not None:
        return found
    for kind in type(error).__mro__:
        key = (_package(kind), kind.__name__)
        if key in _TRANSIENT:
            return _TRANSIENT[key]
    return "maybe" if isinstance(error, OSError) and error.errno in _UNREACHABLE else None


def _package(kind: type) -> str:
    package = str(kind.__module__).partition(".")[0]
    return _SAME_AS.get(package, package)


def _wrapped(error: BaseException) -> BaseException | None:
    """What urllib and requests have put their own error around."""
    for inner in (getattr(error, "reason", None), *error.args[:1]):
        if isinstance(inner, BaseException) and inner is not error:
            return inner
    return None


def _status(error: BaseException) -> int | None:
    """The HTTP status an error carries: httpx and requests on the response, aiohttp and urllib on itself."""
    if not isinstance(error, Exception):
        return None  # `sys.exit(500)` is no answer of a server
    response = _attribute(error, "response")
    for holder, name in ((response, "status_code"), (error, "status_code"), (error, "status"), (error, "code")):
        status = _attribute(holder, name)
        if isinstance(status, int) and 400 <= status <= 599:
            return int(status)
    return None


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 -- httpx raises if there is no request; others may do the like
        return None


def _by_status(status: int, error: BaseException, now: Callable[[], float]) -> ToolError:
    if status != 429 and status < 500:
        return ToolError(_message(error))
    headers = _attribute(_attribute(error, "response"), "headers") or _attribute(error, "headers")
    return Transient(
        _message(error),
        retry_after_seconds=retry_after_seconds(headers, now=now),
        # Too many requests is said before anything is done; a server that fails may have begun.
        happened="no" if status == 429 else "maybe",
    )


def retry_after_seconds(headers: Any, *, now: Callable[[], float] = time.time) -> float | None:
    """What a Retry-After header asks for, given in seconds or as a date; None if it asks for nothing sensible."""
    try:
        text = next((str(value) for name, value in headers.items() if str(name).lower() == "retry-after"), "").strip()
    except Exception:  # noqa: BLE001 -- no headers, or something else of that name
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        # Dates in HTTP are in GMT, also those that do not say so.
        seconds = (date if date.tzinfo else date.replace(tzinfo=dt.UTC)).timestamp() - now()
    return max(0.0, seconds) if seconds - seconds == 0 else None
