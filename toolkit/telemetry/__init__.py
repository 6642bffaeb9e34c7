"""
Spans and metrics of calls, models, agents and flows, for OpenTelemetry or in a file.

    dispatcher = Dispatcher(catalog, telemetry=Telemetry())
"""

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr
from .._plumbing.distribution import install_hint as _install_hint
from ..errors import ToolkitError as _ToolkitError

if TYPE_CHECKING:  # because opentelemetry-api is an optional package
    from .telemetry_hook import Telemetry
    from .trace_file import TraceFile

__all__ = ["Telemetry", "TraceFile"]

_load = _lazy_getattr(__name__, {"Telemetry": "telemetry_hook", "TraceFile": "trace_file"})


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("opentelemetry"):
            raise
        raise _ToolkitError(
            f"telemetry needs opentelemetry-api; {_install_hint('otel')}, or use TraceFile(path), which needs nothing"
        ) from None
