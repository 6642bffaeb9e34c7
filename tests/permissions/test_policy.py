"""Modes, rules and grants: every mode, for every kind of tool, under every kind of rule."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest

from toolkit.access import Access, Command, Reads, Writes
from toolkit.approvals.identity import identity_of
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Grant
from toolkit.dispatcher import Dispatcher
from toolkit.errors import UnknownTool
from toolkit.hooks import Ask, Proceed
from toolkit.permissions import MODES, Permissions, Rule, RuleError
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.verdicts import Finding

pytestmark = pytest.mark.anyio


class Query(Access):
    """A kind of the application's own."""

    kind = "query"


class Watch:
    """Asks about queries, and refuses those of secrets."""

    name = "query"
    kinds = ("query",)

    def judge(self, access):
        word = "deny" if "secret" in access.target else "ask"
        return Finding(word, self.name, f"{access.target} is looked at", "check")


# What each kind of tool states, and what it is called with.
KINDS = {
    "reads": {"read_only": True},
    "writes": {},
    "destroys": {"destructive": True},
    "fetches": {"read_only": True, "open_world": True},
    "sends": {"open_world": True},
    "confirms": {"approval": "always"},
    "wonders": {"approval": lambda arguments: "src" in str(arguments["path"])},
    "looks": {"read_only": True},  # with a marked parameter, as the next one
    "saves": {},
    "queries": {"read_only": True, "preflight": lambda arguments: [Query("public")]},
    "pries": {"read_only": True, "preflight": lambda arguments: [Query("secrets")]},
}
MARKED = {"looks": Annotated[Path, Reads], "saves": Annotated[Path, Writes]}
ARGUMENTS = {"path": "src/a.txt"}

RULES = {
    "none": [],
    "allow": ["allow {}"],
    "ask": ["ask {}"],
    "deny": ["deny {}"],
    "allow+ask": ["allow {}", "ask {}"],
    "allow+deny": ["allow {}", "deny {}"],
    "allow this": ["allow {}(path=src/**)"],
    "allow that": ["allow {}(path=docs/**)"],
    "ask this": ["allow {}", "ask {}(path=src/*)"],
    "deny this": ["allow {}", "deny {}(path=src/*)"],
    "deny that": ["deny {}(path=docs/**)"],
}

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
    """A case for each row and grant: kind, rules, whether a person granted the tool, and what is to come of it."""
    for line in filter(None, EXPECTED.splitlines()):
        kind, rules, words = line[:11].strip(), line[11:24].strip(), line[24:].split()
        yield pytest.param(kind, rules, False, words[:5], id=f"{kind}, {rules}")
        yield pytest.param(kind, rules, True, words[5:], id=f"{kind}, {rules}, granted")


CASES = list(read_table())
every_case = pytest.mark.parametrize(("kind", "rules", "granted", "expected"), CASES)
LETTERS = {"allow": "R", "ask": "A", "deny": "D", "ok": "R", "waiting": "A", "denied": "D", "safety": "D"}


class Recorder:
    """A judge that has nothing against anything, and keeps what it was asked."""

    def __init__(self):
        self.requests = []

    def judge(self, request):
        self.requests.append(request)
        return "allow"


