"""Questions of a running tool to the user of the client."""

from __future__ import annotations

import mcp_types as types
import pytest

from tests.mcp.serving.approval_kit import both_revisions, refusal_of
from tests.mcp.serving.kit import (
    CANCEL,
    DECLINE,
    NEW,
    NO,
    YES,
    Person,
    call_once,
    connected,
    text_of,
)
from toolkit import AuthRequest, Catalog, Context, Dispatcher
from toolkit.decisions import ApprovalRequest
from toolkit.mcp.serving.questions import build_requests, can_ask, describe_inability
from toolkit.questions import Question

pytestmark = pytest.mark.anyio


def fill(**content):
    """Return an answer to a form."""
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
    """Closing a question differs from declining it."""
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
        ({"enum": ["a"]}, True),
        ({"oneOf": [{"const": "a", "title": "A"}]}, True),
        ({"oneOf": [{"const": 1, "title": "A"}]}, False),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}]}}, False),
        ({"type": "object", "properties": {}}, False),
        ({"$ref": "#"}, False),
    ],
)
def test_choices_with_titles_are_fields_of_a_form(schema, is_flat):
    """Every kind of choice that the protocol has can be asked for as it is. Clients want to read that it is a text."""
    request = ApprovalRequest(
        tool="t",
        call_id="c",
        reason="r",
        questions=(Question(key="k", message="m", schema={"type": "object", "properties": {"field": schema}}),),
    )
    form = build_requests(request, offers_grants=False)["k"]["params"]["requestedSchema"]
    assert (form["properties"] == {"field": {"type": "string", **schema}}) == is_flat


def test_an_address_that_is_missing_cannot_be_asked_for():
    """Credentials without an address are refused in words."""
    request = ApprovalRequest(tool="t", call_id="c", reason="r", auth=AuthRequest(provider="github"))
    assert not can_ask(request, types.ClientCapabilities(elicitation=types.ElicitationCapability(url={})))
    assert "it names no address" in describe_inability(request)
