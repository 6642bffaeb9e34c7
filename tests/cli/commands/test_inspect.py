"""`toolkit inspect`: the page of a target at the address that is printed, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import sys

import httpx
import pytest

pytestmark = pytest.mark.anyio

TOOLS = '''
from dataclasses import dataclass

from toolkit import Catalog, Dispatcher
from toolkit.flows import Flow

catalog = Catalog()
dispatcher = Dispatcher(catalog)
order = Flow("order")


@catalog.tool(read_only=True)
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@dataclass
class Order:
    item: str


@order.step
def pack(order: Order) -> str:
    """Pack an order."""
    return order.item
'''


@contextlib.asynccontextmanager
async def inspecting(folder, *arguments):
    """Run the command in *folder*, and yield its process, and a client with its address and token."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "toolkit", "inspect", *arguments, "--port", "0"),
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": ":".join(filter(None, sys.path))},
    )
    try:
        line = (await process.stdout.readline()).decode()
        match = re.fullmatch(r"the inspector is at (http://127\.0\.0\.1:\d+)/#token=(\S+)\n", line)
        assert match, line + (await process.stderr.read()).decode()
        headers = {"authorization": f"Bearer {match[2]}", "origin": match[1]}
        async with httpx.AsyncClient(base_url=match[1], headers=headers, timeout=60, trust_env=False) as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await process.communicate()


@pytest.mark.long
async def test_a_target_is_inspected_until_it_is_interrupted(tmp_path):
    """An open connection of its page does not hold up the end."""
    (tmp_path / "tools.py").write_text(TOOLS)
    audit = str(tmp_path / "calls.jsonl")
    async with inspecting(tmp_path, "tools.py", "--audit", audit) as (process, client):
        about = (await client.get("/api/about")).json()
        assert (about["name"], about["tools"], about["flows"]) == ("tools.py", 2, ["order"])
        answer = await client.post("/api/call", json={"tool": "add", "arguments": {"a": 1}})
        assert answer.json()["call"]["result"]["value"] == 3
        assert '"outcome"' in (tmp_path / "calls.jsonl").read_text()
        async with client.stream("GET", "/api/events") as response:
            assert response.status_code == 200
            process.send_signal(signal.SIGINT)
            await process.wait()
    assert process.returncode in (0, 130)


@pytest.mark.long
async def test_a_dispatcher_is_inspected_read_only(tmp_path):
    (tmp_path / "tools.py").write_text(TOOLS)
    arguments = ("tools.py:dispatcher", "--read-only", "--audit", str(tmp_path / "calls.jsonl"))
    async with inspecting(tmp_path, *arguments) as (_, client):
        assert (await client.get("/api/about")).json()["read_only"] is True
        assert (await client.post("/api/call", json={"tool": "add"})).status_code == 404
    assert not (tmp_path / "calls.jsonl").exists()


def test_the_error_names_a_port_that_is_in_use(shop):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ran = shop.run("inspect", "tools.py", "--port", str(port))
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ran.err


def test_options_that_a_dispatcher_has_itself_are_refused(shop, tmp_path):
    (shop.folder / "own.py").write_text(TOOLS)
    ran = shop.run("inspect", "own.py:dispatcher", "--approvals", str(tmp_path / "a.sqlite"))
    assert ran.code == 2
    assert "--approvals: a dispatcher has its own" in ran.err
