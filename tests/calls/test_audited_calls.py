"""
What a dispatcher writes to its audit log, in which order, and what does not run without it.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest

from toolkit.approvals import ApprovalError, Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context, Secret
from toolkit.decisions import AuthNeeded, AuthRequest, Changed, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError
from toolkit.hooks import Ask, Deny, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditError, AuditLog
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


class Token:
    """A credential."""

    def __init__(self, text: str) -> None:
        self.text = text


class Bank:
    """Tools that look at the log while they run."""

    def __init__(self, folder: Any) -> None:
        self.path = folder / "audit.jsonl"
        self.log = AuditLog(self.path)
        self.found: list[list[str]] = []
        self.catalog = catalog = Catalog()

        @catalog.tool(destructive=True)
        async def pay(amount: int, pin: Annotated[str, Secret] = "") -> str:
            """Pay."""
            self.found.append(self.events())
            return f"paid {amount}"

        @catalog.tool(read_only=True)
        async def balance() -> int:
            """Tell the balance."""
            self.found.append(self.events())
            return 5

        @catalog.tool(read_only=True)
        def slow_balance() -> int:
            """Tell the balance from a thread."""
            self.found.append(self.events())
            return 5

        @catalog.tool(read_only=True)
        async def broken() -> None:
            """Fail."""
            raise ToolError("broken")

    def lines(self) -> list[dict[str, Any]]:
        return list(AuditLog.read(self.path))

    def events(self) -> list[str]:
        return [line["event"] for line in self.lines()]

    def dispatcher(self, **options: Any) -> Dispatcher:
        options = {"audit": self.log, "permissions": Permissions(), **options}
        return Dispatcher(self.catalog, **options)


@pytest.fixture
def bank(tmp_path):
    """A bank with an empty log."""
    return Bank(tmp_path)


class Hook:
    """A hook that answers before with what it was given."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    def before(self, call):
        return self.outcome


# What is written, in which order.


@pytest.mark.parametrize("tool", ["balance", "slow_balance"])
@pytest.mark.parametrize("hooks", [[], [Hook(Proceed())]], ids=["plain", "hooked"])
async def test_a_call_is_judged_intended_and_ended(bank, tool, hooks):
    """The intent is in the file before the tool begins, also where everything is allowed."""
    await bank.dispatcher(hooks=hooks, permissions=None).call(tool)
    assert bank.found == [["verdict", "intent"]]
    assert bank.events() == ["verdict", "intent", "outcome"]


async def test_the_audit_log_has_an_approved_call_from_the_question_to_the_outcome(bank):
    """It has who asked, who answered, and the result."""
    dispatcher = bank.dispatcher()
    session = Session(id="s1")
    waiting = await dispatcher.call("pay", {"amount": 3}, id="c1", session=session, principal="ada")
    assert bank.events() == ["verdict", "asked", "outcome"]
    await dispatcher.resume(waiting.request.id, Decision.approve(by="grace", principal="ada"))
    assert bank.found == [["verdict", "asked", "outcome", "answered", "verdict", "intent"]]
    lines = bank.lines()
    assert [line["event"] for line in lines][-1] == "outcome"
    assert all((line["call_id"], line["tool"]) == ("c1", "pay") for line in lines)
    assert all((line["session"], line["principal"]) == ("s1", "ada") for line in lines)
    first, question, waits, answered, again, intent, outcome = lines
    assert (first["word"], first["by"], again["word"]) == ("ask", "mode `default`", "ask")
    assert (question["request"], question["asked_by"]) == (waiting.request.id, ["mode `default`"])
    assert (waits["kind"], waits["attempts"]) == ("waiting", 0)
    assert (answered["approved"], answered["by"], answered["request"]) == (True, "grace", waiting.request.id)
    assert intent["arguments"] == {"amount": 3, "pin": ""}
    assert (outcome["kind"], outcome["attempts"], outcome["chars"]) == ("ok", 1, len("paid 3"))
    assert outcome["duration_seconds"] >= 0
    assert outcome["truncated"] is False


async def test_the_audit_log_has_a_denial_with_its_reason_and_no_intent(bank):
    dispatcher = bank.dispatcher()
    request = (await dispatcher.call("pay", {"amount": 3})).request
    await dispatcher.resume(request.id, Decision.deny("too much", by="grace"))
    answered = bank.lines()[3]
    assert (answered["event"], answered["approved"], answered["reason"]) == ("answered", False, "too much")
    assert "intent" not in bank.events()


