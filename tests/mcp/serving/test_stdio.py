"""Serving over standard input and output: whole lines of strict JSON, and nothing else."""

from __future__ import annotations

import asyncio
import io
import json
import math
import os
import sys
import textwrap

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse

from tests.mcp.serving.kit import MODES, NEW, YES, Person, text_of
from toolkit import Catalog, Context, Dispatcher
from toolkit.concurrency.thread_pool import ThreadPool
from toolkit.mcp import build_server
from toolkit.mcp.serving.stdio import _LineClient, serve_lines

pytestmark = pytest.mark.anyio

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(number, method, **params):
    """Return one request of the newer revision, as a line."""
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
    """One bad line is one error, and the next line is served."""
    answers = await exchange(line, request(2, "tools/list"), catalog=catalog)
    assert answers[None]["error"]["code"] == code
    assert "tools" in answers[2]["result"]


async def test_text_that_is_not_utf8_is_refused(catalog):
    """Bytes that are no text cannot be a message."""
    output = io.BytesIO()
    await serve_lines(build_server(Dispatcher(catalog)), io.BytesIO(b"\xff\xfe\n\n"), output)
    assert "not UTF-8" in json.loads(output.getvalue())["error"]["message"]


@pytest.mark.long
@pytest.mark.parametrize(
    "number",
    [float("inf"), float("nan"), -float("inf"), 10**400, sys.float_info.max],
    ids=["inf", "nan", "-inf", "a huge int", "the largest float"],
)
async def test_progress_without_a_json_form_is_sent_without_that_part(number):
    """A lone surrogate is replaced, and an infinite number is left out. The call and the server go on."""
    catalog, output = Catalog(), io.BytesIO()

    @catalog.tool(read_only=True)
    async def work(context: Context) -> str:
        """Work."""
        context.report(number, number, "caf\ud800e")
        context.report(2, 3, "next")
        return "done"

    meta = {**ENVELOPE, "progressToken": 7}
    params = {"_meta": meta, "name": "work", "arguments": {}}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    source = io.BytesIO(f"{call}\n{request(2, 'tools/list')}\n".encode())
    async with asyncio.timeout(20):
        await serve_lines(build_server(Dispatcher(catalog)), source, output)
    messages = [json.loads(line) for line in output.getvalue().splitlines()]
    reports = [message["params"] for message in messages if "id" not in message]
    assert [report["message"] for report in reports] == ["caf?e", "next"]
    assert all(math.isfinite(report["progress"]) for report in reports)
    assert reports[0].get("total") in (None, sys.float_info.max)
    answers = {message["id"]: message["result"] for message in messages if "id" in message}
    assert answers[1]["content"] == [{"type": "text", "text": "done"}]
    assert [tool["name"] for tool in answers[2]["tools"]] == ["work"]


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ({"text": "caf\ud800e"}, {"result": {"text": "caf?e"}}),
        ({"value": object()}, {"error": {"code": -32603, "message": "the answer has no JSON form"}}),
    ],
)
async def test_a_message_that_cannot_be_written_fails_alone(caplog, content, answer):
    """An answer without a JSON form becomes an error, a notification is left out, and later messages are written."""
    output, pool = io.BytesIO(), ThreadPool(1, name="writer")
    send, receive = anyio.create_memory_object_stream(3)
    for message in (
        JSONRPCResponse(jsonrpc="2.0", id=1, result=content),
        JSONRPCNotification(jsonrpc="2.0", method="notifications/x", params={"value": object()}),
        JSONRPCResponse(jsonrpc="2.0", id=2, result={}),
    ):
        send.send_nowait(SessionMessage(message))
    send.close()
    await _LineClient(io.BytesIO(), output, pool, on_loss=lambda: None).write_messages(receive)
    pool.close()
    first, second = [json.loads(line) for line in output.getvalue().splitlines()]
    assert second == {"jsonrpc": "2.0", "id": 2, "result": {}}
    if "error" in first:
        first["error"]["message"] = first["error"]["message"].partition(":")[0]
    assert first == {"jsonrpc": "2.0", "id": 1, **answer}
    assert "a message cannot be sent" in caplog.text


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


async def test_a_client_that_disconnects_ends_the_server_quietly(caplog):
    """It no longer reads while a call reports progress. The call is cancelled, and there is no traceback."""
    catalog, cancelled = Catalog(), []

    @catalog.tool(read_only=True)
    async def report(context: Context) -> str:
        """Report, and go on for ever."""
        context.report(1, 2)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)
        return ""

    class ClosedPipe(io.BytesIO):
        def write(self, line):
            raise BrokenPipeError("Broken pipe")

    reading, writing = os.pipe()  # the client keeps its other end open
    meta = {**ENVELOPE, "progressToken": 1}
    params = {"name": "report", "arguments": {}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    os.write(writing, json.dumps(call).encode() + b"\n")
    with os.fdopen(reading, "rb") as lines, os.fdopen(writing, "wb"):
        async with asyncio.timeout(20):
            await serve_lines(build_server(Dispatcher(catalog)), lines, ClosedPipe())
        os.write(writing, b"\n")  # the thread that reads ends

    assert cancelled == [True]
    assert "cannot be written to any more" in caplog.text


SERVER = """
import subprocess, sys
from toolkit import Catalog, Context, Dispatcher
from toolkit.concurrency.thread_pool import ThreadPool
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
    """Output of tools does not disturb the messages, and a person is asked over the same pipe."""
    script = tmp_path / "server.py"
    script.write_text(textwrap.dedent(SERVER))
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    parameters = StdioServerParameters(
        command=sys.executable, args=[str(script)], env={**os.environ, "PYTHONPATH": folder}
    )
    person, errors = Person(YES), tmp_path / "errors.txt"
    # The SDK would write the errors to what `sys.stderr` was when it was first imported, perhaps in another test.
    with errors.open("w") as file:
        transport = stdio_client(parameters, errlog=file)
        async with asyncio.timeout(60), Client(transport, mode=mode, elicitation_callback=person) as client:
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
            assert text_of(await client.call_tool("write", {"text": "a"})) == "a"
    assert "`write` asks for permission" in person.questions[0].message
    assert {"printed by a tool", "printed by a process"} <= set(errors.read_text().splitlines())
