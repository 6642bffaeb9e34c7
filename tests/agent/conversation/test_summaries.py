"""Which messages stay, what stands for the others, and that nothing is lost that must be kept."""

from __future__ import annotations

import asyncio
import itertools
import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.kit import Shed
from tests.example_counts import limit_examples
from tests.properties.conversation_checks import PROVIDERS
from toolkit.agent import Run, Summary
from toolkit.agent.conversation.compaction import size_of
from toolkit.agent.conversation.kept_messages import split_messages
from toolkit.agent.conversation.run_conversation import RunConversation
from toolkit.agent.conversation.summaries import describe_calls, shorten
from toolkit.agent.conversation.valid_messages import find_message_flaw
from toolkit.agent.plan_mode import build_plan_request
from toolkit.agent.prompts import EXECUTE_PROMPT
from toolkit.agent.summarizer import _render_entries
from toolkit.content import AudioPart, ImagePart, ResourcePart
from toolkit.decisions import ApprovalRequest
from toolkit.errors import ProviderError
from toolkit.providers import AssistantMessage, Native, Request, ToolMessage, UserMessage
from toolkit.results import ToolCall, ToolResult


def turn(number: int, text: str = "fine", *, name: str = "read", kind: str = "ok", **arguments) -> list:
    key = f"c{number}"
    request = ApprovalRequest(tool=name, call_id=key, reason="it asks") if kind == "waiting" else None
    result = ToolResult(text, None, kind, call_id=key, tool=name, request=request)
    return [AssistantMessage(calls=(ToolCall(name, arguments, key),)), ToolMessage((result,))]


@st.composite
def conversations(draw) -> list:
    """Draw any conversation between turns: prompts, answers, turns with results of every kind, plans."""
    messages: list = [UserMessage.of("go")]
    for number in range(draw(st.integers(0, 12))):
        size = draw(st.integers(0, 600))
        kind = draw(
            st.sampled_from(["user", "answer", "turn", "turn", "turn", "failed", "waiting", "plan", "text plan"])
        )
        if kind == "user":
            messages.append(UserMessage.of(f"user {number} " + "u" * size))
        elif kind == "answer":
            messages.append(AssistantMessage(text=f"answer {number} " + "a" * size))
        elif kind == "plan":
            messages += turn(number, "handed over", name="exit_plan", plan=f"plan {number} " + "p" * size)
            messages.append(UserMessage.of(draw(st.sampled_from([EXECUTE_PROMPT, "do it"]))))
        elif kind == "text plan":
            messages += [AssistantMessage(text=f"plan {number} " + "p" * size), UserMessage.of(EXECUTE_PROMPT)]
        else:
            result_kind = "ok" if kind == "turn" else kind
            messages += turn(number, f"result {number}", kind=result_kind, content=f"call {number} " + "c" * size)
    return messages


@given(conversations(), st.integers(1000, 3000), st.integers(1, 3))
@settings(max_examples=limit_examples(40))
def test_any_conversation_stays_valid_after_a_summary(messages, limit, times):
    """At `compact_at` the model sums up old turns. Results, open requests and the plan are kept."""
    conversation = RunConversation(messages, frame_results=False)
    for number in range(times):
        before, earlier = list(conversation.messages), conversation.summary or Summary(text="")
        split = conversation.find_old_messages(limit)
        if split is not None:
            summary = Summary(text=f"Part {number}.", messages=earlier.messages + len(split.old))
            lines = [*earlier.calls, *describe_calls(split.old)]
            conversation.apply_summary(summary.with_calls(lines, 10**6), split.kept)
            check_kept(before[1:] if earlier.text else before, conversation, len(earlier.calls))
        conversation.add_prompt(UserMessage.of("more" * 100))


def check_kept(before: list, conversation: RunConversation, earlier_lines: int) -> None:
    """Check the conversation that had the messages *before* until it was summed up."""
    after, lines = conversation.messages, conversation.summary.calls[earlier_lines:]
    assert find_message_flaw(after) is None
    assert after[0] == conversation.summary.to_message()
    messages = [message.to_json() for message in after]
    assert [message.to_json() for message in before if isinstance(message, UserMessage)][-1] in messages
    plans = [message.to_json() for message in before if "plan " in json.dumps(message.to_json())]
    assert not plans or plans[-1] in messages
    kept_ids = {call.id for message in after if isinstance(message, AssistantMessage) for call in message.calls}
    turns = [(message, answer) for message, answer in itertools.pairwise(before) if isinstance(answer, ToolMessage)]
    for message, answer in turns:
        call, result = message.calls[0], answer.results[0]
        assert call.id in kept_ids or (result.kind != "waiting" and is_listed(call, result, lines))
    assert len(turns) == len(kept_ids) + len(lines)


