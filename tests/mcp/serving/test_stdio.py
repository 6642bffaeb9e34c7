"""Serving over standard input and output: whole lines of strict JSON, and nothing else."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import textwrap

import pytest
from mcp import Client, StdioServerParameters

from tests.mcp.serving.kit import MODES, NEW, YES, Person, text_of
from toolkit import Catalog, Dispatcher
from toolkit.mcp import build_server
from toolkit.mcp.serving.stdio import serve_lines

pytestmark = pytest.mark.anyio

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(number, method, **params):
    """One request of the newer revision, as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": ENVELOPE, **params}})


async def exchange(*lines, catalog=None):
    """Send the lines, and return the messages that come back, by their ids."""
    catalog = catalog or Catalog()
    output = io.BytesIO()
    source = io.BytesIO("".join(f"{line}\n" for line in lines).encode())
    async with asyncio.timeout(20):
        await serve_lines(build_server(Dispatcher(catalog)), source, output)
    messages = [json.loads(line) for line in output.getvalue().splitlines()]
    return {message.get("id"): message for message in messages}


@pytest.fixture
def calls():
    """The arguments of the calls that ran."""
    return []


@pytest.fixture
def catalog(calls):
    """One tool that notes its calls."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def note(value: float) -> str:
        """Note a number."""
        calls.append(value)
        return "noted"

    return catalog


async def test_each_line_is_answered(catalog, calls):
    """Requests on lines, answers on lines."""
    answers = await exchange(
        request(1, "tools/list"), request(2, "tools/call", name="note", arguments={"value": 1}), catalog=catalog
    )
    assert [tool["name"] for tool in answers[1]["result"]["tools"]] == ["note"]
    assert answers[2]["result"]["content"] == [{"type": "text", "text": "noted"}]
    assert calls == [1]


@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [
        ('{"value": NaN}', "NaN is not JSON"),
        ('{"value": -Infinity}', "-Infinity is not JSON"),
        ('{"value": 1, "value": 2}', 'the key "value" stands twice'),
        ('{"value": 1e999}', None),
    ],
)
async def test_a_line_that_is_not_strict_json_is_refused(catalog, calls, arguments, flaw):
    """The client of the request learns what is wrong, and the tool does not run."""
    line = request(7, "tools/call", name="note", arguments="HERE").replace('"HERE"', arguments)
    answers = await exchange(line, catalog=catalog)
    assert calls == []
    if flaw is not None:
        assert answers[7]["error"]["code"] == -32700
        assert flaw in answers[7]["error"]["message"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{not json", -32700),
        ("[]", -32600),
        ('{"jsonrpc": "2.0"}', -32600),
        ('{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
        ('"\\ud800', -32700),
        ("[" * 5000, -32700),
        ('{"a": "' + "x" * 8 * 1024 * 1024 + '"}', -32700),
    ],
    ids=["no json", "a list", "no message", "a wrong id", "half a character", "too deep", "too long"],
)
async def test_garbage_is_answered_and_the_server_goes_on(catalog, line, code):
    """One bad line is one error; the next line is served."""
    answers = await exchange(line, request(2, "tools/list"), catalog=catalog)
    assert answers[None]["error"]["code"] == code
    assert "tools" in answers[2]["result"]


async def test_text_that_is_no_utf8_is_refused(catalog):
    """Bytes that are no text cannot be a message."""
    output = io.BytesIO()
    await serve_lines(build_server(Dispatcher(catalog)), io.BytesIO(b"\xff\xfe\n\n"), output)
    assert "not UTF-8" in json.loads(output.getvalue())["error"]["message"]


@pytest.mark.long
async def test_a_call_that_never_ends_is_cancelled_when_the_client_closes_its_end():
    """The last answers are written, and the server does not wait for a call that hangs."""
    catalog, cancelled = Catalog(), []

    @catalog.tool(read_only=True)
    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)
        return ""

    answers = await exchange(
        request(1, "tools/call", name="hang", arguments={}), request(2, "tools/list"), catalog=catalog
    )
    assert "tools" in answers[2]["result"]
    assert cancelled == [True]


SERVER = """
import subprocess, sys
from toolkit import Catalog, Dispatcher
from toolkit.mcp import serve

catalog = Catalog()

@catalog.tool(read_only=True)
def add(a: int, b: int) -> int:
    "Add."
    print("printed by a tool")
    subprocess.run(["echo", "printed by a process"])
    assert sys.stdin.read() == ""
    return a + b

@catalog.tool
def write(text: str) -> str:
    "Write."
    return text

serve(Dispatcher(catalog))
"""


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
async def test_a_client_starts_the_server_as_a_process(tmp_path, mode):
    """What tools print does not disturb the messages, and a person is asked over the same pipe."""
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(script)], env={**os.environ, "PYTHONPATH": folder}
    )
    person = Person(YES)
    async with asyncio.timeout(60), Client(parameters, mode=mode, elicitation_callback=person) as client:
        assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
        assert text_of(await client.call_tool("write", {"text": "a"})) == "a"
    assert "`write` asks for permission" in person.questions[0].message
