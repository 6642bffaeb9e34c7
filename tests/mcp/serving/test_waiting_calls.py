"""A stateless server: who answers a call that its client cannot ask about, and what such a server does not offer."""

from __future__ import annotations

import contextlib
import json
import re

import httpx
import pytest

from tests.clocks import Clock
from toolkit import ApprovalError, Approvals, Catalog, Context, Dispatcher, Permissions, SQLiteApprovals
from toolkit.mcp import Auth, ResourceChanges, http_app

pytestmark = pytest.mark.anyio

KEY = "k" * 64
OLD = "2025-11-25"
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": OLD,
}
TOKENS = {"the-token-of-ada-1234": "ada", "the-token-of-bob-1234": "bob"}
ADA, BOB = TOKENS
YES = {"action": "accept", "approval.approve": "true"}


@pytest.fixture
def ran():
    """What the tools have done."""
    return []


@pytest.fixture
def shop(ran):
    """A tool that changes something, and one that asks as well."""
    catalog = Catalog()

    @catalog.tool
    def write(text: str) -> str:
        """Write a line."""
        ran.append(text)
        return f"wrote {text}"

    @catalog.tool
    async def order(context: Context, item: str) -> str:
        """Order an item."""
        size = await context.ask("size", "Which <size>?", {"type": "string", "enum": ["S", "M"]})
        number = await context.ask("number", "How many?", {"type": "integer"})
        ran.append((item, size, number))
        return f"ordered {number} of {size}"

    return catalog


@pytest.fixture
def store(tmp_path):
    """The store that all processes share."""
    return SQLiteApprovals(tmp_path / "shop.approvals.sqlite")


@contextlib.asynccontextmanager
async def opened(app, **headers):
    """Open an HTTP client of the application."""
    transport = httpx.ASGITransport(app)
    async with app.running(), httpx.AsyncClient(transport=transport, base_url="http://localhost:80") as client:
        client.headers.update(headers)
        yield client


