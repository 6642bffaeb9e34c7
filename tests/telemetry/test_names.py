"""Spans and metrics are those that `opentelemetry-util-genai` gives for the same operations."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.telemetry.kept_spans import KeptSpans
from toolkit import Catalog, Dispatcher
from toolkit.agent import Agent
from toolkit.errors import ProviderError
from toolkit.flows import Flow
from toolkit.providers import Reply, ScriptedProvider, Usage
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall

genai = pytest.importorskip("opentelemetry.util.genai.handler", reason="opentelemetry-util-genai is not installed")


@pytest.fixture
def theirs(monkeypatch):
    """What the official package records, with the texts of calls."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    return KeptSpans()


def handler(theirs: KeptSpans) -> Any:
    return genai.TelemetryHandler(tracer_provider=theirs.tracers, meter_provider=theirs.meters)


def read_span(recording: KeptSpans, name: str) -> tuple[Any, ...]:
    """Return what the two packages have to record alike: not our own attributes, and not the id of the conversation."""
    span = recording.one(name)
    attributes = {key: value for key, value in span.attributes.items() if not key.startswith("toolkit.")}
    attributes.pop("gen_ai.conversation.id", None)  # it is made up for each run
    return attributes, span.kind, span.status.status_code, span.instrumentation_scope.schema_url


def read_metrics(recording: KeptSpans, names: Iterable[str]) -> dict[str, Any]:
    """Return the attributes, the count and the buckets of each series of these metrics."""
    return {
        name: {str(sorted(attributes.items())): (point.count, point.explicit_bounds) for attributes, point in series}
        for name, series in recording.metrics.items()
        if name in names
    }


@pytest.mark.parametrize("word", ["oak", "raise"])
def test_the_span_of_a_call(recording, theirs, word):
    catalog = Catalog()

    @catalog.tool
    async def cut(wood: str) -> str:
        """Cut wood."""
        if wood == "raise":
            raise RuntimeError("no")
        return "done"

    result = asyncio.run(Dispatcher(catalog, hooks=[recording.hook()]).call("cut", {"wood": word}, id="c1"))
    invocation = handler(theirs).tool("cut", tool_type="function")
    invocation.tool_call_id, invocation.tool_description = "c1", "Cut wood."
    invocation.arguments, invocation.tool_result = {"wood": word}, result.text
    if word == "raise":
        from opentelemetry.util.genai.types import Error

        invocation.fail(Error(type="failed", message=""))
    else:
        invocation.stop()
    assert read_span(recording, "execute_tool cut") == read_span(theirs, "execute_tool cut")
    assert read_metrics(recording, theirs.metrics) == read_metrics(theirs, theirs.metrics) != {}


def run_agent(recording: KeptSpans, *replies: Any) -> None:
    agent = Agent(ScriptedProvider(list(replies)), Dispatcher(Catalog(), hooks=[recording.hook()]), name="carpenter")
    with contextlib.suppress(ProviderError):
        asyncio.run(agent.run("go"))


REPLY = Reply(
    message=AssistantMessage(text="Done."),
    stop="answer",
    usage=Usage(input_tokens=70, output_tokens=8, cached_tokens=5, cache_write_tokens=6),
    model="scripted-2",
    id="r1",
)


def test_the_span_of_a_question_to_a_model(recording, theirs):
    run_agent(recording, REPLY)
    with handler(theirs).inference("scripted", request_model="scripted") as inference:
        inference.response_model_name, inference.response_id = "scripted-2", "r1"
        inference.input_tokens, inference.output_tokens, inference.finish_reasons = 70, 8, ["stop"]
        inference.data.usage_cache_read_input_tokens, inference.data.usage_cache_write_input_tokens = 5, 6
    assert read_span(recording, "chat scripted") == read_span(theirs, "chat scripted")
    assert read_metrics(recording, theirs.metrics) == read_metrics(theirs, theirs.metrics) != {}


