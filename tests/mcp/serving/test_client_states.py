"""The states that a client of the newer revision sends back: which are accepted, and which are refused."""

from __future__ import annotations

import asyncio

import mcp_types as types
import pytest
from mcp import MCPError

from tests.mcp.serving.approval_kit import KEY, ask
from tests.mcp.serving.kit import (
    MODES,
    NEW,
    NO,
    YES,
    Person,
    call_once,
    connected,
    text_of,
)
from toolkit import Dispatcher
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.mcp import build_server
from toolkit.mcp.serving.sealed_state import OpenQuestion, StateSeal, digest_request

pytestmark = pytest.mark.anyio


async def refuse(client, name, arguments, state, answer=YES):
    """Send an answer that must not be accepted, and return the reason."""
    with pytest.raises(MCPError) as caught:
        await call_once(client, name, arguments, responses={"approval": answer}, state=state)
    assert caught.value.code == -32602
    return caught.value.data["reason"]


async def test_an_approval_without_a_question_is_not_accepted(dispatcher, runs):
    """Without a state, an answer has no request, and the person is asked."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        result = await call_once(client, "pay", {"amount": 5}, responses={"approval": YES})
    assert isinstance(result, types.InputRequiredResult)
    assert runs == []


async def test_a_forged_or_altered_state_is_refused(dispatcher, runs):
    """A state that this server did not make, or whose bytes differ, proves nothing."""
    async with connected(dispatcher, NEW, Person(NO), key=KEY) as client:
        state = await ask(client)
        middle = len(state) // 2
        altered = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        question = OpenQuestion(
            request="0" * 32, digest=digest_request("tool", "pay", {"amount": 5}), principal=None, session=None
        )
        other = StateSeal(b"z" * 32).seal(question)
        for forged in (altered, other, "", "v1.", "x", state + "=", state[:-1], "v1." + "A" * 200):
            assert await refuse(client, "pay", {"amount": 5}, forged) == "forged"
        unknown = StateSeal(KEY).seal(question)
        assert await refuse(client, "pay", {"amount": 5}, unknown) == "unknown"
    assert runs == []


async def test_a_state_for_other_arguments_or_another_tool_is_refused(dispatcher, catalog, runs):
    """A person agrees to one set of arguments, and no other set runs."""
    catalog.alias("transfer", "pay")
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client, 5)
        for name, arguments in (
            ("pay", {"amount": 5, "to": "eve"}),
            ("pay", {"amount": True}),
            ("pay", {}),
            ("transfer", {"amount": 5}),
            ("missing", {"amount": 5}),
        ):
            assert await refuse(client, name, arguments, state) == "arguments"
        assert runs == []
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
    assert runs == [(5, "bob")]


async def test_arguments_that_are_not_json_have_no_state(dispatcher, runs):
    """NaN has no canonical form, so no state can be about it."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        assert await refuse(client, "pay", {"amount": float("nan")}, state) == "arguments"
    assert runs == []


async def test_an_answer_is_used_once(dispatcher, runs):
    """A state that comes back a second time is refused, after a yes and after a no."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
        assert await refuse(client, "pay", {"amount": 5}, state) == "answered"
        denied = await ask(client)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": NO}, state=denied)
        assert await refuse(client, "pay", {"amount": 5}, denied) == "answered"
    assert runs == [(5, "bob")]


async def test_only_one_of_twenty_simultaneous_answers_counts(dispatcher, runs):
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        answers = [call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state) for _ in range(20)]
        results = await asyncio.gather(*answers, return_exceptions=True)
    assert len([result for result in results if isinstance(result, types.CallToolResult)]) == 1
    assert runs == [(5, "bob")]


async def test_an_expired_state_is_refused(dispatcher, runs):
    """The person's yes was for then, not for now."""
    question = OpenQuestion(
        request="0" * 32, digest=digest_request("tool", "pay", {"amount": 5}), principal=None, session=None
    )
    old = StateSeal(KEY, max_age_seconds=600, clock=lambda: 1_000_000.0).seal(question)
    async with connected(dispatcher, NEW, Person(NO), key=KEY) as client:
        assert await refuse(client, "pay", {"amount": 5}, old) == "expired"
    assert runs == []


