"""
Judges, which decide whether a call may run, and the request that they get.

A judge answers with a verdict or with one of its words. A judge that raises, or that returns another value, denies the
call.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol, TypeAlias, get_args

from .._plumbing.records import record
from ..access import Access
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..values.rendering import describe_value
from ..verdicts import Finding, Verdict, Word

__all__ = [
    "CallGate",
    "Judge",
    "PermissionGate",
    "PermissionRequest",
    "RequestBuilder",
    "SupportsJudge",
    "Visibility",
    "ask_judge",
    "ask_judge_now",
    "check_judge",
    "strictest",
    "verdict_without_permissions",
]


@record(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """
    The call that a judge decides about, with everything that the decision needs.

    Attributes:
        call: A copy of the call with decoded arguments.
        tool: The tool that would run.
        names: Every name that the tool has or had, including aliases.
        arguments: The decoded arguments, with defaults filled in.
        accesses: The accesses that the call is about to make, from markers and `preflight`.
        cost: What the call costs in US dollars, by the fact `cost` of the tool; None if the tool does not say.
        root: The folder that relative paths start from.
        findings: The findings of safety checks, `approval` and hooks, which came before.
        session: The session of the call; its mode and grants count.
        principal: The principal on whose behalf the call is made.
    """

    call: ToolCall
    tool: Tool
    names: frozenset[str]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    accesses: tuple[Access, ...] = ()
    cost: float | None = None
    root: str = "."
    findings: tuple[Finding, ...] = ()
    session: Session | None = None
    principal: str | None = None


@record(frozen=True, slots=True)
class Visibility:
    """
    What a judge shows in a session as the session, its mode and its rules are now.

    Attributes:
        key: A value that can be hashed. If two keys of one judge are equal, the answers are the same for every tool.
        could_allow: Answers as `Judge.could_allow` does, for a tool and its names. The answers never change.
    """

    key: Hashable
    could_allow: Callable[[Tool, frozenset[str]], bool] = field(compare=False)


CallGate: TypeAlias = Callable[[Session | None, Mapping[str, Any] | None], bool]
"""
A function that tells quickly whether a call may run without being judged.

It gets the session and the decoded arguments, and returns True only if the full judgement would allow the call. The
arguments are None if they are not known yet; then True means that the call may run with any arguments.
"""

RequestBuilder: TypeAlias = Callable[[Mapping[str, Any]], PermissionRequest]
"""
A function that returns the request of a call with these decoded arguments, for a gate.

The request has the accesses that the markers of the parameters state, but no findings and no session. Its arguments are
the ones that run, so a gate must not change them.
"""


class SupportsJudge(Protocol):
    """Any object with a method `judge`, sync or async. It can replace `Permissions`, or judge together with it."""

    def judge(self, request: PermissionRequest) -> Verdict | Word | Awaitable[Verdict | Word]:
        """Return the verdict on whether the call may run."""


class Judge(ABC):
    """
    Base class of judges that define more than `judge`.

    A derived class defines `judge`, and any of the other members. Their defaults are what counts for an object that
    only has a method `judge`.

    Attributes:
        weighs_findings: Whether the verdict includes the findings of safety checks, `approval` and hooks. If no judge
            includes them, a finding that asks or denies decides by itself.
    """

    weighs_findings: bool = False

    @abstractmethod
    def judge(self, request: PermissionRequest) -> Verdict | Word | Awaitable[Verdict | Word]:
        """Return the verdict on whether the call may run."""

    def gate(self, tool: Tool, names: frozenset[str], build_request: RequestBuilder) -> CallGate | None:
        """
        Return a function that tells quickly whether a call of *tool* may run; None if every call has to be judged.

        The gate is used only if this is the only judge, and the tool has neither `approval` nor `preflight`. The safety
        checks judge a call besides. *build_request* is for a gate that looks at more than the arguments.
        """
        return None

    def could_allow(self, tool: Tool, names: frozenset[str], session: Session | None = None) -> bool:
        """
        Return whether any call of *tool*, which has or had *names*, could ever run in *session*.

        A search shows only such tools. Each call is judged again when it is made.
        """
        return True

    def visibility(self, session: Session | None) -> Visibility | None:
        """
        Return what `could_allow` answers in *session* now, so that the answers for a whole catalog can be kept.

        The answers are asked for again when the key differs, or the catalog has changed. Return None, as this method
        does, if they cannot be kept. Then every listing asks `could_allow` for all tools.
        """
        return None

    def opens_port(self, tool: Tool, names: frozenset[str], url: str) -> bool:
        """Return whether an allow rule about *tool*, which has or had *names*, names the host and the port of *url*."""
        return False

    def mistakes(self, tools: Iterable[Tool]) -> list[str]:
        """Return the mistakes in this judge's own rules, for these *tools*. The dispatcher logs them."""
        return []

    def warnings(self, tools: Iterable[Tool], request: PermissionRequest) -> list[str]:
        """Return warnings about rules that may miss what their author meant. `dispatcher.explain` shows them."""
        return []


