"""A call has a digest, a result has words for the model, and both survive being written down."""

import copy
import json
import pickle
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts import AUDIO_PARTS, RESOURCE_PARTS
from tests.properties.values import json_objects, json_values
from toolkit import BadArgs, Problem, Safety, ToolError, ToolkitError, Transient, UnknownTool
from toolkit.content import FilePart, ImagePart, JsonPart, TextPart, part_from_json
from toolkit.decisions import ApprovalRequest
from toolkit.errors import ErrorInfo
from toolkit.results import KINDS, ToolResult

ERROR_KINDS = sorted(KINDS - {"ok", "waiting"})

texts = st.text(max_size=20)
parts = (
    st.builds(TextPart, texts)
    | st.builds(JsonPart, json_values())
    | st.builds(ImagePart, st.binary(max_size=20), texts)
    | st.builds(FilePart, texts, st.none() | texts, st.none() | texts)
    | AUDIO_PARTS
    | RESOURCE_PARTS
)
approval_requests = st.builds(
    ApprovalRequest,
    tool=texts,
    call_id=texts,
    reason=texts,
    arguments=json_objects(),
    preview=st.none() | texts,
    repairs=st.lists(texts, max_size=2).map(tuple),
    session=st.none() | texts,
    principal=st.none() | texts,
    waits_for=st.none() | texts,
    alias=st.none() | texts,
    cost=st.just(0.0) | st.floats(0, 1e6),
)
results = st.builds(
    ToolResult,
    texts,
    json_values(),
    st.sampled_from(sorted(KINDS)),
    call_id=texts,
    tool=texts,
    alias=st.none() | texts,
    cost=st.just(0.0) | st.floats(0, 1e6),
    parts=st.lists(parts, max_size=3),
    error=st.none() | st.builds(ErrorInfo, texts, json_objects()),
    request=st.none() | approval_requests,
    repairs=st.lists(texts, max_size=2),
    attempts=st.integers(0, 5),
    retries=st.lists(texts, max_size=2),
    duration_seconds=st.floats(0, 1e6),
    truncated=st.booleans(),
    metadata=st.none() | json_objects(),
)


@given(results)
def test_a_result_comes_back_unchanged_from_json(result):
    """Only the exception is lost."""
    written = json.loads(json.dumps(result.to_json(), allow_nan=False))
    read = ToolResult.from_json(written)
    assert read.to_json() == written
    assert list(read.parts) == list(result.parts)
    assert read.request == result.request
    assert (read.kind, read.text, read.value, read.attempts) == (
        result.kind,
        result.text,
        result.value,
        result.attempts,
    )


@given(approval_requests)
def test_a_request_comes_back_unchanged_from_json(request):
    """An answer needs its id."""
    assert ApprovalRequest.from_json(json.loads(json.dumps(request.to_json()))) == request


@pytest.mark.parametrize("version", [None, 0, 2, "1", True, 1.0])
@pytest.mark.parametrize("kind", [ToolResult, ApprovalRequest])
def test_another_version_is_refused(kind, version):
    """The message has the version that can be read."""
    with pytest.raises(ValueError, match=r"of version .* cannot be read; version 1 can"):
        kind.from_json({"version": version, "kind": "ok"})


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"kind": "nice"}, "unknown kind 'nice'"),
        ({"kind": ["ok"]}, "'kind' cannot be list"),
        ({"text": 5}, "'text' cannot be int"),
        ({"surprise": 1}, "'surprise' cannot be int"),
        ({"parts": [{"type": "video"}]}, "type 'video' cannot be read; known are text"),
        ({"parts": [{"type": "text"}]}, "lacks 'text'"),
        ({"parts": ["text"]}, "type None cannot be read"),
        ({"parts": [{"type": "image", "data": "!", "media_type": "image/png"}]}, "base64"),
        ({"error": {"details": {}}}, "its error lacks 'message'"),
        ({"request": {"version": 1}}, "it lacks call_id, created_at, id, reason, tool"),
        ({"request": {"version": 1, "tool": 5}}, "'tool' cannot be int"),
        ({"request": {"version": 1, "surprise": 5}}, "'surprise' cannot be int"),
    ],
)
def test_an_unknown_shape_is_refused(changes, match):
    """There is one kind of exception, with the reason."""
    with pytest.raises(ValueError, match=match):
        ToolResult.from_json({**ToolResult("fine").to_json(), **changes})


