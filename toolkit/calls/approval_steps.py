"""
The steps of a call that asks a person; `ApprovalStage` goes from one to the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..approvals.records import Record
from ..decisions import AuthRequest, Decision
from ..permissions.judgement import Judgement
from ..questions import Question

__all__ = ["Answered", "Asking", "Unasked"]


@dataclass(frozen=True, slots=True)
class Unasked:
    """
    A matter that a person has to decide. No request is made yet.

    Attributes:
        judgement: The judgement that asks.
        reason: Why the person is asked again, if they are.
        auth: The credentials that the tool needs, if it is about them.
        questions: What the tool asks its user, if it is about questions.
        replaces: The earlier request of the call that was answered and whose place the new one takes, if any.
    """

    judgement: Judgement
    reason: str | None = None
    auth: AuthRequest | None = None
    questions: tuple[Question, ...] = ()
    replaces: Record | None = None


@dataclass(frozen=True, slots=True)
class Asking:
    """
    A request that is stored and waits for an answer.

    Attributes:
        record: The request.
        is_stored: Whether *record* was read from the store, because the same call has asked before.
        mistake: What was wrong with the last answer, if the person is asked for another one.
    """

    record: Record
    is_stored: bool = False
    mistake: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """
    A request with its answer, which has to be accepted before the call may run.

    Attributes:
        record: The request.
        decision: The answer.
        is_resumed: Whether the answer came after the call had ended. Otherwise the person can be asked again.
        is_stored: Whether *record* was read from a store that other programs may have written. Then the content that
            *record* shows is compared with what would run.
    """

    record: Record
    decision: Decision
    is_resumed: bool
    is_stored: bool
