"""The root's names are a list made on purpose."""

from __future__ import annotations

import subprocess
import sys
import types

import pytest

import toolkit

MAX_MODULES = 90
MAX_LINES = 14_900
"""What one good call of a plain function may load of this package."""

EXPORTS = [
    "DECLINED",
    "PER_CALL",
    "Access",
    "Agent",
    "ApprovalError",
    "ApprovalRequest",
    "Approvals",
    "AudioPart",
    "AuditError",
    "AuditLog",
    "AuthNeeded",
    "AuthRequest",
    "BadArgs",
    "Catalog",
    "CatalogError",
    "CatalogView",
    "Change",
    "Codec",
    "Command",
    "Context",
    "Decision",
    "Definition",
    "DefinitionError",
    "Dispatcher",
    "DuplicateTool",
    "EmbeddingRanker",
    "Facts",
    "FilePart",
    "ImagePart",
    "Inject",
    "JsonPart",
    "PermissionGate",
    "Permissions",
    "Problem",
    "Progress",
    "ProviderError",
    "Question",
    "Reads",
    "ResourcePart",
    "RetryPolicy",
    "Rule",
    "SQLiteApprovals",
    "Safety",
    "SafetyChecks",
    "SearchResult",
    "SearchResults",
    "Secret",
    "Session",
    "TerminalPrompt",
    "TextPart",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "ToolkitError",
    "ToolkitWarning",
    "Transient",
    "UnknownTool",
    "Url",
    "Verdict",
    "Writes",
    "default_catalog",
    "register_codec",
    "retrying",
    "tool",
]


def test_the_exports_are_these():
    """A name comes or goes only by changing this list too."""
    assert toolkit.__all__ == EXPORTS


def test_the_root_binds_only_its_exports():
    """Any other binding is a module or private."""
    bindings = {name: getattr(toolkit, name) for name in [*EXPORTS, *vars(toolkit)]}
    public = {name for name, value in bindings.items() if name[0] != "_" and not isinstance(value, types.ModuleType)}
    assert public - {"annotations", "Any", "TYPE_CHECKING"} == set(EXPORTS)


def test_a_name_that_is_not_there_is_an_attribute_error():
    """The names that are loaded later do not hide a mistake."""
    with pytest.raises(AttributeError, match="no attribute 'Dispatchr'"):
        _ = toolkit.Dispatchr


@pytest.mark.parametrize(
    "heavy",
    ["jsonschema", "httpx", "docstring_parser", "pydantic", "attr", "msgspec", "click", "rich", "mcp", "asyncio"],
)
def test_importing_is_light(heavy):
    """`import toolkit` loads neither asyncio nor any third-party package."""
    code = f"import sys, toolkit; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_names_of_most_programs_load_no_large_module():
    """The module that reads signatures comes with the first tool, and modules of other types with their first use."""
    large = "typing_extensions datetime decimal email fractions hashlib ipaddress pathlib random secrets urllib uuid"
    code = f"""
import sys
from toolkit import Dispatcher, tool
large = {{*{large.split()!r}, "toolkit.values.codecs.base", "toolkit.functions.signature", "toolkit.docstrings.parsing"}}
print(sorted(large & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_decorating_a_plain_function_is_light():
    """Describing it and checking an ordinary call are light, too."""
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


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_one_good_call_loads_few_modules(keyword):
    """Modules for judging, asking, retrying and resuming come with the first call that needs them."""
    code = f"""
import asyncio, sys
from toolkit import Catalog, Dispatcher, tool

catalog = Catalog()

@tool(catalog=catalog)
{keyword} add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b

assert asyncio.run(Dispatcher(catalog).call("add", {{"a": 1, "b": 2}})).value == 3
paths = [module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "toolkit"]
print(len(paths), sum(open(path, encoding="utf-8").read().count("\\n") for path in paths))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules, lines = map(int, done.stdout.split())
    assert modules <= MAX_MODULES
    assert lines <= MAX_LINES


def test_a_call_under_permissions_loads_no_reader_of_shell_commands():
    """It comes with the first rule or call that has a command, and is a seventh of what a server would load."""
    code = """
import asyncio, sys
from toolkit import Catalog, Dispatcher, Permissions

def add(a: int, b: int) -> int:
    return a + b

permissions = Permissions("auto", ["deny drop", "allow write(path=out/**)", "ask fetch(url=https://example.org/*)"])
assert Dispatcher(Catalog(add), permissions=permissions).call_sync("add", {"a": 1, "b": 2}).value == 3
print([name for name in sys.modules if name.startswith(("toolkit.safety.shell.", "toolkit.safety.commands."))])
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
