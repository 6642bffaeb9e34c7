"""What a person agrees to for a session: one tool, one command prefix, one folder."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

from tests.permissions.grant_kit import BASH, WRITE, write
from toolkit.access import Writes
from toolkit.approvals.identity import identity_of
from toolkit.catalog import Catalog
from toolkit.decisions import Decision, Grant
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.permissions.grants import is_answerable
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.verdicts import Finding

pytestmark = pytest.mark.anyio


# Given, listed, taken back.


def test_grants_are_listed_and_revoked():
    """They are listed once, in the order of their giving. One of them, or all, can be revoked."""
    session, other = Session(), Session()
    identity = identity_of(WRITE)
    tool_grant = Grant(tool=identity, scope="tool")
    folder_grant = Grant(tool=identity, scope="folder", target="/x", shown="under /x")
    for grant in (tool_grant, folder_grant, replace(folder_grant, shown="in other words")):
        Permissions.grant(session, grant)
    assert (session.grants, other.grants) == ((tool_grant, folder_grant), ())
    Permissions.revoke(session, tool_grant)
    assert session.grants == (folder_grant,)
    Permissions.revoke(session, tool_grant)
    Permissions.grant(session, tool_grant)
    Permissions.revoke(session)
    assert session.grants == ()


async def test_a_granted_call_runs_in_its_session_until_the_grant_is_revoked():
    catalog, permissions, session = Catalog(WRITE), Permissions(), Session()
    dispatcher = Dispatcher(catalog, permissions=permissions)

    async def kinds():
        calls = [
            dispatcher.call("write", {"path": "x.txt"}, session=caller_session)
            for caller_session in (session, Session(), None)
        ]
        return [(await call).kind for call in calls]

    assert await kinds() == ["waiting"] * 3
    permissions.grant(session, Grant(tool=identity_of(WRITE), scope="tool"))
    assert await kinds() == ["ok", "waiting", "waiting"]
    permissions.revoke(session)
    assert await kinds() == ["waiting"] * 3


async def test_the_possible_grants_are_shown_before_the_choice(tmp_path):
    """The narrowest comes first, and the chosen one answers for the next call."""
    permissions, session = Permissions(), Session()
    dispatcher = Dispatcher(Catalog(WRITE), permissions=permissions, safety=SafetyChecks([tmp_path]))
    waiting = await dispatcher.call("write", {"path": "docs/a.txt"}, session=session)
    assert [grant.shown for grant in waiting.request.grants] == [
        f"`write`: everything under {tmp_path}/docs",
        "`write`: every call, with any arguments",
    ]
    decision = Decision.approve(grant=waiting.request.grants[0])
    assert (await dispatcher.resume(waiting.request.id, decision, session=session)).kind == "ok"
    paths = ["docs/b.txt", "docs/deep/c.txt", "docs2/a.txt", "a.txt", "docs/../a.txt"]
    kinds = [(await dispatcher.call("write", {"path": path}, session=session)).kind for path in paths]
    assert kinds == ["ok", "ok", "waiting", "waiting", "waiting"]


# Given beforehand by the program that hosts the session.


def plain(path: str) -> str:
    """Write without saying where."""
    return path


PLAIN = Tool.described(plain)


async def test_granting_the_name_of_a_tool_is_refused_and_breaks_no_verdict():
    """`Permissions.grant(session, "write")` is an error that says what to write, and the session goes on."""
    catalog, session = Catalog(WRITE), Session()
    with pytest.raises(TypeError, match=r"'write' is a text.*Permissions\.grant\(session, catalog\[\"write\"\]\)"):
        Permissions.grant(session, "write")  # type: ignore[arg-type]
    assert session.grants == ()
    dispatcher = Dispatcher(catalog, permissions=Permissions())
    assert (await dispatcher.call("write", {"path": "x"}, session=session)).kind == "waiting"


async def test_a_tool_is_granted_beforehand():
    """Every call of it runs in that session; the grant that comes back takes it back again."""
    catalog, session = Catalog(WRITE, PLAIN), Session()
    dispatcher = Dispatcher(catalog, permissions=Permissions())
    grant = Permissions.grant(session, catalog["write"])
    assert (session.grants, grant.shown) == ((grant,), "`write`: every call, with any arguments")
    kinds = [(await dispatcher.call(name, {"path": "x"}, session=session)).kind for name in ("write", "plain")]
    assert kinds == ["ok", "waiting"]
    Permissions.revoke(session, grant)
    assert (await dispatcher.call("write", {"path": "x"}, session=session)).kind == "waiting"


async def test_a_folder_is_granted_beforehand(tmp_path):
    """Links in its path are followed, as in the paths of calls."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "docs")
    catalog, session = Catalog(WRITE), Session()
    dispatcher = Dispatcher(catalog, permissions=Permissions(), safety=SafetyChecks([tmp_path]))
    Permissions.grant(session, catalog["write"], folder=tmp_path / "link")
    kinds = [(await dispatcher.call("write", {"path": p}, session=session)).kind for p in ("docs/a", "link/b", "c")]
    assert kinds == ["ok", "ok", "waiting"]


