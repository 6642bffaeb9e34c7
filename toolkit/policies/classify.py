"""
The classification of exceptions: as an error of the model, of the tool, or of the environment.

The table knows the errors of httpx, httpx2, requests, aiohttp, urllib, sockets and processes by name, and imports none
of those packages. The user's own rules are tried first. A rule is an exception class with the error class that it
counts as, or a function.
"""

from __future__ import annotations

import errno
import functools
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ..errors import BadArgs, Safety, ToolError, Transient
from ..values.rendering import describe_value, replace_surrogates

__all__ = ["ClassifyRules", "classify_error", "compile_rules", "is_expected", "parse_retry_after"]

_log = logging.getLogger("toolkit")

ClassifyRule: TypeAlias = Callable[[BaseException], "ToolError | type[ToolError] | None"]
ClassifyRules: TypeAlias = "Mapping[type[BaseException], type[ToolError] | ClassifyRule] | ClassifyRule | Sequence[Any]"
_Happened: TypeAlias = Literal["no", "maybe"]

_MAX_MESSAGE_CHARS = 2000

# Package, whether the effect may have happened before the error, and classes. None is for an error that is not
# transient, although one of its parent classes is.
_TRANSIENT_CLASSES: tuple[tuple[str, _Happened | None, str], ...] = (
    ("httpx", "no", "ConnectError ConnectTimeout PoolTimeout"),
    ("httpx", "maybe", "TimeoutException NetworkError RemoteProtocolError"),
    ("requests", None, "SSLError"),
    ("requests", "no", "ConnectTimeout"),
    ("requests", "maybe", "Timeout ConnectionError ChunkedEncodingError"),
    ("urllib3", "no", "NewConnectionError ConnectTimeoutError"),
    ("urllib3", "maybe", "TimeoutError ProtocolError"),
    ("aiohttp", None, "ClientSSLError"),
    ("aiohttp", "no", "ClientConnectorError ConnectionTimeoutError"),
    ("aiohttp", "maybe", "ClientConnectionError ClientPayloadError ServerTimeoutError"),
    ("http", "maybe", "RemoteDisconnected IncompleteRead BadStatusLine"),
    ("urllib", "maybe", "ContentTooShortError"),
    ("asyncio", "maybe", "IncompleteReadError"),
    ("socket", "no", "gaierror"),
    ("subprocess", "maybe", "TimeoutExpired"),
    ("builtins", "no", "ConnectionRefusedError"),
    ("builtins", "maybe", "ConnectionError TimeoutError"),
)
_TRANSIENT = {(package, name): happened for package, happened, names in _TRANSIENT_CLASSES for name in names.split()}
_PACKAGE_ALIASES = {"httpx2": "httpx", "httpcore": "httpx", "httpcore2": "httpx"}
_WRAPPING_PACKAGES = frozenset(["urllib", "requests", "urllib3"])
_UNREACHABLE_ERRNOS = frozenset([errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTDOWN, errno.EHOSTUNREACH])


class _ChosenError(ToolError):
    """A `ToolError` that a rule of the user has chosen for an exception, which is therefore no bug."""


def classify_error(
    error: BaseException, rules: Sequence[ClassifyRule] = (), *, now: Callable[[], float] = time.time
) -> ToolError:
    """
    Return the `ToolError` that *error* counts as.

    A `ToolError` counts as itself. For any other error the user's *rules* decide, as `compile_rules` returns them, and
    then the table.
    """
    if isinstance(error, ToolError):
        return error
    for rule in rules:
        answer = _apply_rule(rule, error)
        if answer is not None:
            chosen = answer if isinstance(answer, ToolError) else _build_error(answer, error, now)
            return _ChosenError(*chosen.args) if type(chosen) is ToolError else chosen
    if isinstance(error, BaseExceptionGroup):
        return _classify_group(error, rules, now)
    return _classify_by_table(error, now)


def is_expected(error: BaseException, tool_error: ToolError) -> bool:
    """Return whether *error*, which counts as *tool_error*, reports a failure of the world, and is probably no bug."""
    if isinstance(error, BaseExceptionGroup):
        return isinstance(tool_error, Transient)  # then all errors in it are
    if isinstance(error, OSError) or type(tool_error) is not ToolError:
        return isinstance(error, Exception)  # a cancellation from inside may be a bug
    return _find_status(error) is not None


