"""The comparison with other libraries: the page shows the rows there are, and our column is true today."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from benchmarks.comparison.__main__ import run_cell
from benchmarks.comparison.library import Library, NotOfferedError, Reply
from benchmarks.comparison.ours import Toolkit
from benchmarks.comparison.program_lines import FOLDER, PROGRAMS, count_lines, find_cell, run_program
from benchmarks.comparison.rows import ROWS

ROOT = Path(__file__).parents[1]
MEASURED = {"packages", "import", "plain call"}
"""Rows whose figures belong to one machine and one day."""


def read_tables(name):
    """Return the tables of a page, each a list of rows of cells, without their heads."""
    tables = re.findall(r"(?:^\|.*\n)+", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]] for table in tables
    ]


def test_the_page_has_every_row_and_its_programs():
    """The order is that of the code."""
    results, programs, *_ = read_tables("docs/comparison.md")
    assert [row[0] for row in results] == [row.title for row in ROWS]
    assert programs == [[row.title, " ".join(row.run.__doc__.split())] for row in ROWS]


@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in MEASURED], ids=lambda row: row.name)
def test_our_column_is_true(row):
    """The program of the row gives the cell that the page shows."""
    (cell,) = [line[1] for line in read_tables("docs/comparison.md")[0] if line[0] == row.title]
    assert cell == run_cell(row, Toolkit())


PEERS = ("pydantic_ai", "fastmcp", "openai_agents", "langchain")


def test_the_page_has_the_lines_of_every_program():
    """They have the order of the columns, and the reason stands for a program that a library does not have."""
    *_, lines, about = read_tables("docs/comparison.md")
    assert lines == [[program.title, *(find_cell(program, file) for file in ("ours", *PEERS))] for program in PROGRAMS]
    assert about == [[program.title, program.about] for program in PROGRAMS]
    assert {path.parent.name for path in FOLDER.glob("*/*.py")} == {program.name for program in PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_no_program_of_ours_is_longer_than_the_shortest_by_more_than_a_line(program):
    """A library that needs more is harder to begin with."""
    counts = [count for file in PEERS if (count := count_lines(program, file)) is not None]
    assert counts
    assert count_lines(program, "ours") <= min(counts) + 1


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_our_programs_run(program):
    """Each has its own process. `python -m benchmarks.comparison` runs those of others."""
    run_program(program, "ours")


def test_the_readme_shows_rows_of_the_page():
    """The same words, so that neither is changed alone."""
    page = {row[0]: row[1:] for row in read_tables("docs/comparison.md")[0]}
    (short,) = read_tables("README.md")
    assert 8 <= len(short) <= 12
    assert [row for row in short if page[row[0]] != row[1:]] == []


def test_every_note_belongs_to_a_row():
    """A note for a row that was renamed would be lost."""
    names = {row.name for row in ROWS}
    folder = ROOT / "benchmarks" / "comparison"
    sources = [folder / "ours.py", *folder.glob("*_peer.py")]
    notes = [
        block for source in sources for block in re.findall(r"notes: .*?= \{(.*?)\}", source.read_text(), re.DOTALL)
    ]
    assert len(notes) == 4
    assert {name for block in notes for name in re.findall(r'"([^"]+)": "', block)} <= names


class Careless(Library):
    """Run any call in the event loop, and let its exceptions through."""

    async def call(self, function, arguments):
        return Reply(str(function(*arguments.values())))

    async def call_with_time_limit(self, function, seconds):
        return await self.call(function, {})

    async def call_with_masked_key(self, function):
        return await self.call(function, {})


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("bad calls", "0 refused, 8 run"),
        ("named problems", "0 of 3"),
        ("exceptions", "the run ends: KeyError"),
        ("sync tools", "blocked"),
        ("time limit", "the limit is ignored"),
        ("secrets", "shown"),
    ],
)
def test_a_row_recognizes_a_careless_library(name, cell):
    """A program that gives the same result for every library would be useless."""
    (row,) = [row for row in ROWS if row.name == name]
    assert asyncio.run(row.run(Careless())) == cell


@pytest.mark.parametrize("name", ["approval", "approval after a kill", "secrets", "time limit"])
def test_a_row_without_a_feature_has_the_cell_none(name):
    """A library that has no approvals has none after a kill."""
    by_name = {row.name: row for row in ROWS}
    with pytest.raises(NotOfferedError):
        asyncio.run(by_name[name].run(Library()))
