"""A call that needs a person asks the user of the client, and runs only as that user agreed."""

from __future__ import annotations

import asyncio

import anyio
import mcp_types as types
import pytest

from tests.clocks import until
from tests.mcp.serving.approval_kit import both_revisions, refusal_of
from tests.mcp.serving.kit import (
    CANCEL,
    DECLINE,
    NEW,
    NO,
    OLD,
    YES,
    Person,
    call_once,
    connected,
    text_of,
)
from toolkit import AuthNeeded, AuthRequest, Catalog, Context, Dispatcher, Permissions

pytestmark = pytest.mark.anyio


@both_revisions
async def test_a_person_sees_the_call_and_agrees(dispatcher, store, runs, mode):
    """The question shows tool, arguments and reason; the call runs once."""
    person = Person(YES)
    async with connected(dispatcher, mode, person) as client:
        assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
    [question] = person.questions
    for words in ("`pay`", '"amount": 5', '"to": "bob"', "mode `default` asks first"):
        assert words in question.message
    assert (runs, store.pending()) == ([(5, "bob")], [])


@both_revisions
async def test_the_preview_is_shown(store, mode):
    """A person reads what would happen."""
    catalog = Catalog()

    @catalog.tool(preview=lambda arguments: "delete 3 files")
    async def clean() -> str:
        """Clean."""
        return "clean"

    person = Person(YES)
    async with connected(Dispatcher(catalog), mode, person) as client:
        await client.call_tool("clean", {})
    assert "delete 3 files" in person.questions[0].message


@both_revisions
@pytest.mark.parametrize(
    ("answer", "reason"),
    [(NO, "the user said no"), (DECLINE, "the user declined"), (CANCEL, "closed the question")],
)
async def test_every_other_answer_denies_the_call(dispatcher, store, runs, mode, answer, reason):
    """The model is told, and no request is left open."""
    async with connected(dispatcher, mode, Person(answer)) as client:
        result = await client.call_tool("pay", {"amount": 5})
    assert result.is_error
    assert reason in text_of(result)
    assert (runs, store.pending()) == ([], [])


@both_revisions
@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"approve": "yes"},
        {"approve": 1},
        {"approve": True, "amount": 6},
        {"approve": True, "remember": "everything"},
        {"remember": "everything"},
    ],
)
async def test_an_answer_that_does_not_fit_the_form_is_not_an_approval(dispatcher, runs, mode, content):
    """The person is asked again, and only the form's own yes lets the call run."""
    person = Person(types.ElicitResult(action="accept", content=content), NO)
    async with connected(dispatcher, mode, person) as client:
        result = await client.call_tool("pay", {"amount": 5})
    assert "the user said no" in text_of(result)
    assert (len(person.questions), runs) == (2, [])


@both_revisions
@pytest.mark.parametrize("content", [{}, {"approve": "yes"}, {"approve": True, "remember": "everything"}])
async def test_a_client_without_a_valid_answer_is_asked_three_times(dispatcher, store, runs, mode, content):
    """Its call is denied with the reason, and leaves no request."""
    person = Person(types.ElicitResult(action="accept", content=content))
    async with connected(dispatcher, mode, person) as client:
        result = await client.call_tool("pay", {"amount": 5})
    assert "denied: the client was asked 3 times" in text_of(result)
    assert "it does not fit its form" in text_of(result)
    assert (len(person.questions), runs, store.pending()) == (3, [], [])


async def test_a_client_that_sends_its_first_state_again_is_asked_three_times(dispatcher, store, runs):
    """The server counts itself, because a client may send an old state."""
    unusable = {"approval": types.ElicitResult(action="accept", content={})}
    async with connected(dispatcher, NEW, Person(YES)) as client:
        state = (await call_once(client, "pay", {"amount": 5})).request_state
        for _ in range(2):
            again = await call_once(client, "pay", {"amount": 5}, responses=unusable, state=state)
            assert again.result_type == "input_required"
        denial = await call_once(client, "pay", {"amount": 5}, responses=unusable, state=state)
    assert "denied: the client was asked 3 times" in text_of(denial)
    assert (runs, store.pending()) == ([], [])


