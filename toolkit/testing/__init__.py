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
    from .builders import make_call, make_error, make_result, make_waiting
    from .clocks import FakeClock
    from .laws.checking import broken_laws, check_catalog, check_tool
    from .laws.findings import Finding, LawsBroken
    from .laws.lints import lint
    from .load_target import catalog_of
    from .recorder import Recorded, Recorder, assert_called
    from .strategies.arguments import arguments, bad_arguments, batches, calls, mistaken_arguments, values
    from .strategies.mistakes import Mistake
    from .strategies.unsupported import Unsupported

__all__ = [
    "FakeClock",
    "Finding",
    "LawsBroken",
    "Mistake",
    "Recorded",
    "Recorder",
    "Unsupported",
    "arguments",
    "assert_called",
    "bad_arguments",
    "batches",
    "broken_laws",
    "calls",
    "catalog_of",
    "check_catalog",
    "check_tool",
    "lint",
    "make_call",
    "make_error",
    "make_result",
    "make_waiting",
    "mistaken_arguments",
    "values",
]

__getattr__ = _lazy_getattr(
    __name__,
    {
        **dict.fromkeys(("make_call", "make_error", "make_result", "make_waiting"), "builders"),
        **dict.fromkeys(("broken_laws", "check_catalog", "check_tool"), "laws.checking"),
        **dict.fromkeys(("Finding", "LawsBroken"), "laws.findings"),
        **dict.fromkeys(("Recorded", "Recorder", "assert_called"), "recorder"),
        **dict.fromkeys(
            ("arguments", "bad_arguments", "batches", "calls", "mistaken_arguments", "values"), "strategies.arguments"
        ),
        "FakeClock": "clocks",
        "Mistake": "strategies.mistakes",
        "Unsupported": "strategies.unsupported",
        "catalog_of": "load_target",
        "lint": "laws.lints",
    },
)
