"""Modes, rules and grants: every mode, for every kind of tool, under every kind of rule."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

from tests.permissions.policy_kit import (
    ARGUMENTS,
    KINDS,
    RULES,
    JudgedTool,
    catalog_of,
)
from toolkit.access import Command, Writes
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import UnknownTool
from toolkit.permissions import MODES, Permissions, Rule, RuleError
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio

# R runs, A asks, D is denied: in plan, default, auto, deny_unlisted and bypass; and the same with a grant for the tool.
EXPECTED = """
reads      none         R R R R R   R R R R R
reads      allow        R R R R R   R R R R R
reads      ask          A A A D R   R R R R R
reads      deny         D D D D D   D D D D D
reads      allow+ask    A A A D R   R R R R R
reads      allow+deny   D D D D D   D D D D D
reads      allow this   R R R R R   R R R R R
reads      allow that   R R R R R   R R R R R
reads      ask this     A A A D R   R R R R R
reads      deny this    D D D D D   D D D D D
reads      deny that    R R R R R   R R R R R

writes     none         D A R D R   D R R R R
writes     allow        D R R R R   D R R R R
writes     ask          D A A D R   D R R R R
writes     deny         D D D D D   D D D D D
writes     allow+ask    D A A D R   D R R R R
writes     allow+deny   D D D D D   D D D D D
writes     allow this   D R R R R   D R R R R
writes     allow that   D A R D R   D R R R R
writes     ask this     D A A D R   D R R R R
writes     deny this    D D D D D   D D D D D
writes     deny that    D A R D R   D R R R R

destroys   none         D A A D R   D R R R R
destroys   allow        D R R R R   D R R R R
destroys   ask          D A A D R   D R R R R
destroys   deny         D D D D D   D D D D D
destroys   allow+ask    D A A D R   D R R R R
destroys   allow+deny   D D D D D   D D D D D
destroys   allow this   D R R R R   D R R R R
destroys   allow that   D A A D R   D R R R R
destroys   ask this     D A A D R   D R R R R
destroys   deny this    D D D D D   D D D D D
destroys   deny that    D A A D R   D R R R R

fetches    none         A A A D R   R R R R R
fetches    allow        A A A D R   R R R R R
fetches    ask          A A A D R   R R R R R
fetches    deny         D D D D D   D D D D D
fetches    allow+ask    A A A D R   R R R R R
fetches    allow+deny   D D D D D   D D D D D
fetches    allow this   R R R R R   R R R R R
fetches    allow that   A A A D R   R R R R R
fetches    ask this     A A A D R   R R R R R
fetches    deny this    D D D D D   D D D D D
fetches    deny that    A A A D R   R R R R R

sends      none         D A A D R   D R R R R
sends      allow        D A A D R   D R R R R
sends      ask          D A A D R   D R R R R
sends      deny         D D D D D   D D D D D
sends      allow+ask    D A A D R   D R R R R
sends      allow+deny   D D D D D   D D D D D
sends      allow this   D R R R R   D R R R R
sends      allow that   D A A D R   D R R R R
sends      ask this     D A A D R   D R R R R
sends      deny this    D D D D D   D D D D D
sends      deny that    D A A D R   D R R R R

confirms   none         D A A D R   D A A D R
confirms   allow        D A A D R   D A A D R
confirms   ask          D A A D R   D A A D R
confirms   deny         D D D D D   D D D D D
confirms   allow+ask    D A A D R   D A A D R
confirms   allow+deny   D D D D D   D D D D D
confirms   allow this   D A A D R   D A A D R
confirms   allow that   D A A D R   D A A D R
confirms   ask this     D A A D R   D A A D R
confirms   deny this    D D D D D   D D D D D
confirms   deny that    D A A D R   D A A D R

wonders    none         D A A D R   D R R R R
wonders    allow        D A A D R   D R R R R
wonders    ask          D A A D R   D R R R R
wonders    deny         D D D D D   D D D D D
wonders    allow+ask    D A A D R   D R R R R
wonders    allow+deny   D D D D D   D D D D D
wonders    allow this   D A A D R   D R R R R
wonders    allow that   D A A D R   D R R R R
wonders    ask this     D A A D R   D R R R R
wonders    deny this    D D D D D   D D D D D
wonders    deny that    D A A D R   D R R R R

