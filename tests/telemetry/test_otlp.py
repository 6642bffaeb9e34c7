"""The protocol of OpenTelemetry: over HTTP to a server on loopback, and in a file. The official packages decode it."""

from __future__ import annotations

import base64
import contextlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the exporter of OpenTelemetry is not installed")

from google.protobuf.json_format import Parse
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.agent.kit import Shed, call
from tests.telemetry.kept_spans import build_work
from toolkit import Decision, Dispatcher, Session
from toolkit.policies.retry import RetryPolicy
from toolkit.telemetry import Telemetry, TraceFile
from toolkit.telemetry.names import Names
from toolkit.telemetry.trace_file import _FileSpan

pytestmark = pytest.mark.anyio


@contextlib.contextmanager
def collecting():
    """Yield the address of a collector on loopback, and the requests that it has got, by path."""
    bodies: dict[str, list[bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.setdefault(self.path, []).append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", bodies
        finally:
            server.shutdown()
            thread.join()


def value_of(span: Span, name: str):
    """Return the value of an attribute of a span in the protocol."""
    [value] = [item.value for item in span.attributes if item.key == name]
    return getattr(value, value.WhichOneof("value"))


async def test_a_collector_gets_the_spans_and_the_metrics_of_a_run():
    with collecting() as (address, bodies):
        tracers = TracerProvider(shutdown_on_exit=False)
        exporter = OTLPSpanExporter(f"{address}/v1/traces")
        tracers.add_span_processor(BatchSpanProcessor(exporter))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{address}/v1/metrics"))
        meters = MeterProvider([reader], shutdown_on_exit=False)
        shed = Shed()
        hook = Telemetry(tracer_provider=tracers, meter_provider=meters)
        agent = shed.agent(
            [[call("look", what="oak"), call("nope")], "Done."], dispatcher=shed.dispatcher(hooks=[hook])
        )
        await agent.run("go")
        tracers.shutdown()
        meters.shutdown()
    requests = [ExportTraceServiceRequest.FromString(body) for body in bodies["/v1/traces"]]
    scopes = [scope for request in requests for resource in request.resource_spans for scope in resource.scope_spans]
    spans = {span.name: span for scope in scopes for span in scope.spans}
    assert sorted(spans) == ["chat scripted", "execute_tool look", "execute_tool nope", "invoke_agent"]
    assert {(scope.scope.name, scope.schema_url) for scope in scopes} == {
        ("toolkit", "https://opentelemetry.io/schemas/1.37.0")
    }
    look, nope, run = spans["execute_tool look"], spans["execute_tool nope"], spans["invoke_agent"]
    assert look.parent_span_id == nope.parent_span_id == spans["chat scripted"].parent_span_id == run.span_id
    assert (value_of(look, "toolkit.result.kind"), value_of(nope, "error.type")) == ("ok", "not_found")
    assert (look.kind, spans["chat scripted"].kind) == (Span.SPAN_KIND_INTERNAL, Span.SPAN_KIND_CLIENT)
    assert nope.status.code == Status.STATUS_CODE_ERROR
    metrics = [ExportMetricsServiceRequest.FromString(body) for body in bodies["/v1/metrics"]]
    names = {
        metric.name
        for request in metrics
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert names == {
        "gen_ai.execute_tool.duration",
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "gen_ai.invoke_agent.duration",
    }


# A file.


def read_file(path) -> list[Span]:
    """Return the spans of a file. In this JSON, ids are hexadecimal, and the package wants base64."""

    def encode(match: re.Match[str]) -> str:
        return f'"{match[1]}": "{base64.b64encode(bytes.fromhex(match[2])).decode()}"'

    lines = [
        re.sub(r'"(traceId|spanId|parentSpanId)": "([0-9a-f]*)"', encode, line)
        for line in path.read_text().splitlines()
    ]
    data = [Parse(line, TracesData()) for line in lines]
    return [span for item in data for span in item.resource_spans[0].scope_spans[0].spans]


async def test_a_file_has_the_same_spans_as_a_collector_gets(recording, tmp_path):
    path, shed = tmp_path / "run.jsonl", Shed()
    hooks = [TraceFile(path), recording.hook()]
    agent = shed.agent(
        [[call("look", what="oak"), call("cut", wood="oak")], "Done."], dispatcher=shed.dispatcher(hooks=hooks)
    )
    run = await agent.run("go")
    await agent.resume(run, Decision.approve())
    written = {span.span_id.hex(): span for span in read_file(path)}
    ordered = sorted(written.values(), key=lambda span: span.start_time_unix_nano)
    assert [span.name for span in ordered] == [span.name for span in recording.spans]
    for span, twin in zip(ordered, recording.spans, strict=True):
        assert {item.key for item in span.attributes} == set(twin.attributes)
        assert [event.name for event in span.events] == [event.name for event in twin.events]
        assert (span.kind, span.status.code) == (twin.kind.value + 1, twin.status.status_code.value)
        assert (len(span.links), bool(span.parent_span_id)) == (len(twin.links), twin.parent is not None)
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert not span.parent_span_id or span.parent_span_id.hex() in written
    waited, resumed = [span for span in ordered if span.name == "execute_tool cut"]
    assert [link.span_id for link in resumed.links] == [waited.span_id]
    assert run.requests[0].trace_parent == f"00-{waited.trace_id.hex()}-{waited.span_id.hex()}-01"


async def test_a_file_has_each_type_of_value_and_the_attempts(tmp_path):
    path = tmp_path / "run.jsonl"
    hooks = [TraceFile(path, capture=True, max_chars=10)]
    dispatcher = Dispatcher(build_work(), hooks=hooks, retry=RetryPolicy(wait_initial=0))
    await dispatcher.call("work", {"HOW": "transient"}, session=Session(id="sss"))
    [span] = read_file(path)
    assert value_of(span, "toolkit.repairs") == 1
    assert value_of(span, "toolkit.session") == "sss"
    assert len(value_of(span, "gen_ai.tool.call.result")) == 10
    assert [value_of(event, "toolkit.attempt.number") for event in span.events] == [1, 2, 3]
    assert (span.status.code, len(span.status.message)) == (Status.STATUS_CODE_ERROR, 10)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_file_that_cannot_be_written_any_more_is_logged_once(tmp_path, caplog):
    folder = tmp_path / "traces"
    folder.mkdir()
    hook = TraceFile(folder / "run.jsonl")
    dispatcher = Dispatcher(build_work(), hooks=[hook])
    (folder / "run.jsonl").unlink()
    folder.rmdir()
    assert [(await dispatcher.call("work")).kind for _ in range(3)] == ["ok"] * 3
    assert caplog.text.count("cannot be written") == 1
    assert "no more spans are recorded" in caplog.text
    assert hook.is_listening() is False


def test_a_file_in_no_folder_is_refused_at_once(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        TraceFile(tmp_path / "no" / "run.jsonl")


def test_events_that_are_left_out_are_counted(tmp_path):
    """A span has 128 of them, and says how many it had besides."""
    span = _FileSpan(lambda line: None, "a", {Names.OPERATION: Names.CHAT}, [], None, 0)
    for at in range(130):
        span.add_event("retry", {}, at)
    assert (len(span.record["events"]), span.record["droppedEventsCount"]) == (128, 2)
