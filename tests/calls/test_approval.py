"""
A call that needs a person's word: what they are asked, and what happens when they are there to answer.
"""

from __future__ import annotations

import asyncio
import io
import json
from typing import Annotated, Any

import pytest

from toolkit.approvals import Approvals, DenyAll, MemoryApprovals, SQLiteApprovals, TerminalPrompt, file_change
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject, Secret
from toolkit.decisions import AuthNeeded, AuthRequest, Changed, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError, Transient, UnknownTool
from toolkit.hooks import Ask, Proceed
from toolkit.permissions import Permissions
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolCall
from toolkit.session import Session
from toolkit.verdicts import Finding, Verdict

pytestmark = pytest.mark.anyio


class Token:
    """A credential that a call brings along."""

    def __init__(self, text: str) -> None:
        self.text = text


class Office:
    """Tools that note what they were really given."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.catalog = catalog = Catalog()

        @catalog.tool(destructive=True)
        async def wipe(target: str, depth: int = 1, key: Annotated[str, Secret] | None = None) -> str:
            """Wipe something."""
            self.ran.append((target, depth, key))
            return f"wiped {target}"

        @catalog.tool(destructive=True)
        async def burn(target: str, depth: int = 1) -> str:
            """Burn something."""
            self.ran.append((target, depth))
            return f"burnt {target}"

        @catalog.tool(read_only=True)
        async def look(target: str) -> str:
            """Look at something."""
            self.ran.append(target)
            return target

    def dispatcher(self, **options: Any) -> Dispatcher:
        options.setdefault("permissions", Permissions())
        return Dispatcher(self.catalog, **options)


@pytest.fixture
def office():
    """An office in which nothing has been done yet."""
    return Office()


# What a person is asked.


async def test_a_request_says_what_would_run_for_whom_and_why(office):
    """Everything a person needs to answer, and everything an answer is held against."""
    approvals = Approvals(clock=lambda: 1000.0, expires_seconds=60)
    session = Session(id="s1")
    result = await office.dispatcher(approvals=approvals).call(
        "burn", {"target": "a"}, id="c1", session=session, principal="ada"
    )
    request = result.request
    assert (result.kind, result.is_error, result.attempts, office.ran) == ("waiting", False, 0, [])
    assert result.text == "waiting for approval: `burn` cannot be undone, and mode `default` asks first"
    assert (request.tool, request.call_id, request.arguments) == ("burn", "c1", {"target": "a", "depth": 1})
    assert (request.session, request.principal) == ("s1", "ada")
    assert (request.created_at, request.expires_at) == (1000.0, 1060.0)
    assert (request.reason, request.asked_by) == (
        "`burn` cannot be undone, and mode `default` asks first",
        ("mode `default`",),
    )
    assert [grant.scope for grant in request.grants] == ["tool"]
    assert approvals.store.get(request.id).request == request


async def test_ids_are_128_random_bits(office):
    """An id cannot be guessed, and no two are the same."""
    dispatcher = office.dispatcher()
    ids = [(await dispatcher.call("burn", {"target": "a"})).request.id for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(len(bytes.fromhex(each)) == 16 for each in ids)


@pytest.mark.parametrize(
    "arguments",
    [
        {"target": "a", "depth": 1},
        {"depth": 1, "target": "a"},
        {"target": "a"},
        '{"target": "a"}',
        {"target": "a", "depth": "1"},
    ],
    ids=["whole", "another order", "a default", "text", "repaired"],
)
async def test_the_same_call_has_the_same_digest_however_it_was_written(office, arguments):
    """Canonical arguments are decoded, with defaults, in one order."""
    dispatcher = office.dispatcher()
    one, other = [await dispatcher.call("burn", each) for each in ({"target": "a", "depth": 1}, arguments)]
    assert one.request.digest == other.request.digest
    assert one.request.id != other.request.id


@pytest.mark.parametrize(
    ("tool", "arguments", "options"),
    [
        ("burn", {"target": "b"}, {}),
        ("wipe", {"target": "a"}, {}),
        ("burn", {"target": "a"}, {"principal": "bob"}),
        ("burn", {"target": "a"}, {"session": Session(id="other")}),
    ],
    ids=["arguments", "tool", "principal", "session"],
)
async def test_another_call_has_another_digest(office, tool, arguments, options):
    """A digest is over the tool, the arguments, the session and the principal."""
    dispatcher = office.dispatcher()
    one = await dispatcher.call("burn", {"target": "a"})
    other = await dispatcher.call(tool, arguments, **options)
    assert one.request.digest != other.request.digest


async def test_repairs_are_shown_and_come_back_with_the_result(office):
    """A person sees what was mended before they agree to it; the model sees it afterwards."""
    dispatcher = office.dispatcher()
    request = (await dispatcher.call("burn", {"target": "a", "depth": "2"})).request
    assert request.arguments["depth"] == 2
    assert len(request.repairs) == 1
    result = await dispatcher.resume(request.id, Decision.approve())
    assert tuple(result.repairs) == request.repairs
    assert office.ran == [("a", 2)]


async def test_secrets_are_masked_for_people_and_kept_for_the_tool(office):
    """In the request and in the store's copy of it; what runs is the true value."""
    approvals = Approvals()
    dispatcher = office.dispatcher(approvals=approvals)
    result = await dispatcher.call("wipe", {"target": "a hunter2 b", "key": "hunter2"})
    record = approvals.store.get(result.request.id)
    for shown in (result.to_json(), record.request.to_json()):
        assert "hunter2" not in json.dumps(shown)
    assert result.request.arguments == {"target": "a [redacted] b", "depth": 1, "key": "[redacted]"}
    await dispatcher.resume(result.request.id, Decision.approve())
    assert office.ran == [("a hunter2 b", 1, "hunter2")]


