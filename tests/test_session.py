"""What belongs to a conversation: what it has loaded, and what of it is saved."""

from __future__ import annotations

import json
import threading

import pytest

from toolkit import Catalog, Permissions, Session, Tool


def nothing() -> None:
    """Do nothing."""


@pytest.fixture
def catalog():
    plain = [Tool.described(nothing, name=name) for name in ("plain", "other")]
    deferred = [Tool.described(nothing, name=name, defer=True) for name in ("late", "later", "latest")]
    return Catalog(*plain, *deferred)


def names(catalog, **options):
    return [definition["name"] for definition in catalog.definitions(**options)]


def test_loaded_tools_are_appended_in_the_order_of_their_loading(catalog):
    """The prefix does not change, so the cache of a provider keeps it."""
    session = Session()
    assert names(catalog, session=session) == ["plain", "other"]
    session.load("latest")
    session.load("late", "latest")
    assert names(catalog, session=session) == ["plain", "other", "latest", "late"]
    assert [tool.name for tool in catalog.offered(session)] == ["plain", "other", "latest", "late"]
    assert names(catalog) == ["plain", "other"]


def test_all_tools_can_be_listed_in_the_order_of_the_catalog(catalog):
    """With `deferred=True`, each tool is in the list once."""
    session = Session()
    session.load("latest")
    assert names(catalog, session=session, deferred=True) == ["plain", "other", "late", "later", "latest"]


def test_loading_a_visible_or_unknown_tool_changes_no_list(catalog):
    session = Session()
    session.load("plain", "nowhere", "late")
    catalog.remove("late")
    assert names(catalog, session=session) == ["plain", "other"]


def test_loaded_tools_stay_last_when_a_tool_is_added(catalog):
    session = Session()
    session.load("late")
    catalog.add(Tool.described(nothing, name="new"))
    assert names(catalog, session=session) == ["plain", "other", "new", "late"]


def test_loading_wants_names():
    """A tool instead of its name is told so."""
    with pytest.raises(TypeError, match="names of tools"):
        Session().load(7)


def test_loading_from_several_threads_loses_no_tool():
    session = Session()
    threads = [
        threading.Thread(target=lambda n=number: [session.load(f"t{n}_{i}") for i in range(50)]) for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(session.loaded) == 200


def test_a_session_is_saved_and_restored_with_its_loaded_tools():
    """Their order stays."""
    session = Session()
    session.load("b", "a")
    again = Session.from_json(json.loads(json.dumps(session.to_json())))
    assert again.id == session.id
    assert again.loaded == ("b", "a")


def test_authority_is_not_saved():
    """A file that another user may have edited gives neither a mode nor a principal."""
    session = Session(principal="ada")
    Permissions().set_mode("bypass", session=session)
    data = session.to_json()
    assert set(data) == {"version", "id", "loaded"}
    again = Session.from_json({**data, "principal": "root", "mode": "bypass"})
    assert again.principal is None
    assert again.mode is None
    assert Session.from_json(data, principal="ada").principal == "ada"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "version 1, got 'list'"),
        ({"version": 9}, "got 9"),
        ({"version": 1, "loaded": []}, "an `id`"),
        ({"version": 1, "id": "x", "loaded": "late"}, "list of names"),
        ({"version": 1, "id": "x", "loaded": [1]}, "list of names"),
    ],
)
def test_malformed_session_data_is_refused(data, message):
    """The error says what is missing."""
    with pytest.raises(ValueError, match=message):
        Session.from_json(data)


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"id": 5}, TypeError, "id cannot be int; give a text"),
        ({"id": ""}, ValueError, "cannot be empty"),
        ({"principal": 42}, TypeError, "principal cannot be int; give a text, or None"),
        ({"state": []}, TypeError, "state cannot be list"),
    ],
)
def test_a_session_refuses_fields_that_cannot_be_stored_in_a_request(fields, error, words):
    """The error comes at construction, and not when a stored request is read back."""
    with pytest.raises(error, match=words):
        Session(**fields)


# Tools that are not used any more.


def test_a_tool_that_is_not_called_is_unloaded_from_the_end():
    """The number of turns is an option, and a call restarts the count."""
    session = Session(unload_after=2)
    session.load("a", "b")
    session.end_turn("b")
    session.end_turn()
    assert session.loaded == ("a", "b")
    session.end_turn()
    assert session.loaded == ()


def test_a_tool_before_a_used_one_stays():
    """It is unloaded together with the tools behind it, so the earlier definitions stay the same, byte for byte."""
    session = Session(unload_after=1)
    session.load("a", "b", "c")
    session.end_turn("b")
    assert session.loaded == ("a", "b")
    session.end_turn("b", "other")
    assert session.loaded == ("a", "b")
    session.end_turn()
    assert session.loaded == ()


def test_a_tool_that_left_can_be_loaded_again():
    session = Session(unload_after=2)
    session.load("a")
    session.end_turn()
    session.end_turn()
    session.load("a")
    session.end_turn()
    assert session.loaded == ("a",)


def test_no_tool_is_unloaded_without_the_option():
    session = Session()
    session.load("a")
    for _ in range(100):
        session.end_turn()
    assert session.loaded == ("a",)
    assert session.unloading == {}


def test_the_definitions_that_stay_are_the_same(catalog):
    """Those that leave are the last ones."""
    session = Session(unload_after=1)
    session.load("latest", "late")
    before = catalog.definitions("openai", session=session)
    session.end_turn("latest")
    after = catalog.definitions("openai", session=session)
    assert json.dumps(after) == json.dumps(before[: len(after)])
    assert len(after) == len(before) - 1


def test_a_saved_session_goes_on_counting():
    session = Session(unload_after=2)
    session.load("a", "b")
    session.end_turn("a")
    again = Session.from_json(json.loads(json.dumps(session.to_json())))
    assert (again.unload_after, again.unloading) == (2, session.unloading)
    again.end_turn("a")
    assert again.loaded == ("a",)


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (0, ValueError, "unload_after has to be at least 1 turn, or None; got 0"),
        ("3", TypeError, "unload_after cannot be str; give a whole number of turns, or None"),
        (True, TypeError, "unload_after cannot be bool"),
    ],
)
def test_a_number_of_turns_is_one(value, error, words):
    with pytest.raises(error, match=words):
        Session(unload_after=value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"unload_after": 0}, "a number of turns in `unload_after`, got 0"),
        ({"unload_after": "2"}, "in `unload_after`, got '2'"),
        ({"unload_after": 2, "idle_turns": ["a"]}, "numbers of turns by name in `idle_turns`"),
        ({"unload_after": 2, "idle_turns": {"a": "x"}}, "numbers of turns by name in `idle_turns`"),
    ],
)
def test_an_invalid_count_is_refused_in_a_saved_session(data, words):
    with pytest.raises(ValueError, match=words):
        Session.from_json({"version": 1, "id": "x", "loaded": [], **data})