def compile_rules(rules: ClassifyRules) -> list[ClassifyRule]:
    """
    Return *rules* as functions.

    Raises:
        TypeError: A rule is not valid. So a mistake is found before the first failure of a call.
    """
    if isinstance(rules, Mapping):
        for kind, target in rules.items():
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise TypeError(f"classify maps exception classes, got {kind!r}")
            if not (issubclass(target, ToolError) if isinstance(target, type) else callable(target)):
                raise TypeError(
                    f"classify: {kind.__name__} has to count as a ToolError class, or as what a function says"
                )
        return [_build_class_rule(rules)] if rules else []
    if callable(rules) and not isinstance(rules, type):
        return [rules]
    if isinstance(rules, (list, tuple)):
        return [rule for entry in rules for rule in compile_rules(entry)]
    raise TypeError(f"classify wants a dictionary, a function, or a list of these, got {rules!r}")


def _build_class_rule(rules: Mapping[type[BaseException], Any]) -> ClassifyRule:
    def rule(error: BaseException) -> ToolError | type[ToolError] | None:
        family = type(error).__mro__
        # The nearest class wins; the order of the dictionary does not matter. Virtual base classes, which are not among
        # the parents of the error's class, come last.
        for kind in sorted(rules, key=lambda kind: family.index(kind) if kind in family else len(family)):
            if isinstance(error, kind):
                target = rules[kind]
                answer: ToolError | type[ToolError] | None = target if isinstance(target, type) else target(error)
                if answer is not None:
                    return answer
        return None

    return rule


def _apply_rule(rule: ClassifyRule, error: BaseException) -> ToolError | type[ToolError] | None:
    try:
        answer: Any = rule(error)
    except Exception:  # noqa: BLE001 -- a failing rule of the user must not lose the call
        _log.warning("a rule of `classify` failed; it is passed over", exc_info=True)
        return None
    if answer is None or isinstance(answer, ToolError) or (isinstance(answer, type) and issubclass(answer, ToolError)):
        return answer
    _log.warning("a rule of `classify` has to return a ToolError, its class or None, got %s", type(answer).__name__)
    return None


def _build_error(kind: type[ToolError], error: BaseException, now: Callable[[], float]) -> ToolError:
    """Return an error of the class *kind* that a rule has chosen for *error*."""
    message = _read_message(error)
    if kind is Transient:
        table_error = _classify_by_table(error, now)
        if isinstance(table_error, Transient):
            seconds, happened = table_error.retry_after_seconds, table_error.happened
            return Transient(message, retry_after_seconds=seconds, happened=happened)
        return Transient(message)
    try:
        return kind(message)
    except Exception:  # noqa: BLE001 -- a class that needs more than a message
        return ToolError(message)


def _read_message(error: BaseException) -> str:
    """
    Return what *error*, which is an answer and no bug, tells the model: its message alone.

    A single word, such as the key that a dictionary lacks, and a bare list of arguments say too little without the name
    of the class.
    """
    words = error.args[0] if isinstance(error, KeyError) and len(error.args) == 1 else None
    # The text of a KeyError is the `repr` of its message.
    text = words if isinstance(words, str) else describe_value(error).removeprefix(f"{type(error).__name__}: ")
    has_sentence = len(text.split(maxsplit=1)) > 1 and text != f"{error.args}"
    return replace_surrogates(text[:_MAX_MESSAGE_CHARS]) if has_sentence else _describe_error(error)


def _describe_error(error: BaseException) -> str:
    return describe_value(error)[:_MAX_MESSAGE_CHARS]


# Exception groups, which a task group raises if its children fail.


def _classify_group(
    group: BaseExceptionGroup[BaseException], rules: Sequence[ClassifyRule], now: Callable[[], float]
) -> ToolError:
    """
    Return the gravest of the errors in *group*.

    The group is transient only if all its errors are, and then its effect may have happened.
    """
    tool_errors = [classify_error(error, rules, now=now) for error in _iter_leaves(group)]
    for family in (Safety, BadArgs):
        for tool_error in tool_errors:
            if isinstance(tool_error, family):
                return tool_error
    message = "; ".join(dict.fromkeys(map(str, tool_errors)))[:_MAX_MESSAGE_CHARS]
    waits = [tool_error.retry_after_seconds for tool_error in tool_errors if isinstance(tool_error, Transient)]
    if len(waits) < len(tool_errors):
        return ToolError(message)
    # Another child of the task group may have done its work.
    return Transient(message, retry_after_seconds=max(filter(None, waits), default=None), happened="maybe")