async def test_what_is_redacted_is_masked_for_people_and_kept_for_the_tool(office):
    """The dispatcher's rules hold for requests too."""
    dispatcher = office.dispatcher(redact=["s3cret"])
    request = (await dispatcher.call("burn", {"target": "x s3cret"})).request
    assert request.arguments["target"] == "x [redacted]"
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "burnt x [redacted]"
    assert office.ran == [("x s3cret", 1)]


async def test_a_judge_that_asks_without_findings_that_do_is_heard():
    """Whatever else it reports: the call does not run unasked."""
    ran = []
    catalog = Catalog()

    @catalog.tool
    async def act() -> None:
        """Act."""
        ran.append(True)

    class Odd:
        def judge(self, request):
            return Verdict("ask", "an odd judge", "because", (Finding("allow", "somebody", "why not"),))

    dispatcher = Dispatcher(catalog, permissions=Odd())
    result = await dispatcher.call("act")
    assert (result.kind, result.request.asked_by, ran) == ("waiting", ("an odd judge",), [])
    assert (await dispatcher.resume(result.request.id, Decision.approve())).kind == "ok"


# Previews and preconditions.


class Notes:
    """A tool that writes a file, and shows what it will do before."""

    def __init__(self, folder: Any, **facts: Any) -> None:
        self.path = folder / "notes.txt"
        self.path.write_text("old\n")
        self.seen: list[Any] = []
        self.catalog = Catalog()
        facts.setdefault("preview", lambda a: file_change(a["path"], a["text"]))

        @self.catalog.tool(**facts)
        def write(path: str, text: str, context: Context) -> str:
            """Write a file."""
            self.seen.append(context.permissions.preconditions)
            self.path.write_text(text)
            return "written"

    def dispatcher(self, **options: Any) -> Dispatcher:
        return Dispatcher(self.catalog, permissions=Permissions(), **options)

    async def asked(self, dispatcher: Dispatcher, text: str = "new\n", **options: Any) -> Any:
        return await dispatcher.call("write", {"path": str(self.path), "text": text}, **options)


async def test_a_change_is_shown_as_a_diff_and_bound_to_the_file(tmp_path):
    """What the tool finds in its context is what the person saw."""
    notes = Notes(tmp_path)
    dispatcher = notes.dispatcher()
    request = (await notes.asked(dispatcher)).request
    assert "-old" in request.preview
    assert "+new" in request.preview
    (condition,) = request.preconditions
    assert condition.path == str(notes.path.resolve())
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "written"
    assert notes.seen == [request.preconditions]


