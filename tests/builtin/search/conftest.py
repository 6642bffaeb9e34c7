"""`grep` with each engine."""

from __future__ import annotations

import pytest

from tests.builtin.trees import run_by_hand
from toolkit.builtin.search.grep_tool import grep_for

from .programs import ENGINES


@pytest.fixture(params=ENGINES, ids=["built-in", "ripgrep"])
def grep(request):
    """Search in a workspace, once with each engine."""

    def run(workspace, *arguments, **options):
        return run_by_hand(grep_for(workspace, ripgrep=request.param), *arguments, **options)

    return run
