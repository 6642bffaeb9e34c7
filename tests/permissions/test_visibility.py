"""Remembered answers about visible tools: a judge is asked once, and again after anything that the answer depends on changed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from toolkit import Catalog, Dispatcher, Permissions, Session, Tool
from toolkit.permissions import MODES, Judge, Visibility


def act(path: str = "") -> None:
    """Do something."""


def make_tool(name, **facts):
    return Tool.described(act, name=name, **facts)


@pytest.fixture
def catalog():
    return Catalog(
        make_tool("look", read_only=True), make_tool("change"), make_tool("wipe", destructive=True), make_tool("sign")
    )


class Counting(Judge):
    """Shows everything but what is in `hidden`, and counts how often it is asked about a tool."""

    def __init__(self):
        self.asked = 0
        self.hidden = frozenset()

    def judge(self, request):
        return "allow"

    def could_allow(self, tool, names, session=None):
        return self.visibility(session).could_allow(tool, names)

    def visibility(self, session):
        hidden = self.hidden

        def could_allow(tool, names):
            self.asked += 1
            return tool.name not in hidden

        return Visibility((hidden, session and session.id), could_allow)


def list_visible(view):
    """Return what a view lists, finds and gets. All have to agree."""
    names = view.names()
    assert [name for name in ("look", "change", "wipe", "sign") if view.get(name)] == names
    assert {match.tool.name for match in view.search("look change wipe sign")} == set(names)
    return names


def test_a_second_listing_asks_no_judge(catalog):
    judge, session = Counting(), Session()
    dispatcher = Dispatcher(catalog, permissions=[Permissions(), judge])
    assert len(dispatcher.permitted(session)) == judge.asked == 4
    assert len(dispatcher.permitted(session)) == judge.asked == 4


def test_a_changed_catalog_is_judged_again(catalog):
    judge = Counting()
    view = Dispatcher(catalog, permissions=judge).permitted()
    assert view.names() == ["look", "change", "wipe", "sign"]
    judge.hidden = frozenset(["extra"])
    catalog.add(make_tool("extra"))
    assert view.names() == ["look", "change", "wipe", "sign"]


def test_a_judge_that_changes_its_mind_is_asked_again(catalog):
    judge, session = Counting(), Session(principal="ada")
    view = Dispatcher(catalog, permissions=judge).permitted(session)
    assert "wipe" in list_visible(view)
    judge.hidden = frozenset(["wipe"])
    assert list_visible(view) == ["look", "change", "sign"]


def test_a_view_follows_the_mode_of_its_session(catalog):
    permissions, session = Permissions("auto"), Session()
    view = Dispatcher(catalog, permissions=permissions).permitted(session)
    assert len(list_visible(view)) == 4
    permissions.set_mode("plan", session=session)
    assert list_visible(view) == ["look"]
    permissions.set_mode(None, session=session)
    assert len(list_visible(view)) == 4


def test_a_view_follows_the_common_mode(catalog):
    permissions = Permissions("auto")
    view = Dispatcher(catalog, permissions=permissions).permitted()
    assert len(list_visible(view)) == 4
    permissions.set_mode("plan")
    assert list_visible(view) == ["look"]


def test_a_session_never_sees_the_tools_of_another_one(catalog):
    """This holds also if both were in the same mode before."""
    permissions, first, second = Permissions("plan"), Session(), Session()
    dispatcher = Dispatcher(catalog, permissions=permissions)
    views = [dispatcher.permitted(session) for session in (first, second)]
    assert [list_visible(view) for view in views] == [["look"], ["look"]]
    permissions.set_mode("auto", session=first)
    assert [len(list_visible(view)) for view in views] == [4, 1]


def test_a_revoked_grant_shows_no_tool(catalog):
    session = Session()
    view = Dispatcher(catalog, permissions=Permissions("deny_unlisted")).permitted(session)
    assert list_visible(view) == ["look"]
    Permissions.grant(session, catalog["change"])
    assert list_visible(view) == ["look", "change"]
    Permissions.revoke(session)
    assert list_visible(view) == ["look"]


def test_an_extended_dispatcher_caches_visible_tools_separately(catalog):
    judge = Counting()
    judge.hidden = frozenset(["look"])
    dispatcher = Dispatcher(catalog, permissions=Permissions())
    extended = dispatcher.extended(permissions=judge)
    assert (len(list_visible(dispatcher.permitted())), len(list_visible(extended.permitted()))) == (4, 3)
    assert (len(list_visible(dispatcher.permitted())), len(list_visible(extended.permitted()))) == (4, 3)


def test_a_subclass_that_replaces_only_could_allow_is_asked_every_time(catalog):
    """Its inherited `visibility` would answer for the base class."""

    class ByPrincipal(Permissions):
        def could_allow(self, tool, names, session=None):
            return session.principal == "ada" or tool.name == "look"

    session = Session(principal="ada")
    view = Dispatcher(catalog, permissions=ByPrincipal()).permitted(session)
    assert len(list_visible(view)) == 4
    session.principal = "guest"
    assert list_visible(view) == ["look"]


@pytest.mark.parametrize("answer", [Visibility([], lambda tool, names: True), KeyError("oops")], ids=["key", "error"])
def test_a_judge_whose_answers_cannot_be_cached_is_asked_every_time(catalog, answer, caplog):
    class Odd(Counting):
        def visibility(self, session):
            if isinstance(answer, Exception):
                raise answer
            return answer

        def could_allow(self, tool, names, session=None):
            return tool.name == "look"

    assert list_visible(Dispatcher(catalog, permissions=Odd()).permitted()) == ["look"]
    assert "they are asked about each tool" in caplog.text


def test_a_cached_answer_that_raises_shows_no_tool(catalog):
    class Broken(Counting):
        def visibility(self, session):
            return Visibility("same", lambda tool, names: 1 / 0)

    assert list_visible(Dispatcher(catalog, permissions=Broken()).permitted()) == []


def test_the_number_of_cached_answers_is_bounded(catalog):
    """Sessions come and go, so the oldest answers are forgotten."""
    judge = Counting()
    dispatcher = Dispatcher(catalog, permissions=judge)
    sessions = [Session() for _ in range(20)]
    for session in (*sessions, sessions[-1]):
        dispatcher.permitted(session).names()
    assert judge.asked == 80
    dispatcher.permitted(sessions[0]).names()
    assert judge.asked == 84


_NAMES = ("look", "change", "wipe", "sign", "extra")
_STEPS = st.one_of(
    st.tuples(st.just("mode"), st.integers(0, 1), st.sampled_from([None, *MODES])),
    st.tuples(st.just("common mode"), st.just(0), st.sampled_from(MODES)),
    st.tuples(st.sampled_from(["grant", "revoke"]), st.integers(0, 1), st.sampled_from(_NAMES)),
    st.tuples(st.sampled_from(["add", "remove", "alias"]), st.just(0), st.sampled_from(_NAMES)),
)


@settings(max_examples=limit_examples(30), deadline=None)
@given(st.lists(_STEPS, max_size=8), st.lists(st.sampled_from(["deny other", "deny wipe", "allow sign", "ask look"])))
def test_cached_answers_follow_every_change(steps, rules):
    """A view lists the same tools as a new dispatcher."""
    catalog = Catalog(*(make_tool(name, read_only=name == "look") for name in _NAMES[:4]))
    permissions, sessions = Permissions("default", rules), [Session(), Session()]
    views = [Dispatcher(catalog, permissions=permissions).permitted(session) for session in sessions]
    for kind, index, value in steps:
        if kind == "mode":
            permissions.set_mode(value, session=sessions[index])
        elif kind == "common mode":
            permissions.set_mode(value)
        elif kind == "add":
            catalog.add(make_tool(value, destructive=True), replace=True)
        elif value in catalog:
            if kind == "remove":
                catalog.remove(value)
            elif kind == "alias" and "other" not in catalog:
                catalog.alias("other", value)
            elif kind != "alias":
                getattr(permissions, kind)(sessions[index], catalog[value])
        fresh = Dispatcher(catalog, permissions=Permissions(permissions.mode, rules))
        assert [view.names() for view in views] == [fresh.permitted(session).names() for session in sessions]


def test_a_tool_of_a_view_is_judged_by_one_question(catalog):
    """A judge without `visibility` is asked about all tools only by a listing."""

    class Plain(Counting):
        def could_allow(self, tool, names, session=None):
            self.asked += 1
            return True

    judge = Plain()
    assert Dispatcher(catalog, permissions=judge).permitted()["wipe"].name == "wipe"
    assert judge.asked == 1