async def send(client, method, **params):
    """Send one message, and return the answer."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    response = await client.post("/mcp", json=message, headers=HEADERS)
    return json.loads(re.search(r"^data: (.*)$", response.text, re.MULTILINE)[1])


async def call(client, name, **arguments):
    """Call a tool; return the text of the result, and the path of the page in it."""
    answer = await send(client, "tools/call", name=name, arguments=arguments)
    text = answer["result"]["content"][0]["text"]
    page = re.search(r"http://localhost(/mcp/requests/\w+)", text)
    return text, page and page[1]


async def test_a_call_with_questions_is_answered_form_by_form(shop, store, ran):
    """An approval leads to the questions, each on a page of its own; other fields than those of the form count nothing."""
    app = http_app(Dispatcher(shop, approvals=Approvals(store)), key=KEY, stateless=True)
    async with opened(app) as client:
        text, page = await call(client, "order", item="tea")
        assert "It has not run" in text
        first = await client.post(page, data=YES)
        size_page = httpx.URL(f"http://localhost{page}").join(first.headers["location"]).path
        assert (await call(client, "order", item="tea"))[1] == size_page
        response = await client.get(size_page)
        assert "Which &lt;size&gt;?" in response.text
        assert '<option value="M">' in response.text
        refused = await client.post(size_page, data={"action": "accept", "size.answer": "XL"})
        empty = await client.post(size_page, data={"size.answer": "M"})
        assert [refused.status_code, empty.status_code] == [409, 400]
        second = await client.post(size_page, data={"action": "accept", "size.answer": "M"})
        number_page = httpx.URL(f"http://localhost{page}").join(second.headers["location"]).path
        last = await client.post(number_page, data={"action": "accept", "number.answer": "2"})
        assert "ordered 2 of M" in last.text
        assert "ordered 2 of M" in (await call(client, "order", item="tea"))[0]
        assert "answered before" in (await client.get(number_page)).text
        assert (await client.get("/mcp/requests/unknown")).status_code == 404
    assert ran == [("tea", "M", 2)]


async def test_only_the_user_of_a_call_can_answer_its_page(shop, store, ran):
    """The model knows the address of the page, and has no token."""
    app = http_app(Dispatcher(shop, approvals=Approvals(store)), key=KEY, stateless=True, auth=Auth.token(TOKENS))
    async with opened(app) as client:
        client.headers["authorization"] = f"Bearer {ADA}"
        _, page = await call(client, "write", text="x")
        statuses = [
            (await client.post(page, data={**YES, **token})).status_code
            for token in ({}, {"token": "no-such-token-at-all"}, {"token": BOB}, {"token": ADA})
        ]
        client.headers["authorization"] = f"Bearer {BOB}"
        _, other_page = await call(client, "write", text="x")
    assert statuses == [401, 401, 403, 200]
    assert ran == ["x"]
    assert other_page not in (None, page)


async def test_a_tool_sees_the_request_that_brings_the_answer(store, ran):
    """The user, and the headers that a proxy has set there as it does for every request."""
    catalog = Catalog()

    @catalog.tool
    def write(context: Context) -> str:
        """Write a line for the tenant."""
        ran.append((context.request.principal, dict(context.request.headers)))
        return "written"

    options = {"key": KEY, "stateless": True, "auth": Auth.token(TOKENS), "request_headers": ["X-Tenant"]}
    app = http_app(Dispatcher(catalog, approvals=Approvals(store)), **options)
    async with opened(app, **{"authorization": f"Bearer {ADA}", "x-tenant": "blue"}) as client:
        _, page = await call(client, "write")
        assert "written" in (await client.post(page, data={**YES, "token": ADA}, headers={"x-other": "no"})).text
    assert ran == [("ada", {"x-tenant": "blue"})]


async def test_none_of_several_choices_is_an_answer_on_a_page(store):
    """A browser sends nothing for a list in which nothing is chosen. Elicitation and the terminal take it as well."""
    catalog, choices = Catalog(), {"type": "array", "items": {"type": "string", "enum": ["nuts", "milk"]}}

    @catalog.tool(read_only=True)
    async def bake(context: Context) -> list[str]:
        """Bake a cake."""
        return await context.ask("without", "Without what?", choices)

    app = http_app(Dispatcher(catalog, approvals=Approvals(store)), key=KEY, stateless=True)
    async with opened(app) as client:
        _, page = await call(client, "bake")
        assert (await client.post(page, data={"action": "accept"})).status_code == 200
        assert "[]" in (await call(client, "bake"))[0]


async def test_the_cost_of_a_call_decides_whether_the_call_waits(store, ran):
    """The function gets the arguments in every process, also in the one that runs the call after the answer."""

    async def estimate(arguments):
        return 0.04 * arguments["count"]

    def build():
        catalog = Catalog()

        @catalog.tool(cost=estimate)
        def paint(count: int) -> str:
            """Paint pictures."""
            ran.append(count)
            return f"painted {count}"

        rules = Permissions("auto", ["ask paint(cost>0.10)", "deny paint(cost>1)"])
        dispatcher = Dispatcher(catalog, permissions=rules, approvals=Approvals(store))
        return http_app(dispatcher, key=KEY, stateless=True)

    async with opened(build()) as first, opened(build()) as second:
        assert (await call(first, "paint", count=2))[0] == "painted 2"
        text, page = await call(first, "paint", count=5)
        assert "It has not run" in text
        assert "costs $0.20" in (await second.get(page)).text
        assert "painted 5" in (await second.post(page, data=YES)).text
        assert "painted 5" in (await call(first, "paint", count=5))[0]
        assert "denied" in (await call(second, "paint", count=30))[0]
    assert ran == [2, 5]


async def test_a_page_of_another_site_cannot_answer(shop, store, ran):
    """The page itself can, also if the server is not on loopback."""
    app = http_app(
        Dispatcher(shop, approvals=Approvals(store)), key=KEY, stateless=True, auth=Auth.token(TOKENS), host="0.0.0.0"
    )
    async with opened(app, authorization=f"Bearer {ADA}") as client:
        _, page = await call(client, "write", text="x")
        form = {**YES, "token": ADA}
        refused = await client.post(page, data=form, headers={"origin": "https://evil.example"})
        assert (refused.status_code, ran) == (403, [])
        assert (await client.post(page, data=form, headers={"origin": "https://localhost"})).status_code == 200
    assert ran == ["x"]


async def test_a_denial_reaches_the_client_until_the_request_expires(shop, store, ran):
    """After that the call is a new one."""
    clock = Clock()
    clock.now = 1100.0
    approvals = Approvals(store, clock=clock)
    app = http_app(Dispatcher(shop, approvals=approvals), key=KEY, stateless=True, answer_seconds=100)
    async with opened(app) as client:
        _, page = await call(client, "write", text="x")
        await client.post(page, data={"action": "decline"})
        clock.now += 199  # another period of time, in which the request still counts
        text, again = await call(client, "write", text="x")
        assert ("denied" in text, again) == (True, None)
        clock.now += 2
        _, new_page = await call(client, "write", text="x")
        assert new_page not in (None, page)
        clock.now += 201
        assert "expired" in (await client.get(new_page)).text
    assert ran == []


@pytest.mark.parametrize("options", [{}, {"key": KEY}], ids=["no key", "no shared store"])
async def test_a_call_that_no_other_process_could_find_is_refused(shop, ran, options):
    """The refusal says what is missing, and leaves no request behind."""
    approvals = Approvals()
    app = http_app(Dispatcher(shop, approvals=approvals), stateless=True, **options)
    async with opened(app) as client:
        text, page = await call(client, "write", text="x")
    assert "one key and one store of approvals" in text
    assert (page, ran, approvals.store.pending()) == (None, [], [])


async def test_a_stateless_server_offers_no_events(shop):
    """It has no session, no event stream and no subscriptions."""
    app = http_app(
        Dispatcher(shop),
        stateless=True,
        resources={"memo://a": "a"},
        resource_changes=ResourceChanges(),
        sends_logs=True,
    )
    async with opened(app) as client:
        info = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        capabilities = (await send(client, "initialize", **info))["result"]["capabilities"]
        assert capabilities["tools"] == {"listChanged": False}
        assert capabilities["resources"]["subscribe"] is False
        assert "logging" not in capabilities
        assert "stateless" in (await send(client, "resources/subscribe", uri="memo://a"))["error"]["message"]
        for method in ("GET", "DELETE"):
            refused = await client.request(method, "/mcp", headers=HEADERS)
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")


class LostStore(SQLiteApprovals):
    """A store that cannot be read while it is lost."""

    is_lost = False

    def get(self, request_id):
        """Return the record, or fail."""
        if self.is_lost:
            raise ApprovalError("the database is gone", why="store")
        return super().get(request_id)


async def test_a_server_that_stops_or_has_lost_its_store_is_not_ready(shop, tmp_path):
    """It is still healthy, so it is not restarted."""
    store = LostStore(tmp_path / "shop.approvals.sqlite")
    app = http_app(Dispatcher(shop, approvals=Approvals(store)), key=KEY)
    async with opened(app) as client:
        assert (await client.get("/ready")).text == "ok"
        store.is_lost = True
        assert (await client.get("/ready")).status_code == 503
        store.is_lost = False
        app.drain()
        answers = [await client.get(path) for path in ("/health", "/ready")]
    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "ok"), (503, "stopping")]


async def test_the_status_needs_no_token(shop, store):
    app = http_app(Dispatcher(shop, approvals=Approvals(store)), auth=Auth.token(ADA), key=KEY)
    async with opened(app) as client:
        answers = [await client.get(path) for path in ("/health", "/ready", "/mcp")]
    assert [answer.status_code for answer in answers] == [200, 200, 401]


def test_a_path_of_the_status_is_refused(shop):
    with pytest.raises(ValueError, match="/health"):
        http_app(Dispatcher(shop), path="/ready")
    with pytest.raises(TypeError, match="stateless is True or False"):
        http_app(Dispatcher(shop), stateless="yes")
