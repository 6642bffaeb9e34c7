"""The verdict on a call: judges, preflight, checks, hooks, and what a running tool may still touch."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from toolkit.access import Access, Command, Reads, Url, Writes
from toolkit.catalog import Catalog
from toolkit.catalogs.snapshot import Table
from toolkit.context import Context
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Safety, ToolError
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.permissions import Judge, Permissions
from toolkit.permissions.judgement import CallJudges
from toolkit.results import ToolCall
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.verdicts import Finding, Verdict

pytestmark = pytest.mark.anyio


@dataclass
class World:
    """A catalog, and what its tools did."""

    catalog: Catalog
    ran: list

    async def call(self, name="note", arguments=None, *, session=None, **options):
        return await Dispatcher(self.catalog, **options).call(name, arguments or {}, session=session)


def build_world(**facts):
    """A tool `note` that keeps the text it is given."""
    world = World(Catalog(), [])

    @world.catalog.tool(**facts)
    async def note(text: str = "x", paths: list[str] | None = None) -> str:
        """Note it."""
        world.ran.append(text)
        return "noted"

    return world


class Saying:
    """A judge that says one thing, or does what a function says."""

    def __init__(self, answer):
        self.answer, self.requests = answer, []

    def judge(self, request):
        self.requests.append(request)
        return self.answer(request) if callable(self.answer) else self.answer


async def later(answer):
    await asyncio.sleep(0)
    return answer


def raising(request):
    raise RuntimeError("no idea")


async def raising_later(request):
    raise RuntimeError("no idea")


class Like:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("allow")


class Hostile:
    """An object that raises when it is compared."""

    def __eq__(self, other):
        raise RuntimeError("do not compare")

    __hash__ = None


# Anything with a method `judge`.

SAYINGS = {
    "allow": ("allow", "ok"),
    "ask": ("ask", "waiting"),
    "deny": ("deny", "denied"),
    "a verdict that allows": (Verdict("allow", "me", "why"), "ok"),
    "a verdict that asks": (Verdict("ask", "me", "why"), "waiting"),
    "a verdict that denies": (Verdict("deny", "me", "why"), "denied"),
    "an ask that tells only what allows": (Verdict("ask", "me", "why", (Finding("allow", "x", "y"),)), "waiting"),
    "an ask that tells only what denies": (Verdict("ask", "me", "why", (Finding("deny", "x", "y"),)), "waiting"),
    "an awaitable allow": (lambda request: later("allow"), "ok"),
    "an awaitable ask": (lambda request: later("ask"), "waiting"),
    "an awaitable verdict": (lambda request: later(Verdict("deny", "me", "why")), "denied"),
    "nothing": (None, "denied"),
    "True": (True, "denied"),
    "another word": ("yes", "denied"),
    "a word in capitals": ("ALLOW", "denied"),
    "bytes": (b"allow", "denied"),
    "a list": (["allow"], "denied"),
    "a verdict with another word": (Verdict("maybe", "me", "why"), "denied"),
    "a verdict with no word": (Verdict(None, "me", "why"), "denied"),
    "a verdict with strange findings": (Verdict("allow", "me", "why", ("allow",)), "denied"),
    "what is equal to everything": (Like(), "denied"),
    "what cannot be compared": (lambda request: Hostile(), "denied"),
    "a verdict of what is equal to everything": (Verdict(Like(), "me", "why"), "denied"),
    "an exception": (raising, "denied"),
    "an awaitable exception": (raising_later, "denied"),
    "a function": (lambda request: later, "denied"),
    "an awaitable awaitable": (lambda request: later(Like()), "denied"),
}


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("facts", [{"read_only": True}, {"destructive": True}], ids=["reads", "destroys"])
@pytest.mark.parametrize(("answer", "kind"), SAYINGS.values(), ids=SAYINGS)
async def test_any_object_can_judge(answer, kind, facts):
    """A judge answers with a word or a verdict, sync or async; any other answer is no permission."""
    world = build_world(**facts)
    result = await world.call(permissions=Saying(answer))
    assert result.kind == kind
    assert world.ran == (["x"] if kind == "ok" else [])


@pytest.mark.parametrize(("answer", "kind"), SAYINGS.values(), ids=SAYINGS)
async def test_what_a_judge_explains_is_what_happens(answer, kind):
    """Also if it makes no sense."""
    verdict = await Dispatcher(build_world().catalog, permissions=Saying(answer)).explain("note", {})
    assert {"allow": "ok", "ask": "waiting", "deny": "denied"}[verdict.word] == kind
    assert verdict.word in [finding.word for finding in verdict.findings]


async def test_a_judge_is_told_everything():
    """The tool, its names, decoded arguments with defaults, what it touches, and for whom."""
    world, judge, session = build_world(read_only=True, aliases=["jot"]), Saying("allow"), Session()
    dispatcher = Dispatcher(world.catalog, permissions=judge)
    await dispatcher.call("jot", '{"paths": ["a"]}', session=session, principal="ada", id="c1")
    (request,) = judge.requests
    assert request.tool is world.catalog["note"]
    assert request.names == {"note", "jot"}
    assert dict(request.arguments) == request.call.arguments == {"text": "x", "paths": ["a"]}
    assert (request.session, request.principal, request.accesses, request.findings) == (session, "ada", (), ())
    assert (request.call.name, request.call.id, request.call.tool) == ("jot", "c1", request.tool)


async def test_a_judge_cannot_change_what_runs():
    """Neither for the tool nor for the next judge."""

    def change(request):
        request.call.arguments["text"] = "other"
        request.call.session = None
        return "allow"

    world, second = build_world(read_only=True), Saying("allow")
    assert (await world.call(permissions=[Saying(change), second])).kind == "ok"
    assert (world.ran, second.requests[0].arguments["text"]) == (["x"], "x")


async def test_a_judge_that_tries_is_refused():
    """What is judged cannot be written to."""
    world = build_world(read_only=True)
    result = await world.call(permissions=Saying(lambda request: request.arguments.update(text="other") or "allow"))
    assert (result.kind, world.ran) == ("denied", [])


@pytest.mark.parametrize("judge", [Permissions, 5, "allow", object(), lambda call: True, [5]], ids=repr)
def test_what_cannot_judge_is_refused_when_it_is_given(judge):
    """Not at the first call."""
    with pytest.raises(
        TypeError, match="cannot give permission: it has to be an object with a method `judge`|write Permissions"
    ):
        Dispatcher(Catalog(), permissions=judge)


@pytest.mark.parametrize(
    "name", ["weighs_findings", "gate", "could_allow", "visibility", "opens_port", "mistakes", "warnings"]
)
def test_a_judge_with_more_than_judge_has_to_be_derived(name):
    """Otherwise the member would be ignored, so the error says what to do."""
    kind = type("Careful", (Saying,), {name: None})
    with pytest.raises(TypeError, match=f"Careful defines `{name}`: derive Careful from `toolkit.permissions.Judge`"):
        Dispatcher(Catalog(), permissions=kind("allow"))


async def test_a_derived_judge_may_define_judge_alone():
    """The defaults are those of an object that only has a method `judge`."""

    class Plain(Saying, Judge):
        pass

    world, judge = build_world(approval="always"), Plain("allow")
    dispatcher = Dispatcher(world.catalog, permissions=judge)
    assert dispatcher.permitted().names() == ["note"]
    assert (await dispatcher.call("note", {})).kind == "waiting"
    assert (await dispatcher.explain("note", {})).warnings == ()
    assert len(judge.requests) == 2


async def test_a_judge_that_weighs_findings_decides_about_them():
    """Its verdict is the only one."""

    class Lenient(Saying, Judge):
        weighs_findings = True

    world = build_world(approval="always")
    assert (await world.call(permissions=Lenient("allow"))).kind == "ok"


async def test_the_gate_of_a_judge_lets_calls_run_unjudged():
    """Until it returns False."""

    class Gated(Saying, Judge):
        def gate(self, tool, names, build_request):
            return lambda session, arguments: session is None

    world, judge = build_world(), Gated("deny")
    assert (await world.call(permissions=judge)).kind == "ok"
    assert judge.requests == []
    assert (await world.call(permissions=judge, session=Session())).kind == "denied"


def test_a_derived_judge_without_judge_cannot_be_made():
    """The mistake shows before the first call."""

    class Empty(Judge):
        pass

    with pytest.raises(TypeError, match="judge"):
        Empty()


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("allow", "allow", "ok"),
        ("allow", "ask", "waiting"),
        ("ask", "allow", "waiting"),
        ("ask", "deny", "denied"),
        ("deny", "ask", "denied"),
        ("deny", "allow", "denied"),
        ("allow", None, "denied"),
    ],
)
async def test_of_several_judges_the_strictest_decides(first, second, kind):
    """And all of them are asked."""
    world, judges = build_world(), [Saying(first), Saying(second)]
    assert (await world.call(permissions=judges)).kind == kind
    assert [len(judge.requests) for judge in judges] == [1, 1]


@pytest.mark.parametrize("mode", ["plan", "default", "auto", "deny_unlisted", "bypass"])
@pytest.mark.parametrize("word", ["allow", "ask", "deny"])
async def test_who_joins_permissions_never_loosens_them(mode, word):
    """And is never loosened by them."""
    alone = await Dispatcher(build_world().catalog, permissions=Permissions(mode)).explain("note", {})
    together = await Dispatcher(build_world().catalog, permissions=[Permissions(mode), Saying(word)]).explain(
        "note", {}
    )
    order = ["allow", "ask", "deny"]
    assert order.index(together.word) == max(order.index(alone.word), order.index(word))


async def test_a_policy_derived_from_permissions_is_always_asked():
    """Only an unchanged `Permissions` has a quick check."""

    class Closed(Permissions):
        def judge(self, request):
            return "deny" if request.arguments["text"] == "x" else super().judge(request)

    world = build_world(read_only=True)
    assert (await world.call(permissions=Closed())).kind == "denied"
    assert (await world.call(arguments={"text": "y"}, permissions=Closed())).kind == "ok"


# Without permissions.


@pytest.mark.parametrize("permissions", [None, (), []], ids=repr)
@pytest.mark.parametrize("facts", [{}, {"read_only": True}, {"destructive": True}, {"open_world": True}], ids=str)
async def test_without_permissions_tools_run(facts, permissions):
    """There are no modes and no rules."""
    assert (await build_world(**facts).call(permissions=permissions)).kind == "ok"


async def says_yes(arguments):
    return True


async def fails_async(arguments):
    raise RuntimeError("no idea")


def fails(arguments):
    raise RuntimeError("no idea")


@pytest.mark.parametrize("permissions", [None, Permissions("auto"), Saying("allow")], ids=["none", "auto", "a judge"])
@pytest.mark.parametrize(
    ("approval", "reason"),
    [
        ("never", None),
        (lambda arguments: False, None),
        (lambda arguments: None, None),
        ("always", "`note` needs approval every time"),
        (lambda arguments: arguments["text"] == "x", "`note` needs approval for these arguments"),
        (lambda arguments: arguments.clear() or 1, "`note` needs approval for these arguments"),
        (lambda arguments: "it is Sunday", "`note` needs approval: it is Sunday"),
        (lambda arguments: "", None),
        (says_yes, "`note` needs approval for these arguments"),
        (fails, "`note` could not tell whether it needs approval (RuntimeError)"),
        (fails_async, "`note` could not tell whether it needs approval (RuntimeError)"),
    ],
    ids=["never", "no", "none", "always", "yes", "changes", "why", "no reason", "async", "fails", "fails async"],
)
async def test_the_author_says_when_to_ask(approval, reason, permissions):
    """By a word, or a function of the decoded arguments; who cannot tell, asks; with or without permissions."""
    world = build_world(approval=approval)
    result = await world.call(permissions=permissions)
    assert (result.request.reason if result.request else None) == reason
    assert world.ran == ([] if reason else ["x"])


@pytest.mark.parametrize("permissions", [None, Permissions("auto"), Saying("allow")], ids=["none", "auto", "a judge"])
@pytest.mark.parametrize(("reason", "text"), [("is it?", "is it?"), ("", "a hook asked for it")])
async def test_a_hook_that_asks_is_heard(reason, text, permissions):
    """Also one that gives no reason; with or without permissions."""

    class Asking:
        def before(self, call):
            return Ask(reason)

    world = build_world(read_only=True)
    result = await world.call(permissions=permissions, hooks=[Asking()])
    assert (result.kind, result.request.reason, world.ran) == ("waiting", text, [])


@pytest.mark.parametrize(
    ("mode", "kind"), [("plan", "waiting"), ("auto", "waiting"), ("deny_unlisted", "denied"), ("bypass", "ok")]
)
async def test_what_a_hook_asks_is_subject_to_the_mode(mode, kind):
    """As every ask is."""

    class Asking:
        def before(self, call):
            return Ask("sure?")

    assert (await build_world(read_only=True).call(permissions=Permissions(mode), hooks=[Asking()])).kind == kind


# Preflight.


class Query(Access):
    """A kind of the application's own."""

    kind = "query"


