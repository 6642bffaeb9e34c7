"""
Check the answers of people before a flow goes on with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..approvals import ApprovalError
from ..decisions import Decision
from .outcomes import Waiting

__all__ = ["check_answers"]


def check_answers(waiting: Waiting, decisions: Any) -> None:
    """
    Check that *decisions* is a dictionary of decisions by the ids of the requests that the run waits for.

    Raises:
        TypeError: It is something else.
        ApprovalError: The run does not wait for one of the requests.
    """
    ids = [request.id for request in waiting.requests]
    if not isinstance(decisions, Mapping) or not all(isinstance(answer, Decision) for answer in decisions.values()):
        example = ids[0] if ids else "the id of a request"
        raise TypeError(
            f"resume wants the decisions in a dictionary, by the ids of the requests; write "
            f"flow.resume(waiting, {{{example!r}: Decision.approve()}})"
        )
    unknown = [str(key)[:64] for key in decisions if key not in ids]
    if unknown:
        asked = ", ".join(f"{request.id} (`{request.tool}`)" for request in waiting.requests)
        raise ApprovalError(
            f"the run `{waiting.id}` does not wait for {', '.join(map(repr, unknown))}; it waits for {asked}",
            why="unknown",
        )
