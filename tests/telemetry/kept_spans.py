"""Providers of OpenTelemetry that keep in memory what is recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from toolkit import Catalog, Safety, Transient
from toolkit.telemetry import Telemetry

__all__ = ["KeptSpans", "build_work", "linked_ids"]


class KeptSpans:
    """A tracer and a meter in memory, and hooks that record there."""

    def __init__(self, sampler: Sampler | None = None) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(sampler), MeterProvider([self.reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))

    def hook(self, **options: Any) -> Telemetry:
        return Telemetry(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @property
    def spans(self) -> list[ReadableSpan]:
        """The spans that have ended, in the order of their starts."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """Return the only span with this name."""
        [span] = self.named(name)
        return span

    @property
    def tree(self) -> list[str]:
        """The paths of all spans, by the names of the spans around them."""
        spans = {span.context.span_id: span for span in self.spans}

        def path(span: ReadableSpan) -> str:
            parent = None if span.parent is None else spans.get(span.parent.span_id)
            return span.name if parent is None else f"{path(parent)} / {span.name}"

        return sorted(map(path, self.spans))

    @property
    def metrics(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """The attributes and the point of each series, by the name of the metric."""
        data = self.reader.get_metrics_data()
        resources = () if data is None else data.resource_metrics
        return {
            metric.name: [(dict(point.attributes), point) for point in metric.data.data_points]
            for resource in resources
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


def linked_ids(span: ReadableSpan) -> list[tuple[int, int]]:
    """Return the trace and the span of each link."""
    return [(link.context.trace_id, link.context.span_id) for link in span.links]


def build_work() -> Catalog:
    """Return a tool whose argument says how it ends, and one that asks first."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def work(how: str = "ok") -> str:
        """Do some work."""
        if how == "slow":
            await asyncio.Event().wait()
        errors = {"failed": RuntimeError("no"), "safety": Safety("no"), "transient": Transient("busy")}
        errors["cancelled"] = asyncio.CancelledError()
        if how in errors:
            raise errors[how]
        return how

    @catalog.tool(destructive=True)
    async def burn(wood: str) -> str:
        """Burn it."""
        return wood

    return catalog
