"""
Approvals on a PostgreSQL server, and what may happen to that server.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cutting_proxy import run_proxy
from toolkit.approvals import ApprovalError, PostgresApprovals
from toolkit.approvals.records import Record
from toolkit.approvals.seal import RecordSeal
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest
from toolkit.errors import ToolkitError
from toolkit.storage.postgres_database import describe_place, parse_address

NOW = 1000.0


def record(request_id, **fields):
    """Return a record that is pending."""
    request = ApprovalRequest(tool="write", call_id="c", reason="asks", created_at=NOW, id=request_id)
    return Record(request=request, **{"arguments": {"path": "a"}, "identity": "i", **fields})


def claim(store, request_id="one"):
    return store.settle(request_id, Settlement("claimed", by="ada", owner="me", now=NOW))


@pytest.fixture
def open_store():
    """Open stores, and close them when the test is over."""
    stores = []

    def open_one(url, **options):
        stores.append(PostgresApprovals(url, **options))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(postgres_schema_url, open_store):
    """A store with one request, `one`."""
    store = open_store(postgres_schema_url)
    store.add(record("one"))
    return store


@pytest.fixture
def raw(postgres_schema_url):
    """A connection that works behind the store's back."""
    import psycopg

    with psycopg.connect(postgres_schema_url, autocommit=True) as connection:
        yield connection


def cut_all(raw):
    """End every other connection to the database, as an administrator can."""
    raw.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'toolkit%'")


# The address.


@pytest.mark.parametrize("url", ["", "approvals.sqlite", "sqlite:///a", "mysql://h/a", None, b"postgresql://h/a"])
def test_the_address_of_another_database_is_refused_with_the_right_form(url):
    with pytest.raises(ValueError, match="begins with postgresql://"):
        PostgresApprovals(url)


@pytest.mark.parametrize(
    "rest",
    [
        *("u:s3cr%zzet@h/a", "u:s3cret@h/a?colour=red", "u:s3cret@h/a\ud800", "u:s3cret@[h/a"),
        # The password is read as another part, and would be shown as that.
        *("u:ge/s3cret@h:1/a", "u:12/s3cret@h/a", "u:ge@s3cret@h/a", "u@h:s3cret/a"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_without_its_password(rest):
    """Libpq would quote a part of it."""
    with pytest.raises(ValueError, match="cannot be read.*percent sign") as caught:
        PostgresApprovals(f"postgresql://{rest}")
    assert "s3cr" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("rest", "place"),
    [
        ("u:ge%2Fheim%40@h:5/a", "u@h:5/a"),
        ("h1,h2:5433/a", "h1,h2:,5433/a"),
        ("[::1]:5/a?user=u@corp", "u@corp@::1:5/a"),
        ("%2Ftmp/a", "/tmp/a"),
        ("%40socket/a", "@socket/a"),
        ("h/a%40b", "h/a@b"),
    ],
)
def test_an_address_with_unusual_parts_is_read(rest, place):
    """Escaped parts and options are read."""
    assert describe_place(parse_address(f"postgresql://{rest}")) == f"postgresql://{place}"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql+psycopg", "PostgreSQL"])
def test_the_forms_of_an_address_that_others_use_will_do(postgres_schema_url, open_store, scheme):
    """SQLAlchemy has the name of a driver in it."""
    open_store(postgres_schema_url).add(record("one"))
    other = open_store(postgres_schema_url.replace("postgresql", scheme, 1))
    assert other.get("one") == record("one")


def test_the_password_is_not_shown(postgres_server, store):
    """The repr of the store and its address leave it out."""
    assert postgres_server.password not in f"{store!r} {store.place}"
    assert store.place.startswith("postgresql://toolkit@127.0.0.1:")


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ({"timeout_seconds": -1}, "0 or more"),
        ({"lost_seconds": float("nan")}, "0 or more"),
        ({"lost_seconds": "5"}, "a number"),
    ],
)
def test_an_invalid_option_is_refused_before_connecting(option, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        PostgresApprovals("postgresql://127.0.0.1:1/a", **option)


def test_the_error_names_the_extra_if_the_package_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ToolkitError, match=r"extra `durable`; run pip install '\.\[durable\]'"):
        PostgresApprovals("postgresql://h/a")


# What the server refuses.


def with_password(server, name):
    return server.build_url(name, password="wr0ng")


def with_database(server, name):
    return server.build_url("nowhere")


def with_closed_role(server, name):
    server.execute("DROP ROLE IF EXISTS closed", "CREATE ROLE closed NOLOGIN PASSWORD 'wr0ng'")
    return server.build_url(name, user="closed", password="wr0ng")


def with_weak_role(server, name):
    server.execute("DROP ROLE IF EXISTS weak", "CREATE ROLE weak LOGIN PASSWORD 'wr0ng'")
    return server.build_url(name, user="weak", password="wr0ng")


def with_standby(server, name):
    return f"{server.build_url(name)}?options=-cdefault_transaction_read_only%3Don"


