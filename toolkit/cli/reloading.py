"""
The target of `toolkit serve`, which `--reload` loads again when its files change.

The files are those that the target names, and the modules of the program that it has loaded: those in the current
folder, beside the target and in its package, without installed packages. The process goes on, so connections stay open.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from ..approvals import SQLiteApprovals
from ..catalog import default_catalog
from ..errors import ToolkitError
from ..testing.load_target import list_packages
from .call_policy import CallOptions, dispatcher_for
from .failures import Failure
from .output import Output
from .targets import split_targets
from .user_extensions import open_extended_target

if TYPE_CHECKING:
    from ..dispatcher import Dispatcher
    from ..mcp.importing.servers import Servers
    from ..mcp.serving.tool_server import ToolServer

__all__ = ["ReloadableTarget"]

Stamps: TypeAlias = "dict[str, tuple[int, int] | None]"

_POLL_SECONDS = 0.5
_PACKAGE = __name__.partition(".")[0]


class ReloadableTarget:
    """
    The dispatcher for the tools of *target*, which can be loaded again.

    Attributes:
        dispatcher: The dispatcher.
        servers: The MCP servers among the targets.
    """

    dispatcher: Dispatcher
    servers: tuple[Servers, ...]

    def __init__(self, target: str, options: CallOptions, output: Output, store_path: str | None) -> None:
        self._target, self._options, self._output = target, options, output
        self._store = None if store_path is None else SQLiteApprovals(store_path)
        self._context = click.get_current_context()
        self._stack = contextlib.ExitStack()

    def load(self) -> None:
        """Load the target. If that fails, what was loaded before is still there."""
        with self._context.scope(cleanup=False), contextlib.ExitStack() as stack:
            target = open_extended_target(self._target, self._output, settings=self._options.settings)
            loaded = stack.enter_context(target)
            if self._options.resource_names and loaded.dispatcher is not None:
                raise Failure("--with: a dispatcher has its own resources; write Dispatcher(..., resources={...})")
            self.dispatcher = dispatcher_for(loaded, self._options, self._output, store=self._store)
            self.servers, former, self._stack = loaded.servers, self._stack, stack.pop_all()
        former.close()

    def close(self) -> None:
        """End what the target has opened."""
        self._stack.close()

    async def run_and_reload(self, server: ToolServer, run: Coroutine[Any, Any, None]) -> None:
        """Await *run*. Whenever a file of the target changes meanwhile, load the target again for *server*."""

        async def reload(files: set[str]) -> None:
            try:
                await asyncio.to_thread(self._load_anew, files)
            except (ToolkitError, Failure) as error:
                self._output.note(f"not reloaded, so the tools stay as they were: {error}")
            else:
                server.use(self.dispatcher, self.servers)
                self._output.note(f"reloaded {self._target}")

        following = asyncio.create_task(_follow_files(lambda: _list_program_files(self._target), reload))
        try:
            await run
        finally:
            following.cancel()

    def _load_anew(self, files: set[str]) -> None:
        with _loading_anew(files):
            self.load()


def _list_program_files(target: str) -> set[str]:
    """Return the files of *target*, and of the modules of its program."""
    named = [Path(name.partition(":")[0]).resolve() for name in split_targets(target)]
    files = {str(path) for path in named if path.is_file()}
    folders = {Path.cwd(), *([*list_packages(path), path.parent][0] for path in named if path.is_file())}
    return files | {file for file in _list_modules().values() if _is_of_program(Path(file), folders)}


def _list_modules() -> dict[str, str]:
    """Return the files of all modules by the name of the module, without those of this package."""
    modules = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return {
        name: os.path.realpath(file)
        for name, file in modules.items()
        if file and name != "__main__" and name.partition(".")[0] != _PACKAGE
    }


def _is_of_program(file: Path, folders: Collection[Path]) -> bool:
    is_installed = file.is_relative_to(sys.prefix) or "site-packages" in file.parts
    return not is_installed and any(file.is_relative_to(folder) for folder in folders)


@contextlib.contextmanager
def _loading_anew(files: Collection[str]) -> Iterator[None]:
    """
    Let the block load the modules in *files* again. If it fails, the modules and tools of before are back.

    The default catalog lacks their tools meanwhile: a function may have a new name, and its tool the old one.
    """
    sys.dont_write_bytecode = True  # its stamps are whole seconds, in which a file may change twice
    importlib.invalidate_caches()
    modules = {name: sys.modules.pop(name) for name, file in _list_modules().items() if file in files}
    tools = [tool for tool in default_catalog if getattr(tool.function, "__module__", None) in modules]
    for tool in tools:
        default_catalog.remove(tool.name)
    try:
        yield
    except BaseException:
        sys.modules.update(modules)
        default_catalog.add(*tools, replace=True)
        raise


async def _follow_files(list_files: Callable[[], set[str]], reload: Callable[[set[str]], Awaitable[None]]) -> None:
    """Await *reload*, with the files of before, whenever one of the files of *list_files* changes or is removed."""
    stamps = _read_stamps(list_files())
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        if _read_stamps(stamps) != stamps:
            files = set(stamps)
            stamps = _read_stamps(files)
            await reload(files)
            stamps = {**_read_stamps(list_files() - files), **stamps}


def _read_stamps(files: Collection[str]) -> Stamps:
    return {file: _read_stamp(file) for file in files}


def _read_stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
