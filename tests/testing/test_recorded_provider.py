"""
`RecordedProvider`: what is recorded with one provider is played without it, and a request that differs is shown.
"""

from __future__ import annotations

import json
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, ProviderError, Secret
from toolkit.agent import Agent
from toolkit.approvals.comparisons import equals_except_masks
from toolkit.providers import Native, Price, Reply, Request, ScriptedProvider, TextDelta, Usage, UserMessage
from toolkit.providers.messages import AssistantMessage
from toolkit.testing import RecordedProvider, make_call

pytestmark = pytest.mark.anyio
KEY = f"sk-{'a1b2c3d4' * 4}"


def build_catalog(description: str = "Look an order up.") -> Catalog:
    catalog = Catalog()

    @catalog.tool(read_only=True, description=description)
    def look_up(order: Annotated[int, "Its number."]) -> str:
        return f"order {order} is on its way"

    @catalog.tool(read_only=True)
    def log_in(user: str, password: Annotated[str, Secret()], pin: Annotated[int, Secret()] = 0) -> str:
        """Log in."""
        return f"{user} is in, with {password}"

    return catalog


def build_script() -> ScriptedProvider:
    return ScriptedProvider([[make_call("look_up", {"order": 7})], "It is on its way."], model="test-1")


async def run(provider, prompt="Where is order 7?", catalog=None, **options):
    return await Agent(provider, catalog or build_catalog(), **options).run(prompt)


async def record(path, provider=None, **options):
    return await run(RecordedProvider(path, provider or build_script()), **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "recordings" / "orders.json"


async def test_a_recorded_conversation_is_played_without_the_provider(path):
    recorded = await record(path)
    played = await run(RecordedProvider(path))
    assert (played.status, played.text) == ("done", "It is on its way.")
    assert [message.to_json() for message in played.messages][:2] == [
        message.to_json() for message in recorded.messages
    ][:2]


async def test_the_provider_is_not_asked_if_there_is_a_recording(path):
    await record(path)
    provider = ScriptedProvider([], model="test-1")
    assert (await run(RecordedProvider(path, provider))).text == "It is on its way."
    assert provider.requests == []


async def test_each_player_starts_at_the_beginning(path):
    await record(path)
    for _ in range(2):
        assert (await run(RecordedProvider(path))).status == "done"


async def test_name_model_usage_and_native_content_are_played(path):
    message = AssistantMessage(text="Hello", native=Native("scripted", [{"type": "thinking", "signature": "s1"}]))
    reply = Reply(message=message, stop="answer", usage=Usage(input_tokens=10, output_tokens=2), model="m-2", id="r1")
    await record(path, ScriptedProvider([reply], model="m"))
    player = RecordedProvider(path)
    played = await player.reply(_list_requests(path, build_catalog())[0])
    assert (player.name, player.model) == ("scripted", "m")
    assert (played.usage, played.model, played.id, played.stop) == (reply.usage, "m-2", "r1", "answer")
    assert played.message == message
    assert reply.usage.cost(Price(input=1, output=1)) > 0


def _list_requests(path, catalog):
    """Return the first request again, as the agent sends it."""
    provider = ScriptedProvider(["x"])
    Agent(provider, catalog).run_sync("Where is order 7?")
    return provider.requests


async def test_a_stream_is_recorded_and_played_in_pieces(path):
    request = Request(messages=(UserMessage.of("Hi"),))
    recorder = RecordedProvider(path, ScriptedProvider(["Good morning to you."]))
    recorded = [event async for event in recorder.stream(request)]
    played = [event async for event in RecordedProvider(path).stream(request)]
    assert [event.text for event in played if isinstance(event, TextDelta)] == [
        event.text for event in recorded if isinstance(event, TextDelta)
    ]
    assert played[-1].message == recorded[-1].message


async def test_requests_may_come_in_another_order(path):
    """Runs inside a run go on side by side, so each request is answered by what it asks."""
    first, second = (Request(messages=(UserMessage.of(text),)) for text in ("one", "two"))
    recorder = RecordedProvider(path, ScriptedProvider(["first", "second"]))
    for request in (first, second):
        await recorder.reply(request)
    player = RecordedProvider(path)
    assert [(await player.reply(request)).message.text for request in (second, first)] == ["second", "first"]


async def test_a_typed_answer_is_played(path):
    script = ScriptedProvider(['{"answer": 3}'], structured=True)
    recorded = await Agent(RecordedProvider(path, script), Catalog(), output=int).run("How many?")
    played = await Agent(RecordedProvider(path), Catalog(), output=int).run("How many?")
    assert (recorded.status, played.status, played.output) == ("done", "done", 3)


CHANGES = {
    "prompt": (
        {"prompt": "Where is order 8?"},
        '-     "text": "Where is order 7?"',
        '+     "text": "Where is order 8?"',
    ),
    "system": ({"system": "Be kind."}, '- "system": ""', '+ "system": "Be kind."'),
    "tools": (
        {"catalog": build_catalog("Find an order.")},
        '-   "description": "Look an order up."',
        '+   "description": "Find an order."',
    ),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_request_that_differs_shows_the_difference(path, name):
    options, before, after = CHANGES[name]
    await record(path)
    played = await run(RecordedProvider(path), **options)
    assert played.status == "failed"
    lines = [" ".join(line.rstrip(",").split()) for line in str(played.reason).splitlines()]
    assert " ".join(before.split()) in lines
    assert " ".join(after.split()) in lines
    assert "request 1 in" in str(played.reason)
    assert f"delete {path} to record" in str(played.reason)


async def test_one_request_more_is_an_error(path):
    await record(path)
    player = RecordedProvider(path)
    await run(player)
    with pytest.raises(ProviderError, match="all of the 2 replies in .* are played, and this is one request more"):
        await player.reply(Request(messages=()))


def test_no_recording_and_no_provider_is_an_error(path):
    with pytest.raises(ProviderError, match="there is no recording .*orders.json; give `provider=` to record one"):
        RecordedProvider(path)


async def test_a_recording_of_another_model_is_an_error(path):
    await record(path)
    with pytest.raises(ProviderError, match="recorded with scripted test-1, and the provider is scripted test-2"):
        RecordedProvider(path, ScriptedProvider([], model="test-2"))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"version": 2}', '{"version": 1}', '{"version": 1, "exchanges": [{"request": {"after": 3}}]}'],
)
def test_a_file_that_is_not_a_recording_is_named(tmp_path, text):
    file = tmp_path / "broken.json"
    file.write_text(text)
    with pytest.raises(ProviderError, match=r"cannot read the recording .*broken.json: .*; delete it") as caught:
        RecordedProvider(file)
    # A traceback of pytest ends in the test, and shows no error of the reader.
    entries = caught.traceback.filter(caught)
    assert (len(entries), caught.value.__suppress_context__) == (1, True)


