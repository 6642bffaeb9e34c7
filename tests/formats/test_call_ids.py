"""
Calls that come with the same id: each has its own, and its result goes back under the id that was given.
"""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.kit import Shed
from tests.formats.tools import module
from toolkit import Catalog, Dispatcher, ToolCall, ToolResult
from toolkit.agent.conversation.valid_messages import find_message_flaw
from toolkit.approvals import Approvals
from toolkit.decisions import Decision
from toolkit.formats import FORMATS
from toolkit.formats.call_ids import sent_id, unique_ids

ids = st.lists(st.sampled_from(["", "t1", "t2", "t1~repeat-2", "t1~repeat-3"]) | st.text(max_size=3), max_size=8)


@pytest.fixture
def catalog():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def echo(n: int) -> int:
        """Say it again."""
        return n

    return catalog


@given(ids)
def test_no_two_ids_stay_the_same(given_ids):
    """An id that stands for the first time is kept, and an empty one is left to the dispatcher."""
    new_ids = unique_ids(given_ids)
    named = [call_id for call_id in new_ids if call_id]
    assert len(set(named)) == len(named)
    assert [not call_id for call_id in new_ids] == [not call_id for call_id in given_ids]
    first = [given_ids.index(call_id) == place for place, call_id in enumerate(given_ids)]
    assert all(new == old for new, old, is_first in zip(new_ids, given_ids, first, strict=True) if is_first)


@given(st.lists(st.sampled_from(["t1", "t2", "call_7", "functions.echo:0"]), max_size=8))
def test_the_ids_that_the_provider_gave_are_sent_back(given_ids):
    """They keep their order."""
    assert [sent_id(call_id) for call_id in unique_ids(given_ids)] == given_ids


@pytest.mark.anyio
async def test_two_calls_with_the_same_id_in_a_batch_have_distinguishable_results(catalog):
    """No call is refused or lost."""
    calls = [ToolCall("echo", {"n": n}, "t1") for n in range(3)]
    results = await Dispatcher(catalog).call_many(calls)
    assert [(result.call_id, result.value) for result in results] == [
        ("t1", 0),
        ("t1~repeat-2", 1),
        ("t1~repeat-3", 2),
    ]
    assert [call.id for call in calls] == ["t1", "t1", "t1"]


@pytest.mark.anyio
async def test_a_number_never_meets_an_id_that_is_taken(catalog):
    """This holds also if the model gave an id of that form itself, later in the batch."""
    given_ids = ["t1", "t1", "t1~repeat-2", ""]
    results = await Dispatcher(catalog).call_many([ToolCall("echo", {"n": 1}, call_id) for call_id in given_ids])
    assert len({result.call_id for result in results}) == 4
    assert [results[0].call_id, results[2].call_id] == ["t1", "t1~repeat-2"]


@pytest.mark.anyio
async def test_two_calls_that_ask_under_one_id_are_two_requests(catalog):
    """A person agrees to each of them, and each runs once; by one id they were one request."""
    ran = []

    @catalog.tool(approval="always", concurrency_safe=True, read_only=True)
    async def act() -> str:
        """Act."""
        ran.append(True)
        return "done"

    dispatcher = Dispatcher(catalog, approvals=Approvals())
    waiting = await dispatcher.call_many([ToolCall("act", {}, "t1"), ToolCall("act", {}, "t1")])
    assert len({result.request.id for result in waiting}) == 2
    results = [await dispatcher.resume(result.request.id, Decision.approve(by="ada")) for result in waiting]
    assert [result.kind for result in results] == ["ok", "ok"]
    assert [sent_id(result.call_id) for result in results] == ["t1", "t1"]
    assert len(ran) == 2


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "mcp"])
def test_every_format_sends_back_the_id_that_was_given(name):
    """The message that the results answer has no other."""
    results = [ToolResult(str(n), tool="echo", call_id=key) for n, key in enumerate(unique_ids(["t1", "t1"]))]
    sent = json.dumps(module(name).results(results))
    assert sent.count('"t1"') == 2
    assert "repeat" not in sent


def test_two_calls_with_the_same_id_in_a_response_are_both_answered(catalog):
    """The messages that answer them have that id twice."""
    calls = [
        {"id": "t1", "type": "function", "function": {"name": "echo", "arguments": json.dumps({"n": n})}}
        for n in range(2)
    ]
    response = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": calls}}]}
    results = asyncio.run(Dispatcher(catalog).call_many(module("openai").calls(response, catalog)))
    assert module("openai").results(results) == [
        {"role": "tool", "tool_call_id": "t1", "content": "0"},
        {"role": "tool", "tool_call_id": "t1", "content": "1"},
    ]


@pytest.mark.anyio
async def test_an_agent_keeps_a_conversation_in_which_every_id_stands_once():
    """Within a turn and from turn to turn; each call is answered by its own result."""
    turn = [ToolCall("look", {"what": "cat"}, "t1"), ToolCall("look", {"what": "dog"}, "t1")]
    shed = Shed()
    run = await shed.agent([turn, turn, "Done."]).run("look")
    assert (run.status, find_message_flaw(run.messages), len(shed.done)) == ("done", None, 4)
    results = [result for message in run.messages if hasattr(message, "results") for result in message.results]
    assert [result.text for result in results] == ["a cat", "a dog"] * 2
    assert len({result.call_id for result in results}) == 4


def test_an_id_that_is_repeated_thousands_of_times_is_numbered_at_once():
    """A server that answers so must not hold up the event loop; in quadratic time this takes minutes."""
    assert unique_ids(["t1"] * 20_000)[-1] == "t1~repeat-20000"
