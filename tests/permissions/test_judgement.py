"""The verdict on a call: judges, preflight, checks, hooks, and what a running tool may still touch."""

import pytest

from tests.permissions.judgement_kit import Hostile, Saying, build_world, fails, fails_async, later, raising
from toolkit.catalog import Catalog
from toolkit.catalogs.snapshot import Table
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError
from toolkit.hooks import Ask, Deny, Modify, Proceed, Replace
from toolkit.permissions import Judge, Permissions
from toolkit.permissions.judgement import CallJudges
from toolkit.results import ToolCall
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.verdicts import Finding, Verdict

pytestmark = pytest.mark.anyio


async def raising_later(request):
    raise RuntimeError("no idea")


class Like:
    """Equal to everything."""

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("allow")


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
async def test_explain_gives_the_same_verdict_as_a_call(answer, kind):
    """This holds even if the answer of the judge makes no sense."""
    verdict = await Dispatcher(build_world().catalog, permissions=Saying(answer)).explain("note", {})
    assert {"allow": "ok", "ask": "waiting", "deny": "denied"}[verdict.word] == kind
    assert verdict.word in [finding.word for finding in verdict.findings]


async def test_a_judge_receives_the_complete_request():
    """It has the tool, its names, decoded arguments with defaults, the accesses, the session and the principal."""
    world, judge, session = build_world(read_only=True, aliases=["jot"]), Saying("allow"), Session()
    dispatcher = Dispatcher(world.catalog, permissions=judge)
    await dispatcher.call("jot", '{"paths": ["a"]}', session=session, principal="ada", id="c1")
    (request,) = judge.requests
    assert request.tool is world.catalog["note"]
    assert request.names == {"note", "jot"}
    assert dict(request.arguments) == request.call.arguments == {"text": "x", "paths": ["a"]}
    assert (request.session, request.principal, request.accesses, request.findings) == (session, "ada", (), ())
    assert (request.call.name, request.call.id, request.call.tool) == ("jot", "c1", request.tool)


async def test_a_judge_cannot_change_the_arguments_of_a_call():
    """The tool and the next judge see the unchanged arguments."""

    def change(request):
        request.call.arguments["text"] = "other"
        request.call.session = None
        return "allow"

    world, second = build_world(read_only=True), Saying("allow")
    assert (await world.call(permissions=[Saying(change), second])).kind == "ok"
    assert (world.ran, second.requests[0].arguments["text"]) == (["x"], "x")


async def test_a_judge_that_changes_the_request_denies_the_call():
    """The request is read-only, so the judge raises an error."""
    world = build_world(read_only=True)
    result = await world.call(permissions=Saying(lambda request: request.arguments.update(text="other") or "allow"))
    assert (result.kind, world.ran) == ("denied", [])


@pytest.mark.parametrize("judge", [Permissions, 5, "allow", object(), lambda call: True, [5]], ids=repr)
def test_an_object_that_cannot_judge_is_refused_by_the_dispatcher(judge):
    with pytest.raises(
        TypeError, match="cannot give permission: it has to be an object with a method `judge`|write Permissions"
    ):
        Dispatcher(Catalog(), permissions=judge)


@pytest.mark.parametrize(
    "name", ["weighs_findings", "gate", "could_allow", "visibility", "opens_port", "mistakes", "warnings"]
)
def test_a_judge_with_more_than_judge_has_to_be_derived(name):
    """Otherwise the member would be ignored. The error has the remedy."""
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


async def test_a_judge_that_weighs_findings_decides_alone():
    class Lenient(Saying, Judge):
        weighs_findings = True

    world = build_world(approval="always")
    assert (await world.call(permissions=Lenient("allow"))).kind == "ok"


async def test_a_call_runs_without_a_judgement_if_the_gate_returns_true():
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
async def test_the_strictest_of_several_judges_decides(first, second, kind):
    """All of them are asked."""
    world, judges = build_world(), [Saying(first), Saying(second)]
    assert (await world.call(permissions=judges)).kind == kind
    assert [len(judge.requests) for judge in judges] == [1, 1]


@pytest.mark.parametrize("mode", ["plan", "default", "auto", "deny_unlisted", "bypass"])
@pytest.mark.parametrize("word", ["allow", "ask", "deny"])
async def test_a_judge_beside_permissions_never_loosens_them(mode, word):
    """Permissions never loosen the verdict of the judge, either."""
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
async def test_tools_run_without_permissions(facts, permissions):
    assert (await build_world(**facts).call(permissions=permissions)).kind == "ok"


async def says_yes(arguments):
    return True


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
async def test_the_author_decides_when_to_ask(approval, reason, permissions):
    """
    The fact is a word, or a function of the decoded arguments. A function that raises asks. This holds with and
    without permissions.
    """
    world = build_world(approval=approval)
    result = await world.call(permissions=permissions)
    assert (result.request.reason if result.request else None) == reason
    assert world.ran == ([] if reason else ["x"])


@pytest.mark.parametrize("permissions", [None, Permissions("auto"), Saying("allow")], ids=["none", "auto", "a judge"])
@pytest.mark.parametrize(("reason", "text"), [("is it?", "is it?"), ("", "a hook asked for it")])
async def test_a_hook_that_asks_makes_the_call_wait(reason, text, permissions):
    """The hook may give no reason, and there may be no permissions."""

    class Asking:
        def before(self, call):
            return Ask(reason)

    world = build_world(read_only=True)
    result = await world.call(permissions=permissions, hooks=[Asking()])
    assert (result.kind, result.request.reason, world.ran) == ("waiting", text, [])


@pytest.mark.parametrize(
    ("mode", "kind"), [("plan", "waiting"), ("auto", "waiting"), ("deny_unlisted", "denied"), ("bypass", "ok")]
)
async def test_an_ask_of_a_hook_is_subject_to_the_mode(mode, kind):
    class Asking:
        def before(self, call):
            return Ask("sure?")

    assert (await build_world(read_only=True).call(permissions=Permissions(mode), hooks=[Asking()])).kind == kind


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


async def test_repaired_arguments_are_judged():
    """A repair does not get around a rule."""
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


def test_there_is_no_gate_if_every_call_needs_the_judgement():
    tool = build_world().catalog["note"]
    assert CallJudges(None, Saying("allow")).gate(tool, frozenset({"note"})) is None
    assert CallJudges(None, [Permissions(), Permissions()]).gate(tool, frozenset({"note"})) is None
    assert CallJudges(None, None).gate(build_world(approval="always").catalog["note"], frozenset()) is None


async def test_a_call_without_arguments_that_fit_is_not_explained():
    """It would be refused before it is judged."""
    with pytest.raises(ToolError, match="text"):
        await Dispatcher(build_world().catalog).explain(ToolCall("note", {"text": 5}))