class Tables:
    """Refuses to touch what is secret, asks about what is odd, fails on what is broken."""

    name = "tables"
    kinds = ("query",)

    def judge(self, access):
        if access.target == "broken":
            raise RuntimeError("no idea")
        words = {"secret": "deny", "odd": "ask"}
        return Finding(words[access.target], "x", f"{access.target} table") if access.target in words else None


def asking(preflight):
    """A world whose tool states what it touches by a function."""
    return build_world(read_only=True, preflight=preflight)


async def async_preflight(arguments):
    return [Reads(arguments["text"])]


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    ("preflight", "text", "kind"),
    [
        (lambda arguments: [Reads(arguments["text"])], "a.txt", "ok"),
        (lambda arguments: [Reads(arguments["text"])], "/etc/passwd", "safety"),
        (lambda arguments: Reads(arguments["text"]), "/etc/passwd", "safety"),
        (lambda arguments: (Reads(path) for path in ("a", arguments["text"])), "/etc/passwd", "safety"),
        (lambda arguments: {Reads("a"), Writes(arguments["text"])}, "/etc/passwd", "safety"),
        (async_preflight, "a.txt", "ok"),
        (async_preflight, "/etc/passwd", "safety"),
        (lambda arguments: None, "x", "ok"),
        (lambda arguments: [], "x", "ok"),
        (fails, "x", "denied"),
        (fails_async, "x", "denied"),
        (lambda arguments: "a.txt", "x", "denied"),
        (lambda arguments: ["a.txt"], "x", "denied"),
        (lambda arguments: [Reads("a"), None], "x", "denied"),
        (lambda arguments: [Reads], "x", "denied"),
        (lambda arguments: 5, "x", "denied"),
        (lambda arguments: True, "x", "denied"),
        (lambda arguments: arguments.clear(), "x", "ok"),
        (lambda arguments: [Query("fine")], "x", "ok"),
        (lambda arguments: [Query("secret")], "x", "safety"),
        (lambda arguments: [Query("odd")], "x", "waiting"),
        (lambda arguments: [Query("broken")], "x", "safety"),
        (lambda arguments: [Command("rm -rf /")], "x", "safety"),
        (lambda arguments: [Url("http://169.254.169.254/")], "x", "safety"),
        (lambda arguments, call: [Reads(call.arguments["text"])], "/etc/passwd", "safety"),
        (lambda arguments, *, call=None: [Reads("a.txt" if call else "/etc/passwd")], "x", "ok"),
    ],
)
@pytest.mark.parametrize("permissions", [None, Permissions("auto")], ids=["none", "auto"])
async def test_what_a_tool_is_about_to_touch_is_judged_before_it_runs(preflight, text, kind, permissions):
    """A preflight may be stated in every supported way; an answer of another type does not run."""
    world = asking(preflight)
    result = await world.call(
        arguments={"text": text}, permissions=permissions, safety=SafetyChecks(further=[Tables()])
    )
    assert result.kind == kind
    assert world.ran == ([text] if kind == "ok" else [])


