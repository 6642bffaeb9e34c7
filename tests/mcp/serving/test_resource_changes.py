"""Resources that change, and the clients that have subscribed to them."""

from __future__ import annotations

import asyncio
import warnings

import mcp_types as types
import pytest
from mcp import Client, MCPError

from toolkit import Catalog, Dispatcher, tool
from toolkit.mcp import ResourceChanges, build_server

from .kit import NEW, OLD, connected

pytestmark = pytest.mark.anyio

WAIT_SECONDS = 20


@tool(catalog=None, read_only=True)
def read_day(day: str) -> str:
    """Read the notes of a day."""
    return f"notes of {day}"


RESOURCES = {"memo://today": "buy milk", "memo://days/{day}": read_day}


@pytest.fixture
def changes():
    """What the program announces changes with."""
    return ResourceChanges()


class News:
    """The URIs of the resources that a client of an older revision is told of."""

    def __init__(self):
        self._uris = asyncio.Queue()

    async def __call__(self, message):
        if isinstance(message, types.ResourceUpdatedNotification):
            self._uris.put_nowait(str(message.params.uri))

    async def next(self):
        """Wait for the next URI."""
        return await asyncio.wait_for(self._uris.get(), WAIT_SECONDS)

    @property
    def is_empty(self):
        return self._uris.empty()


def connect(changes, mode, **client):
    """Open a client of a server with resources that change."""
    return connected(Dispatcher(Catalog()), mode, client=client, resources=RESOURCES, resource_changes=changes)


async def call_old(method, uri):
    """Call a method that only an older revision has, about which the SDK warns."""
    with warnings.catch_warnings(action="ignore"):
        return await method(uri)


async def test_a_connection_gets_events_only_of_its_subscribed_resources(changes):
    """No event comes after the client has unsubscribed."""
    news = News()
    async with connect(changes, OLD, message_handler=news) as client:
        await call_old(client.subscribe_resource, "memo://today")
        await call_old(client.subscribe_resource, "memo://days/monday")
        changes.announce("memo://days/tuesday")
        changes.announce("memo://today")
        assert await news.next() == "memo://today"
        await call_old(client.unsubscribe_resource, "memo://today")
        await call_old(client.unsubscribe_resource, "memo://today")
        changes.announce("memo://today")
        await asyncio.to_thread(changes.announce, "memo://days/monday")
        assert await news.next() == "memo://days/monday"
        assert news.is_empty


async def test_a_client_of_the_newer_revision_receives_changes_of_its_resources(changes):
    """It names the resources when it begins to listen."""
    async with connect(changes, NEW) as client, client.listen(resource_subscriptions=["memo://today"]) as subscription:
        changes.announce("memo://days/monday")
        changes.announce("memo://today")
        event = await asyncio.wait_for(anext(aiter(subscription)), WAIT_SECONDS)
    assert event.uri == "memo://today"


async def test_a_connection_that_has_ended_is_forgotten(changes):
    """The server keeps nothing of it."""
    server = build_server(Dispatcher(Catalog()), resources=RESOURCES, resource_changes=changes)
    async with Client(server, mode=OLD) as client:
        await call_old(client.subscribe_resource, "memo://today")
        assert list(server._changes._uris.values()) == [{"memo://today"}]
    assert server._changes._uris == {}
    changes.announce("memo://today")  # there is no server any more that could tell it


async def test_subscribing_to_an_unknown_resource_is_an_error(changes):
    async with connect(changes, OLD) as client:
        with pytest.raises(MCPError, match="there is no resource memo://nothing"):
            await call_old(client.subscribe_resource, "memo://nothing")


@pytest.mark.long
async def test_a_connection_has_a_limited_number_of_subscriptions(changes):
    """A template has as many URIs as a client can think of."""
    async with connect(changes, OLD) as client:
        for number in range(1000):
            await call_old(client.subscribe_resource, f"memo://days/{number}")
        await call_old(client.subscribe_resource, "memo://days/0")
        with pytest.raises(MCPError, match="1,000 resources at most"):
            await call_old(client.subscribe_resource, "memo://today")


@pytest.mark.parametrize("mode", [OLD, "auto"])
async def test_a_server_with_fixed_resources_offers_no_subscriptions(mode):
    """They would never have an event."""
    async with connected(Dispatcher(Catalog()), mode, resources=RESOURCES) as client:
        assert not client.server_capabilities.resources.subscribe


@pytest.mark.parametrize("mode", [OLD, "auto"])
async def test_a_server_with_changing_resources_offers_subscriptions(mode, changes):
    """A client can see this before it subscribes."""
    async with connect(changes, mode) as client:
        assert client.server_capabilities.resources.subscribe


def test_a_change_is_announced_by_its_uri(changes):
    """Anything else is a mistake of the program."""
    with pytest.raises(TypeError, match="wants the URI of a resource"):
        changes.announce(None)
