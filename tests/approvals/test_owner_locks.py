"""
Claims of processes on other machines: who lives, who is frozen, and who is dead.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
from datetime import datetime, timedelta

import pytest

from tests.approvals.claiming import NOW
from tests.approvals.processes import line, running
from tests.clocks import block_until
from toolkit.approvals import ApprovalError, Approvals, PostgresApprovals
from toolkit.approvals.records import Record
from toolkit.approvals.store import Settlement
from toolkit.catalog import Catalog
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.storage.owner_locks import watch_owner
from toolkit.storage.process_owner import is_alive, owner

ELSEWHERE = f"{'e' * 16}/1/1/{'f' * 16}"
FACTS = {"write": {}, "idempotent": {"idempotent": True}, "destructive": {"destructive": True, "idempotent": True}}


def record(request_id):
    """Return a record that is pending."""
    request = ApprovalRequest(tool="write", call_id="c", reason="asks", created_at=NOW, id=request_id)
    return Record(request=request, arguments={}, identity="i")


def claim(store, request_id="one"):
    return store.settle(request_id, Settlement("claimed", by="ada", owner=owner(), now=NOW))


@pytest.fixture
def open_store(postgres_url):
    """Open stores on one database, and close them when the test is over."""
    stores = []

    def open_one(**options):
        stores.append(PostgresApprovals(postgres_url, **{"lost_seconds": 0.2, **options}))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(open_store):
    """A store with one request, `one`."""
    store = open_store()
    store.add(record("one"))
    return store


# Inside one process.


@pytest.mark.parametrize("text", ["", "me", "the dead", ELSEWHERE + "0"])
def test_an_owner_that_names_no_process_is_not_known_to_be_alive_or_dead(store, text):
    assert store.is_owner_alive(text) is None


def test_a_process_is_known_to_be_alive_from_its_first_claim(store, open_store):
    """Any store on the same database knows it until the process releases the lock."""
    observer = open_store(lost_seconds=0)
    assert observer.is_owner_alive(owner()) is False
    assert claim(store)
    assert observer.is_owner_alive(owner()) is True
    assert observer.is_owner_alive(ELSEWHERE) is False
    store.close()
    assert observer.is_owner_alive(owner()) is False


def test_a_claim_with_the_mark_of_a_step_shows_its_process(store, open_store):
    """The lock is that of the process, so all steps of a process have one."""
    observer = open_store(lost_seconds=0)
    assert store.settle("one", Settlement("claimed", by="ada", owner=owner(mark="step"), now=NOW))
    assert [observer.is_owner_alive(text) for text in (owner(), owner(mark="step"), owner(mark="other"))] == [True] * 3
    assert observer.is_owner_alive(f"{ELSEWHERE}#step") is False


def test_a_claim_under_another_name_takes_no_lock(store):
    """Only a process can vouch for itself."""
    assert store.settle("one", Settlement("claimed", by=None, owner=ELSEWHERE, now=NOW))
    assert store._owner_lock._keeper is None


def test_a_lock_is_held_with_many_open_files(open_store, postgres_server):
    """A server process may have thousands of connections, and the lock is taken again all the same."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2000:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        store, observer = open_store(), open_store(lost_seconds=10)
        store.add(record("many"))
        assert claim(store, "many")
        postgres_server.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'toolkit%'"
        )
        assert observer.is_owner_alive(owner()) is True
        assert "toolkit-owner-lock" in {thread.name for thread in threading.enumerate()}
    finally:
        for number in files:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_two_stores_of_one_process_hold_the_same_lock(store, open_store):
    """Closing one leaves that of the other."""
    store.add(record("two"))
    other, observer = open_store(), open_store(lost_seconds=0)
    assert claim(store)
    assert claim(other, "two")
    other.close()
    assert observer.is_owner_alive(owner()) is True


def test_a_store_that_is_garbage_collected_releases_its_lock(postgres_url, store, open_store):
    """Its thread ends, too."""
    forgotten = PostgresApprovals(postgres_url)
    assert claim(forgotten)
    thread = forgotten._owner_lock._keeper._thread
    del forgotten
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()
    assert store.is_owner_alive(owner()) is False


def test_a_lost_lock_is_taken_again(store, open_store, postgres_server):
    """An administrator has ended the connection, and the process lives."""
    observer = open_store(lost_seconds=10)
    claim(store)
    postgres_server.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'toolkit%'"
    )
    assert observer.is_owner_alive(owner()) is True


@pytest.mark.long
def test_a_lock_is_taken_again_when_the_server_is_back(store, open_store, postgres_server, caplog):
    """The log has one line about the loss."""
    observer = open_store(lost_seconds=10, timeout_seconds=30)
    claim(store)
    with postgres_server.away():
        while "is lost" not in caplog.text:
            threading.Event().wait(0.05)
    assert observer.is_owner_alive(owner()) is True
    assert caplog.text.count("is lost") == 1


