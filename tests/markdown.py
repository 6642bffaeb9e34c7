"""
Runs the Python in a Markdown page, as a reader would paste it.

All blocks of a page share one namespace. A line that ends in `# -> text` is
checked: the expression's `repr` has to be that text.
"""

from __future__ import annotations

import ast
import re
import sys
import types
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(page: Path) -> int:
    """Run *page* and return how many results were checked."""
    text = page.read_text(encoding="utf-8")
    # A real module, because dataclasses and string annotations look theirs up.
    module = types.ModuleType(f"page_{page.stem.lower()}")
    sys.modules[module.__name__] = module
    try:
        return _run(page, text, vars(module))
    finally:
        del sys.modules[module.__name__]


def load_section(page: Path, heading: str) -> types.ModuleType:
    """Run the blocks under *heading* alone, and return the module that they make. The caller removes it."""
    text = page.read_text(encoding="utf-8")
    start = text.index(f"\n## {heading}\n") + 1
    end = text.find("\n## ", start)
    module = types.ModuleType(f"page_{page.stem.lower()}_{heading.lower()}")
    sys.modules[module.__name__] = module
    assert _run(page, text, vars(module), start, len(text) if end < 0 else end) > 0
    return module


def _run(page: Path, text: str, namespace: dict[str, Any], start: int = 0, end: int = sys.maxsize) -> int:
    checked = 0
    for match in _BLOCK.finditer(text, start, end):
        # Blank lines in front, so that a traceback names the page's own line.
        source = "\n" * text.count("\n", 0, match.start(1)) + match.group(1)
        lines = source.splitlines()
        for statement in ast.parse(source).body:
            expected = re.search(r"# -> (.*)$", lines[(statement.end_lineno or 1) - 1])
            if isinstance(statement, ast.Expr) and expected:
                code = compile(ast.Expression(statement.value), str(page), "eval")
                got = repr(eval(code, namespace))
                assert got == expected.group(1), f"{page.name}:{statement.lineno}: got {got}"
                checked += 1
            else:
                exec(compile(ast.Module([statement], []), str(page), "exec"), namespace)
    return checked
