"""A bench with tools and shell hooks, for the tests of shell hooks around real calls."""

from __future__ import annotations

import json
import sys
from typing import Annotated

from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError
from toolkit.hooks import ShellHook, ShellHooks


class Bench:
    """A catalog whose tools note that they ran, and a folder for what hooks write down."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.ran: list[object] = []
        self.catalog = Catalog()

        @self.catalog.tool(aliases=["say"], group="talk")
        async def echo(text: str = "hi", times: int = 1) -> str:
            """Say it."""
            self.ran.append((text, times))
            return text * times

        @self.catalog.tool
        async def login(user: str, api_key: Annotated[str, Secret]) -> str:
            """Log in, and quote the key."""
            self.ran.append((user, api_key))
            return f"{user}:{api_key}"

        @self.catalog.tool
        async def fail() -> str:
            """Fail."""
            raise ToolError("it broke")

    def dispatcher(self, *hooks, **options) -> Dispatcher:
        return Dispatcher(self.catalog, hooks=[ShellHooks(hooks)], **options)

    def hook(self, code: str, **options) -> ShellHook:
        """Return a hook in Python; `event` is what it was told."""
        source = f"import json, os, sys\nevent = json.load(sys.stdin)\n{code}"
        return ShellHook(**{"on": "before", "command": [sys.executable, "-Ic", source], "cwd": self.folder, **options})

    def saying(self, answer: object, **options) -> ShellHook:
        """Return a hook that prints *answer* as JSON."""
        return self.hook(f"print({json.dumps(json.dumps(answer))})", **options)

    def noting(self, **options) -> ShellHook:
        """Return a hook that writes down what it was told, with its environment."""
        return self.hook("json.dump([event, dict(os.environ)], open('told.json', 'w'))", **options)

    def read_event(self):
        return json.loads((self.folder / "told.json").read_text())


FAILURES = {
    "exits otherwise": ("exit 3", "it exited with code 3"),
    "crashes": ("kill -SEGV $$", "it was ended by SIGSEGV"),
    "prints nonsense": ("echo all good", "what it printed cannot be read"),
    "prints binary": (r"printf '\377\000\376'", "not UTF-8"),
    "is not there": ("/no/such/program", "it exited with code 127"),
    "is not there, as a list": (
        ["/no/such/program"],
        "it could not be started (No such file or directory: /no/such/program)",
    ),
    "is not executable": (["/etc/passwd"], "it could not be started (Permission denied: /etc/passwd)"),
    "unknown action": ('echo \'{"action": "denny"}\'', "did you mean `deny`?"),
}
