"""A restaurant whose tool asks three questions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkit.approvals import ApprovalError, Approvals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher

COUNT = {"type": "integer", "minimum": 1}


class Restaurant:
    """A tool that asks three questions before it books a table."""

    def __init__(self) -> None:
        self.starts = 0
        self.booked: list[Any] = []
        self.catalog = catalog = Catalog()

        @catalog.tool
        async def book(day: str, context: Context) -> str:
            """Book a table."""
            self.starts += 1
            people, is_late = await asyncio.gather(
                context.ask("people", "How many people?", COUNT),
                context.ask("late", "Is it late?", {"type": "boolean"}),
            )
            name = await context.ask("name", "Which name?")
            self.booked.append((day, people, is_late, name))
            return f"booked for {name!r}"

    def build(self, approvals: Approvals | None = None, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, approvals=approvals, **options)


async def refuse(dispatcher: Dispatcher, request: Any, decision: Decision) -> ApprovalError:
    """Return the error that *decision* is refused with."""
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request, decision)
    return caught.value
