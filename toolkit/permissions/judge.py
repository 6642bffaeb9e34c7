"""
Judges, and what they say in whatever form: a verdict, or one of its words.

A judge that fails, or says something else, permits nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any, Protocol, get_args

from ..values.rendering import described
from ..verdicts import Finding, Verdict, Word
from .request import PermissionRequest

__all__ = ["Judge", "of_findings", "verdict_now", "verdict_of"]


class Judge(Protocol):
    """
    What can stand in for `Permissions`, or join it.

    A class may also have what `Permissions` has: `gate`, a quick way to say yes; `settles = True` if its verdict takes
    account of what checks, `approval` and hooks found; `could_allow`, what a search may show; `opens_port`, whether a
    rule names the port of an address; `mistakes` and `warnings`.
    """

    def judge(self, request: PermissionRequest) -> Verdict | Word | Awaitable[Verdict | Word]:
        """Whether the call may run."""


async def verdict_of(judge: Any, request: PermissionRequest) -> Verdict:
    """What *judge* says of *request*."""
    try:
        found = judge.judge(request)
        return _as_verdict(judge, await found if inspect.isawaitable(found) else found)
    except Exception as error:  # noqa: BLE001 -- a judge that fails permits nothing
        return _failed(judge, error)


def verdict_now(judge: Any, request: PermissionRequest) -> Verdict:
    """The same, from one that answers at once."""
    try:
        found = judge.judge(request)
        if not inspect.isawaitable(found):
            return _as_verdict(judge, found)
        _give_up(found)
        return _said("deny", type(judge).__name__, "it cannot be asked while a tool runs")
    except Exception as error:  # noqa: BLE001 -- as above
        return _failed(judge, error)


def _failed(judge: Any, error: Exception) -> Verdict:
    by = type(judge).__name__
    return _said("deny", by, f"{by} could not judge it: {described(error)}")


def _as_verdict(judge: Any, found: Any) -> Verdict:
    by = type(judge).__name__
    if isinstance(found, Verdict) and _is_word(found.word):
        # What asks has to be among the findings: by them a person is asked, and has answered.
        is_told = any(each.word == found.word for each in found.findings)
        said = Finding(found.word, found.by, found.reason, "judge")
        return found if is_told else replace(found, findings=(said, *found.findings))
    if _is_word(found):
        return _said(found, by, f"{by} says {found}")
    return _said("deny", by, f"{by} has to say allow, ask or deny, got {described(found)}")


def _is_word(found: Any) -> bool:
    return isinstance(found, str) and found in get_args(Word)


def _said(word: Word, by: str, reason: str) -> Verdict:
    return Verdict(word, by, reason, (Finding(word, by, reason, "judge"),))


def _give_up(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)
    if close is not None:
        close()


def of_findings(findings: Sequence[Finding]) -> Verdict:
    """The verdict where there are no modes: what refuses, refuses; what asks, asks."""
    for word in ("deny", "ask"):
        decisive = [each for each in findings if each.word == word]
        if decisive:
            reason = "; ".join(dict.fromkeys(each.reason for each in decisive))
            others = [each for each in findings if each not in decisive]
            return Verdict(decisive[0].word, decisive[0].by, reason, (*decisive, *others))
    return Verdict("allow", "no permissions", "nothing speaks against it", tuple(findings))