class PermissionGate:
    """
    A judge that denies a call unless *says_yes* returns True.

    *says_yes* gets every call, with decoded arguments. `call.tool.facts` says what kind of tool it is.

        Dispatcher(catalog, permissions=PermissionGate(lambda call: call.principal == "ada"))
    """

    def __init__(self, says_yes: Callable[[ToolCall], bool | Awaitable[bool]]) -> None:
        self._says_yes = says_yes

    def judge(self, request: PermissionRequest) -> Verdict | Awaitable[Verdict]:
        answer = self._says_yes(request.call)
        return _await_gate(answer, request) if inspect.isawaitable(answer) else _verdict_of_gate(answer, request)


async def _await_gate(awaitable: Awaitable[bool], request: PermissionRequest) -> Verdict:
    return _verdict_of_gate(await awaitable, request)


def _verdict_of_gate(answer: object, request: PermissionRequest) -> Verdict:
    # Only True counts as yes, because another truthy object may have been meant as something else.
    if answer is True:
        return Verdict("allow", "PermissionGate", "the function of the gate returned True")
    reason = f"the function of the gate did not return True for `{request.tool.name}`"
    return Verdict("deny", "PermissionGate", reason)


def check_judge(judge: object) -> None:
    """
    Raise `TypeError` if *judge* has no method `judge`.

    Raise it also if the class of *judge* defines other members of `Judge` without being derived from it.
    """
    if isinstance(judge, type) or not callable(getattr(judge, "judge", None)):
        raise TypeError(f"{judge!r} cannot give permission: it has to be an object with a method `judge`")
    if isinstance(judge, Judge):
        return
    # The class is looked at, not the object: a judge may forward unknown attributes to another judge.
    members = [name for name in vars(Judge) if not name.startswith("_") and hasattr(type(judge), name)]
    members.remove("judge")
    if members:
        names, cls = ", ".join(f"`{name}`" for name in members), type(judge).__name__
        raise TypeError(f"{cls} defines {names}: derive {cls} from `toolkit.permissions.Judge`, so that this counts")


async def ask_judge(judge: SupportsJudge, request: PermissionRequest) -> Verdict:
    """Return the verdict of *judge* on *request*."""
    try:
        answer = judge.judge(request)
        return _as_verdict(judge, await answer if inspect.isawaitable(answer) else answer)
    except Exception as error:  # noqa: BLE001 -- a judge that fails denies the call
        return _deny(judge, f"could not judge the call: {describe_value(error)}")


def ask_judge_now(judge: SupportsJudge, request: PermissionRequest) -> Verdict:
    """
    Return the verdict of *judge* on *request* without waiting.

    A judge that returns an awaitable denies the call, because it cannot be awaited while a tool runs.
    """
    try:
        answer: Any = judge.judge(request)
        if not inspect.isawaitable(answer):
            return _as_verdict(judge, answer)
        if hasattr(answer, "close"):
            answer.close()
        return _deny(judge, "is async, so it cannot be asked while a tool runs")
    except Exception as error:  # noqa: BLE001 -- a judge that fails denies the call
        return _deny(judge, f"could not judge the call: {describe_value(error)}")


def _as_verdict(judge: SupportsJudge, answer: Any) -> Verdict:
    if isinstance(answer, Verdict) and _is_word(answer.word):
        # A verdict that asks needs a finding that asks: a person is asked, and answers, by these findings.
        has_finding = any(finding.word == answer.word for finding in answer.findings)
        own_finding = Finding(answer.word, answer.by, answer.reason, "judge")
        return answer if has_finding else replace(answer, findings=(own_finding, *answer.findings))
    if _is_word(answer):
        return _build_verdict(judge, answer, f"says {answer}")
    return _deny(judge, f"has to return allow, ask or deny, got {describe_value(answer)}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value in get_args(Word)


def _deny(judge: SupportsJudge, what: str) -> Verdict:
    return _build_verdict(judge, "deny", what)


def _build_verdict(judge: SupportsJudge, word: Word, what: str) -> Verdict:
    by = type(judge).__name__
    reason = f"{by} {what}"
    return Verdict(word, by, reason, (Finding(word, by, reason, "judge"),))


def verdict_without_permissions(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict where there are no modes: a finding that denies decides first, then one that asks."""
    for word in ("deny", "ask"):
        decisive = [finding for finding in findings if finding.word == word]
        if decisive:
            reason = "; ".join(dict.fromkeys(finding.reason for finding in decisive))
            others = [finding for finding in findings if finding not in decisive]
            return Verdict(decisive[0].word, decisive[0].by, reason, (*decisive, *others))
    return Verdict("allow", "no permissions", "no check, tool or hook asks or denies", tuple(findings))


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """
    Return the verdict of the judge that permits least, with the findings of all judges.

    If several judges are equally strict, the first verdict counts.
    """
    decisive = max(verdicts, key=lambda verdict: _STRICTNESS[verdict.word])
    others = [finding for verdict in verdicts if verdict is not decisive for finding in verdict.findings]
    return replace(
        decisive, findings=(*decisive.findings, *(finding for finding in others if finding not in decisive.findings))
    )


_STRICTNESS: dict[Word, int] = {"allow": 0, "ask": 1, "deny": 2}
