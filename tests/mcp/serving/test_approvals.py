"""A call that needs a person asks the user of the client, and runs only as that user agreed."""

from __future__ import annotations

import asyncio

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from tests.clocks import until
from tests.mcp.serving.kit import (
    CANCEL,
    DECLINE,
    MODES,
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
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.decisions import ApprovalRequest
from toolkit.mcp import build_server
from toolkit.mcp.serving.questions import build_requests, can_ask, describe_inability
from toolkit.mcp.serving.sealed_state import OpenQuestion, StateSeal, digest_request
from toolkit.questions import Question

pytestmark = pytest.mark.anyio

KEY = b"k" * 32
both_revisions = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def runs():
    """The arguments of the calls that ran."""
    return []


@pytest.fixture
def catalog(runs):
    """A tool that changes something, and one that needs more than a yes."""
    catalog = Catalog()

    @catalog.tool
    async def pay(amount: int, to: str = "bob") -> str:
        """Pay."""
        runs.append((amount, to))
        return f"paid {amount}"

    return catalog


@pytest.fixture
def store():
    """The store of requests."""
    return MemoryApprovals()


@pytest.fixture
def dispatcher(catalog, store):
    """A dispatcher in mode `default`, which asks before changes."""
    return Dispatcher(catalog, permissions=Permissions("default"), approvals=Approvals(store))


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
async def test_an_answer_that_does_not_fit_the_form_is_no_approval(dispatcher, runs, mode, content):
    """The person is asked again, and only the form's own yes lets the call run."""
    person = Person(types.ElicitResult(action="accept", content=content), NO)
    async with connected(dispatcher, mode, person) as client:
        result = await client.call_tool("pay", {"amount": 5})
    assert "the user said no" in text_of(result)
    assert (len(person.questions), runs) == (2, [])


@both_revisions
@pytest.mark.parametrize("content", [{}, {"approve": "yes"}, {"approve": True, "remember": "everything"}])
async def test_a_client_that_never_answers_properly_is_asked_three_times(dispatcher, store, runs, mode, content):
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


async def refusal_of(client, name, arguments, mode="form"):
    """The text of a refusal: a result in the older revision, an error that names the capability in the newer one."""
    if client.protocol_version != NEW:
        result = await client.call_tool(name, arguments)
        assert result.is_error
        return text_of(result)
    with pytest.raises(MCPError) as caught:
        await client.call_tool(name, arguments)
    assert (caught.value.code, caught.value.data) == (-32021, {"requiredCapabilities": {"elicitation": {mode: {}}}})
    return caught.value.message


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


async def test_a_call_that_is_cancelled_while_it_asks_leaves_no_open_request(dispatcher, store, runs):
    """The client gives up, and a later answer has nothing to answer."""
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


# What a client of the newer revision can send.


async def ask(client, amount=5):
    """Call, and return the state of the question."""
    result = await call_once(client, "pay", {"amount": amount})
    assert isinstance(result, types.InputRequiredResult)
    return result.request_state


async def refuse(client, name, arguments, state, answer=YES):
    """Send an answer that must not be accepted, and return the reason."""
    with pytest.raises(MCPError) as caught:
        await call_once(client, name, arguments, responses={"approval": answer}, state=state)
    assert caught.value.code == -32602
    return caught.value.data["reason"]


async def test_an_approval_without_a_question_is_not_accepted(dispatcher, runs):
    """Without a state, an answer answers nothing: the person is asked."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        result = await call_once(client, "pay", {"amount": 5}, responses={"approval": YES})
    assert isinstance(result, types.InputRequiredResult)
    assert runs == []


async def test_a_forged_or_altered_state_is_refused(dispatcher, runs):
    """A state that this server did not make, or whose bytes differ, proves nothing."""
    async with connected(dispatcher, NEW, Person(NO), key=KEY) as client:
        state = await ask(client)
        middle = len(state) // 2
        altered = state[:middle] + ("A" if state[middle] != "A" else "B") + state[middle + 1 :]
        question = OpenQuestion(
            request="0" * 32, digest=digest_request("tool", "pay", {"amount": 5}), principal=None, session=None
        )
        other = StateSeal(b"z" * 32).seal(question)
        for forged in (altered, other, "", "v1.", "x", state + "=", state[:-1], "v1." + "A" * 200):
            assert await refuse(client, "pay", {"amount": 5}, forged) == "forged"
        unknown = StateSeal(KEY).seal(question)
        assert await refuse(client, "pay", {"amount": 5}, unknown) == "unknown"
    assert runs == []


async def test_a_state_for_other_arguments_or_another_tool_is_refused(dispatcher, catalog, runs):
    """A person agrees to one set of arguments, and no other set runs."""
    catalog.alias("transfer", "pay")
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client, 5)
        for name, arguments in (
            ("pay", {"amount": 5, "to": "eve"}),
            ("pay", {"amount": True}),
            ("pay", {}),
            ("transfer", {"amount": 5}),
            ("missing", {"amount": 5}),
        ):
            assert await refuse(client, name, arguments, state) == "arguments"
        assert runs == []
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
    assert runs == [(5, "bob")]


async def test_arguments_that_are_no_json_have_no_state(dispatcher, runs):
    """NaN has no canonical form, so no state can be about it."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        assert await refuse(client, "pay", {"amount": float("nan")}, state) == "arguments"
    assert runs == []


async def test_an_answer_is_used_once(dispatcher, runs):
    """A state that comes back a second time is refused, after a yes and after a no."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
        assert await refuse(client, "pay", {"amount": 5}, state) == "answered"
        denied = await ask(client)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": NO}, state=denied)
        assert await refuse(client, "pay", {"amount": 5}, denied) == "answered"
    assert runs == [(5, "bob")]


async def test_of_answers_that_come_at_once_one_counts(dispatcher, runs):
    """Twenty copies of one answer run the call once."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        answers = [call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state) for _ in range(20)]
        results = await asyncio.gather(*answers, return_exceptions=True)
    assert len([result for result in results if isinstance(result, types.CallToolResult)]) == 1
    assert runs == [(5, "bob")]


async def test_an_expired_state_is_refused(dispatcher, runs):
    """The person's yes was for then, not for now."""
    question = OpenQuestion(
        request="0" * 32, digest=digest_request("tool", "pay", {"amount": 5}), principal=None, session=None
    )
    old = StateSeal(KEY, max_age_seconds=600, clock=lambda: 1_000_000.0).seal(question)
    async with connected(dispatcher, NEW, Person(NO), key=KEY) as client:
        assert await refuse(client, "pay", {"amount": 5}, old) == "expired"
    assert runs == []


async def test_questions_that_are_never_answered_make_room(catalog, runs):
    """The request of a client that never comes back expires soon after its question, and not after a day."""
    now = [1000.0]
    dispatcher = Dispatcher(catalog, approvals=Approvals(MemoryApprovals(size=3), clock=lambda: now[0]))
    async with connected(dispatcher, NEW, Person(YES), answer_seconds=600) as client:
        for amount in range(3):
            await call_once(client, "pay", {"amount": amount})
        assert (await client.call_tool("pay", {"amount": 3})).is_error
        now[0] += 1201
        assert text_of(await client.call_tool("pay", {"amount": 4})) == "paid 4"
    assert runs == [(4, "bob")]


async def test_requests_that_the_program_answers_itself_keep_their_time(catalog, runs):
    """An asker of the dispatcher is not bound by the time that clients have."""
    requests = []
    approvals = Approvals(ask=requests.append, expires_seconds=5000, clock=lambda: 1000.0)
    async with connected(Dispatcher(catalog, approvals=approvals), NEW, Person(NO), answer_seconds=1) as client:
        await client.call_tool("pay", {"amount": 1})
    assert [request.expires_at for request in requests] == [6000.0]


async def test_a_state_of_another_user_is_refused(dispatcher, runs):
    """Ada was asked, so Bob cannot answer."""
    async with connected(dispatcher, NEW, Person(NO), key=KEY, principal="ada") as client:
        state = await ask(client)
    async with connected(dispatcher, NEW, Person(NO), key=KEY, principal="bob") as client:
        assert await refuse(client, "pay", {"amount": 5}, state) == "principal"
    async with connected(dispatcher, NEW, Person(NO), key=KEY) as client:
        assert await refuse(client, "pay", {"amount": 5}, state) == "principal"
    assert runs == []


@pytest.mark.parametrize("responses", [None, {}, {"other": YES}])
async def test_a_question_without_an_answer_is_asked_again(dispatcher, runs, responses):
    """A client that brings the state and no answer, or one to another question, gets the question again."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        result = await call_once(client, "pay", {"amount": 5}, responses=responses, state=state)
        assert isinstance(result, types.InputRequiredResult)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=result.request_state)
        assert await refuse(client, "pay", {"amount": 5}, state) == "answered"
    assert len(runs) == 1


async def test_processes_that_share_a_key_and_a_store_share_their_questions(catalog, runs, tmp_path):
    """The process that gets the answer need not be the one that asked; and still the answer is used once."""

    def start():
        return Dispatcher(catalog, approvals=Approvals(SQLiteApprovals(tmp_path / "approvals.db")))

    async with (
        connected(start(), NEW, Person(NO), key=KEY) as first,
        connected(start(), NEW, Person(NO), key=[b"n" * 32, KEY]) as second,
        connected(start(), NEW, Person(NO), key=b"o" * 32) as other_client,
    ):
        state = await ask(first)
        assert await refuse(other_client, "pay", {"amount": 5}, state) == "forged"
        await call_once(second, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
        assert await refuse(first, "pay", {"amount": 5}, state) == "answered"
        assert await refuse(second, "pay", {"amount": 5}, state) == "answered"
    assert runs == [(5, "bob")]


async def test_requests_that_are_sealed_and_not_stored_travel_in_the_state(catalog, runs):
    """A dispatcher with a key and no store works too, and takes an answer once."""
    dispatcher = Dispatcher(catalog, approvals=Approvals(key=KEY))
    for mode in MODES:
        async with connected(dispatcher, mode, Person(YES)) as client:
            assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        await call_once(client, "pay", {"amount": 5}, responses={"approval": YES}, state=state)
        assert await refuse(client, "pay", {"amount": 5}, state) == "answered"
    assert len(runs) == 3


@pytest.mark.parametrize("key", [KEY, [KEY, b"o" * 32]], ids=["one key", "keys"])
def test_sealed_requests_are_not_shared_between_processes(catalog, key):
    """Two processes with one key could each use the same answer, so such a server is refused, with the remedy."""
    sealed, stored = Approvals(key=KEY), Approvals(MemoryApprovals(), key=KEY)
    with pytest.raises(ValueError, match=r"another process has used it; share a store"):
        build_server(Dispatcher(catalog, approvals=sealed), key=key)
    build_server(Dispatcher(catalog, approvals=stored), key=key)
    build_server(Dispatcher(catalog, approvals=sealed), key=None)


async def test_a_tool_that_changed_since_the_question_asks_again(dispatcher, catalog, runs):
    """A person agreed to another tool."""
    async with connected(dispatcher, NEW, Person(NO)) as client:
        state = await ask(client)
        catalog.remove("pay")

        @catalog.tool
        async def pay(amount: int, to: str = "eve", fast: bool = True) -> str:
            """Pay at once."""
            runs.append((amount, to))
            return "paid"

        assert await refuse(client, "pay", {"amount": 5}, state) == "changed"
    assert runs == []


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


@pytest.mark.parametrize("mode", MODES)
async def test_progress_arrives_after_an_approval(store, mode):
    """The call that runs after the answer reports to the request that brought the answer."""
    catalog, messages = Catalog(), []

    @catalog.tool
    async def work(context: Context) -> str:
        """Work."""
        context.report(1, 2, "half")
        return "done"

    async def note(progress, total, message):
        messages.append(message)

    async with connected(Dispatcher(catalog), mode, Person(YES)) as client:
        await client.call_tool("work", {}, progress_callback=note)
        await until(lambda: messages)
    assert messages == ["half"]


def follow(messages):
    """A callback for progress that notes the messages."""

    async def note(progress, total, message):
        messages.append(message)

    return note


async def test_progress_reaches_no_client_of_another_process(store):
    """A call that one process asked about and another one runs does not meet the calls of that other process."""
    catalog, messages = Catalog(), {"ada": [], "bob": []}
    has_started, is_wiping, has_read = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @catalog.tool
    async def wipe(context: Context) -> str:
        """Wipe."""
        context.report(1, 2, "wiping")
        is_wiping.set()
        await has_read.wait()
        return "wiped"

    @catalog.tool(read_only=True)
    async def read(context: Context) -> str:
        """Read."""
        has_started.set()
        await is_wiping.wait()
        context.report(1, 2, "a secret")
        has_read.set()
        return "read"

    def start():
        return connected(Dispatcher(catalog, approvals=Approvals(store)), NEW, Person(NO), key=KEY)

    async with start() as first, start() as second:
        question = await call_once(first, "wipe", {})
        reading = asyncio.create_task(second.call_tool("read", {}, progress_callback=follow(messages["ada"])))
        await has_started.wait()
        await second.session.call_tool(
            *("wipe", {}),
            input_responses={"approval": YES},
            request_state=question.request_state,
            progress_callback=follow(messages["bob"]),
        )
        await reading
        await until(lambda: messages["ada"] and messages["bob"])
    assert messages == {"ada": ["a secret"], "bob": ["wiping"]}


async def test_progress_goes_on_when_a_second_answer_is_refused(store):
    """Of answers that arrive at once, the one that counts gets all progress, and the others get none."""
    catalog, messages, is_over = Catalog(), [[] for _ in range(5)], asyncio.Event()

    @catalog.tool
    async def work(context: Context) -> str:
        """Work."""
        context.report(1, 2, "half")
        await is_over.wait()
        context.report(2, 2, "whole")
        return "done"

    async with connected(Dispatcher(catalog, approvals=Approvals(store)), NEW, Person(NO)) as client:
        state = (await call_once(client, "work", {})).request_state
        options = {"input_responses": {"approval": YES}, "request_state": state, "allow_input_required": True}
        answers = [
            asyncio.create_task(client.session.call_tool("work", {}, progress_callback=follow(notes), **options))
            for notes in messages
        ]
        await until(lambda: sum(answer.done() for answer in answers) == 4)
        is_over.set()
        results = await asyncio.gather(*answers, return_exceptions=True)
        [winner] = [index for index, result in enumerate(results) if not isinstance(result, MCPError)]
        await until(lambda: len(messages[winner]) == 2)
    assert messages == [["half", "whole"] if index == winner else [] for index in range(5)]


def fill(**content):
    """An answer to a form."""
    return types.ElicitResult(action="accept", content=content)


@pytest.fixture
def order():
    """A tool that asks its user two questions."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def order(context: Context) -> str:
        """Order."""
        size = await context.ask("size", "Which size?", {"enum": ["S", "M"]})
        address = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        where = await context.ask("where", "Where to?", address)
        tags = await context.ask("tags", "Which tags?", {"type": "array", "items": {"type": "integer"}})
        return f"{size} to {where} with {tags}"

    return Dispatcher(catalog)


@both_revisions
async def test_a_tool_asks_its_user(order, mode):
    """A form has flat fields: other questions have one field, and what no field can hold is JSON text."""
    person = Person(fill(answer="M"), fill(city="Rome"), fill(answer="[1, 2]"))
    async with connected(order, mode, person) as client:
        assert text_of(await client.call_tool("order", {})) == "M to {'city': 'Rome'} with [1, 2]"
    assert [question.message for question in person.questions] == ["Which size?", "Where to?", "Which tags?"]
    assert person.questions[0].requested_schema["properties"] == {"answer": {"type": "string", "enum": ["S", "M"]}}


@both_revisions
async def test_an_answer_that_does_not_fit_is_asked_for_again(order, mode):
    """The tool sees only answers that its schema allows, and the user may decline each of them."""
    person = Person(fill(answer="XL"), fill(), fill(answer="S"), fill(town="x"), DECLINE, fill(answer="{"), DECLINE)
    async with connected(order, mode, person) as client:
        assert text_of(await client.call_tool("order", {})) == "S to DECLINED with DECLINED"
    assert len(person.questions) == 7


@both_revisions
async def test_a_question_that_is_closed_ends_the_call(order, mode):
    """To close a question is not to decline it."""
    async with connected(order, mode, Person(CANCEL)) as client:
        assert "closed the question" in text_of(await client.call_tool("order", {}))
    async with connected(order, mode) as client:
        assert "has a question for the user, and this client cannot ask" in await refusal_of(client, "order", {})
    assert order.approvals.store.pending() == []


async def test_answers_that_come_with_the_call_are_for_questions_only(order, dispatcher, runs):
    """A client that knows the questions of a tool may answer at once; what does not fit is asked for."""
    answers = {"size": fill(answer="M"), "where": DECLINE, "tags": fill(answer="[]"), "more": YES, "approval": YES}
    async with connected(order, NEW, Person(NO)) as client:
        result = await call_once(client, "order", responses=answers)
        assert text_of(result) == "M to DECLINED with []"
        wrong = await call_once(client, "order", responses={**answers, "where": fill(town="x")})
        assert list(wrong.input_requests) == ["where"]
        few = await call_once(client, "order", responses={"more": YES})
        assert list(few.input_requests) == ["size"]
    async with connected(dispatcher, NEW, Person(NO)) as client:
        result = await call_once(client, "pay", {"amount": 5}, responses=answers)
    assert isinstance(result, types.InputRequiredResult)
    assert runs == []


@pytest.mark.parametrize(
    ("schema", "is_flat"),
    [
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, True),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, True),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, True),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}]}}, False),
        ({"type": "object", "properties": {}}, False),
        ({"$ref": "#"}, False),
    ],
)
def test_choices_with_titles_are_fields_of_a_form(schema, is_flat):
    """Every kind of choice that the protocol has can be asked for as it is."""
    request = ApprovalRequest(
        tool="t",
        call_id="c",
        reason="r",
        questions=(Question(key="k", message="m", schema={"type": "object", "properties": {"field": schema}}),),
    )
    form = build_requests(request, offers_grants=False)["k"]["params"]["requestedSchema"]
    assert (form["properties"] == {"field": schema}) == is_flat


def test_an_address_that_is_missing_cannot_be_asked_for():
    """Credentials without an address are refused in words."""
    request = ApprovalRequest(tool="t", call_id="c", reason="r", auth=AuthRequest(provider="github"))
    assert not can_ask(request, types.ClientCapabilities(elicitation=types.ElicitationCapability(url={})))
    assert "it names no address" in describe_inability(request)
