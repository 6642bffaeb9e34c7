"""The tools that several files of tests use."""

from __future__ import annotations

import threading

import pytest

from tests.calls.office import Office
from tests.calls.shed import AskingShed
from toolkit.catalog import Catalog
from toolkit.errors import ToolError


@pytest.fixture
def shed():
    """A shed in which nothing has been cut yet."""
    return AskingShed()


@pytest.fixture
def office():
    """An office in which nothing has been done yet."""
    return Office()


@pytest.fixture
def catalog():
    """A catalog with three plain tools."""
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["plus"])
    async def add(a: int, b: int = 2) -> dict[str, int]:
        """Add two numbers."""
        return {"sum": a + b}

    @catalog.tool
    def echo(text: str) -> str:
        """Say it again."""
        return text

    @catalog.tool
    async def fail(message: str = "no") -> str:
        """Fail."""
        raise ToolError(message)

    return catalog


@pytest.fixture
def release():
    """Lets threads that hang go on; set at the end, so that none outlives its test."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def here(catalog):
    """A tool that tells in which thread it runs."""

    @catalog.tool(read_only=True, thread="caller")
    def here() -> int:
        """Tell the thread."""
        return threading.get_ident()
