"""Requests that no store keeps: the seal decides what can be answered."""

from __future__ import annotations

import json
import secrets
from dataclasses import fields, replace
from typing import Any

import pytest

from tests.calls.shed import KEY, refusal, waiting
from tests.clocks import Clock
from toolkit.approvals import Approvals
from toolkit.decisions import ApprovalRequest, ArgumentEdit, Decision, Grant

pytestmark = pytest.mark.anyio


OTHERS: dict[str, Any] = {
    "arguments": {"wood": "yew", "pieces": 1},
    "grants": (Grant(tool="x", scope="tool"),),
    "asked_by": ("no rule",),
    "repairs": ("mended",),
    "edits": (ArgumentEdit(by="ada", before={}, after={}),),
    "preconditions": (),
    "is_cut": True,
    "auth": None,
    "created_at": 5.0,
    "expires_at": None,
}


@pytest.mark.parametrize("name", [field.name for field in fields(ApprovalRequest)])
async def test_a_sealed_request_with_any_field_altered_is_refused(shed, name):
    """Every field is under the seal, and the seal itself."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    request = await waiting(dispatcher)
    altered = replace(request, **{name: OTHERS.get(name, "other")})
    if altered == request:
        altered = replace(request, **{name: {"preconditions": ("x",), "auth": {"provider": "x"}}[name]})
    why = await refusal(dispatcher, altered)
    assert why == ("changed" if name == "tool" else "forged")
    assert shed.ran == []
    assert (await dispatcher.resume(request, Decision.approve())).kind == "ok"


@pytest.mark.parametrize(
    "forge",
    [
        lambda request: {},
        lambda request: {**request.to_json(), "version": 2},
        lambda request: {**request.to_json(), "more": 1},
        lambda request: {**request.to_json(), "seal": None},
        lambda request: replace(request, seal=None),
        lambda request: replace(request, seal=""),
        lambda request: ApprovalRequest(tool="cut", call_id="c", reason="r", arguments={"wood": "yew"}),
    ],
)
async def test_a_request_that_was_never_sealed_is_refused(shed, forge):
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    assert await refusal(dispatcher, forge(await waiting(dispatcher))) == "forged"
    assert shed.ran == []


async def test_a_seal_of_another_key_is_refused(shed):
    """It is accepted if that key is in the list of keys."""
    old, new = secrets.token_bytes(32), secrets.token_bytes(32)
    request = await waiting(shed.dispatcher(Approvals(key=old)))
    assert await refusal(shed.dispatcher(Approvals(key=new)), request) == "forged"
    assert (await shed.dispatcher(Approvals(key=[new, old])).resume(request, Decision.approve())).kind == "ok"


@pytest.mark.parametrize("decision", [Decision.approve(), Decision.deny()])
async def test_a_sealed_request_is_used_once(shed, decision):
    """Within one process; also if the first answer was a no."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    request = await waiting(dispatcher)
    await dispatcher.resume(request, decision)
    ran = list(shed.ran)
    assert await refusal(dispatcher, request) == "answered"
    assert await refusal(dispatcher, request.to_json()) == "answered"
    assert shed.ran == ran


async def test_a_sealed_request_expires(shed):
    clock = Clock()
    dispatcher = shed.dispatcher(Approvals(key=KEY, clock=clock, expires_seconds=10))
    request = await waiting(dispatcher)
    clock.now += 10
    assert await refusal(dispatcher, request) == "expired"


async def test_an_id_does_not_do_where_requests_are_sealed(shed):
    """No store here has the request."""
    dispatcher = shed.dispatcher(Approvals(key=KEY))
    request = await waiting(dispatcher)
    with pytest.raises(TypeError, match="sealed request"):
        await dispatcher.resume(request.id, Decision.approve())


async def test_a_call_with_secrets_cannot_be_sealed(shed):
    """They would be readable in the seal. The result has the remedy."""
    result = await shed.dispatcher(Approvals(key=KEY)).call("lock", {"code": "1234"})
    assert (result.kind, shed.ran) == ("internal", [])
    assert "give Approvals a store" in result.text
    assert "1234" not in json.dumps(result.to_json())