class World:
    """One tool of a kind, what it did, and a dispatcher with some rules."""

    def __init__(self, kind, rules, granted=False, folder="."):
        self.ran, self.catalog, self.session = [], Catalog(), Session()

        async def function(path):
            self.ran.append(path)
            return "done"

        function.__annotations__ = {"path": MARKED.get(kind, str), "return": str}
        self.tool = Tool.described(function, name=kind, description="Do it.", **KINDS[kind])
        self.catalog.add(self.tool)
        self.permissions = Permissions(rules=[rule.format(kind) for rule in RULES[rules]])
        self.recorder = Recorder()
        checks = SafetyChecks([folder], further=[Watch()])
        self.dispatcher = Dispatcher(self.catalog, permissions=self.permissions, safety=checks)
        self.joined = Dispatcher(self.catalog, permissions=[self.permissions, self.recorder], safety=checks)
        if granted:
            self.permissions.grant(self.session, Grant(tool=identity_of(self.tool), scope="tool"))

    async def called(self, mode):
        """What came of a call, by its result; and whether the tool ran must agree with it."""
        self.permissions.set_mode(mode)
        before = len(self.ran)
        result = await self.dispatcher.call(self.tool.name, ARGUMENTS, session=self.session)
        assert (len(self.ran) > before) == (result.kind == "ok")
        return LETTERS[result.kind]

    async def explained(self, mode):
        """Return what the dispatcher says would come of it."""
        self.permissions.set_mode(mode)
        verdict = await self.dispatcher.explain(self.tool.name, ARGUMENTS, session=self.session)
        return LETTERS[verdict.word]

    async def judged(self, mode):
        """What `Permissions` alone say of the same request."""
        self.permissions.set_mode(mode)
        await self.joined.explain(self.tool.name, ARGUMENTS, session=self.session)
        return LETTERS[self.permissions.judge(self.recorder.requests[-1]).word]


def test_the_table_is_complete():
    """Every kind of tool under every kind of rule, with and without a grant."""
    cases = {tuple(case.values[:3]) for case in CASES}
    assert cases == {(kind, rules, granted) for kind in KINDS for rules in RULES for granted in (False, True)}
    assert len(CASES) == len(cases)


@every_case
async def test_what_is_called_ends_as_the_table_says(kind, rules, granted, expected):
    """In every mode: it runs, waits for a person, or is denied, and then the tool is never reached."""
    world = World(kind, rules, granted)
    assert [await world.called(mode) for mode in MODES] == expected


@pytest.mark.one_case_in(5)
@every_case
async def test_what_is_explained_is_what_happens(kind, rules, granted, expected):
    """The dispatcher and the permissions say the same, and nothing runs."""
    world = World(kind, rules, granted)
    assert [await world.explained(mode) for mode in MODES] == expected
    assert world.ran == []


@pytest.mark.one_case_in(5)
@every_case
async def test_permissions_alone_judge_as_the_table_says(kind, rules, granted, expected):
    """Given what checks and authors found."""
    world = World(kind, rules, granted)
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
async def test_a_verdict_says_who_decided_and_why(kind, rules, mode, by, reason):
    """A person would look for it by that name."""
    world = World(kind, rules)
    world.permissions.set_mode(mode)
    verdict = await world.dispatcher.explain(kind, ARGUMENTS)
    assert (verdict.by, verdict.reason) == (by, reason)


async def test_everything_that_asks_is_told():
    """A person who agrees has to know all that they agree to."""
    world = World("sends", "ask")
    verdict = await world.dispatcher.explain("sends", ARGUMENTS)
    asks = [finding.by for finding in verdict.findings if finding.word == "ask"]
    assert asks == ["rule `ask sends`", "fact `open_world`", "mode `default`"]
    assert "open_world" in str(verdict)


async def test_a_grant_is_named_as_what_let_it_run():
    """And what asked is still told."""
    world = World("writes", "ask", granted=True)
    verdict = await world.dispatcher.explain("writes", ARGUMENTS, session=world.session)
    assert (verdict.word, verdict.by) == ("allow", "grant `tool`")
    assert "rule `ask writes`" in [finding.by for finding in verdict.findings]


async def test_a_rule_tells_where_it_was_written():
    """A person can then find the rule."""
    world = World("writes", "none")
    permissions = Permissions(rules=[Rule("deny", "writes", "rules.toml, rule 3")])
    verdict = await Dispatcher(world.catalog, permissions=permissions).explain("writes", ARGUMENTS)
    assert verdict.by == "rule `deny writes` (rules.toml, rule 3)"


async def test_explaining_an_unknown_tool_says_so():
    """As a call would."""
    with pytest.raises(UnknownTool):
        await World("reads", "none").dispatcher.explain("nothing")


# Names: deny and ask follow a tool everywhere.