@pytest.mark.parametrize("permissions", [Permissions("bypass"), Saying("allow")], ids=["bypass", "a judge"])
async def test_no_permission_lifts_a_safety_refusal(permissions):
    """No mode, and no judge."""
    world = asking(lambda arguments: [Query("secret")])
    assert (await world.call(permissions=permissions, safety=SafetyChecks(further=[Tables()]))).kind == "safety"


@pytest.mark.parametrize(
    ("table", "kind"),
    [("public_users", "ok"), ("public_", "ok"), ("private", "waiting"), ("xpublic_users", "waiting")],
)
async def test_rules_can_name_a_kind_of_ones_own(table, kind):
    """What `preflight` says counts as an argument of that name."""
    world = World(Catalog(), [])

    @world.catalog.tool(preflight=lambda arguments: [Query(arguments["sql"].rpartition(" ")[2])])
    async def run(sql: str) -> str:
        """Run a query."""
        return "rows"

    permissions = Permissions(rules=["allow run(query=public_*)"])
    assert (await world.call("run", {"sql": f"select * from {table}"}, permissions=permissions)).kind == kind


@pytest.mark.parametrize(("table", "kind"), [("public_users", "denied"), ("other", "ok")])
async def test_rules_can_forbid_a_kind_of_ones_own(table, kind):
    """If any of what is touched matches."""
    world = asking(lambda arguments: [Query("fine"), Query(arguments["text"])])
    permissions = Permissions("bypass", ["deny note(query=public_*)"])
    assert (await world.call(arguments={"text": table}, permissions=permissions)).kind == kind


