"""
Spans and metrics for OpenTelemetry, once a program has set it up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from opentelemetry import context, metrics, trace
from opentelemetry.metrics import Histogram, Meter, MeterProvider, NoOpMeter
from opentelemetry.metrics import _internal as metrics_internal
from opentelemetry.trace import Link, NoOpTracer, Span, SpanContext, SpanKind, StatusCode, Tracer, TracerProvider

from .attributes import Attributes
from .names import METRICS, SCHEMA_URL, SCOPE, Names
from .span_hook import Activity, SpanHook, read_links

__all__ = ["Telemetry"]

_log = logging.getLogger("toolkit")

_CLIENT, _INTERNAL = SpanKind.CLIENT, SpanKind.INTERNAL  # Python 3.11 takes long to find a member of an enumeration


class Telemetry(SpanHook):
    """
    A hook that records spans and metrics with OpenTelemetry. As long as nothing records, it does nothing.

    An agent and a flow use the hooks of their dispatcher, so they are recorded too.

    Args:
        tracer_provider: Where the spans go; by default where the program has said, also if it says so later.
        meter_provider: Where the metrics go, likewise.
        capture: Whether spans show the arguments and the results of calls, and sessions and principals as they are.
            Secrets are masked. The environment variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT can also
            say so, with SPAN_ONLY or SPAN_AND_EVENT.
        max_chars: The most characters of the arguments, and of the result.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        capture: bool = False,
        max_chars: int = 4_000,
    ) -> None:
        super().__init__(capture=capture, max_chars=max_chars)
        # These load the providers that environment variables name.
        trace.get_tracer_provider()
        metrics.get_meter_provider()
        self._own_tracers, self._own_meters = tracer_provider, meter_provider
        self._tracers: TracerProvider | None = None
        self._meters: MeterProvider | None = None
        self._tracer: Tracer | None = None
        self._histograms: dict[str, Histogram] = {}

    def is_listening(self) -> bool:
        tracers = self._own_tracers or _TRACERS["_TRACER_PROVIDER"]
        meters = self._own_meters or _METERS["_METER_PROVIDER"]
        if tracers is not self._tracers or meters is not self._meters:
            self._use(tracers, meters)
        return self._tracer is not None or self.has_metrics

    def _use(self, tracers: TracerProvider | None, meters: MeterProvider | None) -> None:
        tracer: Tracer | None = None
        meter: Meter | None = None
        try:
            tracer = None if tracers is None else tracers.get_tracer(SCOPE, schema_url=SCHEMA_URL)
            meter = None if meters is None else meters.get_meter(SCOPE, schema_url=SCHEMA_URL)
        except Exception:  # noqa: BLE001 -- a provider may be any code, and no call depends on it
            _log.exception("a provider of OpenTelemetry has failed, and nothing is recorded there")
        self._tracer = None if isinstance(tracer, NoOpTracer) else tracer
        self._histograms = {} if meter is None or isinstance(meter, NoOpMeter) else _create_histograms(meter)
        self.has_metrics = bool(self._histograms)
        self._tracers, self._meters = tracers, meters

    def start_span(
        self, name: str, attributes: Attributes, links: Sequence[str], outer: Activity | None, start_time: int
    ) -> tuple[Span | None, context.Context | None]:
        if self._tracer is None:
            return None, None
        around = context.get_current()
        kind = _CLIENT if attributes[Names.OPERATION] == Names.CHAT else _INTERNAL
        span = self._tracer.start_span(name, around, kind, attributes, _build_links(links) if links else (), start_time)
        context.attach(trace.set_span_in_context(span, around))
        return span, around

    def leave_span(self, around: context.Context | None) -> None:
        if around is not None:
            context.attach(around)

    def set_error(self, span: Span, text: str) -> None:
        span.set_status(StatusCode.ERROR, text or None)

    def write_trace_parent(self, span: Span) -> str:
        ids = span.get_span_context()
        return f"00-{ids.trace_id:032x}-{ids.span_id:016x}-{ids.trace_flags:02x}"

    def record(self, metric: str, amount: float, attributes: Attributes) -> None:
        self._histograms[metric].record(amount, attributes)


def _create_histograms(meter: Meter) -> dict[str, Histogram]:
    return {
        metric: meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=buckets)
        for metric, (name, unit, buckets, description) in METRICS.items()
    }


def _build_links(texts: Sequence[str]) -> list[Link]:
    return [
        Link(SpanContext(int(trace_id, 16), int(span_id, 16), True, trace.TraceFlags(int(flags, 16))))
        for trace_id, span_id, flags in read_links(texts)
    ]


def _find_variables(module: Any, name: str, ask: Callable[[], Any]) -> dict[str, Any]:
    """
    Return the variables of a module of the API, of which *name* is the provider of the program, or None.

    They are read, because *ask* looks into the environment first, which takes longer than all else that a call without
    telemetry needs. If a version of the API has no such variable, what *ask* returns now stands for it: a proxy.
    """
    variables: dict[str, Any] = vars(module)
    return variables if name in variables else {name: ask()}


_TRACERS = _find_variables(trace, "_TRACER_PROVIDER", trace.get_tracer_provider)
_METERS = _find_variables(metrics_internal, "_METER_PROVIDER", metrics.get_meter_provider)