@pytest.mark.parametrize("data", [None, [], "text"])
@pytest.mark.parametrize("read", [ToolResult.from_json, ApprovalRequest.from_json, part_from_json])
def test_stored_data_that_is_not_an_object_is_refused(read, data):
    with pytest.raises(ValueError):
        read(data)


def test_the_exception_is_never_written_down():
    """An exception may hold secrets, and it has no JSON form."""
    result = ToolResult.failure("failed", "broken", cause=ValueError("inside"))
    assert "inside" not in json.dumps(result.to_json())
    assert "inside" not in repr(result.error)


# The words.


@pytest.mark.parametrize(
    ("kind", "message", "text"),
    [
        ("not_found", "unknown tool `x`", "error: unknown tool `x`\nCall one of the tools you were given."),
        (
            "bad_args",
            'limit: expected an integer, got "ten"',
            'error: invalid arguments: limit: expected an integer, got "ten"\nCorrect the arguments and call again.',
        ),
        ("safety", "no", "error: safety check failed: no\nDo not try again; tell the user why it was refused."),
        ("transient", "busy", "error: transient failure: busy\nIt may work later."),
        ("failed", "broken", "error: tool failed: broken\nTry another way, or tell the user."),
        ("failed", "", "error: tool failed\nTry another way, or tell the user."),
    ],
)
def test_the_model_reads_the_problem_and_the_remedy(kind, message, text):
    """The text has the phrase of the kind, the message and the advice."""
    assert ToolResult.failure(kind, message).text == text


def test_an_unknown_tool_is_named_with_its_neighbours():
    """The name first, then what was probably meant."""
    cause = UnknownTool("red_file", ["read_file", "write"])
    text = ToolResult.failure("not_found", str(cause), cause=cause).text
    assert text.startswith("error: unknown tool `red_file`; did you mean `read_file`?\n")


@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_every_kind_of_error_has_words(kind):
    """The result is an error, with any other fields."""
    result = ToolResult.failure(kind, "why", details={"a": 1}, tool="read", attempts=2)
    assert result.is_error
    assert result.text.startswith("error: ")
    assert result.text.count("\n") == 1
    assert (result.kind, result.tool, result.attempts) == (kind, "read", 2)
    assert (result.error.message, result.error.details) == ("why", {"a": 1})


def test_advice_can_be_another():
    """The caller may state it; the default is no text."""
    assert ToolResult.failure("failed", "why", advice="Wait.").text == "error: tool failed: why\nWait."
    assert ToolResult.failure("failed", "why", advice="").text == "error: tool failed: why"


@pytest.mark.parametrize("kind", ["ok", "waiting", "nice"])
def test_failure_refuses_a_kind_that_is_not_an_error(kind):
    with pytest.raises(ValueError, match="not a kind of error; use one of failed, bad_args"):
        ToolResult.failure(kind, "why")


def test_the_class_has_no_error():
    """`error` belongs to a result. The message says what to write for what `ToolResult.error(...)` did once."""
    with pytest.raises(AttributeError, match=r"write ToolResult\.failure\(kind, message\)"):
        ToolResult.error("tool", "why")  # type: ignore[operator]


def test_a_result_that_went_well_has_no_error():
    """An error can be set later."""
    result = ToolResult("5", 5)
    assert result.error is None
    result.error = ErrorInfo("late")
    assert result.error.message == "late"
    assert repr(result) == "<ToolResult ok of ?: '5'>"


