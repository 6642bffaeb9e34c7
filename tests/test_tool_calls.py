"""A tool call: its digest, its conversation, and its repr without secrets."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.values import json_objects
from toolkit.results import ToolCall
from toolkit.session import Session


@given(json_objects(), st.randoms())
def test_the_order_of_keys_does_not_change_the_digest(arguments, random):
    """The arguments may also be a text."""

    def shuffled(value):
        if isinstance(value, dict):
            items = list(value.items())
            random.shuffle(items)
            return {key: shuffled(item) for key, item in items}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    digest = ToolCall("read", arguments).digest()
    assert ToolCall("read", shuffled(arguments)).digest() == digest
    assert ToolCall("read", json.dumps(shuffled(arguments))).digest() == digest


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": None}, {}),
        ({"a": 10**5000}, {"a": 10**5000 + 1}),
        ({"a": {1, 2}}, {"a": {1, 3}}),
        ("{not json", "{not json either"),
        (b"\xff", b"\xfe"),
    ],
)
def test_other_arguments_have_another_digest(first, second):
    """This holds also where they are no JSON."""
    assert ToolCall("read", first).digest() != ToolCall("read", second).digest()


def _cyclic():
    value = {"a": []}
    value["a"] += [value, value]
    return value


def _deep():
    value = []
    for _ in range(5000):
        value = [value]
    return {"a": value}


class Unprintable:
    def __repr__(self):
        raise ValueError("no")


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": {3, 1, 2}, 1: (1, 2)},
        {"a": 10**5000},
        {"a": float("nan")},
        {"a": "\ud800"},
        _cyclic(),
        _deep(),
        {"a": Unprintable()},
        b"\xff",
        "text",
    ],
    ids=["set", "long", "nan", "surrogate", "cycle", "deep", "unprintable", "bytes", "text"],
)
def test_arguments_that_are_not_json_have_a_digest_too(arguments):
    """A call is refused later, and hooks see it before."""
    digest = ToolCall("read", arguments).digest()
    assert len(digest) == 64
    assert ToolCall("read", arguments).digest() == digest
    assert ToolCall("write", arguments).digest() != digest


def test_an_alias_has_the_digest_of_its_tool():
    """The tool's own name counts, once it was found."""

    class Found:
        name = "read"

    assert ToolCall("cat", {"a": 1}, tool=Found()).digest() == ToolCall("read", {"a": 1}).digest()


def test_the_session_key_of_a_call_is_the_id_of_its_session():
    """All calls without a session have the same key."""
    session = Session(id="s")
    assert ToolCall("read", session=session).session_key == "s"
    assert ToolCall("read").session_key == ""
    assert Session().id != Session().id
    assert repr(ToolCall("read", {"a": 1}, "c1")) == "ToolCall('read', {'a': 1}, id='c1')"


def test_a_call_shows_no_secret():
    """`repr(ToolCall)` masks what the tool marks `Secret`, as results, logs and requests do."""
    from typing import Annotated

    from toolkit import Catalog, Secret

    catalog = Catalog()

    @catalog.tool
    def log_in(user: str, password: Annotated[str, Secret]) -> str:
        """Log in."""
        return user

    call = ToolCall("log_in", {"user": "ada", "password": "hunter2"}, "c1")
    assert repr(call) == "ToolCall('log_in', {'user': 'ada', 'password': 'hunter2'}, id='c1')"
    call.tool = catalog["log_in"]
    assert repr(call) == "ToolCall('log_in', {'user': 'ada', 'password': '[redacted]'}, id='c1')"
    call.arguments = '{"user": "ada", "password": "hunter2"}'
    assert "hunter2" not in repr(call)


def test_hooks_see_a_call_whose_repr_shows_no_secret(caplog):
    """`repr(ToolCall)` is what a hook prints first."""
    from typing import Annotated

    from toolkit import Catalog, Dispatcher, Secret
    from toolkit.hooks import Proceed

    reprs = []
    catalog = Catalog()

    @catalog.tool
    def log_in(password: Annotated[str, Secret]) -> None:
        """Log in."""

    class Print:
        def before(self, call):
            reprs.append(repr(call))
            return Proceed()

    Dispatcher(catalog, hooks=[Print()]).call_sync("log_in", {"password": "hunter2"})
    assert len(reprs) == 1
    assert "hunter2" not in reprs[0]