async def test_a_file_that_changed_meanwhile_is_asked_about_again(tmp_path):
    """With the new diff; the old request is closed, and nothing ran."""
    notes = Notes(tmp_path)
    approvals = Approvals()
    dispatcher = notes.dispatcher(approvals=approvals)
    first = (await notes.asked(dispatcher)).request
    notes.path.write_text("changed\n")
    result = await dispatcher.resume(first.id, Decision.approve())
    second = result.request
    assert (result.kind, notes.seen) == ("waiting", [])
    assert "not as it was" in second.reason
    assert "-changed" in second.preview
    assert second.id != first.id
    assert approvals.store.get(first.id).state == "denied"
    assert (await dispatcher.resume(second.id, Decision.approve())).kind == "ok"
    assert notes.path.read_text() == "new\n"


async def test_a_tool_that_finds_the_change_itself_has_it_asked_again(tmp_path):
    """`Changed` says that nothing has happened; the person sees the new diff, and the old approval is used up."""
    notes = Notes(tmp_path)
    rounds = []

    @notes.catalog.tool(preview=lambda a: file_change(notes.path, a["text"]))
    async def careful(text: str) -> str:
        """Write with care."""
        rounds.append(text)
        if len(rounds) == 1:
            notes.path.write_text("sneaky\n")
            raise Changed("notes.txt changed just now")
        return "written"

    approvals = Approvals()
    dispatcher = notes.dispatcher(approvals=approvals)
    first = (await dispatcher.call("careful", {"text": "new\n"})).request
    result = await dispatcher.resume(first.id, Decision.approve())
    assert (result.kind, result.request.reason) == (
        "waiting",
        "notes.txt changed just now; `careful` changes something, and mode `default` asks first",
    )
    assert "-sneaky" in result.request.preview
    assert approvals.store.get(first.id).state == "done"
    assert (await dispatcher.resume(result.request.id, Decision.approve())).text == "written"


async def test_somebody_who_is_there_is_asked_again_at_once(tmp_path):
    """And every request has its outcome in the end."""
    notes = Notes(tmp_path)
    rounds, asked = [], []

    @notes.catalog.tool
    async def careful() -> str:
        """Act with care."""
        rounds.append(True)
        if len(rounds) == 1:
            raise Changed("it changed")
        return "done"

    approvals = Approvals(ask=lambda request: asked.append(request) or True)
    result = await notes.dispatcher(approvals=approvals).call("careful")
    assert (result.text, result.attempts, len(asked)) == ("done", 1, 2)
    assert [approvals.store.get(each.id).state for each in asked] == ["done", "done"]


async def test_an_asker_that_always_agrees_does_not_go_round_for_ever(office):
    """A tool that always finds something changed ends up waiting."""
    asked = []

    @office.catalog.tool
    async def fickle() -> None:
        """Never content."""
        raise Changed("again")

    approvals = Approvals(ask=lambda request: asked.append(request) or True)
    result = await office.dispatcher(approvals=approvals).call("fickle")
    assert (result.kind, len(asked)) == ("waiting", 10)


async def test_a_tool_that_spoils_its_arguments_does_not_change_what_is_asked(office):
    """What a person sees and what runs is what was called, not what the tool made of it."""
    seen = []

    @office.catalog.tool
    async def spoil(items: list[int]) -> None:
        """Spoil it."""
        seen.append(list(items))
        items.append(666)
        if len(seen) == 1:
            raise Changed("it changed")

    dispatcher = office.dispatcher()
    first = (await dispatcher.call("spoil", {"items": [1]})).request
    second = (await dispatcher.resume(first.id, Decision.approve())).request
    assert second.arguments == {"items": [1]}
    await dispatcher.resume(second.id, Decision.approve())
    assert seen == [[1], [1]]


async def test_a_cut_preview_offers_no_grants(tmp_path):
    """A person who has not seen the whole preview can agree to this call only."""
    notes = Notes(tmp_path)
    dispatcher = notes.dispatcher(approvals=Approvals(preview_chars=50))
    request = (await notes.asked(dispatcher, "long\n" * 100, session=Session())).request
    assert request.is_cut
    assert request.preview.startswith("preview cut: ")
    assert request.grants == ()


