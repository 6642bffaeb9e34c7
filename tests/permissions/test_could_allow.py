"""What a session's rules and mode could ever allow: what searches, suggestions and summaries may show."""

from __future__ import annotations

import pytest

from toolkit import Catalog, Dispatcher, Permissions, Session, Tool
from toolkit.approvals.identity import identity_of
from toolkit.decisions import Grant
from toolkit.permissions import Judge

pytestmark = pytest.mark.anyio


def act(path: str = "") -> None:
    """Do something."""


def visit(url: str = "") -> None:
    """Go somewhere."""


@pytest.fixture
def catalog():
    return Catalog(
        Tool.described(act, name="look", read_only=True, group="eyes"),
        Tool.described(act, name="change"),
        Tool.described(act, name="wipe", destructive=True, aliases=["erase"]),
        Tool.described(visit, name="fetch", read_only=True, open_world=True),
        Tool.described(act, name="sign", read_only=True, approval="always"),
    )


def list_visible(catalog, mode, rules=(), session=None):
    dispatcher = Dispatcher(catalog, permissions=Permissions(mode, rules))
    return dispatcher.permitted(session).names()


@pytest.mark.parametrize(
    ("mode", "rules", "expected"),
    [
        ("default", [], "look change wipe fetch sign"),
        ("auto", [], "look change wipe fetch sign"),
        ("bypass", [], "look change wipe fetch sign"),
        ("plan", [], "look fetch sign"),
        ("plan", ["allow change"], "look fetch sign"),
        ("deny_unlisted", [], "look"),
        ("deny_unlisted", ["allow change"], "look change"),
        ("deny_unlisted", ["allow fetch(https://example.org/**)"], "look fetch"),
        ("deny_unlisted", ["ask look"], ""),
        ("deny_unlisted", ["ask look(path=/etc/**)"], "look"),
        ("deny_unlisted", ["allow sign"], "look"),
        ("default", ["deny wipe"], "look change fetch sign"),
        ("default", ["deny erase"], "look change fetch sign"),
        ("default", ["deny wipe(*)"], "look change fetch sign"),
        ("default", ["deny wipe(path=/etc/**)"], "look change wipe fetch sign"),
        ("default", ["deny group:eyes"], "change wipe fetch sign"),
        ("bypass", ["deny look"], "change wipe fetch sign"),
    ],
)
def test_a_tool_that_could_never_run_is_not_shown(catalog, mode, rules, expected):
    """There is a deny rule for every call, plan mode, or a mode in which no person is asked."""
    assert list_visible(catalog, mode, rules) == expected.split()


def test_the_mode_of_the_session_counts(catalog):
    """A session in plan mode sees less than its dispatcher's others."""
    permissions, session = Permissions("auto"), Session()
    dispatcher = Dispatcher(catalog, permissions=permissions)
    permissions.set_mode("plan", session=session)
    assert dispatcher.permitted(session).names() == ["look", "fetch", "sign"]
    assert len(dispatcher.permitted()) == 5


def test_a_granted_tool_is_shown_in_mode_deny_unlisted(catalog):
    """A grant answers for a person, who is not asked in this mode."""
    session = Session()
    Permissions.grant(session, Grant(tool=identity_of(catalog["change"]), scope="tool"))
    assert list_visible(catalog, "deny_unlisted", session=session) == ["look", "change"]


def test_a_name_given_by_the_catalog_counts(catalog):
    """A deny rule follows a tool under every name it answers to."""
    catalog.alias("scrub", "wipe")
    assert "wipe" not in list_visible(catalog, "default", ["deny scrub"])


def test_aliases_given_later_are_followed(catalog):
    """A view that was made before looks again."""
    view = Dispatcher(catalog, permissions=Permissions("default", ["deny scrub"])).permitted()
    assert "wipe" in view.names()
    catalog.alias("scrub", "wipe")
    assert "wipe" not in view.names()


def test_every_tool_is_shown_without_permissions(catalog):
    """There is no judge to ask, so the catalog itself is the view."""
    assert Dispatcher(catalog).permitted() is catalog


def test_a_judge_without_could_allow_hides_no_tool(catalog):
    """An object may have only a method `judge`."""

    class Strict:
        def judge(self, request):
            return "deny"

    assert Dispatcher(catalog, permissions=Strict()).permitted() is catalog


def test_a_judge_that_fails_hides_the_tool(catalog):
    """A tool is not shown if `could_allow` raises."""

    class Broken(Judge):
        def judge(self, request):
            return "allow"

        def could_allow(self, tool, names, session):
            raise RuntimeError("oops")

    assert Dispatcher(catalog, permissions=Broken()).permitted().names() == []


def test_every_judge_can_hide_a_tool(catalog):
    """A tool is hidden if one of several judges could never allow it."""
    permissions = [Permissions("default", ["deny wipe"]), Permissions("default", ["deny look"])]
    assert Dispatcher(catalog, permissions=permissions).permitted().names() == ["change", "fetch", "sign"]


async def test_a_forbidden_tool_is_not_suggested_as_the_nearest_name(catalog):
    """The suggestion for a misspelt name leaves out what the rules deny."""
    denied = Dispatcher(catalog, permissions=Permissions("default", ["deny wipe"]))
    assert "wipe" not in (await denied.call("wipee", {})).text.replace("`wipee`", "")
    assert "did you mean `wipe`" in (await Dispatcher(catalog).call("wipee", {})).text


async def test_a_hidden_tool_is_denied_when_it_is_called(catalog):
    """A call by its name is judged."""
    dispatcher = Dispatcher(catalog, permissions=Permissions("plan"))
    assert (await dispatcher.call("change", {})).kind == "denied"


@pytest.mark.parametrize("arguments", [{}, {"amount": "much"}, {"path": 1, "more": 2}, "{", [1]])
async def test_wrong_arguments_for_a_forbidden_tool_do_not_reveal_its_schema(arguments):
    """The refusal of a call with any arguments names neither the parameters nor their schema, because the tool could not run."""

    def pay(amount: int, account: str) -> None:
        """Pay."""

    catalog = Catalog(Tool.described(pay, name="pay", destructive=True))
    forbidden = await Dispatcher(catalog, permissions=Permissions("plan")).call("pay", arguments)
    assert forbidden.kind == "denied"
    assert not any(name in str(forbidden.to_json()) for name in ("account", "schema"))
    allowed = await Dispatcher(catalog, permissions=Permissions("default")).call("pay", arguments)
    assert allowed.kind == "bad_args"
