"""
Import hypothesis when the first strategy is made. If it is missing, the error says how to install it.

`st` and `hypothesis` stand for the modules `hypothesis.strategies` and `hypothesis`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias

from ..._distribution import DISTRIBUTION
from ...errors import ToolkitError

__all__ = ["Strategy", "hypothesis", "st"]

Strategy: TypeAlias = "st.SearchStrategy[Any]"

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:

    class _LazyModule:
        """A stand-in for a module, which is imported when one of its attributes is first used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            try:
                module = importlib.import_module(self._name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != "hypothesis":
                    raise
                raise ToolkitError(f"hypothesis is not installed; pip install '{DISTRIBUTION}[testing]'") from None
            attribute = getattr(module, name)
            setattr(self, name, attribute)  # the next access finds the attribute without `__getattr__`
            return attribute

    hypothesis = _LazyModule("hypothesis")
    st = _LazyModule("hypothesis.strategies")