def writes(arguments):
    with open(arguments["path"], "a") as file:
        file.write("spoilt")


def raises(arguments):
    raise RuntimeError("no idea")


async def hangs(arguments):
    await asyncio.Event().wait()


@pytest.mark.parametrize("preview", [writes, raises, hangs])
async def test_without_a_preview_nobody_is_asked_and_nothing_runs(tmp_path, preview):
    """A preview that fails, takes too long or writes, fails closed."""
    notes = Notes(tmp_path, preview=preview)
    asked = []
    approvals = Approvals(preview_seconds=0.05, ask=asked.append)
    result = await notes.asked(notes.dispatcher(approvals=approvals))
    assert result.kind == "internal"
    assert "preview of `write` failed" in result.text
    assert (asked, notes.seen, approvals.store.pending(), notes.path.read_text()) == ([], [], [], "old\n")


async def test_a_preview_that_fails_on_resume_is_a_result_too(tmp_path):
    """The file changed and cannot be shown any more: nothing runs, and the old request is closed."""
    is_broken = []
    notes = Notes(tmp_path, preview=lambda a: raises(a) if is_broken else file_change(a["path"], a["text"]))
    dispatcher = notes.dispatcher()
    request = (await notes.asked(dispatcher)).request
    notes.path.write_text("changed\n")
    is_broken.append(True)
    result = await dispatcher.resume(request.id, Decision.approve())
    assert (result.kind, notes.seen) == ("internal", [])


async def test_control_characters_in_what_a_person_reads_are_made_visible(office):
    """A preview or a hook's reason cannot repaint the terminal."""

    @office.catalog.tool(preview=lambda a: "a\x1b[2Kb")
    async def act() -> None:
        """Act."""

    class Asks:
        def before(self, call):
            return Ask("really\x1b[1A?")

    request = (await office.dispatcher(hooks=[Asks()]).call("act")).request
    assert "\x1b" not in request.preview + request.reason


# Somebody who is there.


@pytest.mark.parametrize(
    ("answer", "kind", "ran"),
    [
        (True, "ok", [("a", 1)]),
        (False, "denied", []),
        (None, "waiting", []),
        (Decision.approve(), "ok", [("a", 1)]),
        (Decision.approve(arguments={"target": "b", "depth": 2}), "ok", [("b", 2)]),
        (Decision.deny("not today"), "denied", []),
        ("yes", "internal", []),
        (Decision.approve(arguments={"target": 5}), "waiting", []),
    ],
    ids=["true", "false", "none", "approve", "edit", "deny", "nonsense", "bad edit"],
)
@pytest.mark.parametrize("sealed", [False, True])
async def test_an_asker_decides_at_once(office, answer, kind, ran, sealed):
    """Whether requests are kept or sealed; what is no answer does not let it run."""
    approvals = Approvals(ask=lambda request: answer, key=b"k" * 32 if sealed else None)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"})
    assert (result.kind, office.ran) == (kind, ran)


async def test_an_asker_may_be_async_and_grant_for_the_session(office):
    """The next call is not asked about."""
    asked = []

    async def ask(request):
        asked.append(request)
        return Decision.approve(grant=request.grants[0])

    session = Session()
    dispatcher = office.dispatcher(approvals=Approvals(ask=ask))
    for target in ("a", "b"):
        assert (await dispatcher.call("burn", {"target": target}, session=session)).kind == "ok"
    assert (len(asked), office.ran) == (1, [("a", 1), ("b", 1)])


async def test_without_a_session_nothing_is_granted(office):
    """There is nothing that a grant could last for."""
    approvals = Approvals(ask=lambda request: Decision.approve(grant=request.grants[0]) if request.grants else True)
    dispatcher = office.dispatcher(approvals=approvals)
    assert (await dispatcher.call("burn", {"target": "a"})).kind == "ok"
    assert (await office.dispatcher().call("burn", {"target": "a"})).request.grants == ()


