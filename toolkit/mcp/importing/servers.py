"""
`Servers`: the tools of a catalog together with the tools of MCP servers.

    async with Servers(catalog, github=["npx", "-y", "github-mcp"], docs="https://docs.example/mcp") as tools:
        dispatcher = Dispatcher(tools, permissions=Permissions("default", ["allow mcp:github/search_*"]))

The view follows the servers. One server never makes it fail: what is wrong with a server or a tool is in `problems`.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from typing import Any, Self, TypeVar

import mcp_types as types

from ...catalog import Catalog
from ...catalogs.foreign_names import fold_name
from ...catalogs.snapshot import Table
from ...catalogs.views import CatalogView
from ...concurrency.background_loop import BackgroundLoop
from ...errors import CatalogError, DefinitionError, ToolError
from ...settings.records import MergedSettings
from ...settings.trust import Trust
from ...spec import Tool
from .connection import Connection, ResultT
from .imported_tool import NameBook, build_tool
from .pins import Pins
from .questions import CallLink
from .remote_server import RemoteServer, read_servers
from .remote_tools import RemoteListing, RemoteTool
from .server_file import PINS_FILE, check_trusted, read_server_file, read_settings_servers
from .server_tools import ServerTools

__all__ = ["Servers"]

_log = logging.getLogger("toolkit")

T = TypeVar("T")

_CLOSE_SECONDS = 15.0
_CANCEL_SECONDS = 2.0


class Servers(CatalogView):
    """
    A view of the tools of a catalog and of the tools of MCP servers.

    Args:
        catalog: The program's own tools; none unless given. Their names are never taken by a
            server, also not after the tool is removed.
        servers: Servers by name, for names that cannot be keywords.
        pins: Where the definitions of used tools are kept: `Pins(path)`, or in memory unless given.
        named: Servers by name: a command as a list of words, an address, a server object of the SDK, or a
            `RemoteServer` with further options.

    Raises:
        DefinitionError: A server is given in a form that cannot be used.
    """

    def __init__(
        self,
        catalog: CatalogView | None = None,
        servers: Mapping[str, Any] | None = None,
        /,
        *,
        pins: Pins | None = None,
        **named: Any,
    ) -> None:
        own = Catalog() if catalog is None else catalog
        if not isinstance(own, CatalogView):
            raise CatalogError(f"Servers wants a catalog first, got {type(own).__name__}; make one with `Catalog(...)`")
        self._imported = _ImportedTools()
        self._own_names: dict[str, str] = {}  # the program's tools by folded name and alias, also those of the past
        super().__init__((own, self._imported), self._combine)
        self._own = own
        self._servers = {server.name: ServerTools(server) for server in read_servers(servers, named)}
        self._pins = Pins() if pins is None else pins
        self._names = NameBook()
        self._name_problems: tuple[str, ...] = ()
        self._file_problems: tuple[str, ...] = ()
        # A call may come from any event loop, or from a thread without one. The connections go on in their own loop.
        self._loop: BackgroundLoop | None = None
        self._process = 0
        self._connections: dict[str, Connection] = {}
        self._runs: list[asyncio.Task[None]] = []

    @classmethod
    def from_config(
        cls,
        path: str | os.PathLike[str],
        catalog: CatalogView | None = None,
        *,
        trust: Trust | None = None,
        confirm: Callable[[str], bool] | None = None,
        pins: Pins | None = None,
    ) -> Self:
        """
        Return the servers that a file with `mcpServers` names, together with the tools of *catalog*.

        A file that is not in the user's configuration folder counts only if the user has trusted it with its present
        content, because its author chooses the commands. `toolkit mcp trust PATH` shows them and asks. Mistakes in the
        file are in `problems`.

        Args:
            path: The file, such as `.mcp.json`.
            catalog: The program's own tools.
            trust: The record of what the user trusts; the user's own unless given.
            confirm: Called with a text that shows the exact commands of a file that is not trusted yet. If it returns
                true, the file is trusted from now on.
            pins: Where the definitions of used tools are kept.

        Raises:
            ServerFileError: The file cannot be read, has another form, or is not trusted.
        """
        file = read_server_file(path)
        check_trusted(file, Trust() if trust is None else trust, confirm)
        servers = cls(catalog, file.servers, pins=pins)
        servers._file_problems = file.problems
        return servers

    @classmethod
    def from_settings(
        cls,
        settings: MergedSettings,
        catalog: CatalogView | None = None,
        *,
        names: Collection[str] | None = None,
        pins: Pins | None = None,
    ) -> Self:
        """
        Return the servers that the settings name in `[mcp_servers.NAME]`, together with the tools of *catalog*.

        A project's servers count only if the user trusts the project. A server that cannot be used is in `problems`.

        Args:
            settings: The settings, as `load_settings` returns them.
            catalog: The program's own tools.
            names: Only these servers, also if they are switched off; all that are switched on unless given.
            pins: Where the definitions of used tools are kept; `mcp-pins.json` beside the user's settings unless given.

        Raises:
            PrivateFileError: The file of the definitions cannot be used.
        """
        remote_servers, problems = read_settings_servers(settings, names=names)
        known_pins = Pins(settings.user_folder / PINS_FILE) if pins is None else pins
        servers = cls(catalog, remote_servers, pins=known_pins)
        servers._file_problems = problems
        return servers

    @property
    def servers(self) -> list[RemoteServer]:
        """The servers, in the order in which they were given."""
        return [entry.server for entry in self._servers.values()]

    @property
    def problems(self) -> list[str]:
        """What is wrong now: servers that cannot be reached, and tools that are left out, each with the reason."""
        _ = self.table  # the names are compared when the table is made
        problems = [f"{name}: {problem}" for name, entry in self._servers.items() for problem in entry.list_problems()]
        return [*self._file_problems, *problems, *self._name_problems]

    def expanded(self, prompt: str) -> str:
        """Return *prompt* as the catalog expands it, if it has skills: `/name text` is the prompt of a skill there."""
        expand = getattr(self._own, "expanded", None)
        return prompt if expand is None else str(expand(prompt))

    # Opening and closing.

    async def __aenter__(self) -> Self:
        try:
            await asyncio.wrap_future(self._start_loop().submit(self._open_all))
        except BaseException:
            await asyncio.shield(asyncio.to_thread(self.close))
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        try:
            self._start_loop().submit(self._open_all).result()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections, and the processes behind them. The tools stay in the view, and their calls fail."""
        loop, self._loop = self._loop, None
        if loop is not None and self._process == os.getpid():
            loop.submit(self._close_all).result()
            loop.close()  # it cancels the calls that still wait: for a person, they would wait for ever

    def _start_loop(self) -> BackgroundLoop:
        if self._loop is not None:
            raise RuntimeError(
                "these servers are open already; leave the first `with` block, or make another `Servers`"
            )
        self._loop, self._process = BackgroundLoop(cleanup_seconds=_CANCEL_SECONDS, name="toolkit-mcp"), os.getpid()
        return self._loop

    async def _open_all(self) -> None:
        """Start all connections, and wait until each has been tried once."""
        self._connections = {
            name: Connection(entry.server, on_tools=partial(self._import, entry), on_problem=entry.set_problem)
            for name, entry in self._servers.items()
        }
        self._runs = [asyncio.create_task(connection.run()) for connection in self._connections.values()]
        await asyncio.gather(*(connection.wait_for_first_attempt() for connection in self._connections.values()))

    async def _close_all(self) -> None:
        for connection in self._connections.values():
            connection.close()
        if self._runs:
            await asyncio.wait(self._runs, timeout=_CLOSE_SECONDS)

    # The tools.

    async def _import(self, entry: ServerTools, listing: RemoteListing) -> None:
        """Take over the tools in *listing*. A tool that cannot be used is left out, and `problems` says why."""
        await entry.update(listing, partial(self._build_tool, entry))
        self._imported.set_tools([tool for other in self._servers.values() for tool in other.tools.values()])

    def _build_tool(self, entry: ServerTools, remote: RemoteTool) -> Tool:
        """Return the tool that stands for *remote*. This runs in a thread, because a schema may take seconds."""
        server = entry.server
        name, problem = self._names.claim(server.name, remote.name, prefix=server.tool_prefix)
        if problem is not None:
            raise DefinitionError(problem)

        async def send(tool: RemoteTool, arguments: Mapping[str, Any], link: CallLink) -> types.CallToolResult:
            return await self._run_in(server.name, lambda connection: connection.call(tool, arguments, link))

        return build_tool(server, remote, name, send, self._pins, defer=entry.is_deferred)

    async def request(
        self, server: str, request: Any, result_type: type[ResultT], link: CallLink | None = None
    ) -> ResultT | None:
        """
        Return the answer of *server* to *request*, a request of the SDK; None if the server does not know the method.

        The server may ask the person of *link* before it answers.

        Raises:
            ToolError: The server cannot be reached, or answered with an error.
        """
        return await self._run_in(server, lambda connection: connection.request(request, result_type, link))

    async def _run_in(self, server: str, start: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        loop = self._loop
        if loop is None:
            raise ToolError("`Servers` is closed; call its tools inside the `async with` block")
        if self._process != os.getpid():
            raise ToolError("the connections to MCP servers belong to another process; open `Servers` in this one")
        # The servers may have been opened again since the tool was made.
        return await asyncio.wrap_future(loop.submit(lambda: start(self._connections[server])))

    def _combine(self, own: Table, imported: Table) -> Table:
        """Return the program's own tools, and those of the servers whose names the program does not use."""
        taken = self._own_names  # a name that the program gives up stays here, so that it does not become a server's
        taken.update({fold_name(name): tool.name for name, tool in own.tools.items()})
        taken.update({fold_name(alias): name for alias, name in own.aliases.items()})
        tools, problems = dict(own.tools), []
        for name, tool in imported.tools.items():
            holder = taken.get(fold_name(name))
            if holder is None:
                tools[name] = tool
            else:
                reason = f"the program's own `{holder}` has or had this name, or nearly so"
                problems.append(f"{tool.origin}: `{name}` is left out: {reason}")
        for problem in problems:
            if problem not in self._name_problems:
                _log.warning("MCP %s", problem)
        self._name_problems = tuple(problems)
        return Table(tools, own.aliases)


class _ImportedTools(Catalog):
    """The tools of all servers. They are replaced all at once, so that readers never see half a change."""

    def set_tools(self, tools: list[Tool]) -> None:
        """Replace the content by *tools*, whose names differ."""
        with self._change() as (content, _):
            content.clear()
            content.update({tool.name: tool for tool in tools})