def test_details_are_written_at_their_first_use():
    """A function for the details is called once, and its return value can be changed."""
    calls = []

    def write_details():
        calls.append(1)
        return {"size": 3}

    error = ToolResult.failure("failed", "too large", details=write_details).error
    assert (error.message, calls) == ("too large", [])
    error.details["size"] = 4
    assert (error.details, calls) == ({"size": 4}, [1])
    assert repr(error) == "ErrorInfo(message='too large', details={'size': 4})"
    with pytest.raises(AttributeError, match="'ErrorInfo' object has no attribute 'detail'"):
        _ = error.detail


@pytest.mark.parametrize(
    "copy_error",
    [
        copy.copy,
        copy.deepcopy,
        lambda error: pickle.loads(pickle.dumps(error)),  # noqa: S301 -- made by this test
    ],
)
def test_every_copy_of_an_error_has_its_details(copy_error):
    """A copy has the details of its original, whether they were read or not."""
    error = ToolResult.failure("failed", "too large", details=partial(dict, size=3)).error
    assert copy_error(error).details == {"size": 3}
    assert ToolResult("", None, "failed", error=copy_error(error)).to_json()["error"]["details"] == {"size": 3}
    error.details = {"size": 5}
    assert copy_error(error).details == {"size": 5}


def test_a_result_refuses_an_unknown_field():
    """A misspelt field would be lost."""
    with pytest.raises(TypeError, match="a result has no 'atempts'"):
        ToolResult("5", atempts=3)


@pytest.mark.parametrize("kind", ["ok", "waiting"])
def test_waiting_is_not_an_error(kind):
    """A call that waits for a person has not failed."""
    assert not ToolResult("", None, kind).is_error


# Unwrapping.


def test_the_reason_says_why_a_call_failed_or_waits():
    """A program reads it without asking first whether there is an error or a request."""
    assert ToolResult("3", 3).reason == ""
    assert ToolResult.failure("denied", "not on a Friday").reason == "not on a Friday"
    request = ApprovalRequest(tool="cut", call_id="1", reason="`cut` cannot be undone")
    assert ToolResult(kind="waiting", request=request).reason == "`cut` cannot be undone"


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_result_of_bad_arguments_has_their_problems(is_stored):
    details = {"problems": [{"path": ["items", 2], "message": "expected a number"}]}
    refused = ToolResult.failure("bad_args", "items[2]: expected a number", details=details)
    result = ToolResult.from_json(refused.to_json()) if is_stored else refused
    assert [(problem.path, str(problem)) for problem in result.problems] == [
        (("items", 2), "items[2]: expected a number")
    ]


def test_another_result_has_no_problems():
    details = {"problems": [{"path": ["items", 2], "message": "expected a number"}]}
    assert ToolResult.failure("failed", "no", details=details).problems == ToolResult("3").problems == ()
    assert ToolResult.failure("bad_args", "no").problems == ()


def test_unwrapping_gives_the_value():
    assert ToolResult("5", 5).unwrap() == 5


@pytest.mark.parametrize(
    "cause", [ToolError("a"), BadArgs("b"), Safety("c"), Transient("d", happened="maybe"), UnknownTool("e")]
)
def test_unwrapping_raises_the_error_itself(cause):
    """If it was one of ours."""
    with pytest.raises(type(cause)) as raised:
        ToolResult.failure("failed", str(cause), cause=cause).unwrap()
    assert raised.value is cause


def test_unwrapping_wraps_a_foreign_exception():
    """It is the cause of the error."""
    cause = ZeroDivisionError("by zero")
    with pytest.raises(ToolError, match="by zero") as raised:
        ToolResult.failure("failed", "by zero", cause=cause).unwrap()
    assert raised.value.__cause__ is cause


@pytest.mark.parametrize(
    ("kind", "raised"),
    [
        ("failed", ToolError),
        ("bad_args", BadArgs),
        ("safety", Safety),
        ("transient", Transient),
        ("timeout", Transient),
        ("not_found", UnknownTool),
        ("denied", ToolError),
        ("cancelled", ToolError),
        ("halted", ToolError),
        ("internal", ToolError),
    ],
)
def test_unwrapping_works_without_the_exception(kind, raised):
    """A result that was stored raises the same class as a fresh one."""
    stored = ToolResult.from_json(ToolResult.failure(kind, "why", tool="why").to_json())
    with pytest.raises(raised, match="why") as error:
        stored.unwrap()
    assert isinstance(error.value, ToolkitError)