async def test_denied_by_nobody(office):
    """Without a person the answer is no, and the model is told."""
    result = await office.dispatcher(approvals=Approvals(ask=DenyAll())).call("burn", {"target": "a"})
    assert result.kind == "denied"
    assert "there is no person to ask" in result.text


@pytest.mark.parametrize("sealed", [False, True])
async def test_a_failing_asker_leaves_nothing_to_be_approved_later(office, sealed):
    """The model was told that the call failed, so a later answer must not let it run."""
    asked = []

    def ask(request):
        asked.append(request)
        raise RuntimeError("the terminal is gone")

    approvals = Approvals(ask=ask, key=b"k" * 32 if sealed else None)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"})
    assert (result.kind, office.ran, approvals.store.pending()) == ("internal", [], [])
    assert "terminal is gone" in result.text


async def test_a_request_that_cannot_be_withdrawn_is_logged(office, caplog):
    """What went wrong first is what the result says."""

    class Stuck(MemoryApprovals):
        def settle(self, *args, **options):
            raise RuntimeError("stuck")

    approvals = Approvals(Stuck(), ask=lambda request: 1 / 0)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"})
    assert (result.kind, office.ran) == ("internal", [])
    assert "ZeroDivisionError" in result.text
    assert "could not be withdrawn" in caplog.text


@pytest.mark.parametrize(("typed", "kind"), [("y\n", "ok"), ("n\n", "denied"), ("", "denied")])
async def test_somebody_at_a_terminal_decides(office, typed, kind):
    """They see the arguments first; no answer is a no."""
    shown = io.StringIO()
    prompt = TerminalPrompt(input=io.StringIO(typed), output=shown, colour=False, by="ada")
    result = await office.dispatcher(approvals=Approvals(ask=prompt)).call("burn", {"target": "the-barn"})
    assert (result.kind, len(office.ran)) == (kind, int(kind == "ok"))
    assert "the-barn" in shown.getvalue()


async def test_a_call_cancelled_while_somebody_is_asked_cannot_be_approved_later(office):
    """Its request is closed, and the cancellation passes."""
    started = asyncio.Event()

    async def ask(request):
        started.set()
        await asyncio.Event().wait()

    approvals = Approvals(ask=ask)
    task = asyncio.ensure_future(office.dispatcher(approvals=approvals).call("burn", {"target": "a"}))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (office.ran, approvals.store.pending()) == ([], [])


async def test_a_call_whose_time_is_up_while_somebody_is_asked_does_not_run(office):
    """The limit of the call counts while people think."""

    async def ask(request):
        await asyncio.Event().wait()

    approvals = Approvals(ask=ask)
    result = await office.dispatcher(approvals=approvals).call("burn", {"target": "a"}, timeout_seconds=0.02)
    assert (result.kind, office.ran, approvals.store.pending()) == ("timeout", [], [])


async def test_a_store_that_cannot_keep_a_request_lets_nothing_run(office):
    """No request, no approval, no call."""
    approvals = Approvals(MemoryApprovals(size=1))
    dispatcher = office.dispatcher(approvals=approvals)
    assert (await dispatcher.call("burn", {"target": "a"})).kind == "waiting"
    result = await dispatcher.call("burn", {"target": "b"})
    assert (result.kind, office.ran) == ("internal", [])


# Many calls.


async def test_what_comes_after_a_call_that_waits_is_held_back(office):
    """Reading goes on; what changes something waits, and runs when it is sent again."""
    dispatcher = office.dispatcher()
    session = Session()

    @office.catalog.tool
    async def note(text: str, key: Annotated[str, Secret] = "") -> str:
        """Note something."""
        office.ran.append(text)
        return text

    Permissions.grant(session, (await dispatcher.call("note", {"text": "x"}, session=session)).request.grants[0])
    calls = [
        ToolCall("burn", {"target": "a"}, "c1"),
        ToolCall("look", {"target": "b"}, "c2"),
        ToolCall("note", {"text": "c hunter2", "key": "hunter2"}, "c3"),
    ]
    first, second, third = await dispatcher.call_many(calls, session=session)
    assert [each.kind for each in (first, second, third)] == ["waiting", "ok", "waiting"]
    assert (third.request.waits_for, office.ran) == ("c1", ["b"])
    assert "hunter2" not in json.dumps(third.to_json())
    await dispatcher.resume(first.request.id, Decision.approve(), session=session)
    assert (await dispatcher.call(calls[2], session=session)).kind == "ok"
    assert office.ran == ["b", ("a", 1), "c hunter2"]


