"""The programs that a search with ripgrep needs."""

from __future__ import annotations

import shutil

import pytest

__all__ = ["BWRAP", "ENGINES", "RG", "XARGS", "needs_rg"]

RG, XARGS, BWRAP = (shutil.which(name) for name in ("rg", "xargs", "bwrap"))
needs_rg = pytest.mark.skipif(not (RG and XARGS), reason="ripgrep (rg) or xargs is not installed: it was NOT tested")
# ripgrep only tells which files cannot match, and each search starts it in a sandbox.
ENGINES = [False, pytest.param(True, marks=[needs_rg, pytest.mark.long])]
