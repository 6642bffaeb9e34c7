"""
What people get wrong first, and the message that tells them what to write instead.
"""

from __future__ import annotations

import asyncio

import pytest

from toolkit import (
    Agent,
    Catalog,
    Decision,
    DefinitionError,
    Dispatcher,
    Inject,
    PermissionGate,
    Session,
    ToolCall,
    ToolResult,
    tool,
)
from toolkit.hooks import Log
from toolkit.providers import ScriptedProvider
from toolkit.testing import make_call

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    catalog = Catalog()

    @catalog.tool(destructive=True)
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        return f"{disk} is empty"

    return catalog


@pytest.mark.parametrize("wrong", [None, True, [Decision.approve()]], ids=["None", "bool", "list"])
async def test_a_value_that_is_not_a_decision_is_refused_with_the_remedy(catalog, wrong):
    agent = Agent(ScriptedProvider([[make_call("wipe", {"disk": "sda"})]]), catalog)
    run = await agent.run("Wipe it.")
    with pytest.raises(TypeError, match=f"write agent.resume.*{run.requests[0].id}"):
        await agent.resume(run, wrong)


async def test_one_decision_is_enough_if_one_request_waits(catalog):
    agent = Agent(ScriptedProvider([[make_call("wipe", {"disk": "sda"})], "Done."]), catalog)
    run = await agent.run("Wipe it.")
    assert (await agent.resume(run, Decision.approve())).text == "Done."


async def test_one_decision_about_two_requests_is_refused_with_the_remedy(catalog):
    """The person has to say which request the decision is about."""

    @catalog.tool(read_only=True, approval="always")
    def look(disk: str) -> str:
        """Look at a disk."""
        return disk

    script = [[make_call("look", {"disk": "sda"}), make_call("look", {"disk": "sdb"})], "Done."]
    agent = Agent(ScriptedProvider(script), catalog)
    run = await agent.run("Look at them.")
    keys = [request.id for request in run.requests]
    assert len(keys) == 2
    with pytest.raises(TypeError) as caught:
        await agent.resume(run, Decision.approve())
    entries = ", ".join(f"{key!r}: Decision.approve(...)" for key in keys)
    assert str(caught.value) == (
        "resume wants the decisions in a dictionary, by the ids of the requests, got Decision; "
        f"write agent.resume(run, {{{entries}}})"
    )


@pytest.mark.parametrize(
    "use",
    [
        lambda dispatcher: dispatcher.call("wipe", {"disk": "sda"}, session="abc"),
        lambda dispatcher: dispatcher.call(ToolCall("wipe", {"disk": "sda"}, session="abc")),
        lambda dispatcher: dispatcher.call("unknown", session="abc"),
        lambda dispatcher: dispatcher.call_many([("wipe", {})], session="abc"),
        lambda dispatcher: dispatcher.resume("id", Decision.approve(), session="abc"),
        lambda dispatcher: dispatcher.explain("wipe", {"disk": "sda"}, session="abc"),
        lambda dispatcher: dispatcher.permitted("abc"),
        lambda dispatcher: asyncio.to_thread(dispatcher.call_sync, "wipe", {"disk": "sda"}, session="abc"),
    ],
    ids=["call", "ToolCall", "unknown tool", "call_many", "resume", "explain", "permitted", "call_sync"],
)
async def test_a_text_is_not_a_session(catalog, use):
    """`session="abc"` gets a message with the remedy."""
    async with Dispatcher(catalog) as dispatcher:
        with pytest.raises(TypeError) as caught:
            await use(dispatcher)
    assert str(caught.value) == (
        "session cannot be str; write session=Session(id='abc'), and give the same object with every call of the "
        "conversation"
    )


async def test_the_session_that_the_message_names_works(catalog):
    """`session="abc"` gets a message with the remedy, and the remedy works."""
    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call("wipe", {"disk": "sda"}, session=Session(id="abc"))
    assert result.value == "sda is empty"


async def test_resources_go_by_type(catalog):
    """`Dispatcher(resources={"db": 1})` gets a message with the remedy, and so does every other place for them."""
    words = r"by type, and 'db' is .*`db: Inject\[Database\]`, so write .*\{Database: \.\.\.\}"
    with pytest.raises(TypeError, match=words):
        Dispatcher(catalog, resources={"db": 1})
    with pytest.raises(DefinitionError.__mro__[1], match=words):
        catalog.provided({"db": 1})
    async with Dispatcher(catalog) as dispatcher:
        with pytest.raises(TypeError, match=words):
            await dispatcher.call("wipe", {"disk": "sda"}, resources={"db": 1})


async def test_resources_by_type_are_given_as_before(catalog):
    """`Dispatcher(resources={"db": 1})`: the remedy works, for a class and for a generic type."""

    @catalog.tool
    def count(numbers: Inject[list[int]], start: Inject[int]) -> int:
        """Count."""
        return sum(numbers) + start

    async with Dispatcher(catalog, resources={list[int]: [1, 2], int: 4}) as dispatcher:
        assert (await dispatcher.call("count", {})).value == 7


@pytest.mark.parametrize("of", [lambda catalog: catalog, lambda catalog: catalog.filtered(lambda tool: True)])
async def test_a_listener_is_a_function(catalog, of):
    """`catalog.subscribe("x")` gets a message with the remedy."""
    with pytest.raises(TypeError, match=r"each change, got str; write catalog\.subscribe\(lambda change"):
        of(catalog).subscribe("x")


async def test_a_kind_is_one_of_the_kinds():
    """`ToolResult(kind="bad")` gets a message with the remedy."""
    with pytest.raises(ValueError, match="ToolResult: the kind 'bad' is not known; .*bad_args"):
        ToolResult(kind="bad")
    with pytest.raises(ValueError, match="'timeuot' is not known; did you mean `timeout`"):
        ToolResult("", None, "timeuot")
    with pytest.raises(TypeError, match="a result has no 'zzz'; its fields are alias, attempts, call_id"):
        ToolResult(zzz=1)


async def test_a_judge_is_not_a_hook(catalog):
    """`PermissionGate` in `hooks=` gets a message with the remedy."""
    with pytest.raises(TypeError, match=r"judges calls; .*permissions=PermissionGate\(\.\.\.\)"):
        Dispatcher(catalog, hooks=[PermissionGate(lambda call: True)])
    with pytest.raises(TypeError, match=r"is a class; give an instance, such as Log\(\.\.\.\)"):
        Dispatcher(catalog, hooks=[Log])


async def test_an_unknown_option_names_the_options():
    """An unknown `@tool` option without a near name gets a message with the remedy."""
    with pytest.raises(DefinitionError) as caught:

        @tool(wibble=1, catalog=None)
        def read() -> None:
            """Read."""

    message = str(caught.value)
    assert "unknown option `wibble`; the options are activity, aliases," in message
    assert message.endswith("data of your own goes into `metadata={...}`")