# Credentials.


class Hub:
    """A tool that needs a token, from a resource or by itself."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.attempts = 0
        self.catalog = Catalog()

        @self.catalog.tool(read_only=True)
        async def fetch(name: str, context: Context) -> str:
            """Fetch something."""
            token = context.resources.get(Token)
            self.attempts += 1
            if token is None:
                raise AuthNeeded(
                    AuthRequest(provider="hub", scopes=("read",), url="https://hub.example/login", reason="private")
                )
            self.tokens.append(token.text)
            context.logger.warning("fetching %s", name)
            return f"got {name}"

        @self.catalog.tool(read_only=True)
        async def plain(name: str) -> str:
            """Fetch without a context, on the short way."""
            raise AuthNeeded(AuthRequest(provider="hub"))

        @self.catalog.tool(read_only=True)
        async def flaky(name: str) -> str:
            """Fail once, and then want credentials."""
            self.attempts += 1
            if self.attempts == 1:
                raise Transient("try again", happened="no")
            raise AuthNeeded(AuthRequest(provider="hub"))


@pytest.mark.parametrize("tool", ["fetch", "plain", "flaky"])
async def test_a_tool_that_needs_credentials_waits_for_them(tool):
    """In the same way as for approval: a request, with what is needed in it."""
    retry = RetryPolicy(wait_initial=0.0)
    result = await Dispatcher(Hub().catalog, retry=retry).call(tool, {"name": "x"})
    assert (result.kind, result.request.auth.provider) == ("waiting", "hub")
    assert result.text.startswith("waiting for credentials: credentials of hub")
    assert result.request.grants == ()


async def test_a_resource_that_needs_credentials_makes_its_call_wait():
    """The function was not begun."""
    catalog = Catalog()
    ran = []

    class Client:
        pass

    def client(context: Context) -> Client:
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="hub", reason="no token"))
        return Client()

    @catalog.tool(read_only=True)
    async def fetch(client: Inject[Client]) -> str:
        """Fetch."""
        ran.append(client)
        return "got it"

    dispatcher = Dispatcher(catalog, resources={Client: client})
    request = (await dispatcher.call("fetch")).request
    assert (request.auth.provider, ran) == ("hub", [])
    result = await dispatcher.resume(request.id, Decision.approve(), resources={Token: Token("t")})
    assert (result.text, len(ran)) == ("got it", 1)


async def test_credentials_reach_the_tool_and_are_kept_nowhere(tmp_path, caplog):
    """Not in the store's file, the request, the result or the log."""
    hub, path = Hub(), tmp_path / "x.approvals.sqlite"
    dispatcher = Dispatcher(hub.catalog, approvals=Approvals(SQLiteApprovals(path)))
    request = (await dispatcher.call("fetch", {"name": "x"})).request
    token = Token("tok-sesame-secret")
    result = await dispatcher.resume(request.id, Decision.approve(), resources={Token: token})
    assert (result.text, hub.tokens) == ("got x", ["tok-sesame-secret"])
    shown = [path.read_bytes().decode(errors="replace"), json.dumps(request.to_json()), json.dumps(result.to_json())]
    assert all("sesame" not in each for each in [*shown, caplog.text])


@pytest.mark.parametrize("tool", ["fetch", "plain"])
async def test_a_request_for_credentials_that_cannot_be_kept_ends_the_call(tool):
    """On the short way as on the long one."""
    dispatcher = Dispatcher(Hub().catalog, approvals=Approvals(MemoryApprovals(size=1)))
    assert (await dispatcher.call(tool, {"name": "x"})).kind == "waiting"
    assert (await dispatcher.call(tool, {"name": "x"})).kind == "internal"


