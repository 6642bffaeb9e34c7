"""The time that a provider asks the client to wait: in Retry-After, in its own headers, or in the body."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...policies.classify import parse_retry_after

__all__ = ["find_retry_wait"]

_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?(?:ms|h|m|s))+")
_PIECE = re.compile(r"([\d.]+)(ms|h|m|s)")
# The headers that tell what remains of a limit. Other headers tell when the limit is reset: as a duration (OpenAI) or
# as a time (Anthropic).
_REMAINING_HEADER = re.compile(
    r"(x-ratelimit-remaining-(?P<what>[a-z-]+)|anthropic-ratelimit-(?P<kind>[a-z-]+)-remaining)"
)


def find_retry_wait(
    headers: Mapping[str, str], body: Any = None, *, now: Callable[[], float] = time.time
) -> float | None:
    """Return the seconds to wait before the next attempt; None if the provider asks for no sensible time."""
    waits = (
        _parse_milliseconds(headers.get("retry-after-ms", "")),
        parse_retry_after(headers, now=now),
        _find_wait_in_body(body),
        _seconds_until_reset(headers, now),
    )
    return next((wait for wait in waits if wait is not None), None)


def _parse_milliseconds(text: str) -> float | None:
    return float(text) / 1000 if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else None


def _find_wait_in_body(body: Any) -> float | None:
    """Return the `retryDelay` in the details of a Google error, in seconds; None if there is none."""
    error = body.get("error") if isinstance(body, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            return _parse_duration(delay)
    return None


def _seconds_until_reset(headers: Mapping[str, str], now: Callable[[], float]) -> float | None:
    """Return the longest wait until a limit that is used up is reset; None if the headers state none."""
    waits = []
    for name, remaining in headers.items():
        match = _REMAINING_HEADER.fullmatch(name.lower())
        if match is None or remaining.strip() != "0":
            continue
        if match["what"]:
            waits.append(_parse_duration(headers.get(f"x-ratelimit-reset-{match['what']}", "")))
        else:
            waits.append(_seconds_until(headers.get(f"anthropic-ratelimit-{match['kind']}-reset", ""), now))
    return max((wait for wait in waits if wait is not None), default=None)


def _parse_duration(text: str) -> float | None:
    """Return the seconds of a duration such as `1.5s`, `20ms` or `6m0s`; None if *text* is not a duration."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PIECE.findall(text))


def _seconds_until(text: str, now: Callable[[], float]) -> float | None:
    try:
        date = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=dt.UTC)).timestamp() - now())
