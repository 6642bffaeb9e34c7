"""One server of several processes behind a proxy that knows nothing of sessions."""

from __future__ import annotations

import asyncio
import re
import signal
import socket

import httpx
import pytest
from mcp import Client

from tests.clocks import wait_until
from tests.mcp.serving.kit import MODES, NEW, OLD, YES, Person, call_once, text_of
from tests.mcp.serving.processes import balanced, serving
from toolkit import Dispatcher, Permissions
from toolkit.mcp import RemoteServer, Servers

pytestmark = [pytest.mark.anyio, pytest.mark.long]

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def find_page(text, address):
    """Return the page of a request, at another address than the one in the text."""
    return address + re.search(r"http://[^/]+(/mcp/requests/\w+)", text)[1]


async def approve(page):
    """Answer the question on a page as a browser does."""
    async with httpx.AsyncClient() as browser:
        response = await browser.get(page)
        sent = await browser.post(page, data={"action": "accept", "approval.approve": "true"})
    return response, sent


def is_closed(port):
    """Return whether no process listens on a port any more."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def count_turns(folder):
    """Return how many turns the tool that waits has taken."""
    lines = read_lines(folder, "turns")
    return int(lines[0]) if lines else 0


def read_lines(folder, name):
    """Return the lines of a file that the tools write."""
    path = folder / name
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("count", [2, 4])
async def test_every_client_is_served_by_all_processes(tmp_path, count):
    """Clients of both revisions, and our own, get eight answers to eight calls."""
    async with balanced(tmp_path, count, "--stateless") as (address, servers):
        for mode in MODES:
            async with Client(f"{address}/mcp", mode=mode) as client:
                results = [await client.call_tool("add", {"a": number, "b": 1}) for number in range(8)]
            assert [result.structured_content for result in results] == [{"result": number + 1} for number in range(8)]
        async with Servers(None, {"shop": RemoteServer(f"{address}/mcp")}) as tools:
            dispatcher = Dispatcher(tools, permissions=Permissions("bypass"))
            values = [(await dispatcher.call("shop_add", {"a": number, "b": 1})).value for number in range(8)]
        assert values == list(range(1, 9))
        assert len(set(read_lines(tmp_path, "pids"))) == len(servers)


async def test_an_approval_is_asked_by_one_process_and_answered_through_another(tmp_path):
    """The process that asked is killed in between. The call runs once, and the client gets its result."""
    async with serving(tmp_path, "--stateless") as first, serving(tmp_path, "--stateless") as second:
        async with Client(f"{first.address}/mcp", mode=OLD) as client:
            waiting = await client.call_tool("write", {"text": "tea"})
            again = await client.call_tool("write", {"text": "tea"})
        page = find_page(text_of(waiting), second.address)
        assert waiting.is_error
        assert page == find_page(text_of(again), second.address)
        await first.kill()
        response, sent = await approve(page)
        assert "tea" in response.text
        assert "wrote tea" in sent.text
        async with Client(f"{second.address}/mcp", mode=OLD) as client:
            results = [await client.call_tool("write", {"text": "tea"}) for _ in range(2)]
        assert all("wrote tea" in text_of(result) and not result.is_error for result in results)
    assert read_lines(tmp_path, "lines") == ["tea"]


async def test_a_question_of_the_newer_revision_is_answered_through_another_process(tmp_path):
    """The state that the client carries is read by every process; the process that asked is gone."""
    async with serving(tmp_path) as first, serving(tmp_path) as second:
        person = Person(YES)
        async with Client(f"{first.address}/mcp", mode=NEW, elicitation_callback=person) as client:
            question = await call_once(client, "write", {"text": "tea"})
        await first.kill()
        async with Client(f"{second.address}/mcp", mode=NEW, elicitation_callback=person) as client:
            responses = {"approval": YES}
            result = await call_once(
                client, "write", {"text": "tea"}, responses=responses, state=question.request_state
            )
        assert text_of(result) == "wrote tea"
    assert read_lines(tmp_path, "lines") == ["tea"]


async def test_a_session_that_is_lost_in_a_restart_is_a_404(tmp_path):
    """A client that is told so opens another session: our own does so by itself."""
    async with serving(tmp_path) as server:
        port = server.port
        tools = Servers(None, {"shop": RemoteServer(f"{server.address}/mcp", trusted=True)})
        async with tools:
            dispatcher = Dispatcher(tools, permissions=Permissions("bypass"))
            assert (await dispatcher.call("shop_add", {"a": 1, "b": 1})).value == 2
            await server.kill()
            async with serving(tmp_path, port=port) as restarted:
                async with httpx.AsyncClient(headers={**HEADERS, "mcp-session-id": "gone"}) as client:
                    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
                    refused = await client.post(f"{restarted.address}/mcp", json=message)
                assert (refused.status_code, refused.json()["error"]["message"]) == (404, "Session not found")
                assert (await dispatcher.call("shop_add", {"a": 2, "b": 2})).value == 4


@pytest.mark.parametrize("stateless", [[], ["--stateless"]], ids=["sessions", "stateless"])
async def test_a_process_that_gets_a_stop_signal_finishes_its_calls(tmp_path, stateless):
    """Its event streams end, so it stops with its last call."""
    async with serving(tmp_path, *stateless, "--drain", "60") as server:
        async with Client(f"{server.address}/mcp", mode=OLD) as client:
            await client.list_tools()  # the client wants to know the schema of the result
            call = asyncio.create_task(client.call_tool("wait"))
            await wait_until(lambda: count_turns(tmp_path))
            server.process.send_signal(signal.SIGTERM)
            await wait_until(lambda: is_closed(server.port))
            turns = count_turns(tmp_path) + 100  # the SSE package would cut off the response half a second later
            await wait_until(lambda: count_turns(tmp_path) > turns)
            (tmp_path / "go").touch()
            assert text_of(await call) == "waited"
        await server.process.wait()


async def test_health_and_readiness_need_no_token(tmp_path):
    (tmp_path / "tokens").write_text("a-token-that-is-long-enough")
    async with serving(tmp_path, "--token-file", str(tmp_path / "tokens")) as server, httpx.AsyncClient() as client:
        answers = [await client.get(f"{server.address}{path}") for path in ("/health", "/ready", "/mcp")]
    assert [answer.status_code for answer in answers] == [200, 200, 401]
