"""A durable run has the authority of the session of the agent that it was started with, wherever it is continued."""

from __future__ import annotations

import pytest

from tests.durable.kit import DurableShop
from toolkit.durable import DurableError
from toolkit.durable.run_input import unpack_prompt, unpack_session
from toolkit.permissions import Permissions
from toolkit.session import Session

pytestmark = pytest.mark.anyio


def build_session(principal="ada", mode=None):
    """Return a session with a mode of its own."""
    session = Session(principal=principal)
    Permissions().set_mode(mode, session=session)
    return session


async def test_the_mode_of_the_session_of_the_agent_holds(tmp_path):
    """A durable run may do no more than the session allows."""
    shop = DurableShop(tmp_path, mode="auto", session=build_session(mode="plan"))
    async with shop.open() as durable:
        run = await durable.run("pay", id="a")
        assert (run.session.mode, run.session.principal, shop.paid) == ("plan", "ada", [])
        assert (await durable.get("a")).principal == "ada"


async def test_the_mode_holds_where_another_process_continues_the_run(tmp_path):
    """The agent that continues a run gives it no other mode."""
    shop = DurableShop(tmp_path, mode="auto", session=build_session(mode="plan"))
    async with shop.open() as durable:
        await durable.start("pay", id="a")
    shop = DurableShop(tmp_path, mode="auto", session=build_session())
    async with shop.open() as durable:
        run = await durable.run("pay", id="a")
        assert (run.session.mode, shop.paid) == ("plan", [])
        assert (await durable.run("pay", id="a")).status == run.status


async def test_a_run_keeps_its_principal(tmp_path):
    """An agent with another principal cannot continue it, and does not see what came of it."""
    shop = DurableShop(tmp_path, mode="auto", session=build_session("ada"))
    async with shop.open() as durable:
        await durable.start("pay", id="a")
    shop = DurableShop(tmp_path, mode="auto", session=build_session("bob", mode="plan"))
    async with shop.open() as durable:
        for prompt in ("pay", "pay more"):
            with pytest.raises(DurableError) as caught:
                await durable.run(prompt, id="a")
            assert caught.value.why == "changed"
        assert shop.paid == []


async def test_a_worker_gives_a_run_no_principal(tmp_path):
    """A run that was started without a principal has none, also if the session of the worker's agent has one."""
    async with DurableShop(tmp_path).open() as durable:
        await durable.start("pay", id="a")
    async with DurableShop(tmp_path, session=build_session("bob")).open() as durable:
        row = await durable.host.run("agent", "a", {"prompt": "pay", "session": {}})
        assert durable.read_run(row).session.principal is None


async def test_a_run_without_an_agent_gets_the_mode_of_the_worker(tmp_path):
    """Such a run is started by `toolkit runs start`. The principal is still that of its row."""
    shop = DurableShop(tmp_path, mode="auto", session=build_session("bob", mode="plan"))
    async with shop.open() as durable:
        row = await durable.host.run("agent", "a", {"prompt": "pay"})
        session = durable.read_run(row).session
        assert (session.mode, session.principal, shop.paid) == ("plan", None, [])
        assert (await durable.host.get("a")).principal is None


@pytest.mark.parametrize(("principal", "is_granted"), [(None, True), ("ada", True), ("bob", False)])
async def test_grants_hold_only_for_their_principal(tmp_path, principal, is_granted):
    """A grant of the agent's session does not pass to another principal."""
    session = build_session()
    shop = DurableShop(tmp_path, session=session)
    async with shop.open() as durable:
        waiting = await durable.run("pay", id="a")
        grant = waiting.requests[0].grants[0]
        Permissions.grant(session, grant)
        run = await durable.run("pay", id="b", principal=principal)
        assert (run.status == "done") is is_granted
        assert (await durable.run("pay", id="a")).requests == waiting.requests


@pytest.mark.parametrize("data", [{"prompt": 1}, {}])
def test_an_input_without_a_prompt_is_refused(data):
    """A run of another program is not taken for one of an agent."""
    with pytest.raises(ValueError, match="no prompt"):
        unpack_prompt(data)


def test_a_session_that_is_not_an_object_is_refused():
    """The state of a session is an object."""
    with pytest.raises(ValueError, match="object"):
        unpack_session({"session": []})
