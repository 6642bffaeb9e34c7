"""The root's names are a list made on purpose."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

import toolkit

EXPORTS = [
    "BadArgs",
    "Catalog",
    "CatalogError",
    "CatalogView",
    "Change",
    "Codec",
    "Context",
    "Definition",
    "DefinitionError",
    "DuplicateTool",
    "Facts",
    "Inject",
    "Problem",
    "ProviderError",
    "Safety",
    "Tool",
    "ToolError",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "default_catalog",
    "register_codec",
    "tool",
]


def test_the_exports_are_these():
    """A name comes or goes only by changing this list too."""
    assert toolkit.__all__ == sorted(EXPORTS, key=lambda name: (name[0].islower(), name))


def test_the_root_binds_nothing_else():
    """What is not exported is a module or private."""
    public = {
        name
        for name, value in vars(toolkit).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType) and name != "annotations"
    }
    assert public == set(EXPORTS)


@pytest.mark.parametrize(
    "heavy", ["jsonschema", "httpx", "docstring_parser", "pydantic", "attr", "msgspec", "click", "rich", "mcp"]
)
def test_importing_is_light(heavy):
    """`import toolkit` loads no third-party package but typing-extensions."""
    code = f"import sys, toolkit; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_decorating_a_plain_function_is_light():
    """Nor does describing and checking an ordinary call."""
    code = """
import sys
from toolkit import Tool

def add(a: int, b: int = 2) -> int:
    '''
    Add two numbers.

    Args:
        a: The first.
        b: The second.
    '''
    return a + b

assert Tool.of(add).check({"a": 1}) == {"a": 1, "b": 2}
sys.exit(bool({"jsonschema", "httpx", "pydantic"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