def test_unwrapping_a_stored_failure_raises_the_error_with_its_details():
    """They are the problems of bad arguments, whether the call may have happened, and how long to wait."""
    problems = [{"path": ["a", 0], "message": "no"}]
    with pytest.raises(BadArgs) as bad:
        ToolResult.failure("bad_args", "x", details={"problems": problems}).unwrap()
    assert bad.value.problems == (Problem("no", ("a", 0)),)

    details = {"happened": "no", "retry_after_seconds": 7}
    with pytest.raises(Transient) as transient:
        ToolResult.failure("transient", "x", details=details).unwrap()
    assert (transient.value.happened, transient.value.retry_after_seconds) == ("no", 7)


def test_unwrapping_a_waiting_result_raises():
    with pytest.raises(ToolError, match="waiting for approval"):
        ToolResult("waiting for approval", None, "waiting").unwrap()


class Writer:
    """Writes the text of a result, and counts how often."""

    count = 0

    def __call__(self, result: ToolResult, value: object, max_chars: int) -> None:
        self.count += 1
        result.text, result.truncated = f"{value} in {max_chars}", True


@pytest.mark.parametrize("first", ["text", "truncated"])
def test_a_deferred_text_is_written_when_it_is_read(first):
    """It is written once, for either attribute."""
    result, writer = ToolResult(), Writer()
    del result.text
    result.deferred_text = writer, [1], 5
    assert writer.count == 0
    getattr(result, first)
    assert (result.text, result.truncated, writer.count) == ("[1] in 5", True, 1)


def test_a_text_that_is_set_is_not_written():
    result, writer = ToolResult(), Writer()
    result.deferred_text = writer, [1], 5
    result.text = "mine"
    assert (result.text, writer.count) == ("mine", 0)


def test_a_text_that_was_changed_stays_when_other_fields_are_read():
    """A caller may have masked something in it."""
    result, writer = ToolResult(value=[1]), Writer()
    del result.text
    result.deferred_text = writer, [1], 5
    result.text += " and more"
    assert result.to_json()["text"] == "[1] in 5 and more"
    assert (result.truncated, result.text, writer.count) == (True, "[1] in 5 and more", 1)
    unread = ToolResult(value=[1])
    unread.deferred_text = writer, [1], 5
    unread.text = "mine"
    assert (unread.truncated, unread.text) == (True, "mine")


def test_a_pickle_has_the_text_and_its_metadata():
    def write(result: ToolResult, value: object, max_chars: int) -> None:
        result.text, result.metadata = "cut", {"handle": "x"}

    result = ToolResult(value=[1])
    del result.text
    result.deferred_text = write, [1], 5
    assert pickle.loads(pickle.dumps(result)).metadata == {"handle": "x"}  # noqa: S301 -- our own bytes


def test_a_copy_or_a_pickle_has_the_text():
    result, writer = ToolResult(), Writer()
    del result.text
    result.deferred_text = writer, [1], 5
    assert copy.copy(result).text == "[1] in 5"
    assert pickle.loads(pickle.dumps(result)).text == "[1] in 5"  # noqa: S301 -- our own bytes


def test_the_class_has_the_defaults():
    assert (ToolResult.text, ToolResult.truncated, ToolResult.returned) == ("", False, None)


def test_an_unknown_kind_is_refused():
    """This holds also for a stored result."""
    with pytest.raises(ValueError, match="'tool' is not a kind of error; use one of failed"):
        ToolResult.failure("tool", "no")
    with pytest.raises(ValueError, match="unknown kind 'tool'"):
        ToolResult.from_json({**ToolResult.failure("failed", "no").to_json(), "kind": "tool"})