def _iter_leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _iter_leaves(error)
        else:
            yield error


# The table.


def _classify_by_table(error: BaseException, now: Callable[[], float]) -> ToolError:
    status = _find_status(error)
    if status is not None:
        return _classify_by_status(status, error, now)
    happened = _find_happened(error)
    return (
        ToolError(_describe_error(error)) if happened is None else Transient(_describe_error(error), happened=happened)
    )


def _find_happened(error: BaseException) -> _Happened | None:
    """
    Return whether the effect may have happened before *error*; None if *error* is not transient.

    An exception that *error* wraps is looked up first. Then the nearest class of *error* that is in the table decides.
    """
    package, happened = _look_up_class(type(error))  # type: ignore[arg-type]  # mypy compares with the hash of an error
    if package in _WRAPPING_PACKAGES:
        inner = _find_wrapped_error(error)
        if inner is not None and (inner_happened := _find_happened(inner)) is not None:
            return inner_happened
    if happened is None and isinstance(error, OSError) and error.errno in _UNREACHABLE_ERRNOS:
        return "maybe"
    return happened


@functools.lru_cache(maxsize=512)
def _look_up_class(kind: type) -> tuple[str, _Happened | None]:
    """Return the package of a class of errors, and what the table says about it or the nearest of its parents."""
    keys = [(_find_package(parent), parent.__name__) for parent in kind.__mro__]
    return keys[0][0], next((_TRANSIENT[key] for key in keys if key in _TRANSIENT), None)


def _find_package(kind: type) -> str:
    package = str(kind.__module__).partition(".")[0]
    return _PACKAGE_ALIASES.get(package, package)


def _find_wrapped_error(error: BaseException) -> BaseException | None:
    """Return the exception that urllib, urllib3 or requests has wrapped in its own; None if there is none."""
    for inner in (getattr(error, "reason", None), *error.args[:1]):
        if isinstance(inner, BaseException) and inner is not error:
            return inner
    return None


def _find_status(error: BaseException) -> int | None:
    """
    Return the HTTP status of *error*; None if it has none.

    The errors of httpx and requests have it on the response, and those of aiohttp and urllib on themselves.
    """
    if not isinstance(error, Exception):
        return None  # `sys.exit(500)` does not come from a server
    if type(error).__module__ == "builtins" and not error.__dict__:
        return None  # none of Python's own errors has one of the attributes below
    response = _read_attribute(error, "response")
    for holder, name in ((response, "status_code"), (error, "status_code"), (error, "status"), (error, "code")):
        status = _read_attribute(holder, name)
        if isinstance(status, int) and 400 <= status <= 599:
            return int(status)
    return None


def _read_attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 -- httpx raises if there is no request; other libraries may too
        return None


def _classify_by_status(status: int, error: BaseException, now: Callable[[], float]) -> ToolError:
    if status != 429 and status < 500:
        return ToolError(_describe_error(error))
    headers = _read_attribute(_read_attribute(error, "response"), "headers") or _read_attribute(error, "headers")
    return Transient(
        _describe_error(error),
        retry_after_seconds=parse_retry_after(headers, now=now),
        # A server answers 429 before it does anything. A server that fails may have started the work.
        happened="no" if status == 429 else "maybe",
    )


def parse_retry_after(headers: Any, *, now: Callable[[], float] = time.time) -> float | None:
    """
    Return the seconds that a Retry-After header asks the client to wait.

    The header has seconds or a date. Return None if there is no such header, or if its value makes no sense.
    """
    import datetime as dt  # few errors have such a header, and these modules take long to load
    import email.utils as mail

    try:
        text = next((str(value) for name, value in headers.items() if str(name).lower() == "retry-after"), "").strip()
    except Exception:  # noqa: BLE001 -- there are no headers, or the attribute is something else
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = mail.parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        # Dates in HTTP are in GMT, also if they do not state it.
        seconds = (date if date.tzinfo else date.replace(tzinfo=dt.UTC)).timestamp() - now()
    return max(0.0, seconds) if seconds - seconds == 0 else None
