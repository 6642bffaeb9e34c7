"""What an answer lets run: edited arguments, grants, today's rules, hooks, and what judges ask anew."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.calls.shed import refusal, waiting
from tests.clocks import Clock
from toolkit.access import Writes
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import ApprovalRequest, Decision, Grant
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError, Transient
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.session import Session
from toolkit.verdicts import Verdict

pytestmark = pytest.mark.anyio


# Edited arguments.


async def test_a_call_runs_with_its_edited_arguments(shed):
    """Defaults are filled in, and the store has the edit."""
    approvals = Approvals()
    dispatcher = shed.dispatcher(approvals)
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "fir"}))
    assert (result.value, shed.ran) == ("cut fir", [("fir", 1)])
    assert approvals.store.get(request.id).arguments == {"wood": "fir", "pieces": 1}
    assert await refusal(dispatcher, request.id) == "answered"


@pytest.mark.parametrize("arguments", [{}, {"wood": 5}, {"wood": "fir", "pieces": "2"}, {"wood": "fir", "more": 1}])
async def test_edited_arguments_that_do_not_fit_are_refused_and_can_be_corrected(shed, arguments):
    """A person's words are not mended behind their back, and the request stays open."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    assert await refusal(dispatcher, request.id, Decision.approve(arguments=arguments)) == "arguments"
    assert shed.ran == []
    assert (await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "fir"}))).kind == "ok"


async def test_edited_arguments_that_a_rule_denies_do_not_run(shed):
    """The judgement is a new one, and the request is closed."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "oak"}))
    assert (result.kind, shed.ran) == ("denied", [])
    assert await refusal(dispatcher, request.id) == "answered"


async def test_edited_arguments_that_need_another_approval_cause_a_new_request(shed):
    """The new request shows what would run now."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"wood": "elm", "pieces": 3}))
    assert (result.kind, shed.ran) == ("waiting", [])
    assert result.request.arguments == {"wood": "elm", "pieces": 3}
    assert any("elm" in reason for reason in result.request.asked_by)
    assert await refusal(dispatcher, request.id) == "answered"
    assert (await dispatcher.resume(result.request.id, Decision.approve())).kind == "ok"
    assert shed.ran == [("elm", 3)]


async def test_edited_secrets_run_and_are_masked(shed):
    """They are masked in the result and in the outcome of the store."""
    approvals = Approvals()
    dispatcher = shed.dispatcher(approvals)
    request = (await dispatcher.call("lock", {"code": "first-code"})).request
    result = await dispatcher.resume(request.id, Decision.approve(arguments={"code": "second-code"}))
    assert shed.ran == ["second-code"]
    assert "-code" not in json.dumps([result.to_json(), approvals.store.get(request.id).outcome])


# Grants.


async def test_a_grant_holds_for_the_next_call_of_the_session(shed):
    """It does not hold in another session."""
    dispatcher = shed.dispatcher()
    session = Session()
    request = await waiting(dispatcher, session=session)
    await dispatcher.resume(request.id, Decision.approve(grant=request.grants[0]), session=session)
    assert (await dispatcher.call("cut", {"wood": "fir"}, session=session)).kind == "ok"
    assert (await dispatcher.call("cut", {"wood": "fir"}, session=Session())).kind == "waiting"
    assert (await dispatcher.call("cut", {"wood": "oak"}, session=session)).kind == "denied"


async def test_a_grant_that_the_request_did_not_offer_is_refused(shed):
    """The request stays open."""
    dispatcher = shed.dispatcher()
    session = Session()
    request = await waiting(dispatcher, session=session)
    wide = Grant(tool="*", scope="tool")
    assert await refusal(dispatcher, request.id, Decision.approve(grant=wide), session=session) == "grant"
    assert (shed.ran, session.grants) == ([], ())
    assert (await dispatcher.resume(request.id, Decision.approve(), session=session)).kind == "ok"


