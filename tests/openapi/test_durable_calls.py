"""
Operations in durable runs: they wait for an approval or for credentials, and go on in another process.
"""

from __future__ import annotations

import itertools
import json

import httpx
import pytest

from toolkit import Agent, Catalog, Decision, Dispatcher, Permissions, ToolCall
from toolkit.durable import DurableAgent
from toolkit.providers import AssistantMessage, ScriptedProvider

from .kit import BASE, document

pytestmark = pytest.mark.anyio

SHOP = document(
    {
        "delete /orders/{id}": {
            "operationId": "cancel",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
        }
    },
    components={"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    security=[{"token": ["orders:write"]}],
)
SECRET = "s3cret-token"


class Shop:
    """An API that cancels orders, and an agent that cancels order 7. `open` makes them anew, as another process does."""

    def __init__(self, path, mode):
        self.path, self.mode = path, mode
        self.requests = []
        self.token = None

    def answer(self, request):
        self.requests.append((request.method, request.url.path, request.headers["authorization"]))
        return httpx.Response(200, json={"cancelled": 7})

    def play(self, request):
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return [[ToolCall("cancel", {"id": 7}, "c1")], "done"][turn]

    def open(self):
        client = httpx.AsyncClient(base_url=BASE, transport=httpx.MockTransport(self.answer))
        catalog = Catalog.from_openapi(SHOP, client=client, auth={"token": lambda: self.token})
        dispatcher = Dispatcher(catalog, permissions=Permissions(self.mode))
        agent = Agent(ScriptedProvider(itertools.repeat(self.play)), dispatcher)
        return DurableAgent(agent, f"sqlite:///{self.path}/runs.sqlite")

    async def resume(self, decision):
        async with self.open() as durable:
            return await durable.resume("r", decision)


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


async def test_an_operation_waits_for_its_approval_and_runs_once_in_another_process(folder):
    shop = Shop(folder, "default")
    shop.token = SECRET
    async with shop.open() as durable:
        run = await durable.run("cancel order 7", id="r")
    (request,) = run.requests
    assert (run.status, request.tool, shop.requests) == ("waiting", "cancel", [])
    assert "7" in json.dumps(request.to_json())
    assert (await shop.resume(Decision.approve())).text == "done"
    async with shop.open() as durable:
        assert (await durable.run("cancel order 7", id="r")).text == "done"
    assert shop.requests == [("DELETE", "/v1/orders/7", f"Bearer {SECRET}")]
    assert not any(SECRET.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_an_operation_that_is_denied_is_not_sent(folder):
    shop = Shop(folder, "default")
    async with shop.open() as durable:
        await durable.run("cancel order 7", id="r")
    assert (await shop.resume(Decision.deny("not that one"))).status == "done"
    assert shop.requests == []


async def test_an_operation_waits_for_credentials_and_goes_on_in_another_process(folder):
    """First for the approval, then for the credentials; the request is sent once, with them."""
    shop = Shop(folder, "default")
    async with shop.open() as durable:
        await durable.run("cancel order 7", id="r")
    run = await shop.resume(Decision.approve())
    (request,) = run.requests
    assert (run.status, request.auth.provider, request.auth.scopes) == ("waiting", "Pet Shop", ("orders:write",))
    run = await shop.resume(Decision.approve())  # a person who says yes too early is asked again
    assert (run.status, shop.requests) == ("waiting", [])
    shop.token = SECRET
    assert (await shop.resume(Decision.approve())).text == "done"
    assert shop.requests == [("DELETE", "/v1/orders/7", f"Bearer {SECRET}")]
    assert not any(SECRET.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())
