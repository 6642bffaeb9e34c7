"""
A file of approvals in which another person makes a harmless question of a pending approval.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import AuthNeeded, AuthRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions

pytestmark = pytest.mark.anyio

QUESTION = {
    "preview": None,
    "reason": "it asks: Which colour?",
    "questions": [{"key": "colour", "message": "Which colour?", "schema": {"type": "string"}}],
}
AUTH = {
    "preview": None,
    "reason": "credentials of github are needed",
    "auth": {"provider": "github", "scopes": [], "url": None, "reason": ""},
}
ANSWERS = {"colour": "red"}


class Shed:
    """Destructive tools that write down what ran, and a dispatcher for each process that shares the file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "x.approvals.sqlite"
        self.ran: list[Any] = []
        self.has_token = False
        self.catalog = catalog = Catalog()

        @catalog.tool(destructive=True, preview=lambda arguments: f"delete {arguments['path']}")
        async def wipe(path: str) -> str:
            """Delete everything."""
            self.ran.append(path)
            return "wiped"

        @catalog.tool(destructive=True)
        async def paint(context: Context, path: str) -> str:
            """Paint something."""
            colours = [await context.ask(key, "Which colour?") for key in ("colour", "frame")]
            self.ran.append((path, *colours))
            return "painted"

        @catalog.tool(destructive=True)
        async def push(path: str) -> str:
            """Push something."""
            if not self.has_token:
                raise AuthNeeded(AuthRequest(provider="github"))
            self.ran.append(path)
            return "pushed"

    def dispatcher(self) -> Dispatcher:
        approvals = Approvals(SQLiteApprovals(self.path))
        return Dispatcher(self.catalog, permissions=Permissions("default"), approvals=approvals)

    async def call(self, name: str, **options: Any) -> Any:
        return await self.dispatcher().call(name, {"path": "/home"}, **options)

    async def approve(self, result: Any, **answers: Any) -> Any:
        return await self.dispatcher().resume(result.request.id, Decision.approve(answers=answers or None))

    def read(self, request_id: str) -> dict[str, Any]:
        with closing(sqlite3.connect(self.path)) as connection:
            rows = connection.execute("SELECT record FROM toolkit_approvals WHERE id = ?", (request_id.encode(),))
            record: dict[str, Any] = json.loads(rows.fetchone()[0])
            return record

    def edit(self, request_id: str, *, replaces: str | None = None, **fields: Any) -> None:
        """Change the request with this id, and the earlier request that it names, by hand."""
        record = self.read(request_id)
        record["request"].update(fields)
        if replaces is not None:
            record["replaces"] = replaces
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(
                "UPDATE toolkit_approvals SET record = ? WHERE id = ?", (json.dumps(record), request_id.encode())
            )


@pytest.fixture
def shed(tmp_path):
    return Shed(tmp_path)


@pytest.mark.parametrize(
    ("fields", "answers"), [(QUESTION, ANSWERS), (AUTH, {})], ids=["a question", "a request for credentials"]
)
async def test_an_answer_is_not_an_approval_of_a_call_that_was_never_approved(shed, fields, answers):
    """The person who answers is asked for approval, and sees the preview."""
    waiting = await shed.call("wipe")
    shed.edit(waiting.request.id, **fields)
    again = await shed.approve(waiting, **answers)
    assert (again.kind, again.request.is_approval, again.request.preview) == ("waiting", True, "delete /home")
    assert "was not approved before" in again.request.reason
    assert shed.ran == []
    assert (await shed.approve(again)).text == "wiped"


async def test_other_arguments_with_the_credentials_are_not_an_approval(shed):
    """The person who gave them has not agreed yet that anything is deleted."""
    waiting = await shed.call("wipe")
    shed.edit(waiting.request.id, **AUTH)
    decision = Decision.approve(arguments={"path": "/srv"})
    again = await shed.dispatcher().resume(waiting.request.id, decision)
    assert (again.kind, again.request.preview, shed.ran) == ("waiting", "delete /srv", [])


async def test_a_person_who_is_asked_at_once_is_asked_for_approval(shed):
    """The same call that asks again finds the altered request."""
    waiting = await shed.call("wipe", id="c1")
    shed.edit(waiting.request.id, **QUESTION)
    requests: list[Any] = []

    def ask(request: Any) -> Decision | None:
        requests.append(request)
        return Decision.approve(answers=ANSWERS) if request.questions else None

    approvals = Approvals(SQLiteApprovals(shed.path), ask=ask)
    dispatcher = Dispatcher(shed.catalog, permissions=Permissions("default"), approvals=approvals)
    assert (await dispatcher.call("wipe", {"path": "/home"}, id="c1")).kind == "waiting"
    assert [bool(request.questions) for request in requests] == [True, False]
    assert shed.ran == []


async def test_the_approval_of_an_earlier_run_is_not_borrowed(shed):
    """An approval that was used for a run of its own did not lead to this question."""
    done = await shed.call("wipe", id="c1")
    assert (await shed.approve(done)).text == "wiped"
    pending = await shed.call("wipe", id="c2")
    for call_id in ("c2", "c1"):
        shed.edit(pending.request.id, **QUESTION, call_id=call_id, replaces=done.request.id)
        pending = await shed.approve(pending, **ANSWERS)
        assert pending.request.is_approval
    assert shed.ran == ["/home"]


async def test_a_denied_or_waiting_request_is_not_an_approval(shed):
    """Only a claimed approval counts, and a request does not prove itself."""
    other = await shed.call("wipe", id="c1")
    pending = await shed.call("wipe", id="c2")
    for replaces in (other.request.id, pending.request.id, "no such id"):
        shed.edit(pending.request.id, **QUESTION, replaces=replaces)
        pending = await shed.approve(pending, **ANSWERS)
        assert pending.request.is_approval
    assert shed.ran == []


@pytest.mark.parametrize("options", [{}, {"id": "c1"}, {"request_id": "r1"}], ids=["no id", "id", "request id"])
async def test_questions_after_a_true_approval_are_only_answered(shed, options):
    """The person is asked for approval once, however many questions follow."""
    first = await shed.approve(await shed.call("paint", **options))
    assert [question.key for question in first.request.questions] == ["colour"]
    second = await shed.approve(first, colour="red")
    assert [question.key for question in second.request.questions] == ["frame"]
    assert (await shed.approve(second, frame="blue")).text == "painted"
    assert shed.ran == [("/home", "red", "blue")]


async def test_credentials_after_a_true_approval_are_only_given(shed):
    """The call goes on without a second approval."""
    login = await shed.approve(await shed.call("push"))
    assert login.request.auth is not None
    shed.has_token = True
    assert (await shed.approve(login)).text == "pushed"


async def test_an_asker_that_was_added_to_a_question_asks_again(shed):
    """The approval before it was not about that asker."""
    question = await shed.approve(await shed.call("paint"))
    asked_by = shed.read(question.request.id)["request"]["asked_by"]
    shed.edit(question.request.id, asked_by=[*asked_by, "ask rule `paint`"])
    assert (await shed.approve(question, colour="red")).request.is_approval
    assert shed.ran == []
