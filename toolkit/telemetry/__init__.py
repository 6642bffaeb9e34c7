"""
Spans and metrics of calls, models, agents and flows, for OpenTelemetry.

    dispatcher = Dispatcher(catalog, hooks=[Telemetry()])
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:  # because opentelemetry-api is an optional package
    from .telemetry_hook import Telemetry

__all__ = ["Telemetry"]

__getattr__ = _lazy_getattr(__name__, {"Telemetry": "telemetry_hook"})