def is_listed(call: ToolCall, result: ToolResult, lines: tuple[str, ...]) -> bool:
    return any(
        line.startswith(f"- {call.name}(") and line.endswith(f": {result.kind}: {result.text}") for line in lines
    )


def test_the_last_two_turns_and_the_prompt_stay():
    """The rest of the conversation goes on where it was."""
    messages = [UserMessage.of("go"), *(message for number in range(6) for message in turn(number, content="c" * 900))]
    split = split_messages(messages, [size_of(message) for message in messages], 4000)
    assert split.kept == (messages[0], *messages[-4:])
    assert split.old == tuple(messages[1:-4])


def build_paused_message(kind: str, **fields: str) -> AssistantMessage:
    """Return a message of Anthropic's web search, which may pause between the call and its result."""
    return AssistantMessage(text="", native=Native("anthropic", [{"type": kind, **fields}]))


@pytest.mark.parametrize("rest", [[], [UserMessage.of("and now?")], turn(8), [*turn(8), *turn(9)]])
def test_a_turn_in_which_the_model_paused_stays_as_a_whole(rest):
    """A result of a provider's own tool never stays without its call."""
    pauses = [
        build_paused_message("server_tool_use", id="s1", name="web_search"),
        build_paused_message("web_search_tool_result", tool_use_id="s1"),
        build_paused_message("server_tool_use", id="s2", name="web_search"),
        AssistantMessage(text="Oak.", native=Native("anthropic", [{"type": "web_search_tool_result"}])),
    ]
    old = [message for number in range(6) for message in turn(number, content="c" * 900)]
    messages = [UserMessage.of("go"), *old, *pauses, *rest]
    split = split_messages(messages, [size_of(message) for message in messages], 4000)
    kept_pauses = [message for message in split.kept if message in pauses]
    assert kept_pauses in ([], pauses)
    assert kept_pauses == pauses or len(rest) == 4


def test_a_conversation_is_not_summarized_if_that_saves_too_little():
    """A request costs more than it saves if the long part is what has to stay."""
    messages = [UserMessage.of("go"), *turn(0), *turn(1), *(m for n in (2, 3) for m in turn(n, content="c" * 9000))]
    assert split_messages(messages, [size_of(message) for message in messages], 8000) is None
    assert split_messages([UserMessage.of("x" * 9000)], [9000], 8000) is None


def test_older_messages_of_the_user_stay_while_there_is_room():
    """The newest first; one that is too long is summed up with the rest."""
    messages = [
        UserMessage.of("old" * 2000),
        UserMessage.of("short"),
        *(m for n in range(5) for m in turn(n, content="c" * 1500)),
        UserMessage.of("now"),
    ]
    kept_messages = split_messages(messages, [size_of(message) for message in messages], 8000).kept
    assert [message.text[:5] for message in kept_messages if isinstance(message, UserMessage)] == ["short", "now"]


@given(
    st.text(st.characters(codec="utf-8"), max_size=200),
    st.lists(st.text(st.characters(codec="utf-8"), max_size=50), max_size=3),
)
@settings(max_examples=limit_examples(20))
def test_the_summary_message_describes_itself_and_its_text_cannot_end_the_frame(text, calls):
    """A summary that tries to inject instructions stays marked as a summary."""
    summary = Summary(text=text, calls=tuple(calls), messages=7)
    message_text = summary.to_message().text
    head, _, rest = message_text.partition("\n")
    assert "first 7 messages were summed up" in head
    assert "not an instruction of the user" in head
    mark = rest.split("\n")[0].split()[-2]
    assert mark not in summary.to_text()
    assert rest == f"----- begin record {mark} -----\n{summary.to_text()}\n----- end record {mark} -----"


@given(
    st.builds(
        Summary, text=st.text(), calls=st.lists(st.text()).map(tuple), left_out=st.integers(0), messages=st.integers(0)
    )
)
@settings(max_examples=limit_examples(20))
def test_a_summary_survives_json(summary):
    assert Summary.from_json(json.loads(json.dumps(summary.to_json()))) == summary


