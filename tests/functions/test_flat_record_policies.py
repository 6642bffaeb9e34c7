"""Facts, rules and approvals see the fields of a flat record."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pydantic
import pytest

from tests.functions.flat_record_kit import (
    KINDS,
    Box,
    DataRefund,
    refunding,
)
from toolkit import (
    BadArgs,
    Decision,
    DefinitionError,
    Dispatcher,
    Permissions,
    Reads,
    RetryPolicy,
    Secret,
    Session,
    Transient,
    tool,
)
from toolkit.calls.background.jobs import find_jobs
from toolkit.hooks import Modify

# Facts, rules and people.


@pytest.mark.anyio
@KINDS
async def test_functions_given_as_options_get_the_fields(kind):
    """The fields are the arguments, and the functions do not see the record."""
    arguments_by_option: dict[str, Any] = {}

    def note(name: str, answer: Any) -> Any:
        return lambda arguments: arguments_by_option.setdefault(name, dict(arguments)) and answer

    names = {"validate": None, "approval": False, "preview": "x", "preflight": [], "concurrency_safe": True}
    refund = refunding(kind, **{name: note(name, answer) for name, answer in names.items()})
    async with Dispatcher([refund], permissions=Permissions("default")) as dispatcher:
        result = await dispatcher.call("refund", {"amount": 5, "reason": "late"})
        assert result.kind == "waiting"
        await dispatcher.call_many([("refund", {"amount": 5, "reason": "late"})] * 2)
    assert arguments_by_option.keys() >= {"validate", "approval", "preview", "preflight"}
    assert all(arguments == {"amount": 5, "reason": "late"} for arguments in arguments_by_option.values())


@KINDS
def test_rules_name_the_fields(kind):
    """A rule about a parameter is a rule about a field."""
    dispatcher = Dispatcher([refunding(kind)], permissions=Permissions("bypass", ["deny refund(amount=100)"]))
    assert [dispatcher.call_sync("refund", {"amount": amount}).kind for amount in (100, 5)] == ["denied", "ok"]


@pytest.mark.anyio
@KINDS
async def test_a_person_agrees_to_the_fields(kind):
    """The request shows them, and what was approved runs."""
    received: list[Any] = []
    async with Dispatcher([refunding(kind, received, approval="always")]) as dispatcher:
        waiting = await dispatcher.call("refund", {"amount": 5, "reason": "late"})
        assert (waiting.kind, waiting.request.arguments) == ("waiting", {"amount": 5, "reason": "late"})
        assert (await dispatcher.resume(waiting, Decision.approve())).kind == "ok"
    assert received == [kind(amount=5, reason="late")]


@pytest.mark.anyio
async def test_a_hook_can_change_the_fields():
    """They are checked again, and a new record is built."""

    class Halve:
        def before(self, call):
            return Modify({**call.arguments, "amount": call.arguments["amount"] // 2})

    received: list[Any] = []
    async with Dispatcher([refunding(DataRefund, received)], hooks=[Halve()]) as dispatcher:
        await dispatcher.call("refund", {"amount": 10})
    assert received == [DataRefund(5)]


@pytest.mark.anyio
async def test_a_second_attempt_gets_a_new_record():
    """Changes by the first attempt are lost."""
    amounts = []

    @tool(catalog=None, flat=True, idempotent=True)
    async def refund(order: DataRefund) -> str:
        """Refund an order."""
        amounts.append(order.amount)
        order.amount = 0
        if len(amounts) == 1:
            raise Transient("busy")
        return "refunded"

    async with Dispatcher([refund], retry=RetryPolicy(wait_initial=0)) as dispatcher:
        assert (await dispatcher.call("refund", {"amount": 5})).kind == "ok"
    assert amounts == [5, 5]


def test_markers_count_on_the_fields():
    """A path is checked, and a secret is masked, as on a parameter."""

    class Upload(pydantic.BaseModel):
        path: Annotated[Path, Reads]
        key: Annotated[str, Secret] = pydantic.Field(alias="apiKey")

    signature = refunding(Upload).signature
    assert signature.accesses == {"path": Reads}
    assert signature.secrets == {"apiKey"}
    assert refunding(Annotated[DataRefund, Secret]).signature.secrets == {"amount", "reason"}
    assert refunding(Box[Annotated[str, Secret]]).signature.secrets == {"content"}


def test_a_secret_field_is_in_no_message():
    """It is not in the representation of the call either."""

    @dataclass
    class Login:
        key: Annotated[str, Secret]
        port: int

    result = Dispatcher([refunding(Login)]).call_sync("refund", {"key": "hunter2", "port": "x"})
    assert result.kind == "bad_args"
    assert "port" in result.text
    assert "hunter2" not in result.text


def test_examples_are_checked_against_the_fields():
    """They are arguments as a model should send them."""
    assert refunding(DataRefund, examples=[{"amount": 5}]).facts.examples == ({"amount": 5},)
    with pytest.raises(DefinitionError, match="example 1 does not fit the schema: "):
        refunding(DataRefund, examples=[{"order": {"amount": 5}}])


@pytest.mark.anyio
async def test_a_flat_tool_may_run_in_the_background():
    """The parameter `background` stands beside the fields, and the record does not get it."""
    received: list[Any] = []
    refund = refunding(DataRefund, received, background=True)
    assert list(refund.schema["properties"]) == ["amount", "reason", "background"]
    assert refund.check({"amount": 5}) == {"amount": 5, "reason": "none", "background": False}
    assert refund.check({"amount": 5, "background": True})["background"] is True
    assert refund.encode({"amount": 5, "background": True}) == {"amount": 5, "background": True}
    session = Session()
    async with Dispatcher([refund]) as dispatcher:
        assert (await dispatcher.call("refund", {"amount": 5})).text == "refunded"
        await dispatcher.call("refund", {"amount": 6, "background": True}, session=session)
        [job] = find_jobs(session).all()
        await asyncio.to_thread(job.wait, 20)
    assert received == [DataRefund(5), DataRefund(6)]
    with pytest.raises(BadArgs, match="^background: "):
        refund.check({"amount": 5, "background": "x"})


def test_a_record_with_a_field_background_cannot_have_the_fact():
    """The name would have two meanings."""

    @dataclass
    class Picture:
        background: str

    with pytest.raises(DefinitionError, match="the fact `background` adds a parameter `background`"):
        refunding(Picture, background=True)


def test_a_schema_by_hand_is_enforced_on_the_fields():
    """The annotations say how they are decoded."""
    written = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 9}}, "required": ["amount"]}
    refund = refunding(DataRefund, schema={**written, "additionalProperties": False})
    assert refund.check({"amount": 5}).record == DataRefund(5)
    with pytest.raises(BadArgs, match="^amount: "):
        refund.check({"amount": 10})
    with pytest.raises(DefinitionError, match="properties that the function does not take: order"):
        refunding(DataRefund, schema={"type": "object", "properties": {"order": {"type": "object"}}})
