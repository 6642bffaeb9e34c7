"""
Where spans and metrics go: a tracer and the histograms of a meter, once a program has set them up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import Histogram, MeterProvider, NoOpMeter
from opentelemetry.metrics import _internal as metrics_internal
from opentelemetry.trace import NoOpTracer, Tracer, TracerProvider

from . import names
from .attributes import Attributes

__all__ = ["TelemetrySink", "SinkFinder"]

_SCOPE = "toolkit"


class TelemetrySink:
    """A tracer and a meter. What does not record is None."""

    def __init__(self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None) -> None:
        self.tracer: Tracer | None = None
        if tracer_provider is not None:
            tracer = tracer_provider.get_tracer(_SCOPE, schema_url=names.SCHEMA_URL)
            self.tracer = None if isinstance(tracer, NoOpTracer) else tracer
        self._meter = None if meter_provider is None else meter_provider.get_meter(_SCOPE, schema_url=names.SCHEMA_URL)

    @property
    def records(self) -> bool:
        """Whether anything is recorded."""
        return self.tracer is not None or not (self._meter is None or isinstance(self._meter, NoOpMeter))

    def record(self, metric: str, amount: float, attributes: Attributes) -> None:
        """Add *amount* to one of the histograms."""
        if self._meter is not None:
            self._histograms[metric].record(amount, attributes)

    @cached_property
    def _histograms(self) -> dict[str, Histogram]:
        meter = self._meter
        if meter is None:
            return {}
        return {
            metric: meter.create_histogram(
                name, unit=unit, description=description, explicit_bucket_boundaries_advisory=buckets
            )
            for metric, (name, unit, description, buckets) in names.METRICS.items()
        }


class SinkFinder:
    """
    Finds what records now. A program may set up its providers after this object was made.

    Args:
        tracer_provider: The provider of the spans; None stands for the one of the program.
        meter_provider: The provider of the metrics, likewise.
    """

    def __init__(self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None) -> None:
        # These load the providers that environment variables name.
        trace.get_tracer_provider()
        metrics.get_meter_provider()
        self._own = tracer_provider, meter_provider
        self._providers: tuple[TracerProvider | None, MeterProvider | None] = (None, None)
        self._sink: TelemetrySink | None = None

    def find(self) -> TelemetrySink | None:
        """Return what records; None if nothing does."""
        tracers, meters = self._own
        tracers, meters = tracers or _get_tracer_provider(), meters or _get_meter_provider()
        if tracers is not self._providers[0] or meters is not self._providers[1]:
            sink = TelemetrySink(tracers, meters)
            self._sink, self._providers = sink if sink.records else None, (tracers, meters)
        return self._sink


def _prepare_lookup(module: Any, variable: str, ask: Callable[[], Any]) -> Callable[[], Any]:
    """
    Return a function that returns the provider of the program; None if there is none.

    It reads the *variable* of the API, because *ask* looks into the environment first, which would take longer than all
    else that a call without telemetry needs. If a version of the API has no such variable, it is *ask*.
    """
    return (lambda: getattr(module, variable)) if hasattr(module, variable) else ask


_get_tracer_provider = _prepare_lookup(trace, "_TRACER_PROVIDER", trace.get_tracer_provider)
_get_meter_provider = _prepare_lookup(metrics_internal, "_METER_PROVIDER", metrics.get_meter_provider)
