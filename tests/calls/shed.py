"""A shed with tools that ask, for the tests of calls that go on after an answer."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from tests.approvals.processes import running
from toolkit.approvals import ApprovalError, Approvals
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions

KEY = b"k" * 32


class AskingShed:
    """Tools that count, and a dispatcher as often as it is wanted."""

    def __init__(self, **facts: Any) -> None:
        self.ran: list[Any] = []
        self.permissions = Permissions(rules=["deny cut(wood=oak)", "ask cut(wood=elm)"])
        self.catalog = catalog = Catalog()
        facts.setdefault("destructive", True)

        @catalog.tool(**facts)
        async def cut(wood: str, pieces: int = 1) -> str:
            """Cut wood."""
            self.ran.append((wood, pieces))
            return f"cut {wood}"

        @catalog.tool(destructive=True)
        async def lock(code: Annotated[str, Secret]) -> str:
            """Lock the door."""
            self.ran.append(code)
            return "locked"

    def dispatcher(self, approvals: Approvals | None = None, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, permissions=self.permissions, approvals=approvals, **options)


async def waiting(dispatcher: Dispatcher, wood: str = "pine", **options: Any) -> ApprovalRequest:
    """Call `cut`, which waits, and return its request."""
    result = await dispatcher.call("cut", {"wood": wood}, **options)
    assert result.request is not None
    return result.request


async def refusal(dispatcher: Dispatcher, request: Any, decision: Decision | None = None, **options: Any) -> str:
    """Return why an answer is not taken."""
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request, decision or Decision.approve(), **options)
    assert str(caught.value)
    return caught.value.why


async def claim_for_dead_owner(store: Any, request: ApprovalRequest, arguments: Any = None) -> None:
    """Claim *request* in the name of a process that is gone."""
    with running("live") as process:
        theirs = process.stdout.readline().strip()
        process.kill()
        process.wait()
    assert store.settle(
        request.id, Settlement("claimed", by="ada", owner=theirs, now=request.created_at + 1, arguments=arguments)
    )


def with_another_schema() -> Catalog:
    catalog = Catalog()

    @catalog.tool(destructive=True)
    async def cut(wood: str, pieces: int = 1, deep: bool = False) -> str:
        """Cut wood."""
        raise AssertionError("it must not run")

    return catalog