looks      none         R R R R R   R R R R R
looks      allow        R R R R R   R R R R R
looks      ask          A A A D R   R R R R R
looks      deny         D D D D D   D D D D D
looks      allow+ask    A A A D R   R R R R R
looks      allow+deny   D D D D D   D D D D D
looks      allow this   R R R R R   R R R R R
looks      allow that   R R R R R   R R R R R
looks      ask this     A A A D R   R R R R R
looks      deny this    D D D D D   D D D D D
looks      deny that    R R R R R   R R R R R

saves      none         D A R D R   D R R R R
saves      allow        D R R R R   D R R R R
saves      ask          D A A D R   D R R R R
saves      deny         D D D D D   D D D D D
saves      allow+ask    D A A D R   D R R R R
saves      allow+deny   D D D D D   D D D D D
saves      allow this   D R R R R   D R R R R
saves      allow that   D A R D R   D R R R R
saves      ask this     D A A D R   D R R R R
saves      deny this    D D D D D   D D D D D
saves      deny that    D A R D R   D R R R R

queries    none         A A A D R   A A A D R
queries    allow        A A A D R   A A A D R
queries    ask          A A A D R   A A A D R
queries    deny         D D D D D   D D D D D
queries    allow+ask    A A A D R   A A A D R
queries    allow+deny   D D D D D   D D D D D
queries    allow this   A A A D R   A A A D R
queries    allow that   A A A D R   A A A D R
queries    ask this     A A A D R   A A A D R
queries    deny this    D D D D D   D D D D D
queries    deny that    A A A D R   A A A D R