def catalog_of(**facts):
    """A catalog with a read-only tool `wipe`, which would run in every mode."""
    catalog = Catalog()

    @catalog.tool(read_only=True, **facts)
    async def wipe(path: str = "x") -> str:
        """Wipe it."""
        return "wiped"

    return catalog


def aliased_twice():
    """A view of a catalog that gave its tool another name."""
    catalog = catalog_of()
    catalog.alias("delete", "wipe")
    return catalog.prefixed("fs_").prefixed("home_")


NAMED = {
    "its name": (catalog_of, "wipe", "wipe"),
    "an alias it has": (lambda: catalog_of(aliases=["delete"]), "delete", "wipe"),
    "an alias that is called": (lambda: catalog_of(aliases=["delete"]), "wipe", "delete"),
    "an alias of the catalog": (lambda: catalog_of().alias("delete", "wipe"), "delete", "wipe"),
    "its name before a prefix": (lambda: catalog_of().prefixed("fs_"), "wipe", "fs_wipe"),
    "its name before two": (lambda: catalog_of().prefixed("fs_").prefixed("home_"), "wipe", "home_fs_wipe"),
    "its name between two": (lambda: catalog_of().prefixed("fs_").prefixed("home_"), "fs_wipe", "home_fs_wipe"),
    "an alias before a prefix": (lambda: catalog_of(aliases=["delete"]).prefixed("fs_"), "delete", "fs_wipe"),
    "an alias of the catalog before two": (aliased_twice, "delete", "home_fs_wipe"),
    "an alias of the catalog between two": (aliased_twice, "fs_delete", "home_fs_wipe"),
    "an alias after a prefix": (aliased_twice, "home_fs_delete", "home_fs_wipe"),
    "its name before it was renamed": (lambda: Catalog(catalog_of()["wipe"].renamed("tidy")), "wipe", "tidy"),
    "its name two names ago": (
        lambda: Catalog(catalog_of()["wipe"].renamed("tidy").renamed("clean")),
        "tidy",
        "clean",
    ),
    "an alias before it was renamed": (
        lambda: Catalog(catalog_of(aliases=["delete"])["wipe"].renamed("tidy")),
        "delete",
        "tidy",
    ),
    "its name in a merged view": (lambda: Catalog().merged(catalog_of().prefixed("fs_")), "wipe", "fs_wipe"),
    "its name in a sorted view": (lambda: catalog_of().prefixed("fs_").sorted(), "wipe", "fs_wipe"),
    "a wildcard for what it was": (lambda: catalog_of().prefixed("fs_"), "wi?e", "fs_wipe"),
    "a wildcard": (catalog_of, "w*", "wipe"),
    "everything": (catalog_of, "*", "wipe"),
    "its group": (lambda: catalog_of(group="files"), "group:files", "wipe"),
    "its group, after a prefix": (lambda: catalog_of(group="files").prefixed("fs_"), "group:f*", "fs_wipe"),
    "its origin": (catalog_of, "python/*", "wipe"),
}


@pytest.mark.parametrize(("word", "kind"), [("deny", "denied"), ("ask", "waiting")])
@pytest.mark.parametrize(("make", "rule", "called"), NAMED.values(), ids=NAMED)
async def test_what_forbids_follows_every_name(make, rule, called, word, kind):
    """That a tool has or had, under whichever it is called."""
    dispatcher = Dispatcher(make(), permissions=Permissions(rules=[f"{word} {rule}"]))
    assert (await dispatcher.call(called, {})).kind == kind


@pytest.mark.parametrize("rule", ["wipe2", "ipe", "fs_wipe", "group:file", "group:wipe", "mcp:x/wipe", "W*"])
@pytest.mark.filterwarnings("ignore:rule .* there is no tool:toolkit.ToolkitWarning")
async def test_what_forbids_another_does_not_forbid_this(rule):
    """Names are compared whole, letter by letter."""
    dispatcher = Dispatcher(catalog_of(group="files"), permissions=Permissions(rules=[f"deny {rule}"]))
    assert (await dispatcher.call("wipe", {})).kind == "ok"


