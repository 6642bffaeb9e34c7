"""
Flows: typed steps with checks, which can be undone, run again and continued after a crash.

`Flow` connects plain functions by the types that they take and return.
"""

from __future__ import annotations

from .flow import Flow
from .outcomes import Failed, Problems, Waiting
from .step_options import StepOptions
from .story import FlowEvent

__all__ = ["Failed", "Flow", "FlowEvent", "Problems", "StepOptions", "Waiting"]
