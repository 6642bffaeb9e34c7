"""The span of a call: how the call has ended, what happened on the way, and what is shown of it."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry.trace import StatusCode

from tests.telemetry.kept_spans import build_work
from toolkit import Catalog, Decision, Dispatcher, Permissions, Secret, Session
from toolkit.approvals import Approvals
from toolkit.hooks import Cache, Deny, Halt, Modify, Proceed
from toolkit.policies.retry import RetryPolicy
from toolkit.results import KINDS
from toolkit.telemetry import Telemetry
from toolkit.telemetry.attributes import clean_name

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(wait_initial=0)


class Gate:
    """A hook that answers by the name of the tool."""

    def __init__(self, **outcomes: Any) -> None:
        self.outcomes = outcomes

    def before(self, call):
        return self.outcomes.get(call.name, Proceed())


ENDS = [
    ("ok", "work", {}, None),
    ("failed", "work", {"how": "failed"}, None),
    ("safety", "work", {"how": "safety"}, None),
    ("transient", "work", {"how": "transient"}, None),
    ("timeout", "work", {"how": "slow"}, None),
    ("bad_args", "work", {"how": []}, None),
    ("not_found", "nope", {}, None),
    ("denied", "work", {}, Deny("no")),
    ("halted", "work", {}, Halt("no")),
    ("internal", "work", {}, "no outcome"),
    ("waiting", "burn", {"wood": "oak"}, None),
    ("cancelled", "work", {"how": "cancelled"}, None),
]


def test_every_kind_of_result_is_tried():
    assert {kind for kind, *_ in ENDS} == KINDS


@pytest.mark.parametrize(("kind", "name", "arguments", "outcome"), ENDS)
async def test_a_span_says_how_the_call_has_ended(recording, kind, name, arguments, outcome):
    hooks = [Gate(work=outcome)] if outcome else []
    dispatcher = Dispatcher(
        build_work(),
        permissions=Permissions("auto"),
        hooks=[*hooks, recording.hook()],
        retry=QUICK,
        timeout_seconds=None,
    )
    result = await dispatcher.call(name, arguments, timeout_seconds=0.05 if kind == "timeout" else None)
    assert result.kind == kind
    span = recording.one(f"execute_tool {name}")
    is_error = kind not in ("ok", "waiting")
    assert span.attributes["toolkit.result.kind"] == kind
    assert span.attributes.get("error.type") == (kind if is_error else None)
    assert span.status.status_code == (StatusCode.ERROR if is_error else StatusCode.UNSET)
    assert span.attributes["toolkit.attempts"] == result.attempts
    assert span.end_time >= span.start_time
    [[attributes, point]] = recording.metrics["gen_ai.execute_tool.duration"]
    assert attributes.get("error.type") == (kind if is_error else None)
    assert (point.count, attributes["gen_ai.tool.name"]) == (1, "_OTHER" if name == "nope" else name)


async def test_a_call_that_is_cancelled_ends_its_span(recording):
    dispatcher = Dispatcher(build_work(), hooks=[recording.hook()])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await dispatcher.call("work", {"how": "slow"})
    assert recording.one("execute_tool work").attributes["error.type"] == "cancelled"


async def test_attempts_repairs_and_the_origin_are_on_the_span(recording):
    dispatcher = Dispatcher(build_work(), hooks=[recording.hook()], retry=QUICK)
    await dispatcher.call("work", {"HOW": "transient"})
    span = recording.one("execute_tool work")
    assert [(event.name, event.attributes["toolkit.attempt.number"]) for event in span.events] == [
        ("toolkit.attempt", number) for number in (1, 2, 3)
    ]
    assert span.events[1].attributes["error.type"] == "toolkit.errors.Transient"
    assert (span.attributes["toolkit.repairs"], span.attributes["toolkit.origin"]) == (1, "python")


async def test_the_outcome_of_a_hook_is_an_event(recording):
    dispatcher = Dispatcher(build_work(), hooks=[Gate(work=Modify({"how": "well"})), recording.hook()])
    await dispatcher.call("work")
    events = [event for event in recording.one("execute_tool work").events if event.name == "toolkit.hook"]
    assert [dict(event.attributes) for event in events] == [
        {"toolkit.hook.name": "Gate", "toolkit.hook.outcome": "modify"}
    ]


async def test_a_result_from_the_cache_is_marked(recording):
    dispatcher = Dispatcher(build_work(), hooks=[Cache(), recording.hook()])
    await dispatcher.call("work")
    await dispatcher.call("work")
    assert [span.attributes.get("toolkit.cached") for span in recording.spans] == [None, True]


async def test_a_verdict_names_the_deciding_rule(recording):
    dispatcher = Dispatcher(
        build_work(), permissions=Permissions("default", ["deny burn(wood=oak)"]), hooks=[recording.hook()]
    )
    await dispatcher.call("burn", {"wood": "oak"})
    attributes = recording.one("execute_tool burn").attributes
    assert (attributes["toolkit.verdict"], attributes["error.type"]) == ("deny", "denied")
    assert "deny burn(wood=oak)" in attributes["toolkit.verdict.by"]


async def test_a_question_with_an_immediate_answer_is_two_events(recording):
    approvals = Approvals(ask=lambda request: Decision.approve())
    dispatcher = Dispatcher(
        build_work(), permissions=Permissions("default"), approvals=approvals, hooks=[recording.hook()]
    )
    assert (await dispatcher.call("burn", {"wood": "oak"})).kind == "ok"
    span = recording.one("execute_tool burn")
    question, answered = span.events
    assert (question.name, answered.name) == ("toolkit.person_asked", "toolkit.person_answered")
    assert answered.attributes["toolkit.answer.approved"] is True
    assert question.attributes["toolkit.request.id"] == span.attributes["toolkit.request.id"]
    assert span.attributes["toolkit.waited_seconds"] >= 0


# What is shown of a call.


def build_login() -> Catalog:
    catalog = Catalog()

    @catalog.tool
    async def login(name: str, password: Annotated[str, Secret()]) -> str:
        """Log in."""
        return f"{name} with {password} and token-99"

    return catalog


async def test_a_span_has_no_text_of_people_without_capture(recording):
    dispatcher = Dispatcher(build_login(), hooks=[recording.hook()])
    await dispatcher.call(
        "login", {"name": "ada-l", "password": "hunter22"}, session=Session(id="s-ada"), principal="ada@example.org"
    )
    span = recording.one("execute_tool login")
    text = json.dumps([dict(span.attributes), [dict(event.attributes) for event in span.events]])
    assert not any(word in text for word in ("ada", "hunter22", "token-99"))
    assert (len(span.attributes["toolkit.session"]), len(span.attributes["toolkit.principal"])) == (16, 16)


async def test_capture_shows_arguments_and_results_without_their_secrets(recording):
    dispatcher = Dispatcher(build_login(), hooks=[recording.hook(capture=True)], redact=["token-99", "ada-l"])
    await dispatcher.call(
        "login", {"name": "ada-l", "password": "hunter22"}, session=Session(id="s-ada"), principal="ada"
    )
    await dispatcher.call("login", {"name": "bob", "PassWord": "hunter22", "more": 1})
    first, second = recording.named("execute_tool login")
    assert (first.attributes["toolkit.session"], first.attributes["toolkit.principal"]) == ("s-ada", "ada")
    arguments = json.loads(first.attributes["gen_ai.tool.call.arguments"])
    assert arguments["name"] != "ada-l"
    assert " with " in first.attributes["gen_ai.tool.call.result"]
    assert second.attributes["toolkit.result.kind"] == "bad_args"
    text = json.dumps([dict(first.attributes), dict(second.attributes), second.status.description])
    assert not any(word in text for word in ("hunter22", "token-99", "ada-l"))


@pytest.mark.parametrize(
    "arguments", [{"name": "bob", "passwd": "hunter22"}, {"args": {"password": "hunter22"}}, {"name": ["hunter22"]}]
)
async def test_a_secret_in_the_wrong_place_is_not_shown(recording, arguments):
    """The call is refused, and its problems say what is wrong with it."""
    await Dispatcher(build_login(), hooks=[recording.hook(capture=True)]).call("login", arguments)
    [span] = recording.spans
    assert span.attributes["toolkit.result.kind"] == "bad_args"
    assert "password: " in span.attributes["gen_ai.tool.call.result"]
    assert "hunter22" not in json.dumps([dict(span.attributes), span.status.description])


@pytest.mark.parametrize(
    ("mode", "is_shown"),
    [("", False), ("no_content", False), ("EVENT_ONLY", False), ("SPAN_ONLY", True), ("SPAN_AND_EVENT", True)],
)
async def test_the_environment_can_ask_for_capture(recording, monkeypatch, mode, is_shown):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", mode)
    await Dispatcher(build_work(), hooks=[recording.hook()]).call("work")
    assert ("gen_ai.tool.call.result" in recording.spans[0].attributes) is is_shown


def test_a_wrong_mode_of_capture_is_logged(recording, monkeypatch, caplog):
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "yes")
    recording.hook()
    assert "'YES', and not one of" in caplog.text


async def test_captured_texts_are_cut(recording):
    dispatcher = Dispatcher(build_work(), hooks=[recording.hook(capture=True, max_chars=100)])
    await dispatcher.call("work", {"how": "x" * 10_000})
    await dispatcher.call("work", {f"key_{number}": number for number in range(10_000)})
    for span in recording.spans:
        assert len(span.attributes["gen_ai.tool.call.arguments"]) == 100
        assert len(span.attributes["gen_ai.tool.call.result"]) <= 100
        assert len(span.attributes) < 20


def test_the_limit_of_captured_texts_is_checked(recording):
    with pytest.raises(ValueError, match="max_chars has to be at least 1, got 0"):
        recording.hook(max_chars=0)


async def test_a_name_that_a_model_invents_cannot_act(recording):
    await Dispatcher(build_work(), hooks=[recording.hook()]).call("\x1b[2J" + "no" * 500, {}, id="a\x00b")
    [span] = recording.spans
    assert span.name.startswith("execute_tool \\x1b[2Jno")
    assert (len(span.name) < 250, span.attributes["gen_ai.tool.call.id"]) == (True, "a\\x00b")


def test_a_name_is_cut_after_its_characters_are_shown():
    assert clean_name("\n" * 300) == "\\n" * 100


# What does not record.


async def test_no_events_are_sent_while_no_span_is_recorded():
    """The text of a result is written when it is read."""
    events = []

    class Counting(Telemetry):
        def on_event(self, event):
            events.append(event)

    dispatcher = Dispatcher(build_work(), hooks=[Counting()])
    assert (await dispatcher.call("work")).value == "ok"
    assert events == []


async def test_a_provider_that_does_not_record_counts_as_none(recording):
    """The SDK can be switched off by an environment variable."""
    from opentelemetry.metrics import NoOpMeterProvider
    from opentelemetry.trace import NoOpTracerProvider

    hook = Telemetry(tracer_provider=NoOpTracerProvider(), meter_provider=NoOpMeterProvider())
    assert hook.is_listening() is False
    assert hook.trace_parent() is None


async def test_metrics_are_recorded_without_spans(recording):
    hook = Telemetry(meter_provider=recording.meters)
    await Dispatcher(build_work(), hooks=[hook]).call("work")
    assert (list(recording.metrics), recording.spans) == (["gen_ai.execute_tool.duration"], [])