async def test_an_alias_given_later_is_forbidden_at_once():
    """The next call sees it, under either name."""
    catalog = catalog_of()
    dispatcher = Dispatcher(catalog, permissions=Permissions(rules=["deny delete"]))
    assert (await dispatcher.call("wipe", {})).kind == "ok"
    catalog.alias("delete", "wipe")
    assert [(await dispatcher.call(name, {})).kind for name in ("wipe", "delete")] == ["denied", "denied"]


# Names: an allow rule follows no other name.


def from_origin(origin):
    """A catalog with a tool from another origin."""
    catalog = Catalog()

    @catalog.tool
    async def post(text: str = "") -> str:
        """Post it."""
        return "posted"

    return Catalog(replace(catalog["post"], origin=origin))


@pytest.mark.parametrize(
    ("rule", "origin", "called"),
    [
        ("post", "python", "ok"),
        ("post", "mcp:github", "waiting"),
        ("post", "dist:x", "waiting"),
        ("p*", "dist:x", "waiting"),
        ("*", "mcp:github", "waiting"),
        ("mcp:github/post", "mcp:github", "ok"),
        ("mcp:github/*", "mcp:github", "ok"),
        ("mcp:github/*", "mcp:github2", "waiting"),
        ("mcp:github/*", "mcp:gitlab", "waiting"),
        ("mcp:github/*", "python", "waiting"),
        ("mcp:github/other", "mcp:github", "waiting"),
        ("dist:x/post", "dist:x", "ok"),
        ("dist:x/post", "dist:xy", "waiting"),
        ("python/post", "python", "ok"),
    ],
)
async def test_an_allow_holds_for_the_origin_it_was_written_for(rule, origin, called):
    """A tool of the same name from another origin is another tool."""
    dispatcher = Dispatcher(from_origin(origin), permissions=Permissions(rules=[f"allow {rule}"]))
    assert (await dispatcher.call("post", {})).kind == called


@pytest.mark.parametrize("rule", ["post", "*", "mcp:*/*", "mcp:github/*", "mcp:git*/p???"])
async def test_a_deny_holds_for_every_origin_it_could_mean(rule):
    """Without an origin it means all."""
    permissions = Permissions("bypass", [f"deny {rule}"])
    assert (await Dispatcher(from_origin("mcp:github"), permissions=permissions).call("post", {})).kind == "denied"


@pytest.mark.parametrize(
    ("catalog", "called", "rule"),
    [
        (from_origin("python").alias("send", "post"), "send", "send"),
        (from_origin("python").alias("send", "post"), "post", "send"),
        (from_origin("python").prefixed("x_"), "x_post", "post"),
        (Catalog(from_origin("python")["post"].renamed("send")), "send", "post"),
    ],
    ids=["an alias", "under its name", "before a prefix", "before it was renamed"],
)
async def test_an_allow_means_the_present_name(catalog, called, rule):
    """A tool cannot keep a former name that a user trusted."""
    dispatcher = Dispatcher(catalog, permissions=Permissions(rules=[f"allow {rule}"]))
    assert (await dispatcher.call(called, {})).kind == "waiting"


async def test_a_tool_without_arguments_is_named_by_its_name():
    """It reaches outside, but nothing says where to; so its name does."""
    catalog = Catalog()

    @catalog.tool(read_only=True, open_world=True)
    async def weather() -> str:
        """Tell the weather."""
        return "rain"

    allowed, bare = Permissions(rules=["allow weather"]), Permissions()
    assert (await Dispatcher(catalog, permissions=allowed).call("weather", {})).kind == "ok"
    assert (await Dispatcher(catalog, permissions=bare).call("weather", {})).kind == "waiting"


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


# Modes: of all, and of one conversation.


async def test_the_mode_can_be_changed_while_it_runs():
    """The next call is judged by it."""
    world = World("writes", "none")
    assert [await world.called(mode) for mode in ("auto", "plan", "default", "auto")] == ["R", "D", "A", "R"]
    assert world.permissions.mode == "auto"


