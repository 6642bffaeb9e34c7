"""Rules and the names of a tool: what follows a renamed tool, and what does not."""

from dataclasses import replace

import pytest

from tests.permissions.policy_kit import (
    catalog_of,
)
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions

pytestmark = pytest.mark.anyio


def aliased_twice():
    """Return a view of a catalog that gave its tool another name."""
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
async def test_a_deny_or_ask_rule_applies_to_every_name_of_a_tool(make, rule, called, word, kind):
    """Names that the tool had count, too, and a call may use any of them."""
    dispatcher = Dispatcher(make(), permissions=Permissions(rules=[f"{word} {rule}"]))
    assert (await dispatcher.call(called, {})).kind == kind


@pytest.mark.parametrize("rule", ["wipe2", "ipe", "fs_wipe", "group:file", "group:wipe", "mcp:x/wipe", "W*"])
@pytest.mark.filterwarnings("ignore:rule .* there is no tool:toolkit.ToolkitWarning")
async def test_a_deny_rule_for_a_similar_name_does_not_apply(rule):
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
    """Return a catalog with a tool from another origin."""
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
async def test_an_allow_rule_holds_only_for_its_origin(rule, origin, called):
    """A tool of the same name from another origin is another tool."""
    dispatcher = Dispatcher(from_origin(origin), permissions=Permissions(rules=[f"allow {rule}"]))
    assert (await dispatcher.call("post", {})).kind == called


@pytest.mark.parametrize("rule", ["post", "*", "mcp:*/*", "mcp:github/*", "mcp:git*/p???"])
async def test_a_deny_rule_holds_for_every_possible_origin(rule):
    """A rule without an origin means all of them."""
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


async def test_a_tool_without_arguments_needs_a_rule_with_its_name():
    """It reaches outside, and no argument has an address."""
    catalog = Catalog()

    @catalog.tool(read_only=True, open_world=True)
    async def weather() -> str:
        """Tell the weather."""
        return "rain"

    allowed, bare = Permissions(rules=["allow weather"]), Permissions()
    assert (await Dispatcher(catalog, permissions=allowed).call("weather", {})).kind == "ok"
    assert (await Dispatcher(catalog, permissions=bare).call("weather", {})).kind == "waiting"
