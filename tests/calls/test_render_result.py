"""What a tool returned or raised becomes a result that can be sent."""

from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.calls.render_kit import NAN, PLAIN, Sum, plan_for, sent
from tests.values.odd_values import _ANYTHING, Nothing
from toolkit import BadArgs, DefinitionError, Problem, Safety, ToolError, Transient, register_codec
from toolkit.calls.attempt import TimedOut
from toolkit.calls.error_results import build_error_result, build_hook_error_result
from toolkit.calls.plan import SelfCancelled
from toolkit.calls.render_result import render_result
from toolkit.content import AudioPart, FilePart, ImagePart, JsonPart, Part, ResourcePart, TextPart
from toolkit.decisions import ApprovalRequest
from toolkit.errors import ErrorInfo
from toolkit.policies.redaction import Redaction
from toolkit.results import ToolResult

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


class Index:
    """A number of another package."""

    def __init__(self, number):
        self.number = number

    def __index__(self):
        return self.number


@pytest.mark.parametrize(
    ("returns", "value", "text", "form"),
    [
        (..., {"sum": 5}, '{"sum":5}', {"sum": 5}),
        (dict[str, int], {"sum": 5}, '{"sum":5}', {"sum": 5}),
        (Sum, Sum(5), '{"sum":5}', {"sum": 5}),
        (int, 5, "5", 5),
        (int, True, "1", 1),
        (float, True, "1.0", 1.0),
        (int | bool, True, "true", True),
        (int, Index(3), "3", 3),
        (str, "plain", "plain", "plain"),
        (str, "grün", "grün", "grün"),
        (str, "a\ud800", "a?", "a?"),
        (None, None, "null", None),
        (list[str], ["a\ud800"], '["a?"]', ["a?"]),
        (list[int], (1, 2), "[1,2]", [1, 2]),
        (Sum, {"sum": 5}, '{"sum":5}', {"sum": 5}),
        (float | str, NAN, "nan", "nan"),
        (..., NAN, "nan", "nan"),
        (..., 10**5000, hex(10**5000), hex(10**5000)),
        (..., ValueError("no"), "ValueError: no", "ValueError: no"),
        (..., "", "", ""),
        (..., [], "[]", []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_returned_value_becomes_text_and_json(returns, value, text, form):
    """The annotation decides, or the class of the value if that also fits."""
    result = render_result(value, plan_for(returns))
    assert (result.kind, result.text, result.value) == ("ok", text, form)
    assert type(result.value) is type(form)
    assert result.returned is value
    sent(result)


@given(_ANYTHING, st.sampled_from([..., int, str, list[float], dict[str, Any], Sum, Any]))
def test_any_returned_value_has_a_result(value, returns):
    result = render_result(value, plan_for(returns))
    assert result.kind in ("ok", "failed")
    assert result.returned is value
    assert sent(result)["value"] == result.value


@pytest.mark.parametrize(
    "form",
    [(1, 2), {1: 2}, NAN, {"a": (1,)}, 10**5000, "\ud800"],
    ids=["tuple", "key", "nan", "inside", "long", "surrogate"],
)
def test_a_codec_that_gives_no_json_does_no_harm(form):
    """The codec belongs to another library. What it returns is converted to JSON."""

    class Odd:
        pass

    register_codec(Odd, schema={}, decode=lambda value: value, encode=lambda value: form)
    result = render_result(Odd(), plan_for(Odd))
    assert result.kind == "ok"
    assert sent(result)["value"] == result.value


# Parts.


def test_parts_are_content_and_text():
    """A model that takes only text is told what there is."""
    parts = [TextPart("see"), JsonPart({"a": 1}), ImagePart(b"1234", "image/gif"), FilePart("file:///a")]
    result = render_result(parts, PLAIN)
    assert result.text == 'see\n{"a":1}\n[image/gif, 4 bytes]\n[file file:///a]'
    assert result.value == {"a": 1}
    assert list(result.parts) == parts


@pytest.mark.parametrize(
    ("value", "parts", "structured"),
    [
        (TextPart("a"), [TextPart("a")], None),
        ((JsonPart(1), JsonPart(2)), [JsonPart(1), JsonPart(2)], [1, 2]),
        (["look:", ImagePart(b"x"), {"a": 1}], [TextPart("look:"), ImagePart(b"x"), JsonPart({"a": 1})], {"a": 1}),
        (JsonPart({NAN: {1, 2}}), [JsonPart({"nan": [1, 2]})], {"nan": [1, 2]}),
        (TextPart("\ud800"), [TextPart("?")], None),
        (TextPart(5), [TextPart("5")], None),
        (ImagePart(bytearray(b"x")), [ImagePart(b"x")], None),
        (ImagePart("no bytes"), [JsonPart({"data": "no bytes", "media_type": "image/png"})], ...),
        (FilePart(PurePosixPath("a/b"), 5, "\ud800"), [FilePart("a/b", "5", "?")], None),
        (AudioPart(b"x", "audio/wav"), [AudioPart(b"x", "audio/wav")], None),
        ((ResourcePart("memo:1", "\ud800"), 5), [ResourcePart("memo:1", "?"), JsonPart(5)], 5),
        (ResourcePart("memo:1", b"\xff"), [ResourcePart("memo:1", b"\xff")], None),
    ],
    ids=[
        *["one", "two values", "mixed", "odd value", "surrogate", "no text", "bytearray", "no image", "odd file"],
        *["sound", "resource", "bytes"],
    ],
)
def test_parts_are_converted_for_sending(value, parts, structured):
    """A value beside them becomes a part as well."""
    result = render_result(value, PLAIN)
    assert list(result.parts) == parts
    assert structured is ... or result.value == structured
    sent(result)


# A result of the tool's own making.


def test_a_result_built_by_a_tool_is_copied():
    """The dispatcher sets the fields that a tool may not set."""
    own = ToolResult("text", {"a": 1}, metadata={"m": 1}, parts=[TextPart("p")], attempts=9)
    result = render_result(own, PLAIN)
    assert result is not own
    assert (result.text, result.value, result.metadata, list(result.parts)) == (
        "text",
        {"a": 1},
        {"m": 1},
        [TextPart("p")],
    )
    assert result.attempts == 0


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (ToolResult("", {"a": 1}), '{"a":1}'),
        (ToolResult("", None), "null"),
        (ToolResult("", None, parts=[TextPart("p"), ImagePart(b"x")]), "p\n[image/png, 1 byte]"),
        (ToolResult("a\ud800"), "a?"),
        (ToolResult(5), "5"),
        (ToolResult("", None, "failed"), ""),
    ],
    ids=["value", "nothing", "parts", "surrogate", "no text", "error"],
)
def test_a_result_built_by_a_tool_without_a_text_gets_one(own, text):
    assert render_result(own, PLAIN).text == text


def test_a_result_built_by_a_tool_can_be_sent():

    class Own(ToolResult):
        pass

    own = Own(
        "text",
        {1: NAN},
        error=ErrorInfo(Nothing(), {"x": {1}}, ValueError("cause")),
        parts=[JsonPart(NAN), 5],
        request=ApprovalRequest(tool="t", call_id="c", reason="r", arguments={"a": NAN}),
        metadata=[1],
    )
    own.kind = "nice"
    result = render_result(own, PLAIN)
    assert type(result) is ToolResult
    assert result.kind == "failed"
    assert result.error.message == "just words"
    assert result.error.details == {"x": [1]}
    assert str(result.error.cause) == "cause"
    assert result.metadata == {"value": [1]}
    sent(result)


def test_a_result_built_by_a_tool_may_have_no_parts():
    assert list(render_result(ToolResult("a", parts=None), PLAIN).parts) == []


# The output schema.


@pytest.mark.parametrize("returns", [ImagePart, list[ImagePart], list[Part], str | AudioPart, tuple[str, ResourcePart]])
def test_a_tool_that_returns_parts_has_no_output_schema(returns):
    """It sends no structured content."""
    plan = plan_for(returns)
    assert plan.tool.output_schema is None
    assert render_result(["a", ImagePart(b"x")], plan).kind == "ok"


def test_an_output_that_cannot_be_checked_is_an_error():
    class Broken:
        def iter_errors(self, value):
            raise RecursionError

    plan = plan_for(list[int])
    plan.output_validator = Broken()
    assert "could not be checked: RecursionError" in render_result((1,), plan).text


# Failures.


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (BadArgs("wrong"), "bad_args", "invalid arguments: wrong"),
        (Safety("no"), "safety", "safety check failed: no"),
        (TimedOut("late"), "timeout", "timed out: late"),
        (Transient("busy"), "transient", "transient failure: busy"),
        (SelfCancelled("stop"), "cancelled", "cancelled: stop"),
        (ToolError("broken"), "failed", "tool failed: broken"),
        (ToolError(), "failed", "tool failed: ToolError"),
        (DefinitionError("unfinished"), "internal", "internal error: unfinished"),
        (ToolError("a\ud800"), "failed", "tool failed: a?"),
    ],
)
def test_every_error_has_a_kind_and_an_opening_phrase(error, kind, text):
    result = build_error_result(error, PLAIN)
    assert result.kind == kind
    assert result.text.startswith(f"error: {text}\n")
    assert result.error.cause is error
    sent(result)


