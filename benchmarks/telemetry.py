"""
What `Telemetry` costs: a call with it, beside the same call in a bare span of OpenTelemetry with the same attributes.

The candidates take turns in one event loop, and the best round counts, in time of the processor. It needs the SDK of
OpenTelemetry, which `make bench` does not have: `python -m benchmarks.telemetry`.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping

from opentelemetry.sdk.trace import TracerProvider, sampling
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolkit import Catalog, Dispatcher
from toolkit.telemetry import Telemetry

from .timing import Row, print_table

__all__ = ["rows"]

_ROUNDS, _NUMBER = 200, 30  # short rounds: other programs disturb fewer of them


def rows() -> list[Row]:
    return asyncio.run(_measure())


async def _measure() -> list[Row]:
    exporter, sampled = InMemorySpanExporter(), TracerProvider()
    sampled.add_span_processor(SimpleSpanProcessor(exporter))
    unsampled = TracerProvider(sampling.ALWAYS_OFF)
    plain = _dispatcher()
    hooked = _dispatcher(Telemetry(tracer_provider=sampled))
    await hooked.call("add", {"left": 1, "right": 2})
    [span] = exporter.get_finished_spans()
    best = await _best_of(
        {
            "plain": _call(plain),
            "no SDK": _call(_dispatcher(Telemetry())),
            "bare": _call_in_span(plain, sampled, span.name, dict(span.attributes or {})),
            "ours": _call(hooked),
            "bare unsampled": _call_in_span(plain, unsampled, span.name, dict(span.attributes or {})),
            "ours unsampled": _call(_dispatcher(Telemetry(tracer_provider=unsampled))),
        },
        exporter.clear,
    )
    pairs = {"no SDK": "plain", "ours": "bare", "ours unsampled": "bare unsampled"}
    limits = {"no SDK": 1.15, "ours": 1.1, "ours unsampled": 1.3}
    return [
        (name, best[name], best[name] / best[base], f"to {base}, {best[base]:.1f}, at most {limits[name]}")
        for name, base in pairs.items()
    ]


def _dispatcher(*hooks: Telemetry) -> Dispatcher:
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(left: int, right: int) -> int:
        """Add two numbers."""
        return left + right

    return Dispatcher(catalog, hooks=hooks)


def _call(dispatcher: Dispatcher) -> Callable[[], Awaitable[object]]:
    return lambda: dispatcher.call("add", {"left": 1, "right": 2})


def _call_in_span(
    dispatcher: Dispatcher, provider: TracerProvider, name: str, attributes: Mapping[str, object]
) -> Callable[[], Awaitable[object]]:
    tracer = provider.get_tracer("bare")

    async def call() -> object:
        with tracer.start_as_current_span(name, attributes=dict(attributes)):  # type: ignore[arg-type]
            return await dispatcher.call("add", {"left": 1, "right": 2})

    return call


async def _best_of(
    candidates: Mapping[str, Callable[[], Awaitable[object]]], clear: Callable[[], None]
) -> dict[str, float]:
    """Return the microseconds for one call of each candidate."""
    best = dict.fromkeys(candidates, float("inf"))
    gc.disable()
    for _ in range(_ROUNDS):
        for name, candidate in candidates.items():
            start = time.thread_time()
            for _ in range(_NUMBER):
                await candidate()
            best[name] = min(best[name], (time.thread_time() - start) / _NUMBER * 1e6)
            clear()
    gc.enable()
    return best


if __name__ == "__main__":
    print_table("One call with telemetry", rows())
