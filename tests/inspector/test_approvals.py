"""Open requests and their answers: once, with a grant, with other arguments, with answers, or no."""

from __future__ import annotations

import asyncio

import pytest

from tests.inspector.kit import build_catalog, build_inspector, serving
from toolkit import Catalog, Dispatcher, Permissions, Session
from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.decisions import AuthNeeded, AuthRequest

pytestmark = pytest.mark.anyio


@pytest.fixture
async def browser():
    """A page in the mode that asks before changes."""
    async with serving(build_inspector()) as browser:
        yield browser


async def ask(browser, text="x"):
    """Make a call that waits, and return the id of its request."""
    call = await browser.call("write_note", text=text)
    assert call["kind"] == "waiting"
    return call["request"]


async def test_open_requests_are_listed_oldest_first(browser):
    ids = [await ask(browser, text) for text in "abc"]
    listed = await browser.get("approvals")
    assert [request["id"] for request in listed["open"]] == ids
    request = listed["open"][0]
    assert (request["tool"], request["arguments"], request["run"]) == ("write_note", {"text": "a"}, None)
    assert (request["questions"], request["auth"]) == ([], None)
    assert "digest" not in request
    assert listed["problem"] is None


async def test_an_approval_runs_the_call_once(browser):
    request_id = await ask(browser)
    answer = await browser.post("approvals", {"id": request_id, "action": "approve", "by": "ada"})
    assert (answer["decided"]["approved"], answer["decided"]["by"]) == (True, "ada")
    assert answer["result"]["text"] == "noted x"
    listed = await browser.get("approvals")
    assert listed["open"] == []
    assert [(entry["id"], entry["by"], entry["approved"]) for entry in listed["decided"]] == [(request_id, "ada", True)]
    rows = (await browser.get("calls"))["calls"]
    assert [(row["kind"], row["request"]) for row in rows] == [("ok", request_id), ("waiting", request_id)]


async def test_a_denial_has_a_reason(browser):
    request_id = await ask(browser)
    body = {"id": request_id, "action": "deny", "reason": "not on a Friday", "by": "ada"}
    answer = await browser.post("approvals", body)
    assert answer["result"]["kind"] == "denied"
    assert "not on a Friday" in answer["result"]["text"]
    (decision,) = (await browser.get("approvals"))["decided"]
    assert (decision["approved"], decision["reason"]) == (False, "not on a Friday")


async def test_a_grant_answers_the_next_calls_too(browser):
    request_id = await ask(browser)
    await browser.post("approvals", {"id": request_id, "action": "approve", "grant": 0})
    assert (await browser.call("write_note", text="again"))["kind"] == "ok"


async def test_changed_arguments_run(browser):
    request_id = await ask(browser)
    answer = await browser.post("approvals", {"id": request_id, "action": "approve", "arguments": {"text": "y"}})
    assert answer["result"]["text"].endswith("noted y")


async def test_questions_are_answered_with_their_schema(browser):
    request_id = (await browser.call("greet"))["request"]
    (request,) = (await browser.get("approvals"))["open"]
    assert request["questions"] == [{"key": "name", "message": "Your name?", "schema": {"type": "string"}}]
    wrong = await browser.post("approvals", {"id": request_id, "action": "approve", "answers": {"name": 5}}, 400)
    assert wrong["why"] == "answers"
    answer = await browser.post("approvals", {"id": request_id, "action": "approve", "answers": {"name": "Ada"}})
    assert answer["result"]["text"] == "Hello, Ada!"


async def test_a_question_can_be_declined(browser):
    request_id = (await browser.call("greet"))["request"]
    answer = await browser.post("approvals", {"id": request_id, "action": "approve", "declined": ["name"]})
    assert "DECLINED" in answer["result"]["text"]


async def test_credentials_have_a_link():
    catalog, has_key = Catalog(), []

    @catalog.tool(read_only=True)
    def read_issue() -> str:
        """Read an issue."""
        if not has_key:
            raise AuthNeeded(AuthRequest(provider="github", scopes=("repo",), url="https://github.example/device"))
        return "the issue"

    async with serving(build_inspector(catalog)) as browser:
        request_id = (await browser.call("read_issue"))["request"]
        (request,) = (await browser.get("approvals"))["open"]
        assert request["auth"]["url"] == "https://github.example/device"
        has_key.append(True)
        answer = await browser.post("approvals", {"id": request_id, "action": "approve"})
        assert answer["result"]["text"] == "the issue"


