"""The accesses that a running tool asks about."""

import asyncio
from pathlib import Path
from typing import Annotated

import pytest

from tests.permissions.judgement_kit import (
    Hostile,
    Query,
    RecordedCatalog,
    Saying,
    Tables,
    asking,
    later,
    raising,
)
from toolkit.access import Command, Reads, Writes
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.errors import Safety, ToolError
from toolkit.permissions import Permissions
from toolkit.permissions.judgement import CallJudges
from toolkit.results import ToolCall
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


# While a tool runs.


def touching(is_async, **facts):
    """Return a tool that asks for each of the accesses it is given, and tells what came of it."""
    world = RecordedCatalog(Catalog(), [])

    def check(accesses, context):
        for access in accesses:
            context.permissions.check(access)
            world.ran.append(access)
        return "done"

    if is_async:

        @world.catalog.tool(name="touch", **facts)
        async def touch(context: Context) -> str:
            """Touch them."""
            return check(context.session.state["accesses"], context)
    else:

        @world.catalog.tool(name="touch", **facts)
        def touch_sync(context: Context) -> str:
            """Touch them."""
            return check(context.session.state["accesses"], context)

    return world


async def call_touch(world, *accesses, **options):
    session = Session(state={"accesses": accesses})
    return await world.call("touch", session=session, **options)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("access", "permissions", "kind"),
    [
        (Reads("a.txt"), None, "ok"),
        (Reads("/etc/passwd"), None, "safety"),
        (Reads("/etc/passwd"), Permissions("bypass"), "safety"),
        (Command("rm -rf /"), Permissions("bypass"), "safety"),
        (Reads("a.txt"), Permissions(), "ok"),
        (Reads("secrets/a"), Permissions(rules=["deny touch(path=secrets/**)"]), "failed"),
        (Reads("secrets/a"), Permissions("bypass", ["deny touch(path=secrets/**)"]), "failed"),
        (Reads("docs/a"), Permissions(rules=["deny touch(path=secrets/**)"]), "ok"),
        (Reads("docs/a"), Permissions(rules=["ask touch(path=docs/**)"]), "failed"),
        (Reads("docs/a"), Permissions("bypass", ["ask touch(path=docs/**)"]), "ok"),
        (Query("fine"), Permissions(), "ok"),
        (Query("odd"), Permissions(), "failed"),
        (Query("odd"), None, "failed"),
        (Query("secret"), Permissions("bypass"), "safety"),
        (Reads("a.txt"), Saying("allow"), "ok"),
        (Reads("a.txt"), Saying(lambda request: "deny" if request.accesses else "allow"), "failed"),
        (Reads("a.txt"), Saying(lambda request: "ask" if request.accesses else "allow"), "failed"),
        (Reads("a.txt"), Saying(lambda request: raising(request) if request.accesses else "allow"), "failed"),
        (Reads("a.txt"), Saying(lambda request: Hostile() if request.accesses else "allow"), "failed"),
        (Reads("a.txt"), Saying(lambda request: later("allow")), "failed"),
        (Reads("a.txt"), [Permissions(), Saying("allow")], "ok"),
        (Reads("a.txt"), [Permissions(), Saying(lambda request: later("allow"))], "failed"),
    ],
)
async def test_a_running_tool_may_check_a_further_access(access, permissions, kind, is_async):
    """The same checks, rules and judges decide. An access that would need a person is refused."""
    world = touching(is_async, read_only=True)
    result = await call_touch(world, access, permissions=permissions, safety=SafetyChecks(further=[Tables()]))
    assert result.kind == kind
    assert world.ran == ([access] if kind == "ok" else [])


@pytest.mark.parametrize("access", ["notes.txt", None, Reads, Path("a"), [Reads("a")]], ids=repr)
async def test_checking_a_value_that_is_not_an_access_fails(access):
    """Anything else permits nothing, even where no check would look."""
    world = touching(True, read_only=True)
    checks = SafetyChecks(without=["folder", "protected-file", "dangerous-command", "host"])
    result = await call_touch(world, access, safety=checks, permissions=Permissions("bypass"))
    assert result.kind == "failed"
    assert "check expects an access, such as Writes(path)" in result.text
    assert world.ran == []