async def test_questions_that_are_never_answered_make_room(catalog, runs):
    """The request of a client that never comes back expires soon after its question, and not after a day."""
    now = [1000.0]
    dispatcher = Dispatcher(catalog, approvals=Approvals(MemoryApprovals(size=3), clock=lambda: now[0]))
    async with connected(dispatcher, NEW, Person(YES), answer_seconds=600) as client:
        for amount in range(3):
            await call_once(client, "pay", {"amount": amount})
        assert (await client.call_tool("pay", {"amount": 3})).is_error
        now[0] += 1201
        assert text_of(await client.call_tool("pay", {"amount": 4})) == "paid 4"
    assert runs == [(4, "bob")]


async def test_requests_that_the_program_answers_itself_keep_their_time(catalog, runs):
    """An asker of the dispatcher is not bound by the time that clients have."""
    requests = []
    approvals = Approvals(ask=requests.append, expires_seconds=5000, clock=lambda: 1000.0)
    async with connected(Dispatcher(catalog, approvals=approvals), NEW, Person(NO), answer_seconds=1) as client:
        await client.call_tool("pay", {"amount": 1})
    assert [request.expires_at for request in requests] == [6000.0]


async def test_a_state_of_another_user_is_refused(dispatcher, runs):
    """Ada was asked, so Bob cannot answer."""
    async with connected(dispatcher, NEW, Person(NO), key=KEY, principal="ada") as client:
        state = await ask(client)
    async with connected(dispatcher, NEW, Person(NO), key=KEY, principal="bob") as client:
        assert await refuse(client, "pay", {"amount": 5}, state) == "principal"
    async with connected(dispatcher, NEW, Person(NO), key=KEY) as client:
        assert await refuse(client, "pay", {"amount": 5}, state) == "principal"
    assert runs == []


@pytest.mark.parametrize("responses", [None, {}, {"other": YES}])
async def test_a_question_without_an_answer_is_asked_again(dispatcher, runs, responses):
    """A client that brings the state and no answer, or one to another question, gets the question again."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        result = await call_once(client, "pay", {"amount": 5}, responses=responses, state=state)
        assert isinstance(result, types.InputRequiredResult)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=result.request_state)
        assert await refuse(client, "pay", {"amount": 5}, state) == "answered"
    assert len(runs) == 1


async def test_processes_that_share_a_key_and_a_store_share_their_questions(catalog, runs, tmp_path):
    """The process that gets the answer need not be the one that asked; and still the answer is used once."""

    def start():
        return Dispatcher(catalog, approvals=Approvals(SQLiteApprovals(tmp_path / "approvals.db")))

    async with (
        connected(start(), NEW, Person(NO), key=KEY) as first,
        connected(start(), NEW, Person(NO), key=[b"n" * 32, KEY]) as second,
        connected(start(), NEW, Person(NO), key=b"o" * 32) as other_client,
    ):
        state = await ask(first)
        assert await refuse(other_client, "pay", {"amount": 5}, state) == "forged"
        await call_once(second, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
        assert await refuse(first, "pay", {"amount": 5}, state) == "answered"
        assert await refuse(second, "pay", {"amount": 5}, state) == "answered"
    assert runs == [(5, "bob")]


async def test_requests_that_are_sealed_and_not_stored_travel_in_the_state(catalog, runs):
    """A dispatcher with a key and no store works too, and takes an answer once."""
    dispatcher = Dispatcher(catalog, approvals=Approvals(key=KEY))
    for mode in MODES:
        async with connected(dispatcher, mode, Person(YES)) as client:
            assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
        assert await refuse(client, "pay", {"amount": 5}, state) == "answered"
    assert len(runs) == 3


@pytest.mark.parametrize("key", [KEY, [KEY, b"o" * 32]], ids=["one key", "keys"])
def test_sealed_requests_are_not_shared_between_processes(catalog, key):
    """Two processes with one key could each use the same answer, so such a server is refused, with the remedy."""
    sealed, stored = Approvals(key=KEY), Approvals(MemoryApprovals(), key=KEY)
    with pytest.raises(ValueError, match=r"another process has used it; share a store"):
        build_server(Dispatcher(catalog, approvals=sealed), key=key)
    build_server(Dispatcher(catalog, approvals=stored), key=key)
    build_server(Dispatcher(catalog, approvals=sealed), key=None)


async def test_a_tool_that_changed_since_the_question_asks_again(dispatcher, catalog, runs):
    """A person agreed to another tool."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        catalog.remove("pay")

        @catalog.tool
        async def pay(amount: int, to: str = "eve", fast: bool = True) -> str:
            """Pay at once."""
            runs.append((amount, to))
            return "paid"

        assert await refuse(client, "pay", {"amount": 5}, state) == "changed"
    assert runs == []
