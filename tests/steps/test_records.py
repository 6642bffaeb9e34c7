"""
Records of steps: what is written is what is read, and what is no record is refused.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from toolkit.agent.saved.run_seal import dump_run, load_run
from toolkit.agent.saved.runs import Run
from toolkit.content import ImagePart, TextPart
from toolkit.decisions import ApprovalRequest, Grant
from toolkit.errors import BadArgs
from toolkit.permissions import Permissions
from toolkit.permissions.modes import MODES
from toolkit.providers.base import Reply, Usage
from toolkit.providers.messages import AssistantMessage, Native, UserMessage
from toolkit.results import KINDS, ToolCall, ToolResult
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.steps.records import (
    ReplyToPrompts,
    dump_call,
    dump_reply,
    load_call,
    load_reply,
)
from toolkit.steps.session_changes import apply_changes, describe_changes, read_state

TEXTS = st.text(max_size=8)
COUNTS = st.integers(0, 10**6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=6,
)
CALLS = st.builds(ToolCall, TEXTS, st.dictionaries(TEXTS, JSON, max_size=2) | TEXTS, TEXTS)
USAGES = st.builds(
    lambda counts, parts: Usage(**counts, result_tokens=parts, unreported_tokens=sum(parts.values())),
    st.fixed_dictionaries(
        dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens"), COUNTS)
    ),
    st.dictionaries(TEXTS, COUNTS, max_size=2),
)
MESSAGES = st.builds(
    AssistantMessage,
    text=TEXTS,
    calls=st.lists(CALLS, max_size=2).map(tuple),
    native=st.none() | st.builds(Native, TEXTS, JSON),
)
PROMPTS = st.lists(st.builds(TextPart, TEXTS), min_size=1, max_size=2).map(lambda parts: UserMessage(tuple(parts)))
STOPS = st.sampled_from(["answer", "calls", "length", "refusal", "paused", "other"])
REPLY_FIELDS = {"message": MESSAGES, "stop": STOPS, "usage": USAGES, "model": TEXTS, "id": TEXTS}
REPLIES = st.builds(Reply, **REPLY_FIELDS) | st.builds(
    ReplyToPrompts, said=st.lists(PROMPTS, min_size=1, max_size=2).map(tuple), **REPLY_FIELDS
)
RESULTS = st.builds(
    ToolResult,
    TEXTS,
    JSON,
    st.sampled_from(sorted(KINDS)),
    call_id=TEXTS,
    tool=TEXTS,
    attempts=COUNTS,
    duration_seconds=st.floats(0, 100),
    parts=st.lists(st.builds(TextPart, TEXTS), max_size=2).map(tuple),
    metadata=st.none() | st.dictionaries(st.sampled_from("ab"), JSON, min_size=1, max_size=2),
    repairs=st.lists(TEXTS, max_size=2).map(tuple),
)
GRANTS = st.builds(
    Grant,
    tool=st.sampled_from("abc").map(lambda digit: digit * 64),
    scope=st.just("folder"),
    target=st.sampled_from(["/a", "/b"]),
    shown=TEXTS,
)
STATES = st.fixed_dictionaries(
    {
        "loaded": st.lists(st.sampled_from(["read", "write", "grep"]), unique=True),
        "stamps": st.dictionaries(st.sampled_from(["/a", "/b", "/c"]), st.sampled_from(["1", "2"])),
        "grants": st.lists(GRANTS, max_size=3),
        "mode": st.none() | st.sampled_from(sorted(MODES)),
    }
)


def build_session(state: dict[str, Any]) -> Session:
    session = Session()
    session.load(*state["loaded"])
    if state["stamps"]:
        session.state["toolkit.read_stamps"] = dict(state["stamps"])
    for grant in state["grants"]:
        Permissions.grant(session, grant)
    if state["mode"] is not None:
        Permissions().set_mode(state["mode"], session=session)
    return session


def as_stored(record: dict[str, Any]) -> Any:
    return json.loads(json.dumps(record, allow_nan=False))


@given(REPLIES)
def test_replies_round_trip(reply: Reply) -> None:
    """A reply is the same after it was written and read, with what people said before it."""
    copy = load_reply(as_stored(dump_reply(reply)))
    assert type(copy) is type(reply)
    assert copy == reply
    assert copy.usage.to_json() == reply.usage.to_json()  # also the parts, which are not compared


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")], ids=str)
def test_arguments_that_are_no_json_are_refused_after_they_were_kept(number: float) -> None:
    """A call that was refused for its arguments must not become another one, such as that with the text "nan"."""

    def probe(x: float | str) -> None:
        """Probe."""

    reply = Reply(message=AssistantMessage(calls=(ToolCall("probe", {"x": number}, "a"),)), stop="calls")
    (call,) = load_reply(as_stored(dump_reply(reply))).message.calls
    with pytest.raises(BadArgs, match="is not JSON; use a finite number or null"):
        Tool.of(probe).check(call.arguments)


def test_a_number_without_a_json_form_in_the_metadata_of_a_result_can_be_kept() -> None:
    """A hook has put it there."""
    result = ToolResult("a", metadata={"score": float("nan")})
    assert load_call(as_stored(dump_call(result, Session())), Session()).metadata == {"score": "nan"}


def test_a_reason_to_stop_that_a_provider_made_up_can_be_read() -> None:
    """The run takes such a reply for an answer, also when it is read back."""
    reply = Reply(message=AssistantMessage(text="hello"), stop=cast("Any", "end"))
    assert load_reply(as_stored(dump_reply(reply))) == replace(reply, stop="answer")


@settings(max_examples=limit_examples(25))
@given(RESULTS, STATES)
def test_results_round_trip(result: ToolResult, state: dict[str, Any]) -> None:
    """A result is the same after it was written and read, and a new session gets the state of the old one."""
    session, other = build_session(state), Session()
    copy = load_call(as_stored(dump_call(result, session)), other)
    assert copy.to_json() == result.to_json()
    assert read_state(other) == read_state(session)


@given(STATES, STATES)
def test_changes_lead_from_one_state_to_the_other(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The changes between two states, made in the first, give the second; tools and stamps are only added."""
    after["loaded"] = [*before["loaded"], *(name for name in after["loaded"] if name not in before["loaded"])]
    after["stamps"] = {**before["stamps"], **after["stamps"]}
    session, goal = build_session(before), read_state(build_session(after))
    apply_changes(as_stored(describe_changes(read_state(session), goal)), session)
    state = read_state(session)
    assert (state.loaded, state.stamps, state.mode) == (goal.loaded, goal.stamps, goal.mode)
    assert set(state.grants) == set(goal.grants)


