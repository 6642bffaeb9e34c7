"""The program that the browser tests inspect: a small shop with tools that ask, wait, fail, and try to deceive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Any

from toolkit import (
    Approvals,
    AuthNeeded,
    AuthRequest,
    Catalog,
    Context,
    Dispatcher,
    Permissions,
    SafetyChecks,
    Secret,
    SQLiteApprovals,
    Writes,
)
from toolkit.approvals import file_change

__all__ = ["HOSTILE", "Shop", "run_beside"]

HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\x1b[2J\x07\u202egnp.exe "
    "p\u0430ypal </pre>{{7*7}} javascript:alert(1)"
)


class Shop:
    """The tools, the dispatcher, and what the tools have done, with files in *folder*."""

    def __init__(self, folder: Path, *, mode: str = "default") -> None:
        self.folder = folder
        self.running = threading.Event()
        self.released = threading.Event()
        (folder / "menu.txt").write_text("tea\ncoffee\n")
        self.catalog = Catalog()
        self._add_tools(self.catalog, folder)
        self.dispatcher = Dispatcher(
            self.catalog,
            permissions=Permissions(mode),
            safety=SafetyChecks([folder]),
            approvals=Approvals(SQLiteApprovals(folder / "requests.sqlite")),
        )

    def _add_tools(self, catalog: Catalog, folder: Path) -> None:
        @catalog.tool(read_only=True, group="sums", examples=[{"a": 1, "b": 2}])
        def add(a: int, b: int = 5) -> int:
            """
            Add two numbers.

            Args:
                a: The first number.
                b: The second number.
            """
            return a + b

        @catalog.tool(
            group="files", preview=lambda arguments: file_change(arguments["path"], arguments["text"], root=folder)
        )
        def write(path: Annotated[Path, Writes], text: str) -> str:
            """Write a file."""
            (folder / path).write_text(text)
            return f"wrote {path}"

        @catalog.tool(read_only=True)
        async def order_pizza(context: Context) -> str:
            """Order a pizza."""
            size = await context.ask("size", "Which size?", {"enum": ["small", "large"]})
            return f"a {size} pizza"

        @catalog.tool(read_only=True)
        def issues(project: str) -> str:
            """List the open issues of a project."""
            raise AuthNeeded(AuthRequest(provider="tracker", scopes=("read",), url="https://tracker.example/login"))

        @catalog.tool(read_only=True)
        def greet(name: str) -> str:
            """Answer with what an attacker would like to see in the page."""
            return HOSTILE

        @catalog.tool(read_only=True)
        def log_in(key: Annotated[str, Secret]) -> str:
            """Log in."""
            return "welcome"

        @catalog.tool(read_only=True)
        def brew(minutes: int) -> str:
            """Brew tea until the test lets it end."""
            self.running.set()
            self.released.wait(60)
            return f"tea after {minutes} minutes"


def run_beside(work: Callable[[], Any]) -> Future[Any]:
    """Run *work* in a thread of its own: the driver of the browser has an event loop in the thread of the tests."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- the test gets it from the future
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future