async def test_an_unmarked_path_is_compared_from_the_workspace(tmp_path):
    """A rule about a folder of it holds, however the path is written."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def look(path: str) -> str:
        """Look."""
        return "seen"

    permissions = Permissions(rules=["deny look(path=secrets/**)"])
    dispatcher = Dispatcher(catalog, permissions=permissions, safety=SafetyChecks([tmp_path]))
    paths = ["secrets/a", f"{tmp_path}/secrets/a", f"{tmp_path}/x/../secrets/a", "notes/a"]
    assert [(await dispatcher.call("look", {"path": location})).kind for location in paths] == ["denied"] * 3 + ["ok"]


async def test_a_preflight_that_fails_is_not_explained_away():
    """The explanation does not say that the call would run."""
    verdict = await Dispatcher(asking(fails).catalog).explain("note", {})
    assert verdict.word == "deny"
    assert "could not tell what it is about to touch: RuntimeError: no idea" in verdict.reason


async def test_a_preflight_can_refuse():
    """What it raises is the answer: a `Safety` is one of the checks."""

    def refuses(arguments):
        raise Safety("not on a Sunday")

    world = asking(refuses)
    result = await Dispatcher(world.catalog).call("note", {})
    assert (result.kind, world.ran) == ("safety", [])
    assert "not on a Sunday" in result.text


# While a tool runs.


def touching(is_async, **facts):
    """A tool that asks for each of the accesses it is given, and tells what came of it."""
    world = World(Catalog(), [])

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
async def test_a_running_tool_may_ask_about_what_it_touches_further(access, permissions, kind, is_async):
    """By the same checks, rules and judges; who would have to be asked, refuses."""
    world = touching(is_async, read_only=True)
    result = await call_touch(world, access, permissions=permissions, safety=SafetyChecks(further=[Tables()]))
    assert result.kind == kind
    assert world.ran == ([access] if kind == "ok" else [])


@pytest.mark.parametrize("access", ["notes.txt", None, Reads, Path("a"), [Reads("a")]], ids=repr)
async def test_only_an_access_can_be_asked_about(access):
    """Anything else permits nothing, even where no check would look."""
    world = touching(True, read_only=True)
    checks = SafetyChecks(without=["folder", "protected-file", "dangerous-command", "host"])
    result = await call_touch(world, access, safety=checks, permissions=Permissions("bypass"))
    assert result.kind == "failed"
    assert "check expects an access, such as Writes(path)" in result.text
    assert world.ran == []


@pytest.mark.parametrize("hint", [Annotated[Path, Writes], Annotated[str, Reads], str], ids=str)
@pytest.mark.parametrize("rule", ["allow save(path=src/**)", "allow save(src/**)"])
async def test_a_rule_that_allowed_the_call_does_not_allow_what_it_touches_further(hint, rule):
    """Each access is held against it."""
    world = World(Catalog(), [])

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
async def test_a_rule_about_a_marked_parameter_is_about_what_is_touched_further(table, kind):
    """Also for a kind of one's own; a parameter of another kind says nothing about it."""
    world = World(Catalog(), [])

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
async def test_no_tool_touches_what_the_dispatcher_keeps(tmp_path, target, kind):
    """Reading and writing are refused even in mode `bypass`."""
    judges = CallJudges(SafetyChecks([tmp_path]), Permissions("bypass"), [f"{tmp_path}/kept.db"])
    tool = asking(lambda arguments: [Reads(arguments["text"]), Query(arguments["text"])]).catalog["note"]
    judgement = await judges.judge(tool, frozenset({"note"}), ToolCall("note"), {"text": target})
    assert ("safety" if judgement.verdict.word == "deny" else "ok") == kind
    assert ("check `own-files`" in str(judgement.verdict)) == (kind == "safety")