def test_changes_of_calls_that_ran_together_are_joined() -> None:
    """The records of two calls that ran together give the same session in both orders."""
    before = read_state(Session())
    records = [
        describe_changes(before, read_state(build_session({"loaded": [name], "stamps": {name: "1"}, **rest})))
        for name, rest in (
            ("read", {"grants": [Grant(tool="a" * 64, scope="tool")], "mode": None}),
            ("grep", {"grants": [], "mode": "plan"}),
        )
    ]
    states = []
    for order in (records, records[::-1]):
        session = Session()
        for changes in order:
            apply_changes(changes, session)
        states.append((set(session.loaded), session.state["toolkit.read_stamps"], session.grants, session.mode))
    assert states[0] == states[1]
    assert states[0] == ({"read", "grep"}, {"read": "1", "grep": "1"}, (Grant(tool="a" * 64, scope="tool"),), "plan")


def test_unchanged_session_needs_no_room() -> None:
    """A call that changes nothing in its session has no changes in its record."""
    session = build_session({"loaded": ["read"], "stamps": {"/a": "1"}, "grants": [], "mode": "auto"})
    assert dump_call(ToolResult("ok"), session, read_state(session))["session"] == {}


def test_a_session_goes_on_counting_the_turns_of_its_tools() -> None:
    session = Session(unload_after=2)
    session.load("read", "write")
    session.end_turn("read")
    again = Session()
    apply_changes(describe_changes(None, read_state(session)), again)
    assert again.unloading == session.unloading
    again.end_turn("read")
    assert again.loaded == ("read",)
    assert describe_changes(read_state(session), read_state(session)) == {}
    apply_changes({"loaded": ["grep"]}, session)
    assert session.unload_after == 2