@pytest.mark.parametrize("hint", [Annotated[Path, Writes], Annotated[str, Reads], str], ids=str)
@pytest.mark.parametrize("rule", ["allow save(path=src/**)", "allow save(src/**)"])
async def test_a_rule_that_allows_a_call_does_not_allow_its_further_accesses(hint, rule):
    """Each access is checked against it."""
    world = RecordedCatalog(Catalog(), [])

    async def save(path, context):
        context.permissions.check(Writes("src/copy.txt"))
        world.ran.append("near")
        context.permissions.check(Writes("elsewhere/copy.txt"))
        world.ran.append("far")

    save.__annotations__ = {"path": hint, "context": Context}
    world.catalog.add(Tool.described(save, description="Save it, and a copy."))
    result = await world.call("save", {"path": "src/a"}, permissions=Permissions(rules=[rule]))
    assert (result.kind, world.ran) == ("failed", ["near"])
    assert "Writes('elsewhere/copy.txt') needs approval, and no person can be asked while the tool runs" in result.text


@pytest.mark.parametrize(("table", "kind"), [("public_a", "ok"), ("private", "failed")])
async def test_a_rule_about_a_marked_parameter_covers_further_accesses_of_its_kind(table, kind):
    """This holds also for a custom kind. A parameter of another kind has no influence."""
    world = RecordedCatalog(Catalog(), [])

    @world.catalog.tool
    async def copy(table: Annotated[str, Query], file: Annotated[str, Reads], further: str, context: Context) -> str:
        """Copy it."""
        context.permissions.check(Query(further))
        return "copied"

    permissions = Permissions(rules=["allow copy(table=public_*)"])
    sent = {"table": "public_x", "file": "public_y", "further": table}
    assert (await world.call("copy", sent, permissions=permissions)).kind == kind


class Patient:
    """Can be awaited, and not be closed."""

    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return "allow"


async def test_a_judge_that_takes_its_time_cannot_be_asked_while_a_tool_runs():
    """This holds for any object that has to be awaited."""
    result = await call_touch(touching(True), Reads("a.txt"), permissions=Saying(lambda request: Patient()))
    assert result.kind == "failed"
    assert "it cannot be asked while a tool runs" in result.text


@pytest.mark.parametrize(
    ("target", "kind"), [("kept.db", "safety"), ("kept.db-wal", "safety"), ("x/../kept.db", "safety"), ("other", "ok")]
)
async def test_no_tool_reads_files_of_the_dispatcher(tmp_path, target, kind):
    """This holds even in mode `bypass`."""
    judges = CallJudges(SafetyChecks([tmp_path]), Permissions("bypass"), [f"{tmp_path}/kept.db"])
    tool = asking(lambda arguments: [Reads(arguments["text"]), Query(arguments["text"])]).catalog["note"]
    judgement = await judges.judge(tool, frozenset({"note"}), ToolCall("note"), {"text": target})
    assert ("safety" if judgement.verdict.word == "deny" else "ok") == kind
    assert ("check `own-files`" in str(judgement.verdict)) == (kind == "safety")


async def test_a_path_that_cannot_be_resolved_is_refused_by_the_checks(tmp_path):
    judges = CallJudges(SafetyChecks([tmp_path]), None, [f"{tmp_path}/kept.db"])
    tool = asking(lambda arguments: Writes("a\0b")).catalog["note"]
    judgement = await judges.judge(tool, frozenset({"note"}), ToolCall("note"), {"text": "x"})
    assert (judgement.verdict.word, judgement.verdict.by) == ("deny", "check `folder`")


async def test_a_refused_access_names_the_check_or_the_rule():
    """A check raises `Safety` and a rule raises `ToolError`, and the tool may choose another way."""
    world, errors = RecordedCatalog(Catalog(), []), []

    @world.catalog.tool(read_only=True)
    async def look(context: Context) -> str:
        """Look."""
        for target in ("/etc/passwd", "secrets/a"):
            try:
                context.permissions.check(Reads(target))
            except ToolError as error:
                errors.append((type(error), str(error)))
        return "looked"

    permissions = Permissions(rules=["deny look(path=secrets/**)"])
    assert (await world.call("look", permissions=permissions)).kind == "ok"
    assert [kind for kind, _ in errors] == [Safety, ToolError]
    assert "is outside" in errors[0][1]
    assert "a rule says deny: look(path=secrets/**)" in errors[1][1]