@pytest.mark.parametrize(
    ("options", "tool", "arguments", "events", "kind"),
    [
        ({"permissions": Permissions("plan")}, "pay", {"amount": 1}, ["verdict", "outcome"], "denied"),
        ({}, "pay", {"amount": "x"}, ["outcome"], "bad_args"),
        ({"hooks": [Hook(Deny("no"))]}, "balance", {}, ["outcome"], "denied"),
        ({"hooks": [Hook(Replace(ToolResult("4", 4)))]}, "balance", {}, ["verdict", "outcome"], "ok"),
        ({"hooks": [Hook(Ask("sure?"))]}, "balance", {}, ["verdict", "asked", "outcome"], "waiting"),
        ({}, "broken", {}, ["verdict", "intent", "outcome"], "failed"),
    ],
    ids=["denied", "bad arguments", "a hook's no", "replaced", "a hook asks", "a failure"],
)
async def test_the_audit_log_has_every_end_of_a_call(bank, options, tool, arguments, events, kind):
    """There is an intent exactly if the tool was about to run."""
    assert (await bank.dispatcher(**options).call(tool, arguments)).kind == kind
    assert (bank.events(), bank.lines()[-1]["kind"]) == (events, kind)


async def test_an_edit_is_recorded_in_the_audit_log(bank):
    """The intent has the arguments of the person."""
    dispatcher = bank.dispatcher()
    request = (await dispatcher.call("pay", {"amount": 3})).request
    await dispatcher.resume(request.id, Decision.approve(arguments={"amount": 1}))
    assert [line["arguments"]["amount"] for line in bank.lines() if line["event"] == "intent"] == [1]


async def test_the_audit_log_has_an_intent_before_each_run_of_a_call(bank):
    @bank.catalog.tool
    async def careful(context: Context) -> str:
        """Find a change the first time."""
        bank.found.append(bank.events())
        if len(bank.found) == 1:
            raise Changed("it changed")
        return "done"

    approvals = Approvals(ask=lambda request: True)
    assert (await bank.dispatcher(approvals=approvals).call("careful")).text == "done"
    question_events = ["verdict", "asked", "answered", "verdict", "intent"]
    assert bank.events() == [*question_events, *question_events, "outcome"]


# What must not be in it.


async def test_secrets_and_redacted_texts_are_not_in_the_audit_log(bank):
    """This holds for arguments, reasons and edits."""
    dispatcher = bank.dispatcher(redact=["s3cret"])
    request = (await dispatcher.call("pay", {"amount": 3, "pin": "hunter2"})).request
    decision = Decision.approve(arguments={"amount": 3, "pin": "hunter3"}, by="s3cret agent")
    assert (await dispatcher.resume(request.id, decision)).kind == "ok"
    other = (await dispatcher.call("pay", {"amount": 3, "pin": "hunter2"})).request
    await dispatcher.resume(other.id, Decision.deny("s3cret, not hunter2"))
    text = bank.path.read_text()
    assert "[redacted]" in text
    assert not [secret for secret in ("hunter2", "hunter3", "s3cret") if secret in text]


async def test_credentials_are_not_in_the_log_or_the_audit_log(bank, tmp_path, caplog):
    """The token that a resume brings is for the tool alone."""
    tokens = []

    @bank.catalog.tool(read_only=True)
    async def fetch(context: Context) -> str:
        """Fetch."""
        if Token not in context.resources:
            raise AuthNeeded(AuthRequest(provider="hub", reason="private"))
        tokens.append(context.resources[Token].text)
        return "got it"

    path = tmp_path / "x.approvals.sqlite"
    dispatcher = bank.dispatcher(approvals=Approvals(SQLiteApprovals(path)))
    request = (await dispatcher.call("fetch")).request
    result = await dispatcher.resume(request.id, Decision.approve(), resources={Token: Token("tok-sesame")})
    assert (result.text, tokens) == ("got it", ["tok-sesame"])
    everything = bank.path.read_bytes() + path.read_bytes() + json.dumps(request.to_json()).encode()
    assert b"sesame" not in everything
    assert "sesame" not in caplog.text
    assert bank.events()[:4] == ["verdict", "intent", "verdict", "asked"]


# A log that cannot be written.


@pytest.mark.parametrize("hooks", [[], [Hook(Proceed())]], ids=["plain", "hooked"])
@pytest.mark.parametrize("tool", ["balance", "slow_balance"])
async def test_a_call_does_not_run_if_the_audit_log_is_closed(bank, hooks, tool, caplog):
    """The call fails, and its result names the audit log."""
    bank.log.close()
    result = await bank.dispatcher(hooks=hooks).call(tool)
    assert (result.kind, bank.found) == ("internal", [])
    assert "audit log" in result.text


class Full(AuditLog):
    """A log whose disk is full from some event on."""

    def __init__(self, path: Any, *events: str) -> None:
        super().__init__(path)
        self.events = events

    def write(self, event: str, **fields: Any) -> None:
        if event in self.events:
            raise AuditError(f"the audit log {self.path} cannot be written: No space left on device")
        super().write(event, **fields)


