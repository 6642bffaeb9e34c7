"""
A file of approvals that another person edits between the question and the answer.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest

from toolkit.access import Writes
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals, file_change
from toolkit.approvals.identity import digest_of_call, identity_of
from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.safety import SafetyChecks
from toolkit.session import Session

pytestmark = pytest.mark.anyio

KEY, NEW = b"k" * 32, b"n" * 32
Edit = Callable[[dict[str, Any]], None]


class Desk:
    """Tools that write down what ran, and a dispatcher for each process that shares the file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "x.approvals.sqlite"
        self.ran: list[Any] = []
        self.now = "noon"
        self.catalog = catalog = Catalog()

        @catalog.tool(destructive=True)
        async def pay(to: str, amount: int = 1, code: Annotated[str, Secret] = "0000") -> str:
            """Pay a person."""
            self.ran.append((to, amount, code))
            return f"paid {to}"

        @catalog.tool(destructive=True)
        async def refund(to: str, amount: int = 1, code: Annotated[str, Secret] = "0000") -> str:
            """Take money back."""
            self.ran.append(("refund", to))
            return "refunded"

        @catalog.tool(destructive=True, idempotent=False, preview=self._preview)
        async def mail(to: str) -> str:
            """Send a letter."""
            self.ran.append(to)
            return f"mailed {to}"

        @catalog.tool(preview=lambda arguments: file_change(arguments["path"], arguments["text"], root=folder))
        async def note(path: Annotated[Path, Writes], text: str) -> str:
            """Write a note."""
            self.ran.append(text)
            return "noted"

    def _preview(self, arguments: Any) -> str:
        return f"a letter to {arguments['to']}, at {self.now}"

    def dispatcher(self, key: Any = None, **options: Any) -> Dispatcher:
        approvals = Approvals(SQLiteApprovals(self.path), key=key)
        safety = SafetyChecks([self.folder])
        return Dispatcher(
            self.catalog, permissions=Permissions("default"), approvals=approvals, safety=safety, **options
        )

    async def ask(self, name: str, arguments: dict[str, Any], key: Any = None, **options: Any) -> ApprovalRequest:
        result = await self.dispatcher(key).call(name, arguments, **options)
        assert result.request is not None
        return result.request

    async def refusal(self, request: Any, key: Any = None, decision: Decision | None = None, **options: Any) -> str:
        with pytest.raises(ApprovalError) as caught:
            await self.dispatcher(key).resume(request, decision or Decision.approve(), **options)
        return caught.value.why

    def edit(self, request: ApprovalRequest, change: Edit, *, id: str | None = None) -> None:  # noqa: A002 -- its name
        """Change a record in the file by hand."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            key = request.id.encode()
            (text,) = connection.execute("SELECT record FROM toolkit_approvals WHERE id = ?", (key,)).fetchone()
            record = json.loads(text)
            change(record)
            connection.execute(
                "UPDATE toolkit_approvals SET record = ?, state = ? WHERE id = ?",
                (json.dumps(record), record["state"], (id or request.id).encode()),
            )

    def forge(self, record: dict[str, Any]) -> None:
        """Make a record consistent again, as an attacker who knows the code can."""
        request = record["request"]
        record["identity"] = identity_of(self.catalog[request["tool"]])
        request["digest"] = digest_of_call(
            record["identity"], record["arguments"], request["session"], request["principal"]
        )


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def setting(**fields: Any) -> Edit:
    """Return an edit that changes fields of the request: what people are shown."""
    return lambda record: record["request"].update(fields)


def running(**arguments: Any) -> Edit:
    """Return an edit that changes what would run."""
    return lambda record: record["arguments"].update(arguments)


INCONSISTENT = {
    "what runs": (running(to="mallory"), "forged"),
    "what is shown": (setting(arguments={"to": "eve", "amount": 1, "code": "[redacted]"}), "forged"),
    "a shown argument is missing": (setting(arguments={"to": "bob", "amount": 1}), "forged"),
    "a secret is shown": (setting(arguments={"to": "bob", "amount": 1, "code": "1"}), "forged"),
    "the tool": (setting(tool="refund"), "changed"),
    "no such tool": (setting(tool="steal"), "changed"),
    "the session": (setting(session="other"), "forged"),
    "the principal": (setting(principal=None), "forged"),
    "the digest": (setting(digest="0" * 64), "forged"),
    "the identity": (lambda record: record.update(identity="0" * 64), "changed"),
}


@pytest.mark.parametrize("key", [None, KEY], ids=["without a key", "with a key"])
@pytest.mark.parametrize("name", INCONSISTENT)
async def test_a_record_that_shows_one_call_and_runs_another_is_refused(desk, name, key):
    """This holds with and without a key. The call does not run, and the person who answers learns why."""
    change, why = INCONSISTENT[name]
    request = await desk.ask("pay", {"to": "bob"}, key, session=Session(id="s"), principal="ada")
    desk.edit(request, change)
    principal = None if name == "the principal" and key is None else "ada"
    assert await desk.refusal(request.id, key, principal=principal) == ("forged" if key else why)
    assert desk.ran == []


CONSISTENT = {
    "shown and run": lambda record: (
        running(to="mallory")(record),
        record["request"]["arguments"].update(to="mallory"),
    ),
    "a hidden secret": running(code="9999"),
    "the session": setting(session="other"),
    "the reason": setting(reason="it is harmless"),
    "what asked": setting(asked_by=["mode `default`", "check `host`"]),
    "when it expires": setting(expires_at=None),
    "the credentials": setting(auth={"provider": "bank", "scopes": [], "url": "https://evil.example/", "reason": ""}),
    "denied": lambda record: record.update(state="denied", decided_by="ada", decided_at=1.0),
    "claimed": lambda record: record.update(
        state="claimed", decided_by="ada", decided_at=1.0, claim={"owner": "the dead", "at": 1.0}
    ),
    "done": lambda record: record.update(
        state="done", decided_at=1.0, claim={"owner": "x", "at": 1.0}, outcome={"text": "paid"}
    ),
    "the signature": lambda record: record.update(seal=None),
    "a made-up signature": lambda record: record.update(seal="v1." + "0" * 64),
}


@pytest.mark.parametrize("name", CONSISTENT)
async def test_every_alteration_is_refused_if_there_is_a_key(desk, name):
    """A decision, a claim or an outcome that was never made, or a new digest, is refused even if the record fits together."""
    request = await desk.ask("pay", {"to": "bob"}, KEY)
    desk.edit(request, lambda record: (CONSISTENT[name](record), desk.forge(record)))
    assert await desk.refusal(request.id, KEY) == "forged"
    with pytest.raises(ApprovalError, match="signature"):
        Approvals(SQLiteApprovals(desk.path), key=KEY).store.get(request.id)
    assert desk.ran == []


async def test_a_consistent_forgery_runs_without_a_key(desk):
    """The documentation says that only a key stops this."""
    request = await desk.ask("pay", {"to": "bob"})
    desk.edit(request, lambda record: (CONSISTENT["shown and run"](record), desk.forge(record)))
    await desk.dispatcher().resume(request.id, Decision.approve())
    assert desk.ran == [("mallory", 1, "0000")]


@pytest.mark.parametrize("key", [None, KEY], ids=["without a key", "with a key"])
async def test_a_caller_with_the_shown_request_gets_exactly_that_call(desk, key):
    """A consistent forgery differs from the copy that the person saw."""
    request = await desk.ask("pay", {"to": "bob"}, key)
    shown_request = ApprovalRequest.from_json(json.loads(json.dumps(request.to_json())))
    desk.edit(request, lambda record: (CONSISTENT["shown and run"](record), desk.forge(record)))
    assert await desk.refusal(shown_request, key) == "forged"
    assert desk.ran == []


async def test_an_unaltered_masked_request_can_be_resumed_as_an_object(desk):
    request = await desk.ask("pay", {"to": "bob", "code": "1234"}, KEY)
    assert (await desk.dispatcher(KEY).resume(request, Decision.approve())).text == "paid bob"
    assert desk.ran == [("bob", 1, "1234")]


@pytest.mark.parametrize("secret", ["red", "a", "[redacted]"])
async def test_a_secret_that_looks_like_the_mask_is_not_an_alteration(desk, secret):
    """Masked twice, it still shows the same request."""
    request = await desk.ask("pay", {"to": "barred", "code": secret})
    assert (await desk.dispatcher().resume(request, Decision.approve())).kind == "ok"
    assert desk.ran == [("barred", 1, secret)]


# Previews.


async def test_an_altered_preview_asks_again_without_a_key(desk):
    """The preview is made again from the stored arguments, and the person sees the true one."""
    request = await desk.ask("mail", {"to": "mallory"})
    desk.edit(request, setting(preview="a letter to bob, at noon"))
    result = await desk.dispatcher().resume(request.id, Decision.approve())
    assert (result.kind, result.request.preview) == ("waiting", "a letter to mallory, at noon")
    assert "what was shown is not what would happen" in result.request.reason
    assert desk.ran == []
    assert (await desk.dispatcher().resume(result.request.id, Decision.approve())).text == "mailed mallory"


async def test_a_preview_that_was_put_in_asks_again(desk):
    """A tool without a preview shows none."""
    request = await desk.ask("pay", {"to": "bob"})
    desk.edit(request, setting(preview="nothing is paid"))
    result = await desk.dispatcher().resume(request.id, Decision.approve())
    assert (result.kind, result.request.preview, desk.ran) == ("waiting", None, [])


async def test_preconditions_that_were_removed_ask_again(desk):
    """Otherwise a file could change unseen."""
    request = await desk.ask("note", {"path": "a.txt", "text": "x"})
    desk.edit(request, setting(preconditions=[]))
    assert (await desk.dispatcher().resume(request.id, Decision.approve())).kind == "waiting"
    assert desk.ran == []


async def test_an_altered_preview_is_refused_if_there_is_a_key(desk):
    """The signature covers what was shown, so the preview is not made a second time."""
    request = await desk.ask("mail", {"to": "mallory"}, KEY)
    desk.edit(request, setting(preview="a letter to bob, at noon"))
    assert await desk.refusal(request.id, KEY) == "forged"
    second = await desk.ask("mail", {"to": "bob"}, KEY)
    desk.now = "night"
    assert (await desk.dispatcher(KEY).resume(second.id, Decision.approve())).kind == "ok"


async def test_a_preview_that_differs_each_time_is_not_compared(desk):
    """Otherwise the call would ask for ever."""
    hours = iter(range(100))

    @desk.catalog.tool(destructive=True, preview=lambda arguments: f"{arguments['to']} {next(hours)}")
    async def post(to: str) -> str:
        """Send a parcel."""
        return "sent"

    request = await desk.ask("post", {"to": "bob"})
    assert (await desk.dispatcher().resume(request.id, Decision.approve())).kind == "ok"


async def test_a_preview_is_not_made_again_of_edited_arguments(desk):
    """The person who writes them answers for them."""
    request = await desk.ask("mail", {"to": "bob"})
    result = await desk.dispatcher().resume(request.id, Decision.approve(arguments={"to": "eve"}))
    assert (result.kind, desk.ran) == ("ok", ["eve"])


# Grants.


async def test_the_words_of_a_grant_have_to_match_its_scope(desk):
    """Words for a folder above a grant for everything are refused."""
    session = Session(id="s")
    request = await desk.ask("note", {"path": "a.txt", "text": "x"}, session=session)

    def widen(record: dict[str, Any]) -> None:
        narrow, wide = record["request"]["grants"]
        wide["shown"] = narrow["shown"]

    desk.edit(request, widen)
    stored = SQLiteApprovals(desk.path).get(request.id).request.grants[-1]
    assert await desk.refusal(request.id, decision=Decision.approve(grant=stored), session=session) == "grant"
    assert (session.grants, desk.ran) == ((), [])


# Records that change places, or come back.


@pytest.mark.parametrize(("key", "why"), [(None, "store"), (KEY, "store")])
async def test_a_record_stored_under_the_id_of_another_is_refused(desk, key, why):
    first, second = await desk.ask("pay", {"to": "bob"}, key), await desk.ask("pay", {"to": "eve"}, key)
    desk.edit(first, lambda record: None, id=second.id)
    assert await desk.refusal(second.id, key) == why
    assert desk.ran == []


async def test_a_record_with_the_changed_id_of_another_is_refused_if_there_is_a_key(desk):
    first, second = await desk.ask("pay", {"to": "bob"}, KEY), await desk.ask("pay", {"to": "eve"}, KEY)
    desk.edit(first, setting(id=second.id), id=second.id)
    assert await desk.refusal(second.id, KEY) == "forged"
    assert desk.ran == []


async def test_an_older_copy_is_refused_by_the_process_that_saw_the_newer_one(desk):
    """Its signature is valid, but the process remembers the later state."""
    dispatcher = desk.dispatcher(KEY)
    request = (await dispatcher.call("pay", {"to": "bob"})).request
    old: dict[str, Any] = {}
    desk.edit(request, lambda record: old.update(record))
    assert (await dispatcher.resume(request.id, Decision.approve())).kind == "ok"
    desk.edit(request, lambda record: (record.clear(), record.update(old)))
    with pytest.raises(ApprovalError, match="an older copy was put back") as caught:
        await dispatcher.resume(request.id, Decision.approve())
    assert (caught.value.why, desk.ran) == ("forged", [("bob", 1, "0000")])


async def test_an_outcome_that_was_altered_is_not_reported(desk):
    """The outcome of a call is signed, too."""
    request = await desk.ask("pay", {"to": "bob"}, KEY)
    await desk.dispatcher(KEY).resume(request.id, Decision.approve(by="ada"))
    store = Approvals(SQLiteApprovals(desk.path), key=KEY).store
    assert (store.get(request.id).state, store.get(request.id).decided_by) == ("done", "ada")
    desk.edit(request, lambda record: record["outcome"].update(text="paid mallory"))
    assert await desk.refusal(request.id, KEY) == "forged"
    desk.edit(request, lambda record: record.update(decided_by="eve"))
    with pytest.raises(ApprovalError, match="does not fit"):
        store.get(request.id)


# Keys.


async def test_a_key_can_be_replaced_while_requests_wait(desk):
    """The first key signs, and all keys verify."""
    request = await desk.ask("pay", {"to": "bob"}, KEY)
    assert await desk.refusal(request.id, NEW) == "forged"
    assert (await desk.dispatcher([NEW, KEY]).resume(request.id, Decision.approve())).kind == "ok"
    assert Approvals(SQLiteApprovals(desk.path), key=NEW).store.get(request.id).state == "done"


async def test_a_request_stored_without_a_key_is_refused_once_there_is_a_key(desk):
    """Another program could have written it."""
    request = await desk.ask("pay", {"to": "bob"})
    assert await desk.refusal(request.id, KEY) == "forged"
    assert (await desk.dispatcher().resume(request.id, Decision.approve())).kind == "ok"


async def test_a_signed_request_is_not_claimed_without_the_key(desk):
    """The claim could not be signed."""
    request = await desk.ask("pay", {"to": "bob"}, KEY)
    assert await desk.refusal(request.id) == "store"
    assert desk.ran == []
    assert (await desk.dispatcher(KEY).resume(request.id, Decision.approve())).kind == "ok"


async def test_a_store_with_a_key_lists_only_signed_requests(desk, caplog):
    """An altered or older record does not hide the others."""
    unsigned = await desk.ask("pay", {"to": "ann"})
    store = SQLiteApprovals(desk.path)
    Approvals(store, key=KEY)
    altered, request = await desk.ask("pay", {"to": "bob"}, KEY), await desk.ask("pay", {"to": "eve"}, KEY)
    desk.edit(altered, setting(preview="harmless"))
    assert [listed.id for listed in store.pending()] == [request.id]
    assert f"request {unsigned.id} carries no signature" in caplog.text
    assert f"the signature of request {altered.id} does not fit" in caplog.text


@pytest.mark.parametrize("levels", [100, 900])
@pytest.mark.parametrize("key", [None, KEY])
async def test_a_record_that_nests_too_deeply_is_refused_like_any_other_forgery(desk, levels, key):
    """Its digest and its signature cannot be computed."""
    request = await desk.ask("pay", {"to": "bob"}, key)
    deep: Any = "bob"
    for _ in range(levels):
        deep = {"to": deep}

    def nest(record: dict[str, Any]) -> None:
        record["arguments"]["to"] = record["request"]["arguments"]["to"] = deep

    desk.edit(request, nest)
    assert await desk.refusal(request.id, key) == "forged"
    assert await desk.refusal(request, key) == "forged"
    assert desk.ran == []


def test_a_store_has_one_key():
    """Two Approvals of one store with different keys would refuse each other's records."""
    store = MemoryApprovals()
    Approvals(store, key=KEY)
    Approvals(store, key=KEY)
    Approvals(store)
    assert store.is_signed
    with pytest.raises(ValueError, match="another key"):
        Approvals(store, key=NEW)


def test_a_store_that_cannot_sign_is_refused():
    """A key that does nothing would be worse than none."""

    class Own:
        blocking = False

        def settle(self) -> None: ...

    with pytest.raises(TypeError, match="Own cannot sign its records"):
        Approvals(Own(), key=KEY)