REFUSALS = [
    (with_password, 'password authentication failed for user "toolkit"; check the user and the password'),
    (with_database, 'database "nowhere" does not exist; create it'),
    (with_closed_role, "not permitted to log in; .*ALTER ROLE"),
    (with_weak_role, "does not let the user do this .permission denied for schema public.*GRANT"),
    (with_standby, "is read-only.*the primary"),
]


@pytest.mark.parametrize(("build", "problem"), REFUSALS, ids=[build.__name__ for build, _ in REFUSALS])
def test_a_refusal_of_the_server_is_reported_at_once_with_the_remedy(postgres_server, build, problem):
    """The store does not try again. The message names the database and does not show the password."""
    # The schema `public` belongs to the owner of the database, and others may not create tables there.
    url = build(postgres_server, "postgres")
    with pytest.raises(ApprovalError, match=problem) as caught:
        PostgresApprovals(url, timeout_seconds=60)
    assert caught.value.why == "store"
    assert str(caught.value).startswith("the approvals in postgresql://")
    for message in (str(caught.value), str(caught.value.__cause__)):
        assert "wr0ng" not in message
        assert postgres_server.password not in message


def test_a_table_that_the_user_may_only_read_is_read(postgres_server, postgres_schema_url, store, raw):
    """A change is refused, and says what is missing."""
    schema = raw.execute("SELECT current_schema()").fetchone()[0]
    raw.execute("DROP ROLE IF EXISTS reader")
    raw.execute("CREATE ROLE reader LOGIN PASSWORD 'r'")
    raw.execute(f"GRANT USAGE ON SCHEMA {schema} TO reader")
    raw.execute("GRANT SELECT ON toolkit_approvals, toolkit_approvals_meta TO reader")
    address = postgres_schema_url.replace(f"toolkit:{postgres_server.password}", "reader:r")
    reader = PostgresApprovals(address)
    assert reader.get("one") == record("one")
    with pytest.raises(ApprovalError, match="permission denied for table toolkit_approvals.*GRANT SELECT, INSERT"):
        claim(reader)
    reader.close()
    raw.execute("DROP OWNED BY reader")
    raw.execute("DROP ROLE reader")
    assert store.get("one").state == "pending"


def test_a_request_that_others_hold_for_too_long_is_an_error(postgres_schema_url, open_store, store, raw):
    """The error comes after the given time, and the record is unchanged."""
    hasty = open_store(postgres_schema_url, timeout_seconds=0.05)
    with raw.transaction():
        raw.execute("SELECT * FROM toolkit_approvals FOR UPDATE")
        with pytest.raises(ApprovalError, match="busy.*timeout_seconds"):
            claim(hasty)
    assert store.get("one").state == "pending"


# A server that is away.


@pytest.mark.parametrize("url", ["postgresql://u:s3cret@127.0.0.1:1/a", "postgresql:///a?host=/nowhere"])
def test_an_unreachable_server_is_an_error_with_the_seconds_and_a_remedy(url):
    with pytest.raises(ApprovalError, match=r"has been away for 0\.05 s: .*check that the server runs") as caught:
        PostgresApprovals(url, timeout_seconds=0.05)
    assert caught.value.why == "store"
    assert "s3cret" not in str(caught.value)


def test_connections_that_were_cut_are_opened_again(store, raw):
    """Reading and changing go on as if nothing had been."""
    for use in (lambda: store.get("one"), lambda: claim(store), lambda: store.add(record("two"))):
        cut_all(raw)
        use()
    assert (store.get("one").state, store.get("two").state) == ("claimed", "pending")


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("action", ["claim", "add", "add_call", "finish", "reclaim", "purge"])
def test_a_change_that_is_cut_at_its_commit_is_made_once(
    postgres_server, postgres_schema_url, open_store, store, action, moment
):
    """The caller learns that it was made, whether the server had made it or not."""
    new = record("two")
    if action in ("finish", "reclaim"):
        claim(store)
    if action == "purge":
        store.settle("one", Settlement("denied", by=None, now=NOW))
    with run_proxy(postgres_server.port) as proxy:
        cut = open_store(postgres_schema_url.replace(f":{postgres_server.port}", f":{proxy.port}"))
        proxy.moment, proxy.word = moment, b"COMMIT"
        uses = {
            "claim": lambda: claim(cut) is True,
            "add": lambda: cut.add(new) is None,
            "add_call": lambda: cut.add_call(new, "k", now=NOW) is new,
            "finish": lambda: cut.finish("one", {"text": "x"}, owner="me") is True,
            "reclaim": lambda: cut.reclaim("one", from_owner="me", owner="you", now=NOW) is True,
            "purge": lambda: cut.purge(before=NOW + 1) == (1 if moment == "before" else 0),
        }
        assert uses[action]()
        assert proxy.word is None
    stored = store.get("one")
    assert {
        "claim": lambda: stored.state == "claimed",
        "finish": lambda: stored.outcome == {"text": "x"},
        "reclaim": lambda: stored.claim.owner == "you",
        "purge": lambda: stored is None,
    }.get(action, lambda: store.get("two") == new)()