def test_a_result_says_that_a_change_may_have_happened():
    """The text says so for the model, and the details for programs. A read-only tool has no such sentence."""
    error = Transient("cut off", happened="maybe", retry_after_seconds=7)
    result = build_error_result(error, PLAIN)
    assert "cut off; it may or may not have happened" in result.text
    assert result.error.details == {"happened": "maybe", "retry_after_seconds": 7}
    assert "may or may not" not in build_error_result(error, plan_for(read_only=True)).text


def test_problems_are_listed_with_their_paths_in_the_details():
    result = build_error_result(BadArgs([Problem("one", ("a", 0)), Problem("two")]), PLAIN)
    assert result.error.details == {"problems": [{"path": ["a", 0], "message": "one"}, {"path": [], "message": "two"}]}


def test_a_failure_is_logged_once_with_its_traceback(caplog):
    """The exception that was raised, not what it was classified as."""
    cause = ZeroDivisionError("by zero")
    assert build_error_result(ToolError("x"), PLAIN, cause=cause).error.cause is cause
    assert [record.exc_info[1] for record in caplog.records] == [cause]


@pytest.mark.parametrize("error", [BadArgs("x"), Safety("x")])
def test_a_refusal_is_not_logged(error, caplog):
    build_error_result(error, PLAIN)
    assert caplog.records == []


