"""Several processes of one server, and a proxy that sends each request to the next of them, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import sys
import textwrap

TOOLS = """
    import asyncio
    import os
    from pathlib import Path

    from toolkit import Catalog, Context

    FOLDER = Path(__file__).parent
    shop = Catalog()


    @shop.tool(read_only=True)
    def add(a: int, b: int) -> int:
        \"\"\"Add two numbers.\"\"\"
        with (FOLDER / "pids").open("a") as file:
            file.write(f"{os.getpid()}\\n")
        return a + b


    @shop.tool
    def write(text: str) -> str:
        \"\"\"Write a line.\"\"\"
        with (FOLDER / "lines").open("a") as file:
            file.write(f"{text}\\n")
        return f"wrote {text}"


    @shop.tool(read_only=True)
    async def greet(context: Context) -> str:
        \"\"\"Greet the user.\"\"\"
        return f"Hello, {await context.ask('name', 'Your name?', {'type': 'string'})}!"


    @shop.tool(read_only=True)
    async def wait() -> str:
        \"\"\"Take turns until the file `go` is there, and count them.\"\"\"
        turns = 0
        while not (FOLDER / "go").exists():
            turns += 1
            (FOLDER / "turns").write_text(str(turns))
            await asyncio.sleep(0.01)
        return "waited"
"""


class ServerProcess:
    """One `toolkit serve` process, with its port."""

    def __init__(self, process, port):
        self.process, self.port = process, port
        self.address = f"http://127.0.0.1:{port}"

    async def kill(self):
        """End the process as a crash would."""
        self.process.kill()
        await self.process.wait()


@contextlib.asynccontextmanager
async def serving(folder, *options, port=0):
    """Start a process that serves the tools; it listens when the block begins."""
    path = folder / "shop.py"
    if not path.exists():
        path.write_text(textwrap.dedent(TOOLS))
        (folder / "key").write_text("k" * 64)
    words = ["serve", f"{path}:shop", "--http", f"127.0.0.1:{port}", "--key-file", str(folder / "key")]
    words += ["--approvals", str(folder / "shop.approvals.sqlite"), *options]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolkit", *words, stderr=asyncio.subprocess.PIPE
    )
    try:
        while not (match := re.search(rb"http://127.0.0.1:(\d+)/mcp", await process.stderr.readline())):
            assert process.returncode is None, "the server ended"
        yield ServerProcess(process, int(match[1]))
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


@contextlib.asynccontextmanager
async def balanced(folder, count, *options):
    """Start processes behind a proxy, and yield its address and the processes."""
    async with contextlib.AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(serving(folder, *options)) for _ in range(count)]
        proxy = RoundRobin([server.port for server in servers])
        listener = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
        stack.push_async_callback(proxy.close, listener)
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", servers


class RoundRobin:
    """A proxy that opens a connection to the next port for each request, and skips ports that refuse it."""

    def __init__(self, ports):
        self._count = len(ports)
        self._ports = itertools.cycle(ports)
        self._tasks = set()

    async def close(self, listener):
        """Take no more connections, and end those that are open."""
        listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def handle(self, reader, writer):
        """Pass one request on. Both sides are told that no other one follows on the connection."""
        task = asyncio.current_task()
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            upstream_reader, upstream = await self._connect()
            with contextlib.closing(upstream):
                upstream.write(b"\r\n".join([*lines[:1], b"connection: close", *lines[1:]]))
                upload = asyncio.create_task(_copy(reader, upstream))
                try:
                    await _copy(upstream_reader, writer)
                finally:
                    upload.cancel()

    async def _connect(self):
        for _ in range(self._count):
            with contextlib.suppress(OSError):
                return await asyncio.open_connection("127.0.0.1", next(self._ports))
        raise OSError("no server listens")


async def _copy(reader, writer):
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
