"""Print the spans of two calls. Other exporters send them to Jaeger, Logfire or Langfuse; see docs/observability.md."""

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from toolkit import Catalog, Dispatcher
from toolkit.telemetry import Telemetry


def divide(total: float, people: int) -> float:
    """Divide a bill."""
    return total / people


def show(span: ReadableSpan) -> str:
    """Return a span as a line."""
    return f"{span.name} {dict(span.attributes or {})}\n"


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=show)))
dispatcher = Dispatcher(Catalog(divide), telemetry=Telemetry(tracer_provider=provider, capture=True))
print(dispatcher.call_sync("divide", {"total": 10, "people": "4"}).text)
print(dispatcher.call_sync("divide", {"total": 10}).kind)
