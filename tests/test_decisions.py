"""
Requests and decisions: what travels, and what is not taken for one.
"""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.decisions import (
    ApprovalRequest,
    ArgumentEdit,
    AuthNeeded,
    AuthRequest,
    Changed,
    Decision,
    Grant,
    Precondition,
)
from toolkit.errors import ToolError
from toolkit.questions import DECLINED, AnsweredQuestion, Question

texts = st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
times = st.floats(0, 2**40)
arguments = st.dictionaries(texts, values, max_size=3)
QUESTIONS = st.builds(
    Question, key=texts.filter(str.strip), message=texts.filter(str.strip), schema=st.just({"type": "string"})
)
REQUESTS = st.builds(
    ApprovalRequest,
    tool=texts,
    origin=texts | st.just("python"),
    call_id=texts,
    reason=texts,
    arguments=arguments,
    asked_by=st.lists(texts, max_size=2).map(tuple),
    preview=st.none() | texts,
    is_cut=st.booleans(),
    preconditions=st.lists(st.builds(Precondition, path=texts, sha256=st.none() | texts), max_size=2).map(tuple),
    grants=st.lists(
        st.builds(
            Grant,
            tool=texts,
            scope=st.sampled_from(["tool", "command", "folder"]),
            target=texts,
            shown=texts,
            rule=texts,
        ),
        max_size=2,
    ).map(tuple),
    repairs=st.lists(texts, max_size=2).map(tuple),
    edits=st.lists(st.builds(ArgumentEdit, by=st.none() | texts, before=arguments, after=arguments), max_size=2).map(
        tuple
    ),
    session=st.none() | texts,
    principal=st.none() | texts,
    waits_for=st.none() | texts,
    trace_parent=st.none() | texts,
    auth=st.none()
    | st.builds(
        AuthRequest, provider=texts, scopes=st.lists(texts, max_size=2).map(tuple), url=st.none() | texts, reason=texts
    ),
    questions=st.lists(QUESTIONS, max_size=2).map(tuple),
    answers=st.lists(
        st.builds(AnsweredQuestion, question=QUESTIONS, answer=values | st.just(DECLINED)), max_size=2
    ).map(tuple),
    created_at=times,
    expires_at=st.none() | times,
    digest=texts,
    seal=st.none() | texts,
    alias=st.none() | texts,
    cost=st.just(0.0) | st.floats(0, 1e6),
)


@given(REQUESTS)
def test_a_request_comes_back_unchanged_from_json(request):
    """This holds also through text, and with every field in it."""
    data = json.loads(json.dumps(request.to_json()))
    assert ApprovalRequest.from_json(data) == request
    names = {field.name for field in fields(ApprovalRequest)}
    # A request without these looks as before the fields existed, so that older seals and signatures still fit.
    missing = {name for name in ("edits", "questions", "answers", "cost") if not getattr(request, name)}
    missing |= {"alias"} if request.alias is None else set()
    missing |= {"origin"} if request.origin == "python" else set()
    missing |= {"trace_parent"} if request.trace_parent is None else set()
    assert data.keys() == {"version", *(names - missing)}


@given(REQUESTS, st.data())
def test_any_data_is_a_request_or_raises_a_value_error(request, data):
    name = data.draw(st.sampled_from(sorted(request.to_json())))
    odd = {**request.to_json(), name: data.draw(values)}
    try:
        read = ApprovalRequest.from_json(odd)
    except ValueError:
        return
    assert ApprovalRequest.from_json(read.to_json()) == read


