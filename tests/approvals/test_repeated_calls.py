"""
The same call, asked about in several processes that share one file.
"""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolkit.approvals import ApprovalError
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.session import Session

from .asking import build_dispatcher
from .processes import line, running, tell

pytestmark = pytest.mark.anyio


@contextlib.contextmanager
def asking(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process that is ready to ask, and kill it at the end if it still lives."""
    with running(folder, module="tests.approvals.asking") as process:
        assert line(process) == "ready"
        yield process


def effects(folder: Path) -> list[str]:
    file = folder / "effects"
    return file.read_text().splitlines() if file.exists() else []


@pytest.mark.long
def test_two_processes_that_ask_about_one_call_at_once_get_one_request(tmp_path):
    """Approving it in both runs the effect once."""
    with asking(tmp_path) as first, asking(tmp_path) as second:
        for process in (first, second):
            tell(process)
        lines = {line(process) for process in (first, second)}
        assert len(lines) == 1
        assert lines.pop().startswith("waiting ")
        for process in (first, second):
            tell(process)
        answers = sorted(line(process) for process in (first, second))
    assert answers[0] in ("answered", "running") or answers[1] in ("answered", "running")
    assert ("ok" in answers, effects(tmp_path)) == (True, ["tea"])


@pytest.mark.long
async def test_a_process_that_was_killed_has_left_the_request_of_its_call(tmp_path):
    """The call is sent again after a restart: it is the same request, and runs once."""
    with asking(tmp_path) as process:
        tell(process)
        kind, name = line(process).split()
        process.kill()
    dispatcher, session = build_dispatcher(tmp_path), Session(id="s")
    again = await dispatcher.call("send", {"what": "tea"}, id="t1", session=session)
    assert (kind, again.request.id) == ("waiting", name)
    await dispatcher.resume(name, Decision.approve(), session=session)
    with asking(tmp_path) as process:
        tell(process)
        assert line(process) == "ok"
    assert effects(tmp_path) == ["tea"]


# Files.


async def test_a_request_of_another_call_is_not_given_for_this_one(tmp_path):
    """A file that others can write may name the wrong request; the call does not wait with it."""
    dispatcher = build_dispatcher(tmp_path)
    for name in ("t1", "t2"):
        await dispatcher.call("send", {"what": name}, id=name)
    path = tmp_path / "x.approvals.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE toolkit_approvals SET call = (SELECT call FROM toolkit_approvals ORDER BY rowid LIMIT 1)"
        )
    result = await dispatcher.call("send", {"what": "t1"}, id="t1")
    assert (result.kind, result.request) == ("internal", None)
    assert "does not belong to" in result.text
    assert isinstance(result.error.cause, ApprovalError)
    assert result.error.cause.why == "forged"


async def test_an_altered_request_of_the_same_call_is_refused(tmp_path):
    """It does not show the call that would run."""
    dispatcher = build_dispatcher(tmp_path)
    request: ApprovalRequest | None = (await dispatcher.call("send", {"what": "tea"}, id="t1")).request
    assert request is not None
    with contextlib.closing(sqlite3.connect(tmp_path / "x.approvals.sqlite")) as connection, connection:
        connection.execute("UPDATE toolkit_approvals SET record = replace(record, 'tea', 'gin')")
    result = await dispatcher.call("send", {"what": "tea"}, id="t1")
    assert (result.kind, "was altered" in result.text) == ("internal", True)
