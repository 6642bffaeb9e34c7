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

from .._plumbing.forks import unlock_properties_in_children
from . import names
from .attributes import Attributes

__all__ = ["SinkFinder", "TelemetrySink"]

_SCOPE = "toolkit"


@unlock_properties_in_children
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
        self._own_tracers, self._own_meters = tracer_provider, meter_provider
        self._tracers: TracerProvider | None = None
        self._meters: MeterProvider | None = None
        self._sink: TelemetrySink | None = None

    def find(self) -> TelemetrySink | None:
        """Return what records; None if nothing does."""
        tracers = self._own_tracers or _TRACERS["_TRACER_PROVIDER"]
        meters = self._own_meters or _METERS["_METER_PROVIDER"]
        if tracers is not self._tracers or meters is not self._meters:
            sink = TelemetrySink(tracers, meters)
            self._sink = sink if sink.records else None
            self._tracers, self._meters = tracers, meters
        return self._sink


def _find_variables(module: Any, name: str, ask: Callable[[], Any]) -> dict[str, Any]:
    """
    Return the variables of a module of the API, of which *name* is the provider of the program, or None.

    They are read, because *ask* looks into the environment first, which takes longer than all else that a call without
    telemetry needs. If a version of the API has no such variable, what *ask* returns now stands for it: a proxy.
    """
    variables = vars(module)
    return variables if name in variables else {name: ask()}


_TRACERS = _find_variables(trace, "_TRACER_PROVIDER", trace.get_tracer_provider)
_METERS = _find_variables(metrics_internal, "_METER_PROVIDER", metrics.get_meter_provider)
