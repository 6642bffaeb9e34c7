"""
One record a call.
"""

from __future__ import annotations

import json
import logging

import pytest

from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Deny, Log, Proceed
from toolkit.session import Session

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    """A catalog with one tool."""
    catalog = Catalog()

    @catalog.tool
    async def act(secret: str) -> str:
        """Act."""
        return secret * 2

    return catalog


async def test_a_record_names_the_tool_and_the_end_of_its_call(catalog, caplog):
    """It is JSON in the message and a dictionary beside it, without arguments and results."""
    clock = Clock()

    class Slow:
        def before(self, call):
            clock.now += 2.5
            return Proceed()

    dispatcher = Dispatcher(catalog, hooks=[Slow(), Log()], clock=clock)
    with caplog.at_level(logging.INFO, logger="toolkit.calls"):
        await dispatcher.call("act", {"secret": "hunter2"}, id="7", session=Session(id="s", principal="ada"))
    (record,) = caplog.records
    expected = {
        "call_id": "7",
        "tool": "act",
        "kind": "ok",
        "attempts": 1,
        "duration_seconds": 2.5,
        "chars": 14,
        "session": "s",
        "principal": "ada",
    }
    assert json.loads(record.getMessage()) == record.toolkit == expected
    assert record.levelno == logging.INFO


async def test_calls_that_never_ran_have_a_record(catalog, caplog):
    """It is a warning. The calls were not found, refused or denied. An unknown name is cut."""

    class No:
        def before(self, call):
            return Deny("no")

    dispatcher = Dispatcher(catalog, hooks=[No(), Log()])
    with caplog.at_level(logging.INFO, logger="toolkit.calls"):
        for name, arguments in (("x" * 500, {}), ("act", {}), ("act", {"secret": "a"})):
            await dispatcher.call(name, arguments)
    assert [record.toolkit["kind"] for record in caplog.records] == ["not_found", "bad_args", "denied"]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert len(caplog.records[0].toolkit["tool"]) == 64


async def test_no_record_is_written_below_the_level(catalog, caplog):
    """The logger may be given."""
    logger = logging.getLogger("mine")
    with caplog.at_level(logging.INFO, logger="mine"):
        await Dispatcher(catalog, hooks=[Log(logger, level=logging.DEBUG)]).call("act", {"secret": "a"})
        assert caplog.records == []
        await Dispatcher(catalog, hooks=[Log(logger)]).call("act", {"secret": "a"})
    assert [record.name for record in caplog.records] == ["mine"]
