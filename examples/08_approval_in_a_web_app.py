"""
Approve a call in a web application: one worker asks, another one goes on.

A first worker answers "pending" and is killed. A second one, started later, finds the request in the
SQLite file that they share. It takes the answer and runs the call once. The processes are real, and speak
HTTP on loopback.
"""

import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, Self

from toolkit import (
    ApprovalError,
    Approvals,
    AuditLog,
    Catalog,
    Decision,
    Dispatcher,
    Inject,
    Permissions,
    SQLiteApprovals,
)

# The application: it does the work of a view in any web framework.

catalog = Catalog()


class Ledger:
    """Keep the money in a file, so that two workers share it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, line: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


@catalog.tool(destructive=True)
def refund(order: str, euros: int, ledger: Inject[Ledger]) -> str:
    """
    Give a customer their money back.

    Args:
        order: The number of the order.
        euros: How much.
    """
    ledger.add(f"{order}: {euros} euros")
    return f"{euros} euros for {order} are on their way"


class Shop:
    """Serve the whole application. *folder* has all data that outlives a worker; no other user may write it."""

    def __init__(self, folder: Path) -> None:
        self._store = SQLiteApprovals(folder / "shop.approvals.sqlite")
        self._dispatcher = Dispatcher(
            catalog,
            permissions=Permissions("default"),
            approvals=Approvals(self._store, expires_seconds=3600),
            audit=AuditLog(folder / "shop.audit.jsonl"),
            resources={Ledger: Ledger(folder / "ledger.txt")},
        )

    async def answer(self, method: str, path: str, user: str, body: Any) -> tuple[int, Any]:
        """Return the status and the JSON for one request; *user* comes from your login."""
        match method, path.strip("/").split("/"):
            case "POST", ["calls", name]:  # the model calls a tool for this user
                result = await self._dispatcher.call(name, body, principal=user)
                if result.request is not None:
                    return 202, {"pending": result.request.id, "why": result.request.reason}
                return 200, {result.kind: result.text}
            case "GET", ["approvals"]:  # the requests of this user; `to_json()` has everything to show
                waiting = await asyncio.to_thread(self._store.pending, principal=user)
                return 200, [{"id": each.id, each.tool: dict(each.arguments)} for each in waiting]
            case "POST", ["approvals", request_id]:  # the user's answer
                yes = body.get("approve") is True
                decision = Decision.approve(by=user) if yes else Decision.deny("the user said no", by=user)
                try:
                    result = await self._dispatcher.resume(request_id, decision, principal=user)
                except ApprovalError as error:
                    if error.why in ("unknown", "principal"):  # the answer does not reveal the owner
                        return 404, {"error": "there is no such request"}
                    return 409, {error.why: str(error)}
                return 200, {result.kind: result.text}
        return 404, {"error": "there is nothing here"}


# A server in as few lines as possible.


def serve(folder: Path) -> None:
    shop = Shop(folder)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "null")
            status, answer = asyncio.run(shop.answer(self.command, self.path, self.headers["X-User"], body))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        do_GET = do_POST = _answer  # noqa: N815 -- the names that http.server looks for

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


# The story: one worker is killed, another goes on.


class Worker:
    """Run a server process, and kill it at the end, as a machine may."""

    def __init__(self, name: str, folder: Path) -> None:
        command = [sys.executable, __file__, str(folder)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- this very file
        self._name = name

    def __enter__(self) -> Self:
        self._port = int(self._process.stdout.readline())  # type: ignore[union-attr]  # it is a pipe
        print(f"{self._name} starts")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        print(f"{self._name} is killed")

    def send(self, user: str, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request(method, path, json.dumps(body), {"X-User": user})
        response = connection.getresponse()
        answer = json.load(response)
        connection.close()
        print(f"    {user}: {method} {path} {'' if body is None else json.dumps(body)}".rstrip())
        print(f"        {response.status} {json.dumps(answer)}")
        return answer


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Worker("The first worker", folder) as first:
            first.send("ada", "POST", "/calls/refund", {"order": "A-17", "euros": 40})
        with Worker("The second worker", folder) as second:
            [request] = second.send("ada", "GET", "/approvals")
            answer = f"/approvals/{request['id']}"
            second.send("bob", "POST", answer, {"approve": True})
            second.send("ada", "POST", answer, {"approve": True})
            second.send("ada", "POST", answer, {"approve": True})
        print("In the ledger")
        print(f"    {(folder / 'ledger.txt').read_text(encoding='utf-8').strip()}")
        print("In the audit log")
        for line in AuditLog.read(folder / "shop.audit.jsonl"):
            shown = [f"{key}={line[key]!r}" for key in ("word", "approved", "by", "kind") if key in line]
            print(f"    {line['event']:10}{', '.join(shown)}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(Path(sys.argv[1]))
    else:
        main()
