"""An office with tools that ask, for the tests of calls that a person is asked about."""

from __future__ import annotations

from typing import Annotated, Any

from toolkit.approvals import file_change
from toolkit.catalog import Catalog
from toolkit.context import Context, Secret
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions


class Token:
    """A credential that a call brings along."""

    def __init__(self, text: str) -> None:
        self.text = text


class Office:
    """Tools that note what they were really given."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.catalog = catalog = Catalog()

        @catalog.tool(destructive=True)
        async def wipe(target: str, depth: int = 1, key: Annotated[str, Secret] | None = None) -> str:
            """Wipe something."""
            self.ran.append((target, depth, key))
            return f"wiped {target}"

        @catalog.tool(destructive=True)
        async def burn(target: str, depth: int = 1) -> str:
            """Burn something."""
            self.ran.append((target, depth))
            return f"burnt {target}"

        @catalog.tool(read_only=True)
        async def look(target: str) -> str:
            """Look at something."""
            self.ran.append(target)
            return target

    def dispatcher(self, **options: Any) -> Dispatcher:
        options.setdefault("permissions", Permissions())
        return Dispatcher(self.catalog, **options)


class Notes:
    """A tool that writes a file, and shows what it will do before."""

    def __init__(self, folder: Any, **facts: Any) -> None:
        self.path = folder / "notes.txt"
        self.path.write_text("old\n")
        self.seen: list[Any] = []
        self.catalog = Catalog()
        facts.setdefault("preview", lambda a: file_change(a["path"], a["text"]))

        @self.catalog.tool(**facts)
        def write(path: str, text: str, context: Context) -> str:
            """Write a file."""
            self.seen.append(context.permissions.preconditions)
            self.path.write_text(text)
            return "written"

    def dispatcher(self, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, permissions=Permissions(), **options)

    async def ask(self, dispatcher: Dispatcher, text: str = "new\n", **options: Any) -> Any:
        return await dispatcher.call("write", {"path": str(self.path), "text": text}, **options)