def test_the_time_to_the_first_words_of_a_reply_is_measured(recording, theirs):
    """Only a streamed reply has it."""

    async def stream() -> None:
        agent = Agent(ScriptedProvider([REPLY]), Dispatcher(Catalog(), hooks=[recording.hook()]), name="carpenter")
        async for _ in agent.stream("go"):
            pass

    asyncio.run(stream())
    with handler(theirs).inference("scripted", request_model="scripted") as inference:
        inference.response_model_name, inference.response_id = "scripted-2", "r1"
        inference.record_stream_chunk()
    own, other = recording.one("chat scripted"), theirs.one("chat scripted")
    assert own.attributes["gen_ai.request.stream"] is other.attributes["gen_ai.request.stream"] is True
    seconds = own.attributes["gen_ai.response.time_to_first_chunk"]
    assert 0 < seconds < (own.end_time - own.start_time) / 1e9
    assert "gen_ai.response.time_to_first_chunk" in other.attributes
    name = "gen_ai.client.operation.time_to_first_chunk"
    [(attributes, point)], [(_, twin)] = recording.metrics[name], theirs.metrics[name]
    assert (point.count, point.sum, point.explicit_bounds) == (1, seconds, twin.explicit_bounds)
    assert attributes["gen_ai.response.model"] == "scripted-2"


def test_the_span_of_a_question_that_fails(recording, theirs):
    run_agent(recording, ProviderError("busy"))
    invocation = handler(theirs).inference("scripted", request_model="scripted")
    invocation.fail(ProviderError("busy"))
    own, other = recording.one("chat scripted"), theirs.one("chat scripted")
    assert own.status.status_code == other.status.status_code
    assert own.attributes["error.type"].endswith(other.attributes["error.type"].rpartition(".")[2])
    assert recording.one("invoke_agent carpenter").attributes["error.type"] == own.attributes["error.type"]


def test_the_span_of_a_run(recording, theirs):
    run_agent(recording, replace(REPLY, usage=Usage(input_tokens=70, output_tokens=8)))
    with handler(theirs).invoke_local_agent(request_model="scripted", agent_name="carpenter") as agent:
        agent.input_tokens, agent.output_tokens = 70, 8
    assert read_span(recording, "invoke_agent carpenter") == read_span(theirs, "invoke_agent carpenter")
    assert read_metrics(recording, theirs.metrics) == read_metrics(theirs, theirs.metrics) != {}
    own = recording.one("invoke_agent carpenter").attributes
    assert (own["toolkit.run.status"], own["toolkit.run.turns"]) == ("done", 1)


def test_the_span_of_a_flow(recording, theirs):
    flow = Flow[str]("release", dispatcher=Dispatcher(Catalog(), hooks=[recording.hook()]))

    @flow.step
    def edit(number: int) -> str:
        return str(number)

    asyncio.run(flow.run(1))
    with handler(theirs).workflow("release"):
        pass
    assert read_span(recording, "invoke_workflow release") == read_span(theirs, "invoke_workflow release")
    assert read_metrics(recording, theirs.metrics) == read_metrics(theirs, theirs.metrics) != {}


# A program that sets up its providers after the hook was made. There is one for each process.

LATE = """
import asyncio
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from toolkit import Catalog, Dispatcher
from toolkit.telemetry import Telemetry

catalog = Catalog()

@catalog.tool
async def work() -> str:
    '''Work.'''
    return "ok"

async def main():
    dispatcher = Dispatcher(catalog, hooks=[Telemetry()])
    await dispatcher.call("work")
    exporter, reader, tracers = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(tracers)
    await dispatcher.call("work")
    metrics.set_meter_provider(MeterProvider([reader]))
    await dispatcher.call("work")
    data = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0].data
    print(len(exporter.get_finished_spans()), data.data_points[0].count)

asyncio.run(main())
"""


def test_providers_that_are_set_up_later_record_from_then_on():
    done = subprocess.run([sys.executable, "-c", LATE], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("2 1\n", "")


def test_a_missing_package_is_named_with_its_extra():
    code = """
import sys
sys.modules["opentelemetry"] = None
import toolkit.telemetry
try:
    toolkit.telemetry.Telemetry
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("ToolkitError telemetry needs opentelemetry-api; ")
    assert "otel" in done.stdout
    assert "or use TraceFile(path), which needs nothing" in done.stdout


def test_a_call_of_a_tool_with_a_cycle_in_its_arguments_is_recorded(recording):
    """The texts of arguments that have no JSON form are written all the same."""
    endless: dict[str, Any] = {}
    endless["wood"] = endless
    result = asyncio.run(
        Dispatcher(Catalog(), hooks=[recording.hook(capture=True)]).call(ToolCall("nope", endless, "c1"))
    )
    assert result.kind == "not_found"
    assert "gen_ai.tool.call.arguments" in recording.one("execute_tool nope").attributes