async def test_a_preview_with_a_diff_is_shown():
    catalog = Catalog()

    @catalog.tool(preview=lambda arguments: f"--- a\n+++ b\n-old\n+{arguments['text']}")
    def change(text: str) -> str:
        """Change a text."""
        return text

    async with serving(build_inspector(catalog)) as browser:
        await browser.call("change", text="<img src=x onerror=alert(1)>")
        (request,) = (await browser.get("approvals"))["open"]
    assert request["preview"].endswith("+<img src=x onerror=alert(1)>")


async def test_only_one_of_several_answers_at_once_counts(browser):
    """The errors of the others name the person who was first."""
    request_id = await ask(browser)
    names = ["ada", "bob"] * 4
    bodies = [{"id": request_id, "action": "approve", "by": name} for name in names]
    responses = await asyncio.gather(*(browser.send("POST", "approvals", json=body) for body in bodies))
    (good,) = [response for response in responses if response.status_code == 200]
    winner = good.json()["decided"]["by"]
    others = [response for response in responses if response is not good]
    assert {response.status_code for response in others} == {409}
    assert {response.json()["why"] for response in others} <= {"answered", "running"}
    assert all(f"{winner} has approved it" in response.json()["error"] for response in others)
    kinds = [row["kind"] for row in (await browser.get("calls", tool="write_note"))["calls"]]
    assert kinds.count("ok") == 1


async def test_a_second_inspector_of_the_same_store_sees_and_answers(tmp_path):
    """Two processes with one file: one answer counts."""

    def build():
        approvals = Approvals(SQLiteApprovals(tmp_path / "approvals.sqlite"))
        dispatcher = Dispatcher(build_catalog(), permissions=Permissions(), approvals=approvals)
        return build_inspector(dispatcher=dispatcher)

    async with serving(build()) as first, serving(build()) as second:
        request_id = await ask(first)
        assert [request["id"] for request in (await second.get("approvals"))["open"]] == [request_id]
        body = {"id": request_id, "action": "approve"}
        responses = await asyncio.gather(*(page.send("POST", "approvals", json=body) for page in (first, second)))
        assert sorted(response.status_code for response in responses) == [200, 409]


async def test_a_request_of_a_program_is_answered_for_its_principal():
    """Its conversation gets the grant."""
    inspector = build_inspector()
    session = Session(id="talk", principal="carol")
    waiting = await inspector.dispatcher.call("write_note", {"text": "x"}, session=session)
    async with serving(inspector) as browser:
        await browser.post("approvals", {"id": waiting.request.id, "action": "approve", "grant": 0})
    assert len(session.grants) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"action": None}, '"approve" or "deny"'),
        ({"action": "maybe"}, '"approve" or "deny"'),
        ({"grant": 7}, "the place of one of its 1 grants"),
        ({"grant": True}, "the place of one of its 1 grants"),
        ({"answers": [1]}, "by the keys of the questions"),
        ({"answers": {"x": 1}}, "asks no question"),
        ({"arguments": [1]}, "a dictionary"),
        ({"by": 5}, "by"),
    ],
)
async def test_an_answer_that_does_not_fit_leaves_the_request_open(browser, changes, message):
    request_id = await ask(browser)
    error = await browser.post("approvals", {"id": request_id, "action": "approve", **changes}, 400)
    assert message in error["error"]
    assert len((await browser.get("approvals"))["open"]) == 1


@pytest.mark.parametrize(
    ("request_id", "status"), [("unknown", 404), ("../x", 404), ("🦆", 404), (5, 400), (None, 400)]
)
async def test_a_request_that_is_not_there_is_not_found(browser, request_id, status):
    assert await browser.post("approvals", {"id": request_id, "action": "approve"}, status)


async def test_a_store_that_fails_is_a_sentence_on_the_page(tmp_path):
    store = SQLiteApprovals(tmp_path / "approvals.sqlite")
    dispatcher = Dispatcher(build_catalog(), permissions=Permissions(), approvals=Approvals(store))
    async with serving(build_inspector(dispatcher=dispatcher)) as browser:
        request_id = await ask(browser)
        (tmp_path / "approvals.sqlite").write_bytes(b"no database at all, and long enough to be looked at" * 100)
        listed = await browser.get("approvals")
        assert listed["open"] == []
        assert "approvals.sqlite" in listed["problem"]
        error = await browser.post("approvals", {"id": request_id, "action": "approve"}, 503)
        assert error["why"] == "store"
