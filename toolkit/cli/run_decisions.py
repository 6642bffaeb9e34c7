"""
The decisions of a person about the requests of a durable run: which requests are meant, and why an answer is refused.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Sequence
from typing import Any

from ..approvals.answers import find_answer_problems
from ..decisions import ApprovalRequest
from ..durable.errors import DurableError
from ..durable.journal.records import RunRow
from ..durable.journal.run_journal import Journal
from ..durable.run_reports import format_time, iterate_runs, read_requests
from ..errors import BadArgs, Problem, find_nearest
from ..questions import DECLINED
from .argument_values import arguments_of
from .exit_codes import EXITS
from .failures import Failure

__all__ = ["read_answers", "select_requests"]

_MIN_PREFIX = 4


def select_requests(
    journal: Journal, row: RunRow, request_ids: Sequence[str], *, selects_all: bool
) -> list[ApprovalRequest]:
    """
    Return the requests of a run that a person answers now; raise `Failure` if it is not clear which are meant.

    A person names a request by its id, or by a beginning of the id that no other request of the run has. With
    *selects_all*, all requests without a decision are meant.
    """
    requests = {request.id: request for request in read_requests(row)}
    if request_ids and selects_all:
        raise Failure("--all and ids of requests contradict each other; give one of them")
    if not requests and not request_ids:
        raise Failure(f"the run {row.id!r} is {row.status}, and waits for no answer")
    open_ids = [request_id for request_id in requests if request_id not in row.decisions]
    if not request_ids and not open_ids:
        raise Failure(f"all requests of the run {row.id!r} are decided; a worker goes on with it")
    if not request_ids and not selects_all and len(open_ids) > 1:
        calls = ", ".join(f"{request_id} ({requests[request_id].tool})" for request_id in open_ids)
        raise Failure(f"the run {row.id!r} waits for several answers; name the request, or give --all: {calls}")
    chosen_ids = [_complete_id(journal, row, text, requests) for text in request_ids] or open_ids
    chosen = [requests[request_id] for request_id in dict.fromkeys(chosen_ids)]
    for request in chosen:
        if request.expires_at is not None and time.time() >= request.expires_at:
            raise Failure(
                f"it is too late: the request {request.id} expired at {format_time(request.expires_at)} UTC, so its "
                "call does not run"
            )
    return chosen


def _complete_id(journal: Journal, row: RunRow, text: str, request_ids: Collection[str]) -> str:
    """Return the id of the request of the run that *text* is, or is the beginning of."""
    matches = [request_id for request_id in request_ids if request_id == text]
    if not matches and len(text) >= _MIN_PREFIX:
        matches = [request_id for request_id in request_ids if request_id.startswith(text)]
    if len(matches) > 1:
        raise Failure(f"several requests of the run {row.id!r} begin with {text!r}: {', '.join(matches)}")
    if matches:
        return matches[0]
    owner = _find_owner(journal, text)
    if owner is not None:
        raise Failure(f"the request {text!r} belongs to the run {owner!r}, not to {row.id!r}")
    if any(text in event.data.get("requests", ()) for event in journal.read_events(row.id) if event.kind == "decided"):
        raise Failure(f"the request {text!r} of the run {row.id!r} has a decision already; the first one counts")
    nearest = find_nearest(text, request_ids) or list(request_ids)
    hint = f"it waits for {', '.join(nearest)}" if nearest else f"it is {row.status}, and waits for no answer"
    raise Failure(f"the run {row.id!r} has no request {text!r}; {hint}", EXITS["not_found"])


def _find_owner(journal: Journal, request_id: str) -> str | None:
    """Return the id of the run that waits for the request; None if there is none."""
    for row in iterate_runs(journal, status="waiting"):
        with contextlib.suppress(DurableError):  # a run of another version is not the one that is meant
            if any(request.id == request_id for request in read_requests(row)):
                return row.id
    return None


def read_answers(
    request: ApprovalRequest, words: Sequence[str], declined_keys: Sequence[str] = ()
) -> dict[str, Any] | None:
    """
    Return the answers in *words*, each `KEY=VALUE`, to the questions of *request*; None if it has no questions.

    *declined_keys* are the questions that the person does not want to answer. All other questions need an answer.
    """
    questions = {question.key: question for question in request.questions}
    if not questions and not words and not declined_keys:
        return None
    schema = {"properties": {key: dict(question.schema) for key, question in questions.items()}}
    answers = {**arguments_of(words, schema), **dict.fromkeys(declined_keys, DECLINED)}
    problems = [Problem(f"`{request.tool}` asks no such question", [key]) for key in answers if key not in questions]
    for key, question in questions.items():
        if key not in answers:
            problems.append(
                Problem(f"is not answered: {question.message}; give --answer {key}=VALUE, or --decline {key}", [key])
            )
        else:
            answers[key], flaws = find_answer_problems(question, answers[key])
            problems += [Problem(flaw.message, [key, *flaw.path]) for flaw in flaws]
    if problems:
        raise BadArgs(problems)
    return answers
