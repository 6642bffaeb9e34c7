"""
What a run with steps takes from its agent: the agent with another store of requests, and the state of its session.

The agents are not of type `Agent`, because that imports this file.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar, cast

from ..approvals.store import ApprovalStore
from ..steps.session_changes import describe_changes, read_state

__all__ = ["read_own_session", "with_approval_store"]

A = TypeVar("A")


def with_approval_store(agent: A, store: ApprovalStore) -> A:
    """
    Return the same agent with its requests for approval in *store*. The asker, the key and the times stay.

    What is said to a run of either agent reaches the run.

    Raises:
        TypeError: The approvals of the agent cannot have another store.
    """
    other_agent: Any = copy.copy(agent)
    toolbox = other_agent._toolbox  # noqa: SLF001 -- the agent's own package
    approvals = toolbox.dispatcher.approvals
    if not hasattr(approvals, "with_store"):
        raise TypeError(
            f"the approvals of this agent, {type(approvals).__name__}, cannot have another store; give its dispatcher "
            "toolkit.approvals.Approvals(...), or give them a method with_store(store)"
        )
    other_agent._toolbox = toolbox.with_approvals(approvals.with_store(store))  # noqa: SLF001 -- as above
    return cast("A", other_agent)


def read_own_session(agent: Any, principal: str | None) -> tuple[str | None, dict[str, Any]]:
    """
    Return on whose behalf a run of *agent* acts, and what it takes over from the agent's own session, as JSON.

    That is the mode, the grants, the loaded tools and the stamps of files. Another *principal* than that of the session
    does not get the grants.
    """
    session = agent._session  # noqa: SLF001 -- the agent's own package
    if session is None:
        return principal, {}
    changes = describe_changes(None, read_state(session))
    if principal is not None and principal != session.principal:
        changes.pop("grants", None)
    return session.principal if principal is None else principal, changes