def test_only_one_of_two_identical_claims_counts_if_the_connection_was_cut(
    postgres_server, postgres_schema_url, open_store, store
):
    """The store does not mistake the claim of another thread for the one that was cut."""
    with run_proxy(postgres_server.port) as proxy:
        cut = open_store(postgres_schema_url.replace(f":{postgres_server.port}", f":{proxy.port}"))
        original, attempts = cut._database.connect, []

        def connect():
            attempts.append(claim(store))  # while the other one opens its connection again
            return original()

        proxy.word = b"COMMIT"
        cut._database.connect = connect
        assert claim(cut) is False
        assert attempts == [True]


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.0, 3.0])
def test_a_store_waits_for_a_server_that_is_away_for_a_moment(postgres_server, postgres_url, open_store, seconds):
    """Committed records are there, and the change is made afterwards."""
    store = open_store(postgres_url, timeout_seconds=30)
    store.add(record("one"))
    postgres_server.stop()
    starting = threading.Timer(seconds, postgres_server.start)
    starting.start()
    assert claim(store)
    starting.join()
    assert store.get("one").state == "claimed"


@pytest.mark.long
def test_a_server_that_is_away_for_too_long_is_an_error_until_its_return(postgres_server, postgres_url, open_store):
    """The same store works again afterwards."""
    store = open_store(postgres_url, timeout_seconds=0.5)
    store.add(record("one"))
    with postgres_server.away(), pytest.raises(ApprovalError, match=r"away for 0\.5 s") as caught:
        claim(store)
    assert caught.value.why == "store"
    assert store.get("one").state == "pending"
    assert claim(store)


# The table.


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("DROP TABLE toolkit_approvals", "has lost the table.*restore"),
        ("DROP TABLE toolkit_approvals_meta", "has lost the table.*restore"),
        ("DELETE FROM toolkit_approvals_meta", "tables of another application.*; give another database"),
        (
            "UPDATE toolkit_approvals_meta SET value = '3' WHERE name = 'format'",
            "format 3, and.*reads format 2; update",
        ),
        ("ALTER TABLE toolkit_approvals RENAME record TO text", "another table of the same name"),
    ],
)
@pytest.mark.parametrize(
    "use",
    [lambda store: store.get("one"), lambda store: store.add(record("two")), claim, lambda store: store.pending()],
    ids=["get", "add", "settle", "pending"],
)
def test_a_table_that_changes_under_the_store_is_noticed(store, raw, statement, problem, use):
    """It is checked at each use, and never created again silently."""
    raw.execute(statement)
    with pytest.raises(ApprovalError, match=problem):
        use(store)


def test_a_table_of_another_program_is_refused(postgres_schema_url, raw):
    """It is not changed. The table of an earlier version is refused, too."""
    raw.execute("CREATE TABLE toolkit_approvals (id int)")
    with pytest.raises(ApprovalError, match=r"of another application, or of an earlier version.*give another database"):
        PostgresApprovals(postgres_schema_url)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("record = '{}'", "version None"),
        ("record = '[' || record", "cannot be read"),
        ("id = '\\x00'", "under another's id"),
        ('record = replace(record, \'"state":"pending"\', \'"state":"odd"\')', "cannot be read"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error(store, raw, change, problem):
    """It is not mistaken for another record or for a missing one."""
    raw.execute(f"UPDATE toolkit_approvals SET {change}")
    with pytest.raises(ApprovalError, match=f"{problem}.*restore"):
        store.pending()


def test_a_record_that_others_wrote_is_refused_if_records_are_signed(postgres_schema_url, open_store, raw, caplog):
    """It is left out of the list, and cannot be answered."""
    store = open_store(postgres_schema_url)
    store.sign_with(RecordSeal(b"k" * 32))
    for name in ("one", "two"):
        store.add(record(name))
    raw.execute(
        'UPDATE toolkit_approvals SET record = replace(record, \'"path":"a"\', \'"path":"b"\') WHERE id = \'one\''
    )
    assert [request.id for request in store.pending(now=NOW)] == ["two"]
    with pytest.raises(ApprovalError) as caught:
        claim(store)
    assert caught.value.why == "forged"
    assert "left out" in caplog.text


def test_a_change_is_on_the_disk_when_the_method_returns(postgres_server, postgres_schema_url, open_store):
    """This holds even if the database is set up to answer earlier."""
    name = postgres_schema_url.rpartition("/")[2].partition("?")[0]
    postgres_server.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        store = open_store(postgres_schema_url)
        assert store._database.read(lambda execute: execute("SHOW synchronous_commit", ()).fetchone()) == ("on",)
    finally:
        postgres_server.execute(f"ALTER DATABASE {name} RESET synchronous_commit")


def test_threads_leave_few_connections_open(store, raw):
    """Many threads may have come at once. After `close` there are no connections."""
    together = threading.Barrier(16)

    def use(_):
        together.wait()
        return store.get("one").state

    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(use, range(16))) == {"pending"}
    assert 1 <= len(store._database._idle) <= 8
    store.close()
    assert store._database._idle == []
    assert store.get("one").state == "pending"
    assert store._database._idle == []
