"""
The tools of one server, as they are in the view, and what is wrong with the server.

The schemas of a server may take long to check: a small one takes seconds if it is made for that. So they are checked in
a thread, for a limited time. The connections of the other servers go on meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from ..._plumbing.wording import format_count, format_seconds
from ...catalogs.foreign_text import clean_text
from ...concurrency.thread_pool import ThreadPool
from ...errors import DefinitionError
from ...spec import Tool
from .remote_server import RemoteServer
from .remote_tools import RemoteListing, RemoteTool

__all__ = ["BuildTool", "ServerTools"]

_log = logging.getLogger("toolkit")

BuildTool: TypeAlias = Callable[[RemoteTool], Tool]
"""Makes a tool from a definition, or raises `DefinitionError`."""

_MAX_LISTED = 40
"""The most tools of a server that are offered to the model at once. More of them wait for a search."""

_MAX_PROBLEMS = 50


class ServerTools:
    """The tools of *server* that can be used, by the name that the server has for them, and what is wrong with it."""

    def __init__(self, server: RemoteServer) -> None:
        self.server = server
        self.tools: dict[str, Tool] = {}
        self._digests: dict[str, str] = {}
        self._outcomes: dict[str, Tool | str] = {}  # the tool, or why it is left out; it stays so while its digest does
        self._problem: str | None = None
        self._tool_problems: tuple[str, ...] = ()
        self._is_deferred = server.defer

    @property
    def is_deferred(self) -> bool:
        """Whether the tools wait for a search. It is decided once, because a fact that changes makes a grant void."""
        return bool(self._is_deferred)

    def list_problems(self) -> list[str]:
        """Return what is wrong with the server and with its tools."""
        return [*([] if self._problem is None else [self._problem]), *self._tool_problems]

    def set_problem(self, problem: str | None) -> None:
        """Remember why the server cannot be reached; None if it can."""
        self._problem = problem

    async def update(self, listing: RemoteListing, build: BuildTool) -> None:
        """
        Replace the tools by those in *listing*. A tool whose definition is the same stays the same object.

        The tools that *build* has not made within the time limit of the server are left out.
        """
        if self._is_deferred is None:
            self._is_deferred = len(listing.tools) > _MAX_LISTED
        outcomes: dict[str, Tool | str] = {}
        late: list[RemoteTool] = []
        deadline = asyncio.get_running_loop().time() + self.server.limits.connect_seconds
        pool = ThreadPool(1, name="toolkit-mcp-import")
        try:
            for remote in listing.tools:
                name = remote.name
                if name in self._outcomes and self._digests[name] == remote.digest:
                    outcomes[name] = self._outcomes[name]
                elif late:
                    late.append(remote)
                else:
                    try:
                        outcomes[name] = await _run_until(deadline, pool, partial(build, remote))
                    except DefinitionError as error:
                        outcomes[name] = f"`{clean_text(name, 80)}` is left out: {clean_text(str(error), 400)}"
                    except TimeoutError:
                        late.append(remote)
        finally:
            pool.close()
        self._outcomes = outcomes
        self._digests = {remote.name: remote.digest for remote in listing.tools}
        self.tools = {name: tool for name, tool in outcomes.items() if isinstance(tool, Tool)}
        refusals = [refusal for refusal in outcomes.values() if isinstance(refusal, str)]
        self._set_tool_problems([*listing.problems, *self._describe_late(late), *refusals])

    def _describe_late(self, tools: list[RemoteTool]) -> list[str]:
        if not tools:
            return []
        limit = format_seconds(self.server.limits.connect_seconds)
        count, name = format_count(len(tools), "tool"), clean_text(tools[0].name, 80)
        return [f"left out, from `{name}` on: {count}, whose schemas could not be checked within {limit}"]

    def _set_tool_problems(self, problems: list[str]) -> None:
        hidden = len(problems) - _MAX_PROBLEMS
        more = [f"and {format_count(hidden, 'problem')} more"] if hidden > 0 else []
        before, self._tool_problems = self._tool_problems, (*problems[:_MAX_PROBLEMS], *more)
        for problem in self._tool_problems:
            if problem not in before:
                _log.warning("MCP server %s: %s", self.server.name, problem)


async def _run_until(deadline: float, pool: ThreadPool, build: Callable[[], Tool]) -> Tool:
    """Return what *build* returns in a thread of *pool*; raise `TimeoutError` at the *deadline*."""
    future = pool.run(build, "check a schema")
    try:
        async with asyncio.timeout_at(deadline):
            tool: Tool = await future
    except (TimeoutError, asyncio.CancelledError):
        pool.give_up(future)
        raise
    return tool
