"""A damaged approvals file: every method, and every way to it through a dispatcher, gives the documented error."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from toolkit import Catalog, Dispatcher, Permissions, Session
from toolkit.approvals import ApprovalError, Approvals, SQLiteApprovals
from toolkit.approvals.store import Settlement
from toolkit.decisions import Decision
from toolkit.storage.process_owner import owner

pytestmark = pytest.mark.anyio

NOW = 1e9
KINDS_OF_DAMAGE = {"waiting", "internal", "denied", "failed", "ok"}


def catalog():
    """Return a catalog of one tool that asks, with letters that take more than one byte."""
    tools = Catalog()

    @tools.tool
    async def act(text: str) -> str:
        """Do something, é."""
        return f"did {text}"

    return tools


def dispatcher(path):
    """Return a dispatcher whose approvals are in the file at *path*."""
    return Dispatcher(catalog(), permissions=Permissions(), approvals=Approvals(SQLiteApprovals(path)))


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file with requests in every state, and their ids."""
    path = tmp_path_factory.mktemp("sound") / "a.db"

    async def fill():
        asking = dispatcher(path)
        session = Session(id="s")
        results = [await asking.call("act", {"text": "é" * 700 * number}, session=session) for number in range(8)]
        names = [result.request.id for result in results]
        await asking.resume(names[0], Decision.approve(), session=session)
        await asking.resume(names[1], Decision.deny(), session=session)
        SQLiteApprovals(path).settle(names[2], Settlement("claimed", by=None, owner="the dead", now=NOW))
        return names

    return path, anyio.run(fill)


USES = {
    "pending": lambda store, names: store.pending(now=NOW),
    "get": lambda store, names: [store.get(name) for name in names],
    "settle": lambda store, names: [
        store.settle(name, Settlement("claimed", by="é", owner=owner(), now=NOW)) for name in names[3:]
    ],
    "deny": lambda store, names: store.settle(names[4], Settlement("denied", by=None, now=NOW)),
    "reclaim": lambda store, names: store.reclaim(names[2], from_owner="the dead", owner="me", now=NOW),
    "finish": lambda store, names: store.finish(names[2], {"text": "é"}, owner="the dead"),
    "purge": lambda store, names: store.purge(before=NOW * 10),
}
DAMAGE = st.tuples(st.integers(0, 2**16), st.binary(max_size=600))
# SQLite quotes this word in its message, and it is no text any more.
SCHEMA = (b"CREATE TABLE", b"CR\xd1ATE TABLE")


def damage(sound, where, data):
    """Write *data* at *where* in a copy of the file; without data, cut the file there."""
    path, names = sound
    copy = path.with_name("damaged.db")
    copy.with_name("damaged.db-journal").unlink(missing_ok=True)
    shutil.copy(path, copy)
    size = os.path.getsize(copy)
    if not data:
        os.truncate(copy, where % size)
        return copy, names
    with open(copy, "r+b") as file:
        file.seek(where % size)
        file.write(data)
        file.truncate(size)
    return copy, names


@pytest.mark.long
@pytest.mark.parametrize("use", USES)
@settings(max_examples=limit_examples(60))
@given(damage_done=DAMAGE)
def test_a_store_with_a_damaged_file_answers_or_raises_an_approval_error(sound, use, damage_done):
    """Bytes are overwritten, or the file is cut."""
    path, names = damage(sound, *damage_done)
    try:
        USES[use](SQLiteApprovals(path), names)
    except ApprovalError as error:
        assert error.why == "store"  # noqa: PT017 -- an answer is fine as well


@pytest.mark.long
@settings(max_examples=limit_examples(60))
@given(damage_done=DAMAGE)
@example(damage_done=(0, b""))
def test_a_dispatcher_with_a_damaged_file_answers_or_reports_the_damage(sound, damage_done):
    """It may report that a record was altered. A call always has a result."""
    path, names = damage(sound, *damage_done)

    async def use():
        asking = dispatcher(path)
        result = await asking.call("act", {"text": "new"})
        assert result.kind in KINDS_OF_DAMAGE
        await asking.resume(names[3], Decision.approve(), session=Session(id="s"))

    try:
        anyio.run(use)
    except ApprovalError as error:
        assert error.why in {"store", "forged", "changed", "unknown", "expired", "principal"}  # noqa: PT017 -- as above


@pytest.mark.parametrize("use", USES)
def test_a_schema_that_is_not_text_any_more_is_a_damaged_file(sound, use):
    """SQLite's own message cannot be decoded then; the store still says what is wrong, and the remedy."""
    path, names = sound
    copy = path.with_name("schema.db")
    content = path.read_bytes()
    assert SCHEMA[0] in content
    copy.write_bytes(content)
    copy.chmod(0o600)
    store = SQLiteApprovals(copy)
    copy.write_bytes(content.replace(*SCHEMA))
    with pytest.raises(ApprovalError, match=r"schema\.db.*is damaged.*restore it from a copy") as caught:
        USES[use](store, names)
    assert caught.value.why == "store"


def test_a_record_under_another_state_is_a_damaged_file(sound):
    """An answered request must not be listed as waiting."""
    path, names = sound
    copy = path.with_name("state.db")
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        connection.execute("UPDATE toolkit_approvals SET state = 'pending'")
    with pytest.raises(ApprovalError, match="in another state than its own.*restore"):
        SQLiteApprovals(copy).get(names[0])
