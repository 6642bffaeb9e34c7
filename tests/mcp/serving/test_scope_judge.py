"""Scopes: a client sees and calls the tools that the scopes of its token grant, and no other."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Context, Dispatcher, Permissions
from toolkit.context import ClientRequest, current_request
from toolkit.mcp.serving.scope_judge import ScopeJudge

NAMES = ("list_orders", "list_users", "wipe", "write")
PATTERNS = {
    "list_orders": {"list_orders"},
    "list_*": {"list_orders", "list_users"},
    "*": set(NAMES),
    "group:orders": {"list_orders", "write"},
    "w*": {"wipe", "write"},
    "erase": set(),  # an alias is no name
}
SCOPES = st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from(sorted(PATTERNS)), max_size=3), max_size=4)
HELD = st.frozensets(st.sampled_from("abcde"))


def build_catalog():
    """Make a catalog of four tools, two of them in a group, one with an alias."""
    catalog = Catalog()

    def add(name, **facts):
        @catalog.tool(name=name, **facts)
        async def run(path: str = "x") -> str:
            """Do it."""
            return name

    add("list_orders", read_only=True, group="orders")
    add("list_users", read_only=True)
    add("wipe", destructive=True, aliases=["erase"])
    add("write", group="orders")
    return catalog


CATALOG = build_catalog()


@contextlib.contextmanager
def requested_with(scopes):
    """Run the block as for a request with a token that has *scopes*."""
    token = current_request.set(ClientRequest(principal="ada", scopes=frozenset(scopes)))
    try:
        yield
    finally:
        current_request.reset(token)


@given(SCOPES, HELD)
def test_exactly_the_granted_tools_are_listed_and_run(scopes, user_scopes):
    """The list and the verdict agree, and both follow the patterns of the scopes."""
    granted = set().union(*(PATTERNS[text] for scope in user_scopes for text in scopes.get(scope, ())))
    dispatcher = Dispatcher(CATALOG, permissions=ScopeJudge(scopes))

    async def call_all():
        return {name for name in NAMES if (await dispatcher.call(name, {})).kind == "ok"}

    with requested_with(user_scopes):
        assert set(dispatcher.permitted().names()) == granted
        assert asyncio.run(call_all()) == granted


@given(SCOPES, HELD, HELD)
def test_a_further_scope_never_takes_a_tool_away(scopes, user_scopes, further):
    """A step up keeps what the client had."""
    dispatcher = Dispatcher(CATALOG, permissions=ScopeJudge(scopes))
    with requested_with(user_scopes):
        before = set(dispatcher.permitted().names())
    with requested_with(user_scopes | further):
        assert before <= set(dispatcher.permitted().names())


@given(SCOPES, HELD)
def test_the_first_scope_that_is_named_is_enough(scopes, user_scopes):
    """A client that gets it sees the tool."""
    judge = ScopeJudge(scopes)
    for tool in CATALOG:
        for scope in judge.find_scopes(tool)[:1]:
            with requested_with({*user_scopes, scope}):
                assert judge.could_allow(tool, frozenset({tool.name}))


@pytest.mark.anyio
async def test_a_scope_can_grant_some_calls_of_a_tool():
    """The tool is listed, and the verdict names the scopes that are missing for another call."""
    dispatcher = Dispatcher(CATALOG, permissions=ScopeJudge({"notes": "write(path=notes-*)", "admin": "write"}))
    with requested_with(["notes"]):
        assert dispatcher.permitted().names() == ["write"]
        assert (await dispatcher.call("write", {"path": "notes-1"})).kind == "ok"
        result = await dispatcher.call("write", {"path": "letters"})
        assert result.kind == "denied"
        assert "calls of `write` need the scope `notes` or `admin`" in result.text
        assert "no scope grants it" in (await dispatcher.call("wipe", {})).text


@pytest.mark.anyio
async def test_scopes_forbid_and_never_lift_a_rule():
    """The mode still asks, and a deny rule stays."""
    permissions = [Permissions("default", ["deny wipe"]), ScopeJudge({"all": "*"})]
    dispatcher = Dispatcher(CATALOG, permissions=permissions)
    with requested_with(["all"]):
        kinds = [(await dispatcher.call(name, {})).kind for name in NAMES]
        assert kinds == ["ok", "ok", "denied", "waiting"]
        assert "wipe" not in dispatcher.permitted()


@pytest.mark.anyio
async def test_a_call_without_a_request_is_denied():
    """The judge is for calls that come over HTTP."""
    dispatcher = Dispatcher(CATALOG, permissions=ScopeJudge({"all": "*"}))
    assert (await dispatcher.call("write", {})).kind == "denied"
    assert list(dispatcher.permitted()) == []


@pytest.mark.anyio
async def test_a_sync_tool_sees_the_request_in_its_thread():
    """The context of a call follows it everywhere."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def whoami(context: Context) -> str:
        """Say who asks."""
        assert "whoami" in context.permissions.permitted(catalog)
        return f"{context.request.principal} {sorted(context.request.scopes)}"

    with requested_with(["a"]):
        result = await Dispatcher(catalog, permissions=ScopeJudge({"a": "whoami"})).call("whoami", {})
    assert result.value == "ada ['a']"


@pytest.mark.parametrize(
    ("scopes", "problem"),
    [
        (["read"], "scopes is a dictionary from scopes to their tools"),
        ({"read": 5}, r"`scopes\['read'\]` is a list of rules"),
        ({"read": "allow list_*"}, "rule `allow list_\\*`"),
        ({"read": [""]}, "it names no tool"),
    ],
)
def test_scopes_without_a_valid_grant_are_refused(scopes, problem):
    """The message says what is wrong."""
    with pytest.raises((TypeError, ValueError), match=problem):
        ScopeJudge(scopes)


def test_a_misspelt_tool_is_a_mistake():
    """The message suggests the right name."""
    assert "did you mean `list_orders`" in ScopeJudge({"read": "list_order"}).mistakes(CATALOG)[0]
