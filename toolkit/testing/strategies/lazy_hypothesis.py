"""
Import hypothesis when the first strategy is made. If it is missing, the error says how to install it.

`st` and `hypothesis` stand for the modules `hypothesis.strategies` and `hypothesis`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from ..._lazy_names import LazyModule
from ...safety.shell.parser import DISTRIBUTION

__all__ = ["Strategy", "hypothesis", "st"]

Strategy: TypeAlias = "st.SearchStrategy[Any]"

if TYPE_CHECKING:
    import hypothesis
    from hypothesis import strategies as st
else:
    _INSTALL_HINT = f"pip install '{DISTRIBUTION}[testing]'"
    hypothesis = LazyModule("hypothesis", _INSTALL_HINT)
    st = LazyModule("hypothesis.strategies", _INSTALL_HINT)
