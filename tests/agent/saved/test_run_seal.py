"""
Sealed runs: a saved run keeps its authority, and only the holder of the key can add any.
"""

from __future__ import annotations

import json

import pytest

from tests.agent.kit import Shed, call
from toolkit.agent import Run, RunSeal, SealError
from toolkit.approvals.seal import sign_content
from toolkit.builtin import Workspace, builtin_catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.session import Session
from toolkit.values.strictjson.canonical import digest_parts

pytestmark = pytest.mark.anyio

KEY, OTHER = b"k" * 32, "o" * 32


async def test_a_sealed_run_keeps_its_authority():
    """Mode, grants and principal are unchanged, and no person is asked again."""
    shed = Shed()
    agent = shed.agent(
        [[call("cut", wood="oak")], "Done.", [call("cut", wood="elm")], "Done."], session=Session(principal="ada")
    )
    run = await agent.run("go")
    run = await agent.resume(run, {run.requests[0].id: Decision.approve(grant=run.requests[0].grants[-1])})
    Permissions().set_mode("default", session=run.session)
    opened = RunSeal(KEY).open(RunSeal(KEY).seal(run))
    assert opened == run
    assert (opened.session.mode, opened.session.grants, opened.session.principal) == (
        "default",
        run.session.grants,
        "ada",
    )
    other = shed.agent([[call("cut", wood="elm")], "Done."])
    assert (await other.run("more", run=opened)).status == "done"


async def test_read_stamps_come_back(tmp_path):
    """A file that changed since the session read it is still not overwritten."""
    place = Workspace(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    shed = Shed()
    dispatcher = Dispatcher(builtin_catalog(place), permissions=Permissions("auto"), safety=place.safety())
    agent = shed.agent(
        [[call("read", path="a.txt")], "Read.", [call("write", path="a.txt", content="x")], "Hm."],
        dispatcher=dispatcher,
    )
    run = RunSeal(KEY).open(RunSeal(KEY).seal(await agent.run("read")))
    (tmp_path / "a.txt").write_text("two\n")
    run = await agent.run("write", run=run)
    assert "changed since it was last read" in run.messages[-2].results[0].text


async def test_a_run_with_metadata_that_has_no_json_form_can_be_sealed():
    """A hook may put any object into the metadata of a result, and a run that can be saved can be sealed."""

    class Odd:
        def after(self, call, result):
            result.metadata = {"seen": {1}}
            return result

    shed = Shed()
    run = await shed.agent([[call("look", what="oak")], "Done."], dispatcher=shed.dispatcher(hooks=[Odd()])).run("go")
    assert RunSeal(KEY).open(RunSeal(KEY).seal(run)) == Run.loads(run.dumps())


async def test_a_forged_or_altered_seal_does_not_open():
    """This holds for each change, and for the seal of another key."""
    run = await Shed().agent(["Hello."]).run("go")
    text = RunSeal(KEY).seal(run)
    with pytest.raises(SealError, match="does not fit"):
        RunSeal(OTHER).open(text)
    outer = json.loads(text)
    altered = json.dumps({**outer, "content": outer["content"].replace('"principal": null', '"principal": "eve"')})
    with pytest.raises(SealError, match="does not fit"):
        RunSeal(KEY).open(altered)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{}", '{"content": 5, "seal": "x"}', '{"content": "", "seal": 1}', "[" * 100_000]
)
def test_opening_malformed_text_raises_a_seal_error(text):
    with pytest.raises(SealError):
        RunSeal(KEY).open(text)


async def test_a_run_opens_with_any_of_several_keys():
    """The first key signs and all keys verify, so a key can be replaced. A short key is refused."""
    run = await Shed().agent(["Hello."]).run("go")
    assert RunSeal([OTHER, KEY]).open(RunSeal(KEY).seal(run)) == run
    with pytest.raises(ValueError, match="at least 32 bytes"):
        RunSeal(b"short")


async def test_a_seal_can_be_too_old():
    """An old grant need not count for ever."""
    now = [1000.0]
    seal = RunSeal(KEY, clock=lambda: now[0])
    text = seal.seal(await Shed().agent(["Hello."]).run("go"))
    now[0] += 50
    assert seal.open(text, max_age_seconds=60).status == "done"
    with pytest.raises(SealError, match="sealed 50 s ago"):
        seal.open(text, max_age_seconds=40)


async def test_an_unknown_version_is_refused_even_with_a_signature():
    text = json.dumps({"version": 99})
    sealed = json.dumps({"content": text, "seal": sign_content(KEY, digest_parts("toolkit run", text).encode())})
    with pytest.raises(SealError, match="version 99"):
        RunSeal(KEY).open(sealed)


@pytest.mark.parametrize(
    "change", [{"spent": "0"}, {"plan": "Burn it."}, {"status": "done"}], ids=lambda change: [*change][0]
)
async def test_changing_the_expense_or_the_plan_of_a_sealed_run_breaks_the_seal(change):
    """In a run without a seal, both can be changed."""
    run = await Shed().agent(["Cut it."], mode="plan").run("plan")
    sealed = json.loads(RunSeal(KEY).seal(run))
    content = json.loads(sealed["content"])
    changed = {**content, "run": {**content["run"], **change}}
    with pytest.raises(SealError, match="does not fit"):
        RunSeal(KEY).open(json.dumps({**sealed, "content": json.dumps(changed)}))
