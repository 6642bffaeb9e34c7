"""The rows of the table: one small program each, run with every library."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from .counts import call_microseconds, count_dependencies, measure_seconds
from .library import BAD_CALLS, GOOD_CALL, KEY, Library, NotOfferedError, many_functions, order

__all__ = ["ROWS", "Row"]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Row:
    """
    One line of the table.

    Attributes:
        name: What `Library.notes` calls it.
        title: What the table calls it.
        run: The program; it returns the cell, and its docstring explains the row.
    """

    name: str
    title: str
    run: Callable[[Library], Awaitable[str]]


async def count_refusals(library: Library) -> str:
    """
    Send eight wrong calls and count what reached the function.

    They have a word, `"3"` and `true` for an integer, an unknown key, a wrong value and an unknown key one level down,
    a value that is not in the list, and a missing value. A repair counts as reported if the result tells of it.
    """
    ran, _ = await watch_call(library, GOOD_CALL)
    assert ran, "the right call has to run, else a refusal says nothing"
    outcomes = [await watch_call(library, arguments) for arguments in BAD_CALLS.values()]
    refused = sum(not ran for ran, _ in outcomes)
    reported = sum(ran and repairs > 0 for ran, repairs in outcomes)
    silent = len(outcomes) - refused - reported
    words = [f"{refused} refused"]
    words += [f"{reported} repaired and reported"] if reported else []
    words += [f"{silent} run"] if silent else []
    return ", ".join(words)


async def watch_call(library: Library, arguments: dict[str, Any]) -> tuple[bool, int]:
    """Tell whether a call of `order` with *arguments* reached the function, and how many repairs were reported."""
    runs: list[bool] = []

    @functools.wraps(order)
    def watched(*args: Any, **kwargs: Any) -> str:
        runs.append(True)
        return order(*args, **kwargs)

    repairs = 0
    with contextlib.suppress(Exception):  # a library may refuse by raising
        repairs = (await library.call(watched, arguments)).repairs
    return bool(runs), repairs


async def count_named_problems(library: Library) -> str:
    """
    Send one call with three mistakes, one of them one level down, and look for their names in what the model reads.
    """
    arguments = {"item": "tea", "count": "many", "speed": "quick", "address": {"street": "Mill Lane 1"}}
    try:
        text = (await library.call(order, arguments)).text
    except Exception as error:  # noqa: BLE001 -- what is raised is not read by the model
        return f"the run ends: {type(error).__name__}"
    return f"{sum(name in text for name in ('count', 'speed', 'zip_code'))} of 3"


async def survive_exception(library: Library) -> str:
    """Have a tool raise `KeyError`, and look at what the model reads."""

    def fail() -> str:
        """Fail."""
        raise KeyError("no such shelf")

    try:
        text = (await library.call(fail, {})).text
    except KeyError:
        return "the run ends: KeyError"
    return "yes" if "shelf" in text else "a fixed text"


async def measure_lag(library: Library) -> str:
    """
    Run a sync tool that sleeps for 0.5 s beside a coroutine that wakes up every 5 ms.

    A gap of 0.25 s counts as blocked.
    """

    def wait() -> str:
        """Wait."""
        time.sleep(0.5)
        return "waited"

    gaps = [0.0]

    async def tick() -> None:
        while True:
            start = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - start)

    def do_nothing() -> str:
        """Return at once."""
        return "done"

    await library.call(do_nothing, {})  # what is imported on first use is not counted
    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0.01)
    try:
        text = (await library.call(wait, {})).text
        await asyncio.sleep(0.01)
    finally:
        ticking.cancel()
    assert "waited" in text
    return "runs on" if max(gaps) < 0.25 else "blocked"


async def measure_time_limit(library: Library) -> str:
    """
    Run a sync tool that sleeps for 2 s with a limit of 0.2 s; the call has to be over within 1 s.
    """

    def wait() -> str:
        """Wait."""
        time.sleep(2)
        return "waited"

    start = time.perf_counter()
    try:
        text = (await library.call_with_time_limit(wait, 0.2)).text
    except (NotOfferedError, AssertionError):
        raise
    except Exception as error:  # noqa: BLE001 -- a library may refuse to limit a sync tool
        return f"refused: {type(error).__name__}" if "async" not in str(error) else "async tools only"
    if "waited" in text:
        return "the limit is ignored"
    return "yes" if time.perf_counter() - start < 1 else "told when the tool has ended"


async def count_retries(library: Library) -> str:
    """
    Switch retries on for a read and a deletion that both lose their connection the first time.

    Each is marked as what it is if the library has such a mark.
    """
    runs = {"read": 0, "deletion": 0}

    def read() -> str:
        """Read."""
        runs["read"] += 1
        if runs["read"] == 1:
            raise ConnectionResetError("lost contact")
        return "text"

    def delete() -> str:
        """Delete."""
        runs["deletion"] += 1
        if runs["deletion"] == 1:
            raise ConnectionResetError("lost contact")
        return "deleted"

    for function, destructive in ((read, False), (delete, True)):
        with contextlib.suppress(ConnectionResetError):
            await library.call_with_retries(function, destructive=destructive)
    return ", ".join(f"{name} {'again' if count > 1 else 'once'}" for name, count in runs.items())


async def measure_text(library: Library) -> str:
    """
    Have a tool return a million characters with a limit of 1,000, and count what the model reads.
    """

    def shout() -> str:
        """Say much."""
        return "a" * 1_000_000

    return f"{len((await library.call_with_text_limit(shout, 1000)).text):,}"


async def look_for_key(library: Library) -> str:
    """Tell the library a pattern for keys, and have a tool return one."""

    def leak() -> str:
        """Say too much."""
        return f"the key is {KEY}"

    text = (await library.call_with_masked_key(leak)).text
    assert "the key is" in text
    return "shown" if KEY in text else "yes"


async def count_definitions(library: Library) -> str:
    """
    Mark 1,000 tools as found by search only, and count the definitions in the first request.
    """
    return f"{await library.shown_definitions(many_functions(1000)):,}"


async def ask_first(library: Library) -> str:
    """
    Have a model call a tool that needs approval; the run has to wait, and the tool must not have run.
    """
    with tempfile.TemporaryDirectory() as folder:
        waits = await library.ask(Path(folder))
        return "yes" if waits and count_lines(folder) == 0 else "runs at once"


def count_runs(library: Library, answers: int) -> int:
    """Ask in a process that is killed, answer in *answers* others, and count how often the tool ran."""
    if type(library).ask is Library.ask:
        raise NotOfferedError
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.comparison", library.distribution]
        asked = subprocess.run([*command, "ask", folder], check=False, capture_output=True, cwd=ROOT)
        assert asked.returncode == -signal.SIGKILL, asked.stderr.decode()
        for _ in range(answers):
            subprocess.run([*command, "answer", folder], check=False, capture_output=True, cwd=ROOT)
        return count_lines(folder)


def count_lines(folder: str) -> int:
    """Return how often `append_line` ran in *folder*."""
    lines = Path(folder, "lines.txt")
    return len(lines.read_text(encoding="utf-8").splitlines()) if lines.exists() else 0


async def survive_kill(library: Library) -> str:
    """
    Kill the process that waits with SIGKILL, and approve in another one; the tool has to run.
    """
    return "yes" if count_runs(library, 1) == 1 else "no"


async def answer_twice(library: Library) -> str:
    """
    Do the same, and have a third process give the same approval again.
    """
    count = count_runs(library, 2)
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


async def count_payments(library: Library) -> str:
    """
    Have a model pay two bills, one after the other. The process is killed with SIGKILL while it pays the second, and
    another process continues the run. Count the payments of each bill.
    """
    payments = pay_and_continue(library)
    first, second = payments.count("1"), payments.count("2")
    names = {(1, 1): "each once", (1, 2): "the second twice", (2, 2): "each twice"}
    return names.get((first, second), f"{first} and {second}")


def pay_and_continue(library: Library) -> list[str]:
    """Have a process pay bills until it is killed, have another one continue, and return the bills that were paid."""
    if type(library).pay_bills is Library.pay_bills:
        raise NotOfferedError
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.comparison", library.distribution, "pay", folder]
        killed, continued = (subprocess.run(command, check=False, capture_output=True, cwd=ROOT) for _ in range(2))
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
        assert continued.returncode == 0, continued.stderr.decode()
        return Path(folder, "lines.txt").read_text(encoding="utf-8").split()


async def use_mcp(library: Library) -> str:
    """Call a tool of an MCP server, which is a process of its own, and serve one."""
    assert "hello" in await library.call_over_mcp([sys.executable, "-m", "benchmarks.comparison.echo_server"])
    try:
        assert "hello" in await library.serve_over_mcp()
    except NotOfferedError:
        return "client"
    return "client and server"


_LIST = {"type": "array", "items": {"type": "string"}}
_REQUESTS: list[tuple[str, str, bool, Any, str]] = [
    ("path", "simple", False, "a/b", "/a%2Fb"),
    ("path", "simple", False, ["a", "b"], "/a,b"),
    ("path", "label", False, ["a", "b"], "/.a,b"),
    ("path", "matrix", True, ["a", "b"], "/;value=a;value=b"),
    ("query", "form", True, ["a", "b"], "?value=a&value=b"),
    ("query", "form", False, ["a", "b"], "?value=a,b"),
    ("query", "pipeDelimited", False, ["a", "b"], "?value=a%7Cb"),
    ("query", "deepObject", True, {"x": "1"}, "?value[x]=1"),
    ("header", "simple", False, ["a", "b"], "a,b"),
    ("cookie", "form", True, "a", "value=a"),
]


async def count_right_requests(library: Library) -> str:
    """
    Call ten operations of OpenAPI documents, with a value in each place and style, and compare the requests with what
    the standard writes.
    """
    right = 0
    for place, style, explode, value, expected in _REQUESTS:
        requests: list[httpx.Request] = []

        def answer(request: httpx.Request, requests: list[httpx.Request] = requests) -> httpx.Response:
            requests.append(request)
            return httpx.Response(200, json={})

        schema = {str: {"type": "string"}, list: _LIST, dict: {"type": "object"}}[type(value)]
        parameter = {"name": "value", "in": place, "required": True, "style": style, "explode": explode}
        operation = {
            "operationId": "send",
            "parameters": [{**parameter, "schema": schema}],
            "responses": {"200": {"description": "Sent."}},
        }
        document = {
            "openapi": "3.1.0",
            "info": {"title": "Things", "version": "1"},
            "paths": {"/{value}" if place == "path" else "/": {"get": operation}},
        }
        transport = httpx.MockTransport(answer)
        async with httpx.AsyncClient(base_url="https://things.example", transport=transport) as client:
            await library.call_operation(document, {"value": value}, client)
        if requests:
            sent = requests[-1]
            address = sent.url.raw_path.decode().removeprefix("/?")
            for code, letter in (("%5B", "["), ("%5D", "]"), ("%2C", ",")):  # most servers read both
                address = address.replace(code, letter)
            part = sent.headers.get("value" if place == "header" else "cookie", "")
            right += expected == {"path": address, "query": f"?{address}"}.get(place, part)
    return f"{right} of {len(_REQUESTS)}"


async def count_model_providers(library: Library) -> str:
    """Count classes or entries for model providers."""
    return str(library.count_providers())


async def count_packages(library: Library) -> str:
    """
    Follow the required dependencies of the installed package, without extras, and count the distributions.
    """
    return str(count_dependencies(library.distribution))


async def time_import(library: Library) -> str:
    """
    Import what a program with an agent needs; processor time, the best of five, less the interpreter's own.
    """
    seconds = measure_seconds(library.imports) - measure_seconds("pass")
    return f"{seconds * 1000:,.0f} ms"


async def time_call(library: Library) -> str:
    """
    Time the way from a name and arguments to a result, with no model; the best of thirty rounds. `make bench` has more.
    """
    return f"{await call_microseconds(library.distribution):,.1f} µs"


ROWS = [
    Row("bad calls", "8 calls that do not fit the signature", count_refusals),
    Row("named problems", "Mistakes of one call that the model is told, of 3", count_named_problems),
    Row("exceptions", "A tool raises: the model reads why", survive_exception),
    Row("sync tools", "The event loop while a sync tool runs", measure_lag),
    Row("time limit", "Time limit for a sync tool", measure_time_limit),
    Row("retries", "Built-in retry after a lost connection", count_retries),
    Row("approval", "A call waits for approval", ask_first),
    Row("approval after a kill", "Approval goes on after `kill -9`", survive_kill),
    Row("approved twice", "The same approval given twice: the tool runs", answer_twice),
    Row("killed run", "`kill -9` inside the second of two payments, run continued: payments", count_payments),
    Row("secrets", "A key is masked in results", look_for_key),
    Row("long results", "A result of 1,000,000 characters, limit 1,000: the model reads", measure_text),
    Row("1,000 tools", "1,000 tools behind a search: definitions in the first request", count_definitions),
    Row("MCP", "MCP", use_mcp),
    Row("HTTP API", "An HTTP API by its OpenAPI document: requests as the standard writes them", count_right_requests),
    Row("providers", "Model providers named in the package", count_model_providers),
    Row("packages", "Packages that an install brings with it", count_packages),
    Row("import", "Import", time_import),
    Row("plain call", "A plain call of two integers", time_call),
]
