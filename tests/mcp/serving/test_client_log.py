"""
What tools log, as clients get it.
"""

from __future__ import annotations

import logging
import warnings

import pytest
from mcp.server.session import ServerSession
from mcp_types import LoggingMessageNotification

from toolkit import Catalog, Context, Dispatcher

from .kit import MODES, NEW, OLD, YES, Person, connected, text_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    """Tools that log on the event loop, in a thread and after an approval."""
    catalog = Catalog()

    def write(logger):
        logger.debug("looking for %s", "tea")
        logger.log(25, "found")
        logger.error("the key is sk-1")
        return "done"

    @catalog.tool(read_only=True)
    async def log(context: Context) -> str:
        """Log on the event loop."""
        return write(context.logger)

    @catalog.tool(read_only=True)
    def log_in_thread(context: Context) -> str:
        """Log in a thread."""
        return write(context.logger)

    @catalog.tool
    async def order(context: Context) -> str:
        """Log after an approval."""
        return write(context.logger)

    return catalog


class Log:
    """Collects what a client is told."""

    def __init__(self):
        self.entries = []

    async def __call__(self, params):
        self.entries.append((params.level, params.logger, params.data))


async def call(catalog, mode, tool, level, *, sends_logs=True, **options):
    """Call a tool as a client that wants the log from a level on. The entries that it got."""
    log = Log()
    client = {"logging_callback": log}
    if mode == NEW and level is not None:
        client["log_level"] = level
    dispatcher = Dispatcher(catalog, **options)
    async with connected(dispatcher, mode, Person(YES), client=client, sends_logs=sends_logs) as connection:
        if mode == OLD and level is not None:
            with warnings.catch_warnings(action="ignore"):  # the SDK says that a later revision has another way
                await connection.set_logging_level(level)
        assert text_of(await connection.call_tool(tool, {})) == "done"
    return log.entries


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["log", "log_in_thread", "order"])
async def test_a_client_gets_the_log_of_its_calls(catalog, mode, tool):
    """The records arrive before the result and in order, from a thread and after an approval as well."""
    assert await call(catalog, mode, tool, "debug") == [
        ("debug", tool, "looking for tea"),
        ("notice", tool, "found"),
        ("error", tool, "the key is sk-1"),
    ]


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_chooses_the_level(catalog, mode):
    """Records below the level are not sent."""
    entries = await call(catalog, mode, "log", "warning")
    assert [level for level, _, _ in entries] == ["error"]
    assert await call(catalog, mode, "log", "emergency") == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_does_not_ask_gets_no_log(catalog, mode):
    """A client chooses a level first."""
    assert await call(catalog, mode, "log", None) == []


async def test_a_server_sends_no_logs_by_default(catalog):
    """Logs of tools may be meant for the operator of the server only."""
    assert await call(catalog, NEW, "log", "debug", sends_logs=False) == []
    async with connected(Dispatcher(catalog), OLD) as connection:
        assert connection.server_capabilities.logging is None


async def test_secrets_in_the_log_are_masked(catalog):
    """The rules of the dispatcher hold for the log as for results."""
    [entry] = await call(catalog, NEW, "log", "error", redact=["sk-1"])
    assert "sk-1" not in entry[2]


async def test_a_mistake_in_a_log_record_does_not_fail_the_tool(caplog):
    """The record is not sent, the log of the program says why, and the next record is sent."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def log(context: Context) -> str:
        """Log a number that is none."""
        context.logger.info("%d", "five")
        context.logger.info("after")
        return "done"

    entries = await call(catalog, NEW, "log", "info")
    assert [text for _, _, text in entries] == ["after"]
    assert "cannot be sent" in caplog.text


async def test_the_log_of_the_program_does_not_change(catalog, caplog):
    """A record that the settings of the program leave out reaches only the client, and others reach both."""
    with caplog.at_level(logging.ERROR, "toolkit.tools"):
        entries = await call(catalog, NEW, "log", "debug")
    assert len(entries) == 3
    assert [record.message for record in caplog.records if record.name == "toolkit.tools.log"] == ["the key is sk-1"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_log_that_cannot_be_sent_does_not_cost_the_result(catalog, mode, monkeypatch, caplog):
    """The tool has run, so its client gets the result, and the program's own log says once what is missing."""

    async def refuse(self, notification, **options):
        if isinstance(notification, LoggingMessageNotification):
            raise ConnectionError("the pipe is broken")

    monkeypatch.setattr(ServerSession, "send_notification", refuse)
    assert await call(catalog, mode, "log", "debug") == []
    assert [record.getMessage() for record in caplog.records if record.name == "toolkit"] == [
        "what a tool logged cannot be sent to the client, so the rest of it is left out"
    ]
