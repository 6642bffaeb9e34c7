"""What an answer leads to does not depend on the store that the request was kept in."""

from __future__ import annotations

import pytest

from toolkit.approvals import Approvals, MemoryApprovals, PostgresApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import AuthNeeded, AuthRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions

pytestmark = pytest.mark.anyio


class Token(str):
    """A login."""


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request, tmp_path):
    """A store of each kind. Only those outside of the process can have been written by another program."""
    if request.param == "memory":
        yield MemoryApprovals()
    elif request.param == "sqlite":
        yield SQLiteApprovals(tmp_path / "x.approvals.sqlite")
    else:
        store = PostgresApprovals(request.getfixturevalue("postgres_schema_url"))
        yield store
        store.close()


async def test_a_rule_that_is_gone_when_the_answer_comes_has_allowed_nothing(store):
    catalog, rules = Catalog(), ["allow paint"]

    @catalog.tool(destructive=True)
    async def paint(context: Context) -> str:
        """Paint something."""
        return str(await context.ask("colour", "Which colour?"))

    waiting = await build_dispatcher(catalog, store, "default", rules).call("paint")
    later = build_dispatcher(catalog, store, "default", [])
    waiting = await later.resume(waiting.request.id, Decision.approve(answers={"colour": "red"}))
    assert waiting.request.asked_by == ("mode `default`",)
    assert waiting.request.is_approval


def build_dispatcher(catalog, store, mode, rules):
    """Return a dispatcher of a process that uses *store*."""
    return Dispatcher(catalog, permissions=Permissions(mode, rules), approvals=Approvals(store))


@pytest.mark.parametrize(
    ("mode", "rules"), [("default", ["allow paint", "allow push"]), ("default", ["allow *"]), ("bypass", [])]
)
async def test_a_call_that_a_rule_allows_is_not_approved_after_an_answer(store, mode, rules):
    """A person who answers a question, or gives credentials, is asked for nothing that the rules have allowed."""
    catalog = Catalog()

    @catalog.tool(destructive=True, approval=lambda arguments: mode == "bypass")
    async def paint(context: Context) -> str:
        """Paint something."""
        return f"{await context.ask('colour', 'Which colour?')}, {await context.ask('frame', 'Which frame?')}"

    @catalog.tool(destructive=True)
    async def push(context: Context) -> str:
        """Push something."""
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="github"))
        return "pushed"

    dispatcher = build_dispatcher(catalog, store, mode, rules)
    waiting = await dispatcher.call("paint")
    assert (waiting.request.reason, waiting.request.asked_by) == ("it asks: Which colour?", ())
    waiting = await dispatcher.resume(waiting.request.id, Decision.approve(answers={"colour": "red"}))
    assert waiting.reason == "it asks: Which frame?"
    painted = await dispatcher.resume(waiting.request.id, Decision.approve(answers={"frame": "oak"}))
    assert painted.text == "red, oak"

    waiting = await dispatcher.call("push")
    assert (
        await dispatcher.resume(waiting.request.id, Decision.approve(), resources={Token: Token()})
    ).text == "pushed"