@pytest.mark.parametrize("made_in", [None, Session(id="s")])
async def test_a_grant_without_the_session_is_refused(shed, made_in):
    """Without the session, the grant would be lost without a word."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, session=made_in)
    grant = request.grants[0] if request.grants else Grant(tool="x", scope="tool")
    assert await refusal(dispatcher, request.id, Decision.approve(grant=grant)) == "grant"
    assert shed.ran == []


# Today's policy.


@pytest.mark.parametrize(
    ("mode", "kind"),
    [("plan", "denied"), ("deny_unlisted", "denied"), ("auto", "ok"), ("bypass", "ok"), ("default", "ok")],
)
async def test_an_answer_is_judged_under_the_policy_of_its_moment(shed, mode, kind):
    """A stricter policy holds. A change of the mode does not undo an approval."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher)
    shed.permissions.set_mode(mode)
    assert (await dispatcher.resume(request.id, Decision.approve())).kind == kind
    assert len(shed.ran) == (kind == "ok")


async def test_a_new_rule_counts_for_a_waiting_call(shed):
    """The request was made under the old rules."""
    approvals = Approvals()
    request = await waiting(shed.dispatcher(approvals))
    stricter = Dispatcher(shed.catalog, permissions=Permissions(rules=["deny cut"]), approvals=approvals)
    assert (await stricter.resume(request.id, Decision.approve())).kind == "denied"
    assert shed.ran == []


async def test_the_mode_of_the_session_counts_for_a_resume(shed):
    dispatcher = shed.dispatcher()
    session = Session()
    request = await waiting(dispatcher, session=session)
    shed.permissions.set_mode("plan", session=session)
    assert (await dispatcher.resume(request.id, Decision.approve(), session=session)).kind == "denied"


# Hooks.


class Recorder:
    """Notes which of its methods were called."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def before(self, call):
        self.seen.append("before")
        return Modify({"wood": "larch"}) if call.arguments["wood"] == "pine" else Ask("sure?")

    async def around(self, call, run):
        self.seen.append(f"around {call.arguments['wood']}")
        return await run()

    def after(self, call, result):
        self.seen.append(f"after {result.kind}")
        return result


async def test_before_hooks_do_not_run_again_on_resume_and_other_hooks_do(shed):
    """The call runs with the arguments that the before-hooks left and the person approved."""
    hook = Recorder()
    dispatcher = shed.dispatcher(hooks=[hook])
    request = await waiting(dispatcher)
    assert request.arguments["wood"] == "larch"
    assert hook.seen == ["before", "after waiting"]
    await dispatcher.resume(request.id, Decision.approve())
    assert hook.seen[2:] == ["around larch", "after ok"]
    assert shed.ran == [("larch", 1)]


async def test_a_question_of_a_hook_is_answered_by_a_person(shed):
    """The hook does not ask again on resume."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look(wood: str) -> str:
        """Look."""
        return wood

    dispatcher = Dispatcher(catalog, permissions=Permissions(), hooks=[Recorder()])
    request = (await dispatcher.call("look", {"wood": "fir"})).request
    assert request.asked_by == ("a hook",)
    assert (await dispatcher.resume(request.id, Decision.approve())).text == "fir"


async def test_the_result_that_waits_can_be_given_in_place_of_its_request(shed):
    """A result that does not wait is refused, and says what it is."""
    dispatcher = shed.dispatcher()
    done = await dispatcher.resume(await dispatcher.call("cut", {"wood": "elm"}), Decision.approve())
    assert done.text == "cut elm"
    with pytest.raises(ValueError, match="the result of `cut` is 'ok', and waits for no answer"):
        await dispatcher.resume(done, Decision.approve())


async def test_after_hooks_see_the_result_of_a_denied_resume(shed):
    hook = Recorder()
    dispatcher = shed.dispatcher(hooks=[hook])
    await dispatcher.resume(await waiting(dispatcher), Decision.deny())
    assert hook.seen[-1] == "after denied"


async def test_a_hook_that_refuses_a_call_leaves_no_request(shed):
    """No request is made for a call that may not run."""

    class Guard:
        def before(self, call):
            return Deny("no") if call.arguments["wood"] == "ash" else Proceed()

    approvals = Approvals()
    result = await shed.dispatcher(approvals, hooks=[Guard()]).call("cut", {"wood": "ash"})
    assert (result.kind, approvals.store.pending()) == ("denied", [])


# What else a resume brings.


async def test_a_resume_has_a_separate_time_limit(shed):
    """A resume whose time is over before it starts does not claim the request."""
    approvals = Approvals()
    clock = Clock()
    dispatcher = shed.dispatcher(approvals, clock=clock)
    request = await waiting(dispatcher)
    result = await dispatcher.resume(request.id, Decision.approve(), timeout_seconds=-1)
    assert (result.kind, shed.ran) == ("timeout", [])


