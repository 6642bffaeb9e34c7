"""
A tool that takes one thing, and how it refuses another.
"""

from __future__ import annotations

from typing import Any

import pytest

from toolkit.errors import BadArgs
from toolkit.spec import Tool


def tool_for(hint: Any) -> Tool:
    """Return a tool with one parameter `x` of the type *hint*."""

    def take(x):
        """Take one thing."""

    take.__annotations__ = {"x": hint}
    return Tool.described(take)


def refusal(tool: Tool, arguments: Any, validation: Any) -> str:
    """Return what the tool says about *arguments*, which it has to refuse."""
    with pytest.raises(BadArgs) as caught:
        tool.check(arguments, validation=validation)
    text = str(caught.value)
    assert len(text) < 1000
    return text
