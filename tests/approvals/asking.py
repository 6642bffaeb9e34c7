"""
A process that asks about one call and approves it, for tests that race it or kill it.

    python -m tests.approvals.asking FOLDER

It waits for a line, asks, and says the kind of the result and the id of the request; it waits for another line, and
approves. Every effect is a line in the file `effects` of the folder.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from toolkit.approvals import ApprovalError, Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.session import Session


def build_dispatcher(folder: Path) -> Dispatcher:
    """Make a dispatcher with one tool, anew in every process."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    def send(what: str) -> str:
        """Send something."""
        handle = os.open(folder / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, f"{what}\n".encode())
        os.close(handle)
        return f"sent {what}"

    approvals = Approvals(SQLiteApprovals(folder / "x.approvals.sqlite"))
    return Dispatcher(catalog, permissions=Permissions(), approvals=approvals)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(folder: Path) -> None:
    dispatcher = build_dispatcher(folder)
    session = Session(id="s")
    say("ready")
    sys.stdin.readline()
    result = await dispatcher.call("send", {"what": "tea"}, id="t1", session=session)
    say(result.kind, "" if result.request is None else result.request.id)
    sys.stdin.readline()
    try:
        say((await dispatcher.resume(result.request.id, Decision.approve(), session=session)).kind)
    except ApprovalError as error:
        say(error.why)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
