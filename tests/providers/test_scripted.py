"""The provider of tests: it plays what it was given, and remembers what it was asked."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, ProviderError, Session, ToolCall, ToolResult
from toolkit.providers import (
    AssistantMessage,
    Reply,
    Request,
    ScriptedProvider,
    TextDelta,
    ToolMessage,
    UserMessage,
    create_provider,
)

from .making import catalog, hello

pytestmark = pytest.mark.anyio


async def test_replies_are_played_in_order():
    """A text is an answer, calls want to be called, a message and a reply are what they are."""
    whole = Reply(message=AssistantMessage(text="cut"), stop="length")
    scripted = ScriptedProvider(["Hi", [ToolCall("now")], AssistantMessage(text="Bye"), whole], model="m")
    replies = [await scripted.reply(hello()) for _ in range(4)]
    assert [reply.stop for reply in replies] == ["answer", "calls", "answer", "length"]
    assert [reply.message.text for reply in replies] == ["Hi", "", "Bye", "cut"]
    assert [reply.model for reply in replies] == ["m", "m", "m", ""]


async def test_calls_without_an_id_get_one():
    """Providers give one too; one that was given stays."""
    scripted = ScriptedProvider([[ToolCall("a"), ToolCall("b", {"x": 1}, "mine")], [ToolCall("c")]])
    ids = [call.id for _ in range(2) for call in (await scripted.reply(hello())).message.calls]
    assert ids == ["call_1", "mine", "call_3"]


async def test_an_exception_in_the_script_is_raised():
    scripted = ScriptedProvider([ProviderError("overloaded"), "better"])
    with pytest.raises(ProviderError, match="overloaded"):
        await scripted.reply(hello())
    assert (await scripted.reply(hello())).message.text == "better"


async def test_a_reply_may_be_a_function_of_the_conversation():
    """Sync or async, and of any kind that a reply may be."""

    async def later(request):
        return [ToolCall(request.messages[-1].text)]

    scripted = ScriptedProvider([lambda request: request.messages[0].text.upper(), later])
    assert (await scripted.reply(hello())).message.text == "HELLO"
    assert (await scripted.reply(hello())).message.calls[0].name == "Hello"


async def test_running_out_is_an_error_that_counts():
    """A test that asks too much is told how much."""
    scripted = ScriptedProvider(["one"])
    await scripted.reply(hello())
    with pytest.raises(ProviderError, match="has 1 reply, and this is request 2"):
        await scripted.reply(hello())
    assert len(scripted.requests) == 2


async def test_a_script_may_have_no_end():
    """Replies are taken as they are needed."""
    scripted = ScriptedProvider(itertools.repeat("again"))
    assert [(await scripted.reply(hello())).message.text for _ in range(3)] == ["again"] * 3


@given(st.text(max_size=50))
async def test_words_of_a_stream_are_the_text(text):
    """Word by word, and then the whole."""
    events = [event async for event in ScriptedProvider([text]).stream(hello())]
    assert all(isinstance(event, TextDelta) and event.text for event in events[:-1])
    assert "".join(event.text for event in events[:-1]) == text == events[-1].message.text


async def test_a_recorded_request_does_not_change_later():
    """Later changes of the conversation, the catalog or the session do not show in it."""
    tools, session = catalog(), Session()

    @tools.tool(defer=True)
    def rare() -> None:
        """Do something rare."""

    session.load("rare")
    call, result = ToolCall("now", {"a": [1]}, "x"), ToolResult("noon", {"b": [2]}, call_id="x", tool="now")
    messages = (UserMessage.of("Hi"), AssistantMessage(calls=(call,)), ToolMessage((result,)))
    scripted = ScriptedProvider(["ok"])
    await scripted.reply(Request(messages=messages, system="s", catalog=tools, session=session, max_tokens=5))
    call.arguments["a"].append(9)
    result.value["b"].append(9)
    result.text = "changed"
    tools.remove("now")
    [request] = scripted.requests
    assert request.tools == ("files.read", "now", "rare")
    assert request.catalog.names() == ["files.read", "now", "rare"]
    assert request.messages[1].calls[0].arguments == {"a": [1]}
    assert (request.messages[2].results[0].text, request.messages[2].results[0].value) == ("noon", {"b": [2]})
    assert (request.system, request.max_tokens, request.session) == ("s", 5, session)
    with pytest.raises(AttributeError):
        request.system = "other"


async def test_a_request_without_tools_offers_none():
    """So a test can see that planning offered nothing."""
    scripted = ScriptedProvider(["a", "b"])
    await scripted.reply(hello())
    await scripted.reply(hello(catalog=Catalog()))
    assert [request.tools for request in scripted.requests] == [(), ()]
    assert scripted.requests[0].catalog is None


@pytest.mark.parametrize("replies", ["Hi", AssistantMessage(text="Hi"), ProviderError("no"), 5, None])
def test_a_script_is_a_list(replies):
    """A text alone would be played letter by letter."""
    with pytest.raises(TypeError, match="wants a list of replies"):
        ScriptedProvider(replies)


WRONG_ITEMS = [
    (5, "item 2 of the script is int; expected a text"),
    (None, "item 2 of the script is None"),
    ({"a": 1}, "item 2 of the script is dict"),
    (str, "item 2 of the script is the class str"),
    ([5], "item 2 of the script is a list with int in it; a call is ToolCall(name, arguments)"),
    (["text"], "item 2 of the script is a list with str in it"),
    ([{"name": "add"}], "item 2 of the script is a list with dict in it"),
    (ToolCall("add", {}), "item 2 of the script is a call; put the calls of one turn into a list"),
]


@pytest.mark.parametrize(("item", "message"), WRONG_ITEMS)
def test_an_item_of_a_list_that_is_not_a_reply_is_refused_with_its_number(item, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        ScriptedProvider(["fine", item])


@pytest.mark.parametrize(("item", "message"), WRONG_ITEMS)
@pytest.mark.parametrize(
    "build_script",
    [lambda item: iter(["fine", item]), lambda item: ["fine", lambda request: item]],
    ids=["iterator", "function"],
)
async def test_a_later_item_that_is_not_a_reply_is_refused_in_its_turn(build_script, item, message):
    scripted = ScriptedProvider(build_script(item))
    await scripted.reply(hello())
    with pytest.raises(TypeError, match=re.escape(message)):
        await scripted.reply(hello())


async def test_a_function_gets_the_request_that_is_recorded():
    requests = []
    scripted = ScriptedProvider([lambda request: requests.append(request) or "Hello."])
    await scripted.reply(hello(catalog=catalog()))
    assert requests == scripted.requests
    assert requests[0] is scripted.requests[0]
    assert requests[0].tools == ("files.read", "now")


SCRIPT = [[{"name": "look", "arguments": {"what": "tree"}}, {"name": "rest", "id": "c9"}], "A tree."]


async def test_a_file_is_a_script(tmp_path):
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(SCRIPT), encoding="utf-8")
    scripted = create_provider(f"scripted:{path}")
    calls, answer = [await scripted.reply(hello()) for _ in range(2)]
    assert [(call.name, call.arguments, call.id) for call in calls.message.calls] == [
        ("look", {"what": "tree"}, "call_1"),
        ("rest", {}, "c9"),
    ]
    assert answer.message.text == "A tree."
    with pytest.raises(ProviderError, match="the script has 2 replies, and this is request 3"):
        await scripted.reply(hello())


async def test_a_script_in_a_file_goes_on_with_a_conversation(tmp_path):
    """Another process goes on with a saved run, and its first request has the replies from before."""
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(SCRIPT), encoding="utf-8")
    messages = (UserMessage.of("What is there?"), AssistantMessage(calls=(ToolCall("look", {}, "c1"),)))
    scripted = ScriptedProvider.from_file(path)
    assert (await scripted.reply(Request(messages=messages))).message.text == "A tree."
    with pytest.raises(ProviderError, match="the script has 2 replies, and this is request 3"):
        await scripted.reply(hello())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("[", "Expecting value"),
        ("\xff", "codec can't decode"),
        ('"Hello."', "it is str, and not a list of replies"),
        ('["fine", 5]', "item 2 of the script is int"),
        ('[[{"tool": "look"}]]', "item 1 of the script is a list with dict in it"),
        ('[[{"name": "look", "args": {}}]]', "item 1 of the script is a list with dict in it"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_file_that_is_not_a_script_is_named_with_the_reason(tmp_path, text, message):
    path = tmp_path / "answers.json"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=f"cannot read the script {path}: .*{message}"):
        create_provider(f"scripted:{path}")


def test_a_script_takes_no_option_of_a_server(tmp_path):
    with pytest.raises(ValueError, match="it takes no base_url; leave it out"):
        create_provider("scripted:answers.json", base_url="http://x")


async def test_a_scripted_provider_can_be_closed():
    """Code that closes its provider runs with a script, too."""
    async with ScriptedProvider(["Hello."]) as provider:
        reply = await provider.reply(hello())
    assert reply.message.text == "Hello."