async def test_a_resumed_call_is_validated_again():
    catalog, ran, closed = Catalog(), [], []

    @catalog.tool(validate=lambda a: "closed" if closed else None)
    async def enter(door: str) -> None:
        """Enter."""
        ran.append(door)

    dispatcher = Dispatcher(catalog, permissions=Permissions())
    request = (await dispatcher.call("enter", {"door": "a"})).request
    closed.append(True)
    result = await dispatcher.resume(request.id, Decision.approve())
    assert (result.kind, ran) == ("bad_args", [])


async def test_a_resumed_tool_sees_its_original_call(shed):
    """It has the id, the session and the principal of the request."""
    catalog, identities = Catalog(), []

    @catalog.tool
    async def act(context: Context) -> None:
        """Act."""
        identities.append((context.call.id, context.session.id, context.call.principal))

    approvals = Approvals()
    dispatcher = Dispatcher(catalog, permissions=Permissions(), approvals=approvals)
    request = (await dispatcher.call("act", id="c1", session=Session(id="s"), principal="ada")).request
    await dispatcher.resume(request.id, Decision.approve(principal="ada"))
    assert identities == [("c1", "s", "ada")]


# Masked arguments, and failures before the question.


async def test_a_secret_left_masked_in_an_edit_is_the_one_that_was_sent(shed):
    """A person edits what they see, and the secret is not shown to them."""
    dispatcher = shed.dispatcher()
    request = (await dispatcher.call("lock", {"code": "4711"})).request
    assert request.arguments == {"code": "[redacted]"}
    await dispatcher.resume(request, Decision.approve(arguments=dict(request.arguments)))
    assert shed.ran == ["4711"]


async def test_another_mask_in_an_edit_is_refused(shed):
    """The masked value is unknown, and the mask itself must not run."""
    dispatcher = shed.dispatcher(redact=["pine"])
    request = await waiting(dispatcher)
    assert request.arguments["wood"] == "[redacted]"
    assert await refusal(dispatcher, request, Decision.approve(arguments=dict(request.arguments))) == "arguments"
    assert shed.ran == []