async def test_credentials_that_are_refused_end_the_call():
    """The model is told that there are none."""
    hub = Hub()
    dispatcher = Dispatcher(hub.catalog)
    request = (await dispatcher.call("fetch", {"name": "x"})).request
    result = await dispatcher.resume(request.id, Decision.deny("no account"))
    assert result.kind == "denied"
    assert "no account" in result.text
    assert hub.tokens == []


async def test_without_the_credentials_it_asks_again():
    """An approval alone does not help, and uses the request up."""
    hub = Hub()
    dispatcher = Dispatcher(hub.catalog)
    first = (await dispatcher.call("fetch", {"name": "x"})).request
    again = await dispatcher.resume(first.id, Decision.approve())
    assert (again.kind, again.request.id != first.id) == ("waiting", True)


async def test_what_was_agreed_to_holds_while_credentials_are_fetched(tmp_path):
    """An approved change that then wants credentials is still bound to the file as it was shown."""
    notes = Notes(tmp_path)

    @notes.catalog.tool(preview=lambda a: file_change(notes.path, a["text"]))
    async def publish(text: str, context: Context) -> str:
        """Publish it."""
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="hub"))
        notes.seen.append(text)
        return "published"

    dispatcher = notes.dispatcher()
    seen = (await dispatcher.call("publish", {"text": "new\n"})).request
    auth = (await dispatcher.resume(seen.id, Decision.approve())).request
    assert auth.preconditions == seen.preconditions
    notes.path.write_text("changed\n")
    resources = {Token: Token("t")}
    again = await dispatcher.resume(auth.id, Decision.approve(), resources=resources)
    assert (again.kind, notes.seen) == ("waiting", [])
    assert "-changed" in again.request.preview
    result = await dispatcher.resume(again.request.id, Decision.approve(), resources=resources)
    assert (result.text, notes.seen) == ("published", ["new\n"])


async def test_a_tool_denied_meanwhile_is_not_asked_about(office):
    """The mode changed while it ran: credentials would not help."""
    permissions = Permissions("bypass")

    @office.catalog.tool
    async def fetch() -> None:
        """Fetch."""
        permissions.set_mode("plan")
        raise AuthNeeded(AuthRequest(provider="hub"))

    assert (await office.dispatcher(permissions=permissions).call("fetch")).kind == "denied"


async def test_a_tool_that_asks_meanwhile_is_asked_about_first(office):
    """A person who gives credentials does not approve the call with that."""
    permissions = Permissions("bypass")

    @office.catalog.tool
    async def fetch() -> None:
        """Fetch."""
        permissions.set_mode("default")
        raise AuthNeeded(AuthRequest(provider="hub"))

    request = (await office.dispatcher(permissions=permissions).call("fetch")).request
    assert (request.auth, request.asked_by) == (None, ("mode `default`",))


async def test_a_call_that_the_author_refuses_meanwhile_is_not_asked_about(office):
    """The call was valid when it began. No person is asked about a call that cannot run."""
    closed = []

    @office.catalog.tool(read_only=True, validate=lambda a: "closed" if closed else None)
    async def enter(door: str) -> None:
        """Enter."""
        closed.append(True)
        raise AuthNeeded(AuthRequest(provider="hub"))

    assert (await office.dispatcher().call("enter", {"door": "a"})).kind == "bad_args"


async def test_explain_mends_what_a_call_would_mend(office):
    """So that it speaks of the same call; what cannot be mended, or is not there, is refused."""
    dispatcher = office.dispatcher()
    assert (await dispatcher.explain("burn", {"target": "a", "depth": "2"})).word == "ask"
    with pytest.raises(ToolError, match="target"):
        await dispatcher.explain("burn", {})
    with pytest.raises(UnknownTool):
        await dispatcher.explain("bury", {})


async def test_hooks_that_ask_are_all_heard(office):
    """Their reasons stand in the request."""

    class Asks:
        def __init__(self, reason):
            self.reason = reason

        def before(self, call):
            return Ask(self.reason) if self.reason else Proceed()

    dispatcher = Dispatcher(office.catalog, hooks=[Asks("one"), Asks(""), Asks("two")])
    request = (await dispatcher.call("look", {"target": "a"})).request
    assert (request.reason, request.asked_by) == ("one; two", ("a hook",))
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "a"