async def test_a_command_is_granted_beforehand(tmp_path):
    """A command that begins with these words, and nothing behind it."""
    catalog, session = Catalog(BASH), Session()
    dispatcher = Dispatcher(catalog, permissions=Permissions(), safety=SafetyChecks([tmp_path]))
    Permissions.grant(session, catalog["bash"], command="npm  test")
    commands = ("npm test", "npm test -- --watch", "npm test; ls", "npm run x")
    kinds = [(await dispatcher.call("bash", {"command": text}, session=session)).kind for text in commands]
    assert kinds == ["ok", "ok", "waiting", "waiting"]


def test_all_grants_for_a_tool_can_be_revoked_together():
    """The grants for other tools stay."""
    session = Session()
    for tool in (WRITE, PLAIN):
        Permissions.grant(session, tool)
    Permissions.grant(session, WRITE, folder="/x")
    Permissions.revoke(session, WRITE)
    assert [grant.tool for grant in session.grants] == [identity_of(PLAIN)]


ALWAYS = Tool.described(write, name="sign", approval="always")


@pytest.mark.parametrize(
    ("grant", "options", "error", "words"),
    [
        (5, {}, TypeError, "cannot be granted int"),
        (write, {}, TypeError, "cannot be granted function"),
        (None, {}, TypeError, "cannot be granted None"),
        ("allow bash(ls:*)", {}, TypeError, "is a text"),
        (Grant(tool="write", scope="tool"), {}, ValueError, r"'write' would never answer.*catalog\[\"write\"\]"),
        (Grant(tool="0" * 64, scope="all"), {}, ValueError, "'all'; use one of tool, command, folder"),  # type: ignore[arg-type]
        (Grant(tool="0" * 64, scope="tool", target="/x"), {}, ValueError, "has no target"),
        (Grant(tool="0" * 64, scope="command"), {}, ValueError, "a target that is not empty"),
        (Grant(tool="0" * 64, scope="folder", target="docs"), {}, ValueError, "absolute path, got 'docs'"),
        (Grant(tool="0" * 64, scope="tool"), {"folder": "/x"}, TypeError, "a Grant has its own folder"),
        (WRITE, {"folder": "docs"}, ValueError, "folder is an absolute path"),
        (WRITE, {"folder": 5}, TypeError, "got int"),
        (WRITE, {"command": "ls"}, ValueError, r"does not state which command.*Annotated\[str, Command\]"),
        (WRITE, {"command": "ls", "folder": "/x"}, ValueError, "give two grants"),
        (BASH, {"folder": "/x"}, ValueError, "does not state which folder"),
        (BASH, {"command": "npm test:*"}, ValueError, "only its first words"),
        (BASH, {"command": "npm test; ls"}, ValueError, "only its first words"),
        (BASH, {"command": ""}, ValueError, "only its first words"),
        (BASH, {"command": "ls > x"}, ValueError, "only its first words"),
        (BASH, {"command": "ls 'x"}, ValueError, "cannot be read"),
        (BASH, {"command": ["npm", "test"]}, TypeError, "got list"),
        (PLAIN, {"folder": "/x"}, ValueError, "does not state which folder"),
        (ALWAYS, {}, ValueError, 'approval="always"'),
    ],
)
def test_a_grant_that_could_never_count_is_refused(grant, options, error, words):
    """A stored grant must not break a verdict, and must not be without effect silently."""
    session = Session()
    with pytest.raises(error, match=words):
        Permissions.grant(session, grant, **options)
    assert session.grants == ()