def test_metadata_that_is_not_json_does_not_prevent_the_record() -> None:
    """The metadata of a hook may hold any object, and the record is JSON nevertheless."""
    result = ToolResult("ok", metadata={"who": object(), "at": (1, 2)}, parts=(ImagePart(b"i", "image/png"),))
    copy = load_call(as_stored(dump_call(result, Session())), Session())
    assert copy.metadata is not None
    assert copy.metadata["at"] == [1, 2]
    assert copy.parts == result.parts


def test_run_keeps_the_authority_of_its_session() -> None:
    """A run is read with the principal, the grants, the mode and the read files of its session."""
    session = build_session({"loaded": ["read"], "stamps": {"/a": "1"}, "grants": [], "mode": "auto"})
    session.principal = "ada"
    Permissions.grant(session, Grant(tool="a" * 64, scope="tool"))
    run = Run(status="done", session=session)
    copy = load_run(as_stored(dump_run(run)))
    assert copy == run
    assert read_state(copy.session) == read_state(session)
    assert (copy.session.id, copy.session.principal) == (session.id, "ada")


def test_request_survives_in_a_record() -> None:
    """The request of a call that waits is in the record of the call."""
    request = ApprovalRequest(id="r1", tool="cut", arguments={"wood": "oak"}, reason="it cuts", digest="d", call_id="c")
    result = ToolResult("waiting", None, "waiting", request=request)
    assert load_call(as_stored(dump_call(result, Session())), Session()).request == request


REPLY = dump_reply(Reply(message=AssistantMessage(text="hi"), stop="answer"))
CALL = dump_call(ToolResult("ok"), Session())


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({**REPLY, "version": 2}, "version 2 cannot be read"),
        ({**REPLY, "stop": "tired"}, "unknown `stop` 'tired'"),
        ({**REPLY, "message": UserMessage.of("hi").to_json()}, "has to be a message of the model"),
        ({**REPLY, "said": [AssistantMessage(text="hi").to_json()]}, "`said` has to be"),
        ({**REPLY, "mood": "good"}, "'mood'"),
        ({name: value for name, value in REPLY.items() if name != "usage"}, "`usage` is missing"),
        ([], "version None cannot be read"),
    ],
)
def test_a_malformed_record_of_a_reply_is_refused(record: Any, words: str) -> None:
    """The message names the place."""
    with pytest.raises(ValueError, match=words):
        load_reply(record)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({**CALL, "version": "1"}, "version '1' cannot be read"),
        ({"version": 1}, "`result` is missing"),
        ({**CALL, "result": {**CALL["result"], "kind": "odd"}}, "unknown kind 'odd'"),
        ({**CALL, "session": {"sound": 1}}, "unknown 'sound'"),
        ({**CALL, "session": {"loaded": [1]}}, "`loaded` has to be"),
        ({**CALL, "session": {"unloading": 3}}, "`unloading` has to be"),
        ({**CALL, "session": {"unloading": {"unload_after": 0}}}, "in `unload_after`, got 0"),
        ({**CALL, "session": {"stamps": {"/a": 1}}}, "`stamps` has to be"),
        ({**CALL, "session": {"grants": [{"tool": "t"}]}}, "`grants` has to be"),
        ({**CALL, "session": {"grants": [{"tool": "t", "scope": "tool"}]}}, "digest of its identity"),
        ({**CALL, "session": {"loaded": ["read"], "mode": "odd"}}, "odd"),
    ],
)
def test_a_malformed_record_of_a_call_is_refused(record: Any, words: str) -> None:
    """The session is not changed."""
    session = Session()
    with pytest.raises(ValueError, match=words):
        load_call(record, session)
    assert read_state(session) == read_state(Session())