async def test_a_session_may_have_a_mode_of_its_own():
    """Others keep the common one, and it can be given back."""
    world, other = World("writes", "none"), Session()
    permissions = world.permissions
    permissions.set_mode("auto", session=world.session)

    async def kinds():
        return [
            (await world.dispatcher.call("writes", ARGUMENTS, session=session)).kind
            for session in (world.session, other, None)
        ]

    assert await kinds() == ["ok", "waiting", "waiting"]
    assert [permissions.mode_of(owner) for owner in (world.session, other, None)] == ["auto", "default", "default"]
    permissions.set_mode("plan")
    assert await kinds() == ["ok", "denied", "denied"]
    permissions.set_mode(None, session=world.session)
    assert await kinds() == ["denied", "denied", "denied"]
    assert world.session.mode is None


@pytest.mark.parametrize("session", [None, Session()], ids=["all", "a session"])
def test_there_are_no_other_modes(session):
    """And what was set before stays."""
    permissions = Permissions("plan")
    with pytest.raises(ValueError, match="no mode 'yolo'"):
        permissions.set_mode("yolo", session=session)
    assert permissions.mode_of(session) == "plan"


def test_all_sessions_together_have_a_mode():
    """None is only for one of them."""
    with pytest.raises(ValueError, match="no mode None"):
        Permissions().set_mode(None)


async def test_a_session_with_an_unknown_mode_runs_nothing():
    """However it came there."""
    world = World("reads", "none")
    world.session._mode = "yolo"
    result = await world.dispatcher.call("reads", ARGUMENTS, session=world.session)
    assert (result.kind, world.ran) == ("denied", [])
    assert "no mode 'yolo'" in result.text


@pytest.mark.parametrize("name", ["mode", "grants"])
def test_a_session_has_no_way_to_set_its_own(name):
    """Not by hand, and not when it is made."""
    with pytest.raises(AttributeError):
        setattr(Session(), name, "bypass")
    with pytest.raises(TypeError):
        Session(**{name: "bypass"})
    with pytest.raises(TypeError):
        Session(**{f"_{name}": "bypass"})


async def test_a_tool_cannot_change_the_mode():
    """Neither by its context, nor by what it keeps in the session."""
    catalog, runs = Catalog(), []

    @catalog.tool(read_only=True)
    async def sly(context: Context) -> str:
        """Try."""
        for target, name in ((context, "session"), (context.session, "mode"), (context.session, "grants")):
            with pytest.raises(AttributeError):
                setattr(target, name, "bypass")
        context.session.state.update(mode="bypass", _mode="bypass", grants=["*"])
        context.call.session = other
        runs.append(True)
        return "tried"

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    permissions, session, other = Permissions(), Session(), Session()
    permissions.set_mode("bypass", session=other)
    dispatcher = Dispatcher(catalog, permissions=permissions)
    assert (await dispatcher.call("sly", {}, session=session)).kind == "ok"
    assert (await dispatcher.call("write", {}, session=session)).kind == "waiting"
    assert (session.mode, permissions.mode, runs) == (None, "default", [True])


@pytest.mark.parametrize("last", [Proceed(), Ask("really?")], ids=["proceed", "ask"])
async def test_a_hook_cannot_change_the_mode(last):
    """The hook sees a copy of the call, so a session that it puts there has no effect."""
    world, free = World("destroys", "none"), Session(principal="root")
    world.permissions.set_mode("bypass", session=free)

    class Sly:
        def before(self, call):
            call.session, call.principal, call.tool = free, "root", None
            if call.session is not None:
                call.session.state["mode"] = "bypass"
            return last

    class Curious:
        def before(self, call):
            return last

    dispatcher = Dispatcher(world.catalog, permissions=world.permissions, hooks=[Sly(), Curious()])
    results = [await dispatcher.call("destroys", ARGUMENTS, session=world.session) for _ in range(2)]
    assert [(result.kind, result.request.session, result.request.principal) for result in results] == [
        ("waiting", world.session.id, None)
    ] * 2
    assert world.ran == []


