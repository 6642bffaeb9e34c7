"""What the page about reliability says has a test, and the test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
ROWS = re.findall(r"^\| (?!fault |part |---)(.+) \| (.+) \| (.+) \|$", PAGE.split("## Endurance")[0], re.MULTILINE)


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_every_named_test_exists(file, name):
    """A promise whose test was renamed or removed is no promise any more."""
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assert name in functions


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_every_line_names_its_test(row):
    """The last column is a test, and nothing else."""
    assert re.fullmatch(r"`[\w/]+\.py::test_\w+`", row[2])


def test_the_table_of_the_page_is_read():
    """Otherwise the other tests would be empty."""
    assert len(ROWS) >= 25
