"""The accesses that a tool states before it runs."""

import pytest

from tests.permissions.judgement_kit import Query, RecordedCatalog, Saying, Tables, asking, fails, fails_async
from toolkit.access import Command, Reads, Url, Writes
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Safety
from toolkit.permissions import Permissions
from toolkit.safety import SafetyChecks

pytestmark = pytest.mark.anyio


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
async def test_the_accesses_of_a_preflight_are_judged_before_the_tool_runs(preflight, text, kind, permissions):
    """A preflight may be stated in every supported way. The tool does not run if the answer has another type."""
    world = asking(preflight)
    result = await world.call(
        arguments={"text": text}, permissions=permissions, safety=SafetyChecks(further=[Tables()])
    )
    assert result.kind == kind
    assert world.ran == ([text] if kind == "ok" else [])


@pytest.mark.parametrize("permissions", [Permissions("bypass"), Saying("allow")], ids=["bypass", "a judge"])
async def test_no_mode_and_no_judge_lifts_a_safety_refusal(permissions):
    world = asking(lambda arguments: [Query("secret")])
    assert (await world.call(permissions=permissions, safety=SafetyChecks(further=[Tables()]))).kind == "safety"


@pytest.mark.parametrize(
    ("table", "kind"),
    [("public_users", "ok"), ("public_", "ok"), ("private", "waiting"), ("xpublic_users", "waiting")],
)
async def test_rules_can_name_a_custom_kind_of_access(table, kind):
    """An access of `preflight` counts as an argument of that name."""
    world = RecordedCatalog(Catalog(), [])

    @world.catalog.tool(preflight=lambda arguments: [Query(arguments["sql"].rpartition(" ")[2])])
    async def run(sql: str) -> str:
        """Run a query."""
        return "rows"

    permissions = Permissions(rules=["allow run(query=public_*)"])
    assert (await world.call("run", {"sql": f"select * from {table}"}, permissions=permissions)).kind == kind


@pytest.mark.parametrize(("table", "kind"), [("public_users", "denied"), ("other", "ok")])
async def test_rules_can_forbid_a_users_kind_of_access(table, kind):
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
    """Its error is the answer, and a `Safety` counts as a refusal by a check."""

    def refuses(arguments):
        raise Safety("not on a Sunday")

    world = asking(refuses)
    result = await Dispatcher(world.catalog).call("note", {})
    assert (result.kind, world.ran) == ("safety", [])
    assert "not on a Sunday" in result.text
