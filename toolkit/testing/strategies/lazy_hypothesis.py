"""
Hypothesis, loaded when the first strategy is made, and missed with the remedy.

`st` and `hypothesis` stand for the modules of these names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

from ...errors import ToolkitError
from ...safety.shell.parser import DISTRIBUTION

__all__ = ["Strategy", "hypothesis", "st"]

Strategy: TypeAlias = "st.SearchStrategy[Any]"

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:

    class _Later:
        """A module that is imported when somebody uses it."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            try:
                module = importlib.import_module(self._name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != "hypothesis":
                    raise
                raise ToolkitError(f"hypothesis is not installed; pip install '{DISTRIBUTION}[testing]'") from None
            found = getattr(module, name)
            setattr(self, name, found)  # the next one finds it without asking
            return found

    hypothesis = _Later("hypothesis")
    st = _Later("hypothesis.strategies")
