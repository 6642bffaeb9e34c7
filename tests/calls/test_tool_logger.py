"""A tool's logger behaves as a registered one, and is forgotten with its tool."""

from __future__ import annotations

import logging

import pytest

from toolkit import Catalog, Context, Dispatcher
from toolkit.calls.tool_logger import ToolLogger

pytestmark = pytest.mark.anyio


async def test_a_log_record_of_a_tool_carries_its_name(caplog):
    catalog = Catalog()

    @catalog.tool
    async def speak(context: Context) -> str:
        """Say something."""
        context.logger.warning("hello")
        return "said"

    await Dispatcher(catalog).call("speak", {})
    assert [(record.name, record.message) for record in caplog.records] == [("toolkit.tools.speak", "hello")]


def test_logging_settings_of_the_program_count_at_any_time(caplog):
    """They may be for one tool or for all tools."""
    logger = ToolLogger("set_later")
    with caplog.at_level(logging.ERROR, "toolkit.tools"):
        logger.warning("not wanted")
        with caplog.at_level(logging.DEBUG, "toolkit.tools.set_later"):
            logger.debug("wanted")
            assert logger.getEffectiveLevel() == logging.DEBUG
    assert [record.message for record in caplog.records] == ["wanted"]


def test_a_filter_and_a_level_that_a_tool_sets_are_kept():
    """They belong to the registered logger."""
    logger = ToolLogger("sets_itself")
    logger.setLevel("ERROR")
    assert logging.getLogger("toolkit.tools.sets_itself").level == logging.ERROR
    assert not logger.isEnabledFor(logging.WARNING)
    logger.addFilter(lambda record: True)
    assert len(logging.getLogger("toolkit.tools.sets_itself").filters) == 1


async def test_tools_that_were_called_leave_no_logger_behind():
    """`logging` keeps every logger for ever, and names come and go."""
    catalog = Catalog()

    @catalog.tool(name="called_once_and_gone")
    async def act() -> str:
        """Act."""
        return "done"

    await Dispatcher(catalog).call("called_once_and_gone", {})
    assert "toolkit.tools.called_once_and_gone" not in logging.Logger.manager.loggerDict