pries      none         D D D D D   D D D D D
pries      allow        D D D D D   D D D D D
pries      ask          D D D D D   D D D D D
pries      deny         D D D D D   D D D D D
pries      allow+ask    D D D D D   D D D D D
pries      allow+deny   D D D D D   D D D D D
pries      allow this   D D D D D   D D D D D
pries      allow that   D D D D D   D D D D D
pries      ask this     D D D D D   D D D D D
pries      deny this    D D D D D   D D D D D
pries      deny that    D D D D D   D D D D D
"""


def read_table():
    """Yield a case for each row and grant: kind, rules, whether a person granted the tool, and what must come of it."""
    for line in filter(None, EXPECTED.splitlines()):
        kind, rules, words = line[:11].strip(), line[11:24].strip(), line[24:].split()
        yield pytest.param(kind, rules, False, words[:5], id=f"{kind}, {rules}")
        yield pytest.param(kind, rules, True, words[5:], id=f"{kind}, {rules}, granted")


CASES = list(read_table())
every_case = pytest.mark.parametrize(("kind", "rules", "granted", "expected"), CASES)


def test_the_table_is_complete():
    """Every kind of tool under every kind of rule, with and without a grant."""
    cases = {tuple(case.values[:3]) for case in CASES}
    assert cases == {(kind, rules, granted) for kind in KINDS for rules in RULES for granted in (False, True)}
    assert len(CASES) == len(cases)


@every_case
async def test_a_call_ends_in_every_mode_as_the_table_says(kind, rules, granted, expected):
    """A call runs, waits for a person, or is denied, and a denied call never reaches the tool."""
    world = JudgedTool(kind, rules, granted)
    assert [await world.called(mode) for mode in MODES] == expected


@pytest.mark.one_case_in(5)
@every_case
async def test_explain_agrees_with_the_call_in_every_mode(kind, rules, granted, expected):
    """The tool does not run."""
    world = JudgedTool(kind, rules, granted)
    assert [await world.explained(mode) for mode in MODES] == expected
    assert world.ran == []


@pytest.mark.one_case_in(5)
@every_case
async def test_permissions_alone_judge_as_the_table_says(kind, rules, granted, expected):
    """Given what checks and authors found."""
    world = JudgedTool(kind, rules, granted)
    assert [await world.judged(mode) for mode in MODES] == expected


# Who decides, and how it is told.


@pytest.mark.parametrize(
    ("kind", "rules", "mode", "by", "reason"),
    [
        ("writes", "none", "plan", "mode `plan`", "in mode `plan` only read-only tools run"),
        (
            *("writes", "none", "default", "mode `default`"),
            "`writes` may change something (it is not `read_only`), and mode `default` asks first",
        ),
        ("destroys", "none", "auto", "mode `auto`", "`destroys` cannot be undone, and mode `auto` asks first"),
        (
            "writes",
            "none",
            "deny_unlisted",
            "mode `deny_unlisted`",
            (
                "`writes` may change something (it is not `read_only`), and no rule allows it; "
                "mode `deny_unlisted` never asks a person"
            ),
        ),
        ("writes", "deny", "bypass", "rule `deny writes`", "a rule says deny: writes"),
        ("writes", "allow+deny", "bypass", "rule `deny writes`", "a rule says deny: writes"),
        ("writes", "allow", "default", "rule `allow writes`", "a rule allows it"),
        ("reads", "ask", "plan", "rule `ask reads`", "a rule says ask: reads"),
        ("reads", "none", "plan", "mode `plan`", "mode `plan` allows it"),
        ("reads", "ask", "bypass", "mode `bypass`", "mode `bypass` allows it"),
        (
            "fetches",
            "allow",
            "auto",
            "fact `open_world`",
            "`fetches` reaches outside, and no allow rule names the place",
        ),
        ("confirms", "allow", "auto", "fact `approval` of `confirms`", "`confirms` needs approval every time"),
        ("queries", "none", "auto", "check `query`", "public is looked at"),
        ("pries", "allow", "bypass", "check `query`", "secrets is looked at"),
    ],
)
async def test_a_verdict_names_the_rule_and_the_reason(kind, rules, mode, by, reason):
    """A person would search for it by that name."""
    world = JudgedTool(kind, rules)
    world.permissions.set_mode(mode)
    verdict = await world.dispatcher.explain(kind, ARGUMENTS)
    assert (verdict.by, verdict.reason) == (by, reason)


async def test_the_request_has_every_reason_to_ask():
    """A person who agrees has to know all that they agree to."""
    world = JudgedTool("sends", "ask")
    verdict = await world.dispatcher.explain("sends", ARGUMENTS)
    asks = [finding.by for finding in verdict.findings if finding.word == "ask"]
    assert asks == ["rule `ask sends`", "fact `open_world`", "mode `default`"]
    assert "open_world" in str(verdict)


async def test_the_verdict_names_the_grant_that_allowed_the_call():
    """The finding that asked is listed, too."""
    world = JudgedTool("writes", "ask", granted=True)
    verdict = await world.dispatcher.explain("writes", ARGUMENTS, session=world.session)
    assert (verdict.word, verdict.by) == ("allow", "grant `tool`")
    assert "rule `ask writes`" in [finding.by for finding in verdict.findings]


async def test_a_verdict_says_where_its_rule_was_written():
    """A person can then find the rule."""
    world = JudgedTool("writes", "none")
    permissions = Permissions(rules=[Rule("deny", "writes", "rules.toml, rule 3")])
    verdict = await Dispatcher(world.catalog, permissions=permissions).explain("writes", ARGUMENTS)
    assert verdict.by == "rule `deny writes` (rules.toml, rule 3)"


async def test_explaining_an_unknown_tool_is_an_error():
    with pytest.raises(UnknownTool):
        await JudgedTool("reads", "none").dispatcher.explain("nothing")


# Arguments: rules see what runs.


@pytest.mark.parametrize(
    ("rule", "arguments", "called"),
    [
        ("deny wipe(path=x)", {}, "denied"),
        ("deny wipe(path=x)", {"path": "y"}, "ok"),
        ("deny wipe(path=x)", '{"path": "x"}', "denied"),
        ("deny wipe(path=x)", {"path": "./x"}, "denied"),
        ("deny wipe(path=x)", {"path": "y/../x"}, "denied"),
        ("ask wipe(path=x*)", {"path": "xyz"}, "waiting"),
        ("deny wipe(x)", {}, "denied"),
    ],
)
async def test_rules_see_decoded_arguments_with_defaults(rule, arguments, called):
    """This holds for arguments that were not sent, and for each way to write a path."""
    dispatcher = Dispatcher(catalog_of(), permissions=Permissions(rules=[rule]))
    assert (await dispatcher.call("wipe", arguments)).kind == called


# What can be given.


@pytest.mark.parametrize(
    "rules", [["allow"], ["permit read"], ["read"], [""], [None], [3], [("deny", "read")]], ids=repr
)
def test_an_invalid_rule_is_refused_by_permissions(rules):
    with pytest.raises(RuleError):
        Permissions(rules=rules)


def test_rules_are_a_list():
    """A single text would be split into its letters."""
    with pytest.raises(TypeError, match=r"write \['deny wipe'\]"):
        Permissions(rules="deny wipe")


def test_the_rules_of_permissions_are_listed_in_order():
    """They are objects, in whatever form they were given."""
    permissions = Permissions(rules=["deny a", Rule("allow", "b")])
    assert permissions.rules == (Rule("deny", "a"), Rule("allow", "b"))


@pytest.mark.parametrize("mode", ["yolo", None, ""])
def test_an_unknown_mode_is_refused(mode):
    with pytest.raises(ValueError, match="no mode"):
        Permissions(mode)


@pytest.mark.parametrize(("mode", "kind"), [("plan", "denied"), ("default", "waiting"), ("auto", "ok")])
@pytest.mark.parametrize(
    ("sandbox", "origin", "is_contained"),
    [
        ({"contained": True}, "python", True),
        ({"contained": True}, "mcp:far", False),
        ({"contained": False}, "python", False),
        ({"contained": "yes"}, "python", False),
        ("contained", "python", False),
    ],
)
async def test_a_destructive_tool_in_a_sandbox_runs_unasked_in_auto_mode(mode, kind, sandbox, origin, is_contained):
    """A sandboxed tool cannot reach beyond its workspace; what a foreign tool states about itself does not count."""

    async def run() -> str:
        """Run something."""
        return "done"

    tool = replace(Tool.described(run, destructive=True, metadata={"sandbox": sandbox}), origin=origin)
    result = await Dispatcher(Catalog(tool), permissions=Permissions(mode)).call("run", {})
    assert result.kind == ("waiting" if mode == "auto" and not is_contained else kind)


@pytest.mark.parametrize(
    ("rule", "near"),
    [("deny wriet", "write"), ("deny Write", "write"), ("ask wrte(path=x)", "write"), ("deny zap", None)],
)
def test_a_rule_for_a_misspelt_tool_is_reported(rule, near, recwarn):
    """Otherwise the rule would silently never apply."""

    def write(path: Annotated[Path, Writes]) -> None:
        """Write."""

    mistakes = Permissions(rules=[rule]).mistakes([Tool.described(write)])
    assert mistakes == (
        []
        if near is None
        else [f"rule `{rule}`: there is no tool `{rule.split()[1].partition('(')[0]}`; did you mean `{near}`?"]
    )


async def test_a_rule_for_an_unreadable_command_has_that_reason():
    """Otherwise a person would look for the words of the rule in the command."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    async def bash(command: Annotated[str, Command]) -> None:
        """Run a command."""

    verdict = await Dispatcher(catalog, permissions=Permissions(rules=["deny bash(git push:*)"])).explain(
        "bash", {"command": "echo 'open"}
    )
    assert "a rule says deny: bash(git push:*), because the command cannot be read" in str(verdict)


def test_the_message_names_the_rule_that_would_allow_an_imported_tool():
    """The rule has the name that the tool has at its origin."""
    tool = Tool.from_schema(
        "get_item", "Get an item.", {"type": "object"}, lambda arguments: "tea", origin="openapi:Shop", read_only=True,
        open_world=True,
    )  # fmt: skip
    catalog = Catalog(tool.renamed("shop_get_item"))
    rule = "allow openapi:Shop/get_item"

    waiting = Dispatcher(catalog, permissions=Permissions("auto", ["allow shop_get_item"])).call_sync("shop_get_item")
    assert f"no allow rule names the place, as `{rule}` does" in waiting.request.reason
    assert Dispatcher(catalog, permissions=Permissions("auto", [rule])).call_sync("shop_get_item").text == "tea"