async def test_other_principal_does_not_learn_the_outcome(shed):
    """It does not learn whose call it was, either."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, principal="ada")
    await dispatcher.resume(request, Decision.approve(principal="ada"))
    with pytest.raises(ApprovalError) as caught:
        await dispatcher.resume(request, Decision.approve(principal="bob"))
    assert caught.value.why == "principal"
    assert caught.value.outcome is None
    assert "ada" not in str(caught.value).replace(request.id, "the id")  # the random id may hold these letters


async def test_a_tool_error_in_a_preview_is_the_result_of_the_call():
    """No person is asked about a call that would fail. The model corrects it."""
    catalog = Catalog()

    def preview(arguments: Any) -> str:
        raise ToolError(f"there is no {arguments['name']}; make it first")

    @catalog.tool(preview=preview)
    async def rename(name: str) -> None:
        """Rename something."""

    result = await Dispatcher(catalog, permissions=Permissions()).call("rename", {"name": "tea.txt"})
    assert result.kind == "failed"
    assert "there is no tea.txt; make it first" in result.text
    assert result.request is None


async def test_a_mistake_in_an_edit_is_asked_about_again(shed):
    """The person who edits reads the problem."""
    reasons = []

    def ask(request: ApprovalRequest) -> Decision:
        reasons.append(request.reason)
        return Decision.approve(arguments={"wod" if len(reasons) == 1 else "wood": "birch"})

    result = await shed.dispatcher(Approvals(ask=ask)).call("cut", {"wood": "pine"})
    assert (result.kind, shed.ran) == ("ok", [("birch", 1)])
    assert "the edited arguments do not fit" in reasons[1]


@pytest.mark.parametrize("edited", [{"wod": "birch"}, {"wood": "birch"}], ids=["does not fit", "fits"])
async def test_a_mistaken_answer_changes_nothing(shed, edited):
    """After a mistake, a plain approval runs the arguments that the request shows."""
    answers = [Decision.approve(arguments=edited, grant=Grant(tool="*", scope="tool")), Decision.approve()]
    approvals = Approvals(ask=lambda request: answers.pop(0))
    result = await shed.dispatcher(approvals).call("cut", {"wood": "pine"}, session=Session())
    assert (result.kind, shed.ran, answers) == ("ok", [("pine", 1)], [])


async def test_a_call_that_a_hook_replaced_cannot_wait(shed):
    """The tool itself would run after the approval."""

    class DryRun:
        def before(self, call: Any) -> Any:
            return Replace("nothing was done")

    store = MemoryApprovals()
    result = await shed.dispatcher(Approvals(store), hooks=[DryRun()]).call("cut", {"wood": "pine"})
    assert (result.kind, store.pending(), shed.ran) == ("denied", [], [])


async def test_judges_and_options_get_deep_copies_of_the_arguments():
    """The arguments that were judged are those that run."""
    catalog, ran = Catalog(), []

    def meddle(arguments: Any) -> Any:
        arguments["to"].append("mallory")
        return True

    class Judge:
        def judge(self, request: Any) -> str:
            meddle(request.arguments)
            meddle(request.call.arguments)
            return "allow"

    @catalog.tool(concurrency_safe=meddle, preflight=lambda arguments: meddle(arguments) and [], approval=meddle)
    async def mail(to: list[str], free: Any = None) -> None:
        """Send a mail."""
        ran.append((to, free))

    dispatcher = Dispatcher(catalog, permissions=Judge(), approvals=Approvals(ask=lambda request: True))
    await dispatcher.call_many([("mail", {"to": ["ada"], "free": {"a": [1]}})])
    assert ran == [(["ada"], {"a": [1]})]


async def test_an_argument_of_any_type_is_decoded_again_for_a_retry():
    """The second attempt does not see changes by the first."""
    catalog, received = Catalog(), []

    @catalog.tool(idempotent=True)
    async def gather(free: Any) -> None:
        """Gather."""
        received.append(list(free))
        free.append("more")
        if len(received) == 1:
            raise Transient("again")

    clock = Clock()
    await Dispatcher(catalog, sleep=clock.sleep).call("gather", {"free": ["one"]})
    assert received == [["one"], ["one"]]


async def test_a_judge_that_wraps_permissions_is_asked():
    """A verdict that it passes on is not its own."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look() -> str:
        """Look."""
        return "seen"

    class Guests:
        def __init__(self, inner: Permissions) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

        def judge(self, request: Any) -> str:
            return "deny"

    assert (await Dispatcher(catalog, permissions=Guests(Permissions())).call("look", {})).kind == "denied"


async def test_a_read_only_tool_that_states_a_write_does_not_run():
    """One of the two statements is wrong, and plan mode would let the call pass."""
    catalog, ran = Catalog(), []

    @catalog.tool(read_only=True, preflight=lambda arguments: Writes("notes.txt"))
    async def look() -> None:
        """Look."""
        ran.append(1)

    assert (await Dispatcher(catalog, permissions=Permissions("bypass")).call("look", {})).kind == "denied"
    assert ran == []


async def test_another_question_of_the_same_judge_was_not_answered(shed):
    """A person who agreed to one reason has not read the other."""

    class Bank:
        question = "over 100: a person has to agree"

        def judge(self, request: Any) -> Verdict:
            return Verdict("ask", "Bank", self.question)

    bank = Bank()
    dispatcher = Dispatcher(shed.catalog, permissions=bank)
    request = await waiting(dispatcher)
    bank.question = "the account was reported stolen: call first"
    again = await dispatcher.resume(request, Decision.approve())
    assert (again.kind, shed.ran) == ("waiting", [])
    assert "reported stolen" in again.request.reason
    assert (await dispatcher.resume(again.request, Decision.approve())).kind == "ok"


async def test_a_principal_that_is_not_a_text_is_refused_before_a_request_is_made(shed):
    """A request with it could not be read back, so its answer would be lost."""
    approvals = Approvals()
    result = await shed.dispatcher(approvals).call("cut", {"wood": "pine"}, principal=42)
    assert (result.kind, "the principal of a call is a text, or None, got int" in result.text) == ("internal", True)
    assert approvals.store.pending() == []


async def test_the_id_of_a_session_is_not_a_session(shed):
    """The mistake is told before the answer is used."""
    dispatcher = shed.dispatcher()
    request = await waiting(dispatcher, session=Session(id="s"))
    with pytest.raises(TypeError, match="session cannot be str; write session=Session.id="):
        await dispatcher.resume(request.id, Decision.approve(), session="s")
    assert (await dispatcher.resume(request.id, Decision.approve())).kind == "ok"