@pytest.mark.parametrize("grant", ["write", 5, write])
def test_revoking_a_value_that_is_not_a_grant_is_refused(grant):
    """It would revoke no grant, and the host would not notice."""
    session = Session()
    Permissions.grant(session, WRITE)
    with pytest.raises(TypeError, match=r"one of session\.grants"):
        Permissions.revoke(session, grant)
    assert len(session.grants) == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda: Permissions.grant("s1", WRITE),  # type: ignore[arg-type]
        lambda: Permissions.revoke("s1"),  # type: ignore[arg-type]
        lambda: Permissions().set_mode("plan", session="s1"),  # type: ignore[arg-type]
    ],
)
def test_the_id_of_a_session_is_refused_in_place_of_the_session(act):
    with pytest.raises(TypeError, match="a session is a Session, got str"):
        act()


# Never crossing tools.


async def other_write(path: Annotated[Path, Writes]) -> str:
    """Write a file."""
    return "other"


async def write_more(path: Annotated[Path, Writes], more: bool = False) -> str:
    """Write a file."""
    return "more"


@pytest.mark.parametrize(
    "other_tool",
    [
        Tool.described(other_write, name="write"),
        Tool.described(write_more, name="write"),
        Tool.described(write, destructive=True),
        Tool.described(write, version="2"),
        replace(WRITE, origin="mcp:files"),
        WRITE.renamed("write2"),
    ],
    ids=["function", "schema", "facts", "version", "origin", "name"],
)
async def test_a_grant_does_not_hold_for_another_tool(other_tool):
    """This holds even if the other tool has the same name."""
    session = Session()
    Permissions.grant(session, Grant(tool=identity_of(WRITE), scope="tool"))
    dispatcher = Dispatcher(Catalog(other_tool), permissions=Permissions())
    assert (await dispatcher.call(other_tool.name, {"path": "x"}, session=session)).kind == "waiting"


async def test_a_tool_that_is_replaced_has_to_be_granted_again():
    """The person saw another tool."""
    catalog, session = Catalog(WRITE), Session()
    Permissions.grant(session, Grant(tool=identity_of(WRITE), scope="tool"))
    dispatcher = Dispatcher(catalog, permissions=Permissions())
    assert (await dispatcher.call("write", {"path": "x"}, session=session)).kind == "ok"
    catalog.add(Tool.described(other_write, name="write"), replace=True)
    assert (await dispatcher.call("write", {"path": "x"}, session=session)).kind == "waiting"


# What no grant answers.


@pytest.mark.parametrize(
    ("source", "approval", "expected"),
    [
        ("rule", "never", True),
        ("mode", "never", True),
        ("open_world", "never", True),
        ("hook", "never", True),
        ("approval", lambda arguments: True, True),
        ("approval", "always", False),
        ("mode", "always", True),
        ("check", "never", False),
        ("check", "always", False),
    ],
)
def test_some_questions_need_a_person_every_time(source, approval, expected):
    """They come from a safety check, or from the author of the tool."""
    tool = Tool.described(write, approval=approval)
    assert is_answerable(Finding("ask", "x", "y", source), tool) is expected


@pytest.mark.parametrize(
    ("facts", "rules"),
    [({}, ["deny write"]), ({"approval": "always"}, []), ({}, ["deny write(path=x*)"])],
    ids=["a deny", "approval always", "a deny with arguments"],
)
async def test_a_grant_does_not_lift_a_deny_or_a_call_that_always_asks(facts, rules):
    tool, session = Tool.described(write, **facts), Session()
    Permissions.grant(session, Grant(tool=identity_of(tool), scope="tool"))
    Permissions.grant(session, Grant(tool=identity_of(tool), scope="folder", target="/"))
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("auto", rules))
    assert (await dispatcher.call("write", {"path": "x"}, session=session)).kind in ("denied", "waiting")


async def test_a_call_that_always_asks_offers_no_grants():
    tool = Tool.described(write, approval="always")
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions())
    waiting = await dispatcher.call("write", {"path": "x"}, session=Session())
    assert waiting.request.grants == ()