async def test_secrets_are_not_in_the_file(path, monkeypatch):
    """Marked parameters, keys by their form, values of variables, and what the test names itself."""
    monkeypatch.setenv("SHOP_API_KEY", "open-sesame-42")
    script = ScriptedProvider(
        [[make_call("log_in", {"user": "ada", "password": "hunter2!", "pin": 12})], f"Done, {KEY}, open-sesame-42."]
    )
    prompt = f"Log ada in with hunter2! and 12. My key is {KEY}. Today is Monday."
    provider = RecordedProvider(path, script, redact=["Monday"])
    recorded = await run(provider, prompt)
    text = path.read_text(encoding="utf-8")
    assert [secret for secret in ("hunter2", KEY, "open-sesame", "Monday", " 12") if secret in text] == []
    assert recorded.messages[1].calls[0].arguments["password"] == "hunter2!"  # the run itself is not masked
    assert recorded.text == f"Done, {KEY}, open-sesame-42."


@pytest.mark.parametrize("password", ["hunter2!", "another"])
async def test_a_recording_with_masked_secrets_is_played(path, password):
    """A prompt with another secret plays the same recording."""
    script = ScriptedProvider([[make_call("log_in", {"user": "ada", "password": "hunter2!", "pin": 12})], "Done."])
    prompt = "Log ada in with hunter2! and 12."
    await run(RecordedProvider(path, script), prompt)
    played = await run(RecordedProvider(path), prompt.replace("hunter2!", password))
    assert (played.status, played.reason) == ("done", "")


async def test_a_difference_is_shown_without_secrets(path):
    await record(path)
    played = await run(RecordedProvider(path), f"Where? {KEY}")
    assert "Where? [redacted]" in str(played.reason)
    assert KEY not in str(played.reason)


async def test_a_conversation_is_written_once(path):
    """A request has only what it adds to the one before, and the definitions stand in the first."""
    await record(path)
    first, second = json.loads(path.read_text(encoding="utf-8"))["exchanges"]
    assert second["request"].keys() == {"after", "messages"}
    assert [message["role"] for message in second["request"]["messages"]] == ["tool"]
    assert first["request"]["tools"][0]["name"] == "look_up"


async def test_a_failure_of_the_provider_is_not_recorded(path):
    failing = ScriptedProvider([ProviderError("no credit")])
    with pytest.raises(ProviderError, match="no credit"):
        await RecordedProvider(path, failing).reply(Request(messages=()))
    assert not path.exists()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_matches_itself(value):
    assert equals_except_masks(value, json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    ("recorded", "actual", "is_match"),
    [
        ("a [redacted] b", "a x\ny b", True),
        ("a [redacted] b", "a x c", False),
        ("[redacted]", 12, True),
        (1, True, False),
        ({"a": 1}, {"b": 1}, False),
        ({"[redacted]": 1}, {"b": 1}, True),
        ([1], [1, 2], False),
    ],
)
def test_a_mask_matches_any_text(recorded, actual, is_match):
    assert equals_except_masks(recorded, actual) is is_match