@pytest.mark.parametrize("event", ["verdict", "intent"])
async def test_a_call_does_not_run_if_its_verdict_or_intent_cannot_be_written(bank, tmp_path, event):
    """Both are written before the effect."""
    result = await bank.dispatcher(audit=Full(tmp_path / "full.jsonl", event)).call("balance")
    assert (result.kind, bank.found) == ("internal", [])
    assert "No space left" in result.text


async def test_question_that_cannot_be_written_down_is_not_asked(bank, tmp_path):
    """The request is withdrawn, so it cannot be answered later."""
    requests = []
    approvals = Approvals(ask=requests.append)
    dispatcher = bank.dispatcher(audit=Full(tmp_path / "full.jsonl", "asked"), approvals=approvals)
    result = await dispatcher.call("pay", {"amount": 1})
    assert (result.kind, requests, approvals.store.pending()) == ("internal", [], [])


@pytest.mark.parametrize("event", ["answered", "verdict"])
async def test_an_answer_that_cannot_be_written_down_is_not_used(bank, tmp_path, event):
    """The request stays open until it can."""
    approvals = Approvals()
    request = (await bank.dispatcher(approvals=approvals).call("pay", {"amount": 1})).request
    full = bank.dispatcher(audit=Full(tmp_path / "full.jsonl", event), approvals=approvals)
    with pytest.raises(ApprovalError, match="cannot be written down.*No space left") as caught:
        await full.resume(request.id, Decision.approve())
    assert (caught.value.why, bank.found) == ("store", [])
    assert approvals.store.get(request.id).state == "pending"
    assert (await bank.dispatcher(approvals=approvals).resume(request.id, Decision.approve())).kind == "ok"


async def test_an_approved_call_whose_intent_cannot_be_written_does_not_run(bank, tmp_path):
    """Its approval is used up, and the store has the outcome."""
    approvals = Approvals()
    request = (await bank.dispatcher(approvals=approvals).call("pay", {"amount": 1})).request
    full = bank.dispatcher(audit=Full(tmp_path / "full.jsonl", "intent"), approvals=approvals)
    result = await full.resume(request.id, Decision.approve())
    assert (result.kind, bank.found) == ("internal", [])
    record = approvals.store.get(request.id)
    assert (record.state, record.outcome["kind"]) == ("done", "internal")
    with pytest.raises(ApprovalError):
        await full.resume(request.id, Decision.approve())
    assert bank.found == []


@pytest.mark.parametrize("approved", [False, True])
async def test_a_result_is_kept_and_the_gap_is_logged_if_the_outcome_cannot_be_written(
    bank, tmp_path, caplog, approved
):
    """The call has happened, so its result must not be lost."""
    dispatcher = bank.dispatcher(audit=Full(tmp_path / "full.jsonl", "outcome"))
    if approved:
        request = (await dispatcher.call("pay", {"amount": 1})).request
        result = await dispatcher.resume(request.id, Decision.approve())
    else:
        result = await dispatcher.call("balance")
    assert (result.kind, len(bank.found)) == ("ok", 1)
    assert "missing in the audit log" in caplog.text


def test_a_log_that_cannot_be_written_is_refused_at_construction():
    """A device that is always full cannot be a log."""
    with pytest.raises(AuditError, match="cannot be written"):
        AuditLog("/dev/full")


async def test_a_call_that_never_starts_has_its_line(tmp_path):
    """A call of an unknown name has an outcome too."""
    bank = Bank(tmp_path)
    result = await Dispatcher(bank.catalog, audit=bank.log).call("rob", {})
    lines = [line for line in AuditLog.read(bank.path) if line["event"] == "outcome"]
    assert result.kind == "not_found"
    assert [(line["tool"], line["kind"]) for line in lines] == [("rob", "not_found")]


async def test_the_audit_log_has_a_line_for_a_refused_answer(tmp_path):
    """It has who tried, and why the answer was refused."""
    bank = Bank(tmp_path)
    dispatcher = Dispatcher(bank.catalog, audit=bank.log, permissions=Permissions())
    request = (await dispatcher.call("pay", {"amount": 1}, principal="ada")).request
    with pytest.raises(ApprovalError):
        await dispatcher.resume(request, Decision.approve(by="eve", principal="eve"))
    line = [line for line in AuditLog.read(bank.path) if line["event"] == "refused"][0]
    assert (line["request"], line["by"], line["why"]) == (request.id, "eve", "principal")


async def test_a_refused_answer_is_refused_even_if_the_log_cannot_be_written(tmp_path, caplog):
    """The person who answered gets the error."""
    bank = Bank(tmp_path)
    dispatcher = Dispatcher(bank.catalog, audit=bank.log, permissions=Permissions())
    bank.log.close()
    with pytest.raises(ApprovalError):
        await dispatcher.resume("0" * 32, Decision.approve())
    assert "a refused answer is missing" in caplog.text