def test_a_claim_is_not_made_without_the_lock(postgres_server, postgres_url, store):
    """A process that could not be seen would be taken for dead. This one may have no second connection."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as raw:
        schema = raw.execute("SELECT current_schema()").fetchone()[0]
        raw.execute("CREATE ROLE single LOGIN CONNECTION LIMIT 1 PASSWORD 'single'")
        raw.execute(f"GRANT USAGE ON SCHEMA {schema} TO single")
        raw.execute("GRANT ALL ON toolkit_approvals, toolkit_approvals_meta TO single")
        address = postgres_url.replace(f"toolkit:{postgres_server.password}", "single:single")
        single = PostgresApprovals(address, timeout_seconds=0.1)
        with pytest.raises(ApprovalError, match="too many connections") as caught:
            claim(single)
        single.close()
        raw.execute("DROP OWNED BY single")
        raw.execute("DROP ROLE single")
    assert (caught.value.why, store.get("one").state) == ("store", "pending")


class Answers:
    """A database that answers with rows, one after the other."""

    def __init__(self, *rows):
        self._rows = list(rows)

    def read(self, work):
        return self._rows.pop(0)


def test_the_time_begins_again_when_the_server_was_restarted():
    """The owner may have lost its connection at the same moment, and has to be given time to come back."""
    first = datetime(2030, 1, 1)
    second = first + timedelta(seconds=1)
    ticks = iter(range(100))
    missing = [(0, first)] * 3 + [(0, second)] * 3

    def watch(*rows):
        return watch_owner(ELSEWHERE, Answers(*rows), seconds=4, clock=lambda: next(ticks), sleep=lambda seconds: None)

    assert watch(*missing, (1, second)) is True
    assert watch(*[(0, first)] * 5) is False


# Other processes, killed.


def wait_until_dead(store, text):
    """Wait until the server has noticed the end of the connection, and has given the lock of a killed process up."""
    block_until(lambda: not store.is_owner_alive(text))


@pytest.mark.long
def test_a_frozen_process_lives_and_a_killed_one_does_not(postgres_url, store):
    """The process may be on another machine."""
    with running("claim", postgres_url, "one") as process:
        theirs, is_settled = line(process).split()
        assert (is_settled, is_alive(theirs)) == ("True", None)
        process.send_signal(signal.SIGSTOP)
        assert store.is_owner_alive(theirs) is True
        process.send_signal(signal.SIGCONT)
        assert store.is_owner_alive(theirs) is True
        process.kill()
        process.wait()
        wait_until_dead(store, theirs)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_child_does_not_keep_the_lock_of_a_parent_that_was_killed(postgres_url, store):
    """It has the memory of its parent and not the connection."""
    with running("leave", postgres_url, "one") as process:
        theirs, is_settled, child = line(process).split()
        assert (is_settled, store.is_owner_alive(theirs)) == ("True", True)
        process.kill()
        process.wait()
        os.kill(int(child), 0)
        wait_until_dead(store, theirs)


class Shop:
    """A dispatcher whose calls are approved here, and claimed by a process on another machine."""

    def __init__(self, store, facts, meanwhile=lambda: None):
        self.ran = []
        catalog = Catalog()

        @catalog.tool(name="act", **facts)
        def act(text: str) -> str:
            """Do something."""
            self.ran.append(text)
            meanwhile()
            return f"did {text}"

        self.dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=Approvals(store))

    async def ask(self):
        return await self.dispatcher.call("act", {"text": "it"}, id="call 1")

    async def resume(self, request_id):
        return await self.dispatcher.resume(request_id, Decision.approve(by="ada"))


@pytest.mark.anyio
async def test_an_outcome_whose_claim_was_taken_over_is_not_dropped_silently(store, caplog):
    """The process seemed to be dead, because it could not reach the server for a while."""
    shop = Shop(store, {}, lambda: store.reclaim(request.id, from_owner=owner(), owner=ELSEWHERE, now=NOW))
    request = (await shop.ask()).request
    result = await shop.resume(request.id)
    assert (result.kind, shop.ran) == ("ok", ["it"])
    assert "taken over" in result.metadata["not_recorded"]
    assert "taken over" in caplog.text
    assert store.get(request.id).claim.owner == ELSEWHERE


@pytest.mark.long
@pytest.mark.anyio
@pytest.mark.parametrize("kind", list(FACTS))
async def test_a_claim_of_a_dead_process_is_lost_before_the_request_expires(postgres_url, open_store, kind):
    """The claim of a living process stays. A harmless call then runs, and any other is reported as lost."""
    shop = Shop(open_store(), FACTS[kind])
    request = (await shop.ask()).request
    with running("claim", postgres_url, request.id) as process:
        theirs, is_settled = line(process).split()
        assert is_settled == "True"
        with pytest.raises(ApprovalError, match="was approved before, and runs") as caught:
            await shop.resume(request.id)
        assert caught.value.why == "running"
        assert "the same call was approved before, and runs" in (await shop.ask()).text
        process.kill()
        process.wait()
        wait_until_dead(open_store(), theirs)
    again = (await shop.ask()).text
    assert "its process ended before the outcome was kept: it may or may not have happened" in again
    result = await shop.resume(request.id)
    if kind == "idempotent":
        assert (result.kind, result.text, shop.ran) == ("ok", "did it", ["it"])
    else:
        assert (result.kind, result.error.details, shop.ran) == ("failed", {"happened": "maybe"}, [])
        assert "its process ended before the outcome was kept" in result.text
    with pytest.raises(ApprovalError) as caught:
        await shop.resume(request.id)
    assert caught.value.why == "answered"
    assert caught.value.outcome["kind"] == result.kind