async def test_a_path_that_cannot_be_followed_is_left_to_the_checks(tmp_path):
    """It is refused by them."""
    judges = CallJudges(SafetyChecks([tmp_path]), None, [f"{tmp_path}/kept.db"])
    tool = asking(lambda arguments: Writes("a\0b")).catalog["note"]
    judgement = await judges.judge(tool, frozenset({"note"}), ToolCall("note"), {"text": "x"})
    assert (judgement.verdict.word, judgement.verdict.by) == ("deny", "check `folder`")


async def test_what_is_refused_says_by_whom():
    """A check is `Safety`, a rule is a `ToolError`, and the tool may choose another way."""
    world, errors = World(Catalog(), []), []

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


# Hooks: what is judged is what runs.


class Hook:
    def __init__(self, answer):
        self.answer = answer

    def before(self, call):
        return self.answer


@pytest.mark.parametrize(
    ("hooks", "sent", "kind", "ran"),
    [
        ([Modify({"text": "bad"})], "good", "denied", []),
        ([Modify({"text": "good"})], "bad", "ok", ["good"]),
        ([Modify({"text": "bad"}), Modify({"text": "good"})], "bad", "ok", ["good"]),
        ([Modify({"text": "good"}), Modify({"text": "bad"})], "good", "denied", []),
        ([Modify({"text": "bad"}), Proceed()], "good", "denied", []),
        ([Modify({"text": "bad"}), Ask("sure?")], "good", "denied", []),
        ([Ask("sure?"), Modify({"text": "bad"})], "good", "denied", []),
        ([Ask("sure?"), Modify({"text": "good"})], "bad", "waiting", []),
        ([Replace("instead")], "bad", "denied", []),
        ([Replace("instead")], "good", "ok", []),
        ([Modify({"text": "bad"}), Replace("instead")], "good", "denied", []),
        ([Ask("sure?"), Replace("instead")], "good", "denied", []),
        ([Deny("no")], "good", "denied", []),
    ],
    ids=repr,
)
async def test_the_verdict_is_on_the_final_arguments(hooks, sent, kind, ran):
    """Hooks may have changed or replaced the arguments before."""
    world = build_world(read_only=True)
    permissions = Permissions(rules=["deny note(text=bad)"])
    result = await world.call(
        arguments={"text": sent}, permissions=permissions, hooks=[Hook(answer) for answer in hooks]
    )
    assert (result.kind, world.ran) == (kind, ran)


