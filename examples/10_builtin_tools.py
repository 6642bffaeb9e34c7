"""
Use the built-in tools.

A model works in a scratch workspace. It writes a script, runs it, greps for the
mistake, edits it and runs it again. A person sees each call that no rule allows
before it runs. Secrets are not readable, also for commands. It needs no key and no network.
"""

import asyncio
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from toolkit import Decision, Dispatcher, Permissions, Session
from toolkit.builtin import Workspace, best_sandbox, builtin_catalog

SCRIPT = """\
total=0
while read -r name price; do
    total=$((total - price))
done < prices.txt
echo "total: $total"
"""
RULES = ["allow write(path=*.txt)", "allow bash(sh bin/total.sh)", "deny bash(git push:*)"]


def indented(text: str, mark: str = "    ") -> str:
    return textwrap.indent(text.rstrip("\n"), mark, lambda line: True)


class Work:
    """Run one conversation. Ada is asked, and she agrees."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._session = Session()

    async def __call__(self, title: str, name: str, **arguments: Any) -> None:
        print(f"\n{title}\n  {name} {next(iter(arguments.values()))}")
        result = await self._dispatcher.call(name, arguments, session=self._session)
        if result.request is not None:
            print(f"    {result.text}")
            # The part after the empty line is about the sandbox, which was shown already.
            print(indented((result.request.preview or "").partition("\n\n")[0], "      | "))
            print("    Ada agrees")
            result = await self._dispatcher.resume(result, Decision.approve(by="ada"), session=self._session)
        print(indented(result.text))


async def session(workspace: Workspace) -> None:
    sandbox = best_sandbox(workspace)
    print(f"A scratch workspace, and what commands run in\n\n{indented(sandbox.describe())}")
    catalog = builtin_catalog(workspace, sandbox=sandbox)
    permissions = Permissions("default", RULES)
    async with Dispatcher(catalog, permissions=permissions, safety=workspace.safety()) as dispatcher:
        work = Work(dispatcher)
        await work("A rule allows this file", "write", path="prices.txt", content="tea 4\nmilk 2\n")
        await work("This one is asked for", "write", path="bin/total.sh", content=SCRIPT)
        await work("A rule allows this command", "bash", command="sh bin/total.sh")
        await work("Six euros below nothing?", "grep", pattern=r"total\b.*price", context_lines=1)
        await work("It is mended", "edit", path="bin/total.sh", edits=[{"old": "total - ", "new": "total + "}])
        await work("And runs again", "bash", command="sh bin/total.sh")
        await work("What there is now", "glob", pattern="**/*")

        print("\nAnd what there is not for a model")
        await work("Nobody can agree to this", "read", path=".env")
        await work("Nor is it found", "grep", pattern="hunter2")
        if sandbox.contained:  # otherwise a command reads every file that its user may read
            await work("Agreed to, and still shut", "bash", command="cat .env")
        await work("Nor what lies outside", "read", path="../../etc/passwd")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Workspace(folder) as workspace:
        Path(folder, ".env").write_text("TOKEN=hunter2\n", encoding="utf-8")
        asyncio.run(session(workspace))


if __name__ == "__main__":
    main()
