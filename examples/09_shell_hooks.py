"""
Run the user's own commands around calls: one refuses, one changes, one asks, one is told what happens.

The same can be written in ~/.config/toolkit/toolkit.toml; `load_settings` reads it.
"""

import asyncio
import logging
import sys
import tempfile
from pathlib import Path
from typing import Annotated

from toolkit import Catalog, Dispatcher, ToolResult
from toolkit.hooks import ShellHook, ShellHooks

catalog = Catalog()


@catalog.tool(destructive=True)
def bash(command: Annotated[str, "The command line."]) -> str:
    """Run a command; here it is only said."""
    return f"$ {command}"


REFUSE = "if grep -q 'rm -rf /'; then echo 'not the whole disk, please' >&2; exit 2; fi"
ASK = """if grep -q 'git push'; then echo '{"action": "ask", "reason": "this leaves the house"}'; fi"""
RECORD = 'echo "$HOOK_EVENT $HOOK_TOOL_NAME" >>record.txt'
CHANGE = """
import json, sys
command = json.load(sys.stdin)["arguments"]["command"]
if command.startswith("rm "):
    print(json.dumps({"action": "modify", "arguments": {"command": "trash " + command[3:]}}))
"""


def hooks_for(folder: str) -> ShellHooks:
    return ShellHooks(
        [
            ShellHook(on="before", tools="bash", command=REFUSE),
            ShellHook(on="before", tools="bash", command=[sys.executable, "-c", CHANGE]),
            ShellHook(on="before", tools="bash", command=ASK),
            ShellHook(on=["agent_start", "person_asked", "call_ended"], command=RECORD, cwd=folder),
            ShellHook(on="after", tools="bash", command="echo 'the printer is on fire' >&2; exit 1"),
        ]
    )


def show(title: str, result: ToolResult) -> None:
    print(f"{title}\n    {result.kind}: {result.text.splitlines()[0]}")


async def work(hooks: ShellHooks) -> None:
    print(f"The agent may start\n    {await hooks.agent_started()}")
    async with Dispatcher(catalog, hooks=[*hooks]) as dispatcher:
        show("Harmless", await dispatcher.call("bash", {"command": "ls"}))
        show("Refused", await dispatcher.call("bash", {"command": "rm -rf /"}))
        show("Changed", await dispatcher.call("bash", {"command": "rm notes.txt"}))
        show("A person has to agree", await dispatcher.call("bash", {"command": "git push"}))
        result = await dispatcher.call("bash", {"command": "date"})
    print(f"A hook that failed afterwards\n    {result.text}, and {result.metadata['hooks'][0]['problem']}")


def main() -> None:
    logging.disable(logging.CRITICAL)  # a hook that fails logs a warning
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(work(hooks_for(folder)))
        lines = Path(folder, "record.txt").read_text().splitlines()
        print(f"What was recorded\n    {len(lines)} lines, from {lines[0]!r} to {lines[-1]!r}")


if __name__ == "__main__":
    main()