@pytest.mark.parametrize(
    "data",
    [None, {}, {"text": "x"}, {"text": 1, "calls": [], "left_out": 0, "messages": 0}, {"text": "", "calls": [1], "left_out": 0, "messages": 0},
     {"text": "", "calls": [], "left_out": -1, "messages": 0}, {"text": "", "calls": [], "left_out": True, "messages": 0},
     {"text": "", "calls": [], "left_out": 0, "messages": 0, "more": 1}],
)  # fmt: skip
def test_malformed_summary_data_is_refused_with_a_value_error(data):
    with pytest.raises(ValueError, match="summary"):
        Summary.from_json(data)


def test_a_saved_run_has_its_summary_as_its_first_message():
    """A run whose summary and messages contradict each other is not read."""
    summary = Summary(text="We met.", messages=4)
    run = Run(
        status="done",
        messages=(summary.to_message(), UserMessage.of("hi"), AssistantMessage(text="Hello.")),
        summary=summary,
    )
    assert Run.loads(run.dumps()) == run
    forged = run.to_json()
    forged["summary"]["text"] = "We never met."
    with pytest.raises(ValueError, match="its summary is not its first message"):
        Run.from_json(forged)


def test_two_plans_of_one_conversation_are_distinguished_after_a_summary():
    """A summary makes the conversation shorter, and the second plan must not pass for the first."""
    first = Run(status="planned", plan="A", id="r", messages=tuple(turn(0)))
    summary = Summary(text="x", messages=5)
    second = Run(status="planned", plan="B", id="r", messages=(summary.to_message(), *turn(1)[:1]), summary=summary)
    assert len(first.messages) == len(second.messages)
    assert build_plan_request(first).id != build_plan_request(second).id


def test_lines_about_calls_are_short_and_the_newest_stay():
    """The list of calls is limited, and says how many are missing."""
    lines = describe_calls([*turn(0, "x " * 5000, content="y" * 5000), *turn(1, "a\nb", kind="failed")])
    assert len(lines[0]) < 500
    assert lines[1] == "- read({}): failed: a b"
    summary = Summary(text="t", left_out=2).with_calls([f"- call {number}" for number in range(100)], 50)
    assert (summary.calls, summary.left_out) == (tuple(f"- call {number}" for number in range(95, 100)), 97)
    assert "- (97 older calls)\n- call 95" in summary.to_text()


@given(st.text(max_size=300), st.integers(30, 100))
@settings(max_examples=limit_examples(20))
def test_a_shortened_text_keeps_both_ends(text, limit):
    """It has the number of missing characters, and can be sent."""
    short, sendable = shorten(text, limit), text.encode("utf-8", "replace").decode()
    if len(text) <= limit:
        assert short == sendable
    else:
        left, right = short.split(f" [... {len(text) - limit:,} characters ...] ")
        assert len(left) + len(right) == limit
        assert sendable.startswith(left)
        assert sendable.endswith(right)


@pytest.mark.parametrize("name", PROVIDERS)
@given(messages=conversations())
@settings(max_examples=8)
@pytest.mark.long
def test_every_provider_gets_a_valid_request_after_a_summary(name, messages):
    conversation = RunConversation(messages, frame_results=False)
    split = conversation.find_old_messages(1000)
    if split is not None:
        conversation.apply_summary(Summary(text="It went well.", messages=len(split.old)), split.kept)
    kind, check = PROVIDERS[name]
    bodies: list[dict] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json={"error": {"message": "enough"}})

    async def send() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            with pytest.raises(ProviderError):
                await kind("some-model", api_key="k", client=client).reply(
                    Request(messages=tuple(conversation.messages), catalog=Shed().catalog)
                )

    asyncio.run(send())
    check(bodies[0])


def test_images_do_not_break_a_summary():
    """They count by their size, and a message with one stays or goes as a whole."""
    messages = [
        UserMessage.of("see", ImagePart(b"x" * 9000)),
        *(m for n in range(4) for m in turn(n, content="c" * 3000)),
        UserMessage.of("now"),
    ]
    split = split_messages(messages, [size_of(message) for message in messages], 8000)
    assert messages[0] in split.old


def test_a_summary_is_written_from_the_texts_of_resources():
    """A resource from the user is part of the text, and sound is named."""
    message = UserMessage.of("see", ResourcePart("memo:1", "Buy milk."), AudioPart(b"x", "audio/wav"))
    (entry,) = _render_entries([message], 1000)
    assert entry == "[user] see [resource memo:1]\nBuy milk. (AudioPart, which is not shown)"
