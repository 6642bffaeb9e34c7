"""
A conversation is valid between turns, for any text of the model and the tools.
"""

from __future__ import annotations

import pytest

from tests.agent.kit import call
from toolkit.agent.conversation.run_conversation import RunConversation
from toolkit.agent.conversation.valid_messages import find_message_flaw
from toolkit.providers import AssistantMessage, UserMessage
from toolkit.results import ToolResult


def result_of(one_call, text="done", tool="another"):
    """Return a result whose tool has another name than the call, as after an alias."""
    result = ToolResult(text, text)
    result.call_id, result.tool = one_call.id, tool
    return result


@pytest.fixture
def conversation():
    """A conversation with one turn of two calls."""
    conversation = RunConversation([UserMessage.of("go")], frame_results=False)
    calls = conversation.add_reply(AssistantMessage(calls=(call("look", what="a"), call("look", what="b"))))
    conversation.add_results([result_of(one_call) for one_call in calls])
    return conversation


def test_a_finished_turn_is_valid(conversation):
    """Every call has its result, under the name that the model called."""
    assert find_message_flaw(conversation.messages) is None
    assert [result.tool for result in conversation.last_turn()[1]] == ["look", "look"]


def test_an_id_that_was_used_before_gets_another(conversation):
    """Providers refuse an id that stands twice."""
    used = conversation.last_turn()[0][0]
    (again,) = conversation.add_reply(AssistantMessage(calls=(used,)))
    conversation.add_results([result_of(again)])
    assert again.id != used.id
    assert find_message_flaw(conversation.messages) is None


def test_an_empty_reply_is_not_added(conversation):
    """Providers refuse an empty message, so the conversation leaves it out."""
    count = len(conversation.messages)
    assert conversation.add_reply(AssistantMessage(text=" ")) == ()
    assert len(conversation.messages) == count


def test_replacing_one_result_leaves_the_others_unchanged(conversation):
    calls, before = conversation.last_turn()
    late_result = result_of(calls[1], "later")
    conversation.replace_result(1, late_result)
    after = conversation.last_turn()[1]
    assert (after[0], after[1].text, after[1].tool) == (before[0], "later", "look")
    assert late_result.tool == "another", "the caller's result is not changed"


def test_old_results_are_cut_and_the_last_turns_stay(conversation):
    """The cut is in the messages themselves, and is told."""
    for _ in range(3):
        (one_call,) = conversation.add_reply(AssistantMessage(calls=(call("look", what="c"),)))
        conversation.add_results([result_of(one_call, "x" * 3000)])
    assert conversation.cut_old_results(100_000) is None
    cut = conversation.cut_old_results(5_000)
    texts = [message.results[0].text for message in conversation.messages[2::2]]
    assert cut.results == 1
    assert [len(text) == 3000 for text in texts] == [False, False, True, True]


@pytest.mark.parametrize("frame_results", [True, False])
def test_results_are_framed_only_when_they_are_sent(frame_results):
    """The messages that are kept have the plain text."""
    conversation = RunConversation([UserMessage.of("go")], frame_results=frame_results)
    (one_call,) = conversation.add_reply(AssistantMessage(calls=(call("look", what="a"),)))
    conversation.add_results([result_of(one_call)])
    assert conversation.messages[-1].results[0].text == "done"
    assert conversation.framed_messages()[-1].results[0].text.startswith("<result id=") is frame_results