@pytest.mark.parametrize("rules", ["none", "allow"])
async def test_a_hook_in_passing_cannot_change_the_mode(rules):
    """Where a call that would run needs a person because a hook asks, its own session counts, not the hook's."""
    world, free = World("reads", rules), Session()
    world.permissions.set_mode("bypass", session=free)

    class Sly:
        def before(self, call):
            call.session = free
            return Proceed()

    class Careful:
        def before(self, call):
            return Ask("really?")

    dispatcher = Dispatcher(world.catalog, permissions=world.permissions, hooks=[Sly(), Careful()])
    kinds = [(await dispatcher.call("reads", ARGUMENTS, session=world.session)).kind for _ in range(3)]
    assert (kinds, world.ran) == (["waiting"] * 3, [])


async def test_a_model_cannot_change_the_mode():
    """Anything that the model sends is data."""
    world = World("writes", "none")
    arguments = {"path": "x", "mode": "bypass", "session": {"_mode": "bypass"}, "_mode": "bypass"}
    result = await world.dispatcher.call("writes", arguments, session=world.session)
    assert result.kind in ("bad_args", "waiting")
    assert world.ran == []


# What can be given.


@pytest.mark.parametrize(
    "rules", [["allow"], ["permit read"], ["read"], [""], [None], [3], [("deny", "read")]], ids=repr
)
def test_a_rule_that_is_none_is_refused_when_it_is_given(rules):
    """Not at the first call."""
    with pytest.raises(RuleError):
        Permissions(rules=rules)


def test_rules_are_a_list():
    """One text would be taken for its letters."""
    with pytest.raises(TypeError, match=r"write \['deny wipe'\]"):
        Permissions(rules="deny wipe")


def test_rules_can_be_looked_at():
    """As objects, in order, whichever way they were given."""
    permissions = Permissions(rules=["deny a", Rule("allow", "b")])
    assert permissions.rules == (Rule("deny", "a"), Rule("allow", "b"))


@pytest.mark.parametrize("mode", ["yolo", None, ""])
def test_permissions_have_a_mode(mode):
    """One of the five."""
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
def test_a_rule_for_a_tool_that_was_misspelt_is_told(rule, near, recwarn):
    """It would silently never hold."""

    def write(path: Annotated[Path, Writes]) -> None:
        """Write."""

    mistakes = Permissions(rules=[rule]).mistakes([Tool.described(write)])
    assert mistakes == (
        []
        if near is None
        else [f"rule `{rule}`: there is no tool `{rule.split()[1].partition('(')[0]}`; did you mean `{near}`?"]
    )


async def test_a_rule_says_that_it_holds_because_the_command_is_unreadable():
    """Otherwise a person would look for the words of the rule in it."""
    catalog = Catalog()

    @catalog.tool(destructive=True)
    async def bash(command: Annotated[str, Command]) -> None:
        """Run a command."""

    verdict = await Dispatcher(catalog, permissions=Permissions(rules=["deny bash(git push:*)"])).explain(
        "bash", {"command": "echo 'open"}
    )
    assert "a rule says deny: bash(git push:*), because the command cannot be read" in str(verdict)


def test_the_rule_that_permits_an_imported_tool_is_named_where_it_is_missing():
    """And it does permit the tool, by the name that the tool has there."""
    tool = Tool.from_schema(
        "get_item", "Get an item.", {"type": "object"}, lambda arguments: "tea", origin="openapi:Shop", read_only=True,
        open_world=True,
    )  # fmt: skip
    catalog = Catalog(tool.renamed("shop_get_item"))
    rule = "allow openapi:Shop/get_item"

    waiting = Dispatcher(catalog, permissions=Permissions("auto", ["allow shop_get_item"])).call_sync("shop_get_item")
    assert f"no allow rule names the place, as `{rule}` does" in waiting.request.reason
    assert Dispatcher(catalog, permissions=Permissions("auto", [rule])).call_sync("shop_get_item").text == "tea"
