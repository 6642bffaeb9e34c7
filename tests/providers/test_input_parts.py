"""What the tokens of a request were for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Tool, ToolCall, ToolResult
from toolkit.content import ImagePart, TextPart
from toolkit.providers.base import Reply, Request, Usage
from toolkit.providers.input_parts import InputSplitter
from toolkit.providers.messages import AssistantMessage, Native, ToolMessage, UserMessage

COUNTS = st.integers(0, 10**6)
NAMES = st.sampled_from(["grep", "read", "字"])
RESULTS = st.builds(lambda name, size: ToolResult("é" * size, tool=name, call_id="c"), NAMES, st.integers(0, 500))
MESSAGES = st.lists(
    st.builds(UserMessage.of, st.text(max_size=50))
    | st.builds(
        lambda text: AssistantMessage(text=text, calls=(ToolCall("grep", {"a": text}, "c"),)), st.text(max_size=50)
    )
    | st.builds(lambda results: ToolMessage(tuple(results)), st.lists(RESULTS, max_size=3)),
    max_size=8,
)


def make_catalog() -> Catalog:
    return Catalog(*(Tool.from_schema(name, "Look for words.", {"type": "object"}, print) for name in ("grep", "read")))


def split(messages, *, input_tokens=0, catalog=None, **options) -> Usage:
    request = Request(messages=tuple(messages), catalog=catalog, **options)
    reply = Reply(message=AssistantMessage(text="ok"), stop="answer", usage=Usage(input_tokens=input_tokens))
    return InputSplitter().split(reply, request).usage


def sum_parts(usage: Usage) -> int:
    return usage.definition_tokens + sum(usage.result_tokens.values()) + usage.rest_tokens


@given(MESSAGES, COUNTS, st.booleans())
def test_the_input_parts_add_up_to_the_reported_tokens(messages, input_tokens, has_tools):
    """If the provider reports nothing, they add up to the estimate."""
    usage = split(messages, input_tokens=input_tokens, catalog=make_catalog() if has_tools else None, system="Be kind.")
    assert usage.input_tokens == input_tokens
    assert sum_parts(usage) == (input_tokens or usage.unreported_tokens)
    assert (usage.unreported_tokens > 0) == (input_tokens == 0)
    assert min(usage.definition_tokens, usage.rest_tokens, *usage.result_tokens.values()) >= 0
    assert Usage.from_json(usage.to_json()).to_json() == usage.to_json()


@given(st.lists(st.tuples(MESSAGES, COUNTS), max_size=4))
def test_the_parts_of_all_turns_add_up(turns):
    """Usages are added part by part, and taken away again."""
    usages = [split(messages, input_tokens=tokens, catalog=make_catalog()) for messages, tokens in turns]
    total = sum(usages, Usage())
    assert sum_parts(total) == total.input_tokens + total.unreported_tokens
    assert total.definition_tokens == sum(usage.definition_tokens for usage in usages)
    for usage in usages:
        total -= usage
    assert total.to_json() == Usage().to_json()


def test_each_part_has_the_share_of_its_text():
    """A conversation with two large results, and a definition beside them."""
    results = ToolMessage((ToolResult("x" * 4000, tool="grep"), ToolResult("y" * 2000, tool="read")))
    messages = [UserMessage.of("Look."), results]
    usage = split(messages, input_tokens=3000)
    assert 1950 < usage.result_tokens["grep"] <= 2000
    assert 950 < usage.result_tokens["read"] <= 1000
    assert usage.definition_tokens == 0
    assert split(messages, input_tokens=3000, catalog=make_catalog()).definition_tokens > 0
    plain = split(messages)
    assert (plain.result_tokens, plain.input_tokens) == ({"grep": 1000, "read": 500}, 0)


def test_a_usage_without_cache_figures_is_split():
    """A missing figure stays 0."""
    usage = split([ToolMessage((ToolResult("x" * 400, tool="grep"),))], input_tokens=100)
    assert (usage.cached_tokens, usage.cache_write_tokens, sum_parts(usage)) == (0, 0, 100)


def test_names_that_models_invented_are_counted_together():
    results = [ToolResult.failure("not_found", "no such tool " * 9, tool=f"x{number}") for number in range(9)]
    assert list(split([ToolMessage(tuple(results))]).result_tokens) == ["(unknown)"]


def test_images_cost_a_thousand_tokens():
    image = ImagePart(b"\x89PNG", "image/png")
    assert split([UserMessage.of(image)]).rest_tokens == 1000
    assert split([ToolMessage((ToolResult("", parts=[image, TextPart("")], tool="draw"),))]).result_tokens == {
        "draw": 1000
    }


def test_tokens_of_thinking_count_as_the_rest():
    """Thinking is sent back in the native form of the provider."""
    native = Native("anthropic", [{"type": "thinking", "thinking": "hm " * 1000}])
    assert split([AssistantMessage(text="ok", native=native)]).rest_tokens > 700


def test_the_form_of_the_answer_is_a_definition():
    answer = Tool.from_schema("answer", "Answer.", {"type": "object"}, print)
    assert split([], output=answer).definition_tokens > 0


def test_a_tool_that_cannot_be_described_has_no_tokens():
    """The provider reports the mistake, if it needs the definition."""

    def later(when: "Sometime") -> str:  # noqa: F821, UP037 -- it is never defined
        """Wait."""

    assert split([], catalog=Catalog(later)).definition_tokens == 0


@pytest.mark.parametrize(
    "data",
    [
        {"result_tokens": []},
        {"result_tokens": {"grep": -1}, "input_tokens": 5},
        {"result_tokens": {"grep": "1"}, "input_tokens": 5},
        {"result_tokens": {"grep": 6}, "input_tokens": 5},
        {"definition_tokens": 6, "input_tokens": 5},
        {"grep": 1, "result_tokens": {"grep": 1}, "input_tokens": 5},
        {"rest_tokens": 1},
    ],
)
def test_parts_that_cannot_be_are_refused(data):
    with pytest.raises(ValueError, match="not a usage"):
        Usage.from_json(data)


def test_usages_that_differ_only_in_their_parts_are_equal():
    """The parts are an estimate."""
    assert Usage(input_tokens=5, definition_tokens=3) == Usage(input_tokens=5)
    assert len({Usage(input_tokens=5, result_tokens={"a": 1}), Usage(input_tokens=5)}) == 1