GOOD = ApprovalRequest(tool="cut", call_id="c1", reason="why").to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": 2}, "version 2 cannot be read"),
        ({"version": True}, "version True cannot be read"),
        ({"version": None}, "version None"),
        ({"more": 1}, "'more' cannot be int"),
        ({"tool": None}, "'tool' cannot be NoneType"),
        ({"is_cut": 1}, "'is_cut' cannot be int"),
        ({"created_at": True}, "'created_at' cannot be bool"),
        ({"asked_by": [1]}, "'asked_by' is a list of texts"),
        ({"repairs": [["x"]]}, "'repairs' is a list of texts"),
        ({"grants": ["all"]}, "is no Grant"),
        ({"grants": [{"tool": "x", "scope": "tool", "more": 1}]}, "is no Grant"),
        ({"grants": [{"tool": 5, "scope": "tool"}]}, "`tool` of a Grant cannot be 5"),
        ({"grants": [{"scope": "tool"}]}, "tool"),
        ({"preconditions": [{"path": "a", "sha256": 5}]}, "`sha256` of a Precondition cannot be 5"),
        ({"auth": {}}, "provider"),
        ({"auth": {"provider": "x", "scopes": "repo"}}, "`scopes` of a AuthRequest"),
        ({"auth": {"provider": None}}, "`provider`"),
    ],
)
def test_the_error_names_the_malformed_field(change, words):
    with pytest.raises(ValueError) as caught:
        ApprovalRequest.from_json({**GOOD, **change})
    assert words in str(caught.value)


@pytest.mark.parametrize("missing", ["id", "tool", "call_id", "reason", "created_at"])
def test_a_request_without_a_required_field_is_refused(missing):
    """A request without its id would get a new one."""
    with pytest.raises(ValueError, match=f"lacks {missing}"):
        ApprovalRequest.from_json({name: value for name, value in GOOD.items() if name != missing})


@pytest.mark.parametrize("data", [None, [], "text", 5])
def test_data_that_is_not_an_object_is_refused(data):
    with pytest.raises(ValueError, match="cannot be read"):
        ApprovalRequest.from_json(data)


def test_every_request_has_a_different_id():
    """An id is 128 random bits, in hexadecimal."""
    ids = {ApprovalRequest(tool="t", call_id="c", reason="r").id for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(bytes.fromhex(request_id)) for request_id in ids} == {16}


@pytest.mark.parametrize(
    ("decision", "approved"),
    [(Decision.approve(), True), (Decision.deny(), False), (Decision.approve(arguments={}), True)],
)
def test_a_decision_is_a_yes_or_a_no_and_cannot_be_changed(decision, approved):
    assert decision.approved is approved
    with pytest.raises(FrozenInstanceError):
        decision.approved = not approved


def test_grants_with_different_words_are_equal():
    """The words are for people."""
    options: dict[str, Any] = {"tool": "t", "scope": "tool"}
    assert Grant(**options, shown="always") == Grant(**options, shown="immer")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (AuthNeeded(AuthRequest(provider="hub", reason="it is private")), "it is private"),
        (AuthNeeded(AuthRequest(provider="hub")), "hub wants credentials"),
        (Changed("the file changed"), "the file changed"),
    ],
)
def test_an_interrupt_without_a_dispatcher_is_an_error(error, text):
    """A function called by hand raises it."""
    assert isinstance(error, ToolError)
    assert str(error) == text


@pytest.mark.parametrize(
    "edit",
    [
        5,
        {},
        {"by": 5, "before": {}, "after": {}},
        {"by": "ada", "before": [], "after": {}},
        {"by": "ada", "before": {}, "after": {}, "more": 1},
    ],
)
def test_a_malformed_edit_is_refused(edit):
    data = ApprovalRequest(tool="t", call_id="c", reason="r").to_json()
    with pytest.raises(ValueError, match="is no ArgumentEdit"):
        ApprovalRequest.from_json({**data, "edits": [edit]})


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"approved": True, "by": 5}, TypeError, "by cannot be int; give the name of the person as a text"),
        ({"approved": True, "principal": 5}, TypeError, "principal cannot be int"),
        ({"approved": False, "reason": None}, TypeError, "reason cannot be None; give a text"),
        ({"approved": False, "arguments": {"path": "x"}}, ValueError, "a denial has no arguments, grant or answers"),
        ({"approved": False, "grant": Grant(tool="t", scope="tool")}, ValueError, "a denial has no arguments"),
        ({"approved": False, "answers": {}}, ValueError, "a denial has no arguments, grant or answers"),
        (
            {"approved": True, "answers": ["x"]},
            TypeError,
            "answers are a dictionary from the keys of request.questions",
        ),
    ],
)
def test_an_answer_that_could_not_be_recorded_or_would_be_ignored_is_refused(fields, error, words):
    """A number as the name of the person would run the call and lose its record."""
    with pytest.raises(error, match=words):
        Decision(**fields)
