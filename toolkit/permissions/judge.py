"""
Judges of calls, and the conversion of their answers to a `Verdict`: an answer is a verdict or one of its words.

A judge that raises, or that returns another value, denies the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any, Protocol, get_args

from ..values.rendering import describe_value
from ..verdicts import Finding, Verdict, Word
from .request import PermissionRequest

__all__ = ["Judge", "ask_judge", "ask_judge_now", "verdict_without_permissions"]


class Judge(Protocol):
    """
    An object that can replace `Permissions`, or judge together with it.

    A class may also have these members of `Permissions`:

    - `gate`, a quick way to say yes
    - `settles = True`, if its verdict takes account of the findings of checks, `approval` and hooks
    - `could_allow`, to decide which tools a search may show
    - `opens_port`, whether a rule names the port of a URL
    - `mistakes` and `warnings`
    """

    def judge(self, request: PermissionRequest) -> Verdict | Word | Awaitable[Verdict | Word]:
        """Return the verdict on whether the call may run."""


async def ask_judge(judge: Any, request: PermissionRequest) -> Verdict:
    """Return the verdict of *judge* on *request*."""
    try:
        answer = judge.judge(request)
        return _as_verdict(judge, await answer if inspect.isawaitable(answer) else answer)
    except Exception as error:  # noqa: BLE001 -- a judge that fails denies the call
        return _deny_for_error(judge, error)


def ask_judge_now(judge: Any, request: PermissionRequest) -> Verdict:
    """
    Return the verdict of *judge* on *request* without waiting.

    A judge that returns an awaitable denies the call, because it cannot be awaited while a tool runs.
    """
    try:
        answer = judge.judge(request)
        if not inspect.isawaitable(answer):
            return _as_verdict(judge, answer)
        _close_awaitable(answer)
        return _build_verdict("deny", type(judge).__name__, "it cannot be asked while a tool runs")
    except Exception as error:  # noqa: BLE001 -- a judge that fails denies the call
        return _deny_for_error(judge, error)


def _deny_for_error(judge: Any, error: Exception) -> Verdict:
    by = type(judge).__name__
    return _build_verdict("deny", by, f"{by} could not judge it: {describe_value(error)}")


def _as_verdict(judge: Any, answer: Any) -> Verdict:
    by = type(judge).__name__
    if isinstance(answer, Verdict) and _is_word(answer.word):
        # A verdict that asks needs a finding that asks: a person is asked, and answers, by these findings.
        has_finding = any(finding.word == answer.word for finding in answer.findings)
        own_finding = Finding(answer.word, answer.by, answer.reason, "judge")
        return answer if has_finding else replace(answer, findings=(own_finding, *answer.findings))
    if _is_word(answer):
        return _build_verdict(answer, by, f"{by} says {answer}")
    return _build_verdict("deny", by, f"{by} has to say allow, ask or deny, got {describe_value(answer)}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value in get_args(Word)


def _build_verdict(word: Word, by: str, reason: str) -> Verdict:
    return Verdict(word, by, reason, (Finding(word, by, reason, "judge"),))


def _close_awaitable(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def verdict_without_permissions(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict where there are no modes: a finding that denies decides first, then one that asks."""
    for word in ("deny", "ask"):
        decisive = [finding for finding in findings if finding.word == word]
        if decisive:
            reason = "; ".join(dict.fromkeys(finding.reason for finding in decisive))
            others = [finding for finding in findings if finding not in decisive]
            return Verdict(decisive[0].word, decisive[0].by, reason, (*decisive, *others))
    return Verdict("allow", "no permissions", "nothing speaks against it", tuple(findings))