async def test_arguments_that_were_mended_are_judged_as_they_run():
    """A repair is no way around a rule."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def pick(number: int) -> str:
        """Pick one."""
        return "picked"

    dispatcher = Dispatcher(catalog, permissions=Permissions(rules=["deny pick(number=13)"]))
    assert [(await dispatcher.call("pick", {"number": sent_number})).kind for sent_number in ("13", 13, "12")] == [
        "denied",
        "denied",
        "ok",
    ]


# Names.


def test_a_tool_has_all_its_names():
    """Present and former, its own and those of the catalog; not those of others."""
    tool = Tool.described(len, name="one", description="One.", schema={"type": "object"}, aliases=["uno"])
    renamed = tool.renamed("two")
    assert Table({"two": renamed}, {"due": "two", "tre": "three"}).names_of(renamed) == {"one", "uno", "two", "due"}


def test_a_gate_that_knows_nothing_is_none():
    """What has to be looked at every time has no quick way."""
    tool = build_world().catalog["note"]
    assert CallJudges(None, Saying("allow")).gate(tool, frozenset({"note"})) is None
    assert CallJudges(None, [Permissions(), Permissions()]).gate(tool, frozenset({"note"})) is None
    assert CallJudges(None, None).gate(build_world(approval="always").catalog["note"], frozenset()) is None


async def test_a_call_without_arguments_that_fit_is_not_explained():
    """It would be refused before it is judged."""
    with pytest.raises(ToolError, match="text"):
        await Dispatcher(build_world().catalog).explain(ToolCall("note", {"text": 5}))