@both_revisions
async def test_a_question_of_a_tool_with_unusable_answers_is_asked_three_times(mode):
    """The denial says what is wrong with the answer."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def choose(context: Context) -> int:
        """Ask for a number."""
        return await context.ask("number", "Which number?", {"type": "integer"})

    person = Person(types.ElicitResult(action="accept", content={"answer": "seven"}))
    async with connected(Dispatcher(catalog), mode, person) as client:
        result = await client.call_tool("choose", {})
    assert "denied: the client was asked 3 times" in text_of(result)
    assert "integer" in text_of(result)
    assert len(person.questions) == 3


@both_revisions
async def test_a_client_without_elicitation_gets_a_clear_refusal(dispatcher, store, runs, mode):
    """The text says why, and what helps; no request is left open."""
    async with connected(dispatcher, mode) as client:
        text = await refusal_of(client, "pay", {"amount": 5})
    assert "this client cannot ask for it: it declares no elicitation" in text
    assert "'allow pay'" in text
    assert (runs, store.pending()) == ([], [])


async def test_a_client_that_fails_to_ask_denies_the_call(dispatcher, store, runs):
    """An error of the client is no approval."""

    async def fail(context, params):
        return types.ErrorData(code=-32000, message="the window is gone")

    async with connected(dispatcher, OLD, fail) as client:
        result = await client.call_tool("pay", {"amount": 5})
    assert "could not ask its user: the window is gone" in text_of(result)
    assert (runs, store.pending()) == ([], [])


async def test_a_question_that_is_not_answered_in_time_denies_the_call(dispatcher, store, runs):
    """A client of the older revision may not hold a call for ever."""

    async def wait(context, params):
        await asyncio.Event().wait()

    async with connected(dispatcher, OLD, wait, answer_seconds=0.01) as client:
        result = await client.call_tool("pay", {"amount": 5})
    assert "timed out" in text_of(result)
    assert (runs, store.pending()) == ([], [])


async def test_a_call_that_is_cancelled_during_its_question_leaves_no_open_request(dispatcher, store, runs):
    """The client gives up, and a later answer has no request."""
    question_arrived = asyncio.Event()

    async def wait(context, params):
        question_arrived.set()
        await asyncio.Event().wait()

    async with connected(dispatcher, OLD, wait) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "pay", {"amount": 5})
            await question_arrived.wait()
            assert len(store.pending()) == 1
            tasks.cancel_scope.cancel()
        await until(lambda: not store.pending())
    assert runs == []


async def test_a_grant_lasts_for_the_conversation(dispatcher, runs):
    """In the older revision, the connection is the conversation."""
    always = "`pay`: every call, with any arguments, for the rest of the session"
    person = Person(types.ElicitResult(action="accept", content={"approve": True, "remember": always}), NO)
    async with connected(dispatcher, OLD, person) as client:
        await client.call_tool("pay", {"amount": 1})
        await client.call_tool("pay", {"amount": 2})
    assert (len(runs), len(person.questions)) == (2, 1)
    async with connected(dispatcher, OLD, person) as client:
        await client.call_tool("pay", {"amount": 3})
    assert (len(runs), len(person.questions)) == (2, 2)


async def test_a_grant_of_a_user_lasts_in_the_newer_revision(dispatcher, runs):
    """There, the user has one conversation; a call without a user has no grant to give."""
    always = "`pay`: every call, with any arguments, for the rest of the session"
    person = Person(types.ElicitResult(action="accept", content={"approve": True, "remember": always}))
    async with connected(dispatcher, NEW, person, principal="ada") as client:
        await client.call_tool("pay", {"amount": 1})
        await client.call_tool("pay", {"amount": 2})
    assert (len(runs), len(person.questions)) == (2, 1)
    async with connected(dispatcher, NEW, Person(NO)) as client:
        question = await call_once(client, "pay", {"amount": 3})
    assert "remember" not in question.input_requests["approval"].params.requested_schema["properties"]


@both_revisions
async def test_credentials_are_asked_for_by_an_address(runs, mode):
    """The user opens the address, and the call runs again from its start."""
    catalog, tokens = Catalog(), []

    @catalog.tool(read_only=True)
    async def issues() -> str:
        """List issues."""
        if not tokens:
            raise AuthNeeded(AuthRequest(provider="github", url="https://github.example/login"))
        return "no issues"

    async def sign_in(context, params):
        assert (params.mode, params.url) == ("url", "https://github.example/login")
        assert "credentials of: github" in params.message
        tokens.append("token")
        return types.ElicitResult(action="accept")

    async with connected(Dispatcher(catalog), mode, sign_in) as client:
        assert text_of(await client.call_tool("issues", {})) == "no issues"
    tokens.clear()
    async with connected(Dispatcher(catalog), mode, Person(DECLINE)) as client:
        assert "the user declined" in text_of(await client.call_tool("issues", {}))
    async with connected(Dispatcher(catalog), mode) as client:
        assert "open https://github.example/login, and call it again" in await refusal_of(client, "issues", {}, "url")


async def test_the_principal_and_the_client_are_recorded(catalog):
    """A hook sees for whom the call is made."""
    calls = []

    class Recorder:
        """Notes the calls."""

        def before(self, call):
            """Note for whom the call is made."""
            calls.append(call.principal)

    dispatcher = Dispatcher(catalog, hooks=[Recorder()], permissions=Permissions("auto"))
    async with connected(dispatcher, NEW, principal="ada") as client:
        await client.call_tool("pay", {"amount": 1})
    assert calls == ["ada"]
