"""
The test kit for tools: strategies that draw arguments from schemas, laws that every tool should keep, and test doubles.

    from hypothesis import given
    from toolkit.testing import arguments, check_catalog

    check_catalog(catalog)

    @given(arguments(read_file))
    def test_it_reads_or_says_why(given): ...

Drawing arguments needs hypothesis, which the extra `testing` installs. Hypothesis is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .doubles import FakeClock, Recorded, Recorder, assert_called, make_call, make_error, make_result, make_waiting
    from .evaluation import Case, CaseResult, Evaluation, Score, compare_evaluations, evaluate, read_cases
    from .laws.checking import broken_laws, check_catalog, check_tool
    from .laws.lints import lint
    from .laws.violations import LawsBroken, Violation
    from .load_target import catalog_of
    from .mcp_client import connect
    from .recorded_provider import RecordedProvider
    from .snapshots.snapshot import ToolChange, build_snapshot, check_snapshot, compare_snapshots
    from .strategies.arguments import arguments, bad_arguments, batches, calls, mistaken_arguments, values
    from .strategies.base import Unsupported
    from .strategies.mistakes import Mistake

__all__ = [
    "Case",
    "CaseResult",
    "Evaluation",
    "FakeClock",
    "LawsBroken",
    "Mistake",
    "Recorded",
    "RecordedProvider",
    "Recorder",
    "Score",
    "ToolChange",
    "Unsupported",
    "Violation",
    "arguments",
    "assert_called",
    "bad_arguments",
    "batches",
    "broken_laws",
    "build_snapshot",
    "calls",
    "catalog_of",
    "check_catalog",
    "check_snapshot",
    "check_tool",
    "compare_evaluations",
    "compare_snapshots",
    "connect",
    "evaluate",
    "lint",
    "make_call",
    "make_error",
    "make_result",
    "make_waiting",
    "mistaken_arguments",
    "read_cases",
    "values",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("FakeClock", "Recorded", "Recorder", "assert_called"), "doubles"),
        **dict.fromkeys(("make_call", "make_error", "make_result", "make_waiting"), "doubles"),
        **dict.fromkeys(("broken_laws", "check_catalog", "check_tool"), "laws.checking"),
        **dict.fromkeys(("LawsBroken", "Violation"), "laws.violations"),
        **dict.fromkeys(
            ("Case", "CaseResult", "Evaluation", "Score", "compare_evaluations", "evaluate", "read_cases"), "evaluation"
        ),
        **dict.fromkeys(("ToolChange", "build_snapshot", "check_snapshot", "compare_snapshots"), "snapshots.snapshot"),
        **dict.fromkeys(
            ("arguments", "bad_arguments", "batches", "calls", "mistaken_arguments", "values"), "strategies.arguments"
        ),
        "Mistake": "strategies.mistakes",
        "RecordedProvider": "recorded_provider",
        "Unsupported": "strategies.base",
        "catalog_of": "load_target",
        "connect": "mcp_client",
        "lint": "laws.lints",
    },
    remedies={"Finding": "it is now called Violation"},
)