def test_secrets_in_a_traceback_are_masked_in_the_log(caplog):
    build_error_result(ToolError("x"), PLAIN, cause=ValueError("my key"), redaction=Redaction(["key"]))
    assert "key" not in caplog.text
    assert "[redacted]" in caplog.text


def test_an_answer_is_logged_in_one_line(caplog):
    """A tool that raises on purpose is no bug, so the log has no traceback, and only a line at a low level."""
    caplog.set_level("INFO", logger="toolkit")
    build_error_result(ToolError("my key is lost"), PLAIN, redaction=Redaction(["key"]))
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("INFO", None)]
    assert caplog.messages == [f"`{PLAIN.name}` failed: my [redacted] is lost"]


def test_an_error_without_a_message_has_the_name_of_its_class():
    """This holds also for an exception whose message cannot be read."""

    class Mute(ToolError):
        def __str__(self):
            raise ValueError("no")

    assert "tool failed: Mute" in build_error_result(Mute(), PLAIN).text


class Hook:
    pass


@pytest.mark.parametrize(
    ("ran", "text"),
    [(False, "a hook failed, so the tool did not run"), (True, "the tool ran, but a hook failed afterwards")],
)
def test_a_hook_that_failed_is_honest_about_the_tool(ran, text):
    """The text says whether the tool has run."""
    result = build_hook_error_result(ValueError(), Hook(), "before", ran=ran)
    assert result.kind == "internal"
    assert f"{text}: Hook: ValueError" in result.text
    assert result.error.details == {"ran": ran}


@pytest.mark.parametrize(
    ("error", "kind"), [(Safety("no"), "safety"), (ToolError("no"), "failed"), (TimedOut("no"), "timeout")]
)
def test_the_error_that_a_hook_raises_decides_the_kind_of_the_result(error, kind):
    assert build_hook_error_result(error, Hook(), "before", ran=False).kind == kind
