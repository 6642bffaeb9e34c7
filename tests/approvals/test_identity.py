"""
What makes a tool the same tool, and a call the same call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals.identity import canonical_arguments, digest_of_call, identity_of
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.spec import Tool


def cut(wood: str, pieces: int = 1) -> str:
    """Cut wood."""
    return wood


def elsewhere() -> Any:
    def cut(wood: str, pieces: int = 1) -> str:
        """Cut wood."""
        return wood

    return cut


def wider(wood: str, pieces: int = 1, deep: bool = False) -> str:
    """Cut wood."""
    return wood


BASE = Tool.described(cut, destructive=True)


def test_the_same_tool_has_the_same_identity_in_every_process():
    """It depends on nothing but the tool."""
    assert identity_of(BASE) == identity_of(Tool.described(cut, destructive=True))


@pytest.mark.parametrize(
    "second",
    [
        Tool.described(elsewhere(), destructive=True),
        Tool.described(wider, name="cut", destructive=True),
        Tool.described(cut, name="chop", destructive=True),
        Tool.described(cut),
        Tool.described(cut, destructive=True, idempotent=True),
        Tool.described(cut, destructive=True, version="2"),
        Tool.described(cut, destructive=True, approval="always"),
        Tool.described(cut, destructive=True, open_world=True),
        Tool.described(cut, destructive=True, cost=0.05),
        Tool.described(cut, destructive=True, cost=lambda arguments: 0.05),
        replace(BASE, origin="mcp:other"),
    ],
    ids=[
        "origin",
        "schema",
        "name",
        "facts",
        "idempotent",
        "version",
        "approval",
        "open world",
        "cost",
        "cost by arguments",
        "server",
    ],
)
def test_another_tool_has_another_identity(second):
    """Each of these changes is one that a person would want to see again."""
    assert identity_of(second) != identity_of(BASE)


@pytest.mark.parametrize("origin", ["mcp:github", "dist:carpentry"])
def test_the_description_of_a_foreign_tool_belongs_to_its_identity(origin):
    """A server that describes its tool anew offers another tool."""
    tools = [replace(Tool.described(cut, description=text), origin=origin) for text in ("Cut wood.", "Cut anything.")]
    assert identity_of(tools[0]) != identity_of(tools[1])


def test_the_description_of_a_local_tool_is_not_part_of_its_identity():
    """A docstring of this program may change without asking people again."""
    tools = [Tool.described(cut, description=text) for text in ("Cut wood.", "Cut anything.")]
    assert identity_of(tools[0]) == identity_of(tools[1])


arguments = st.fixed_dictionaries({"wood": st.text(max_size=5)}, optional={"pieces": st.integers(-(2**53), 2**53)})


@given(arguments, st.randoms())
def test_canonical_arguments_do_not_depend_on_order_or_on_defaults_being_written(sent, chance):
    """Decoded, defaults filled in, encoded again: and then they are their own canonical form."""
    items = [*{"pieces": 1, **sent}.items()]
    chance.shuffle(items)
    forms = [canonical_arguments(BASE, BASE.check(form), form) for form in (sent, dict(items))]
    assert digest_of_call("i", forms[0], None, None) == digest_of_call("i", forms[1], None, None)
    again = canonical_arguments(BASE, BASE.check(forms[0]), forms[0])
    assert digest_of_call("i", again, None, None) == digest_of_call("i", forms[0], None, None)


@given(arguments, arguments)
def test_two_calls_have_the_same_digest_if_and_only_if_their_arguments_are_equal(first, second):
    forms = [{"pieces": 1, **values} for values in (first, second)]
    digests = [digest_of_call("i", canonical_arguments(BASE, BASE.check(form), form), "s", "p") for form in forms]
    assert (digests[0] == digests[1]) == (forms[0] == forms[1])


@given(st.lists(st.sampled_from([None, "", "a", "ab", "b"]), min_size=6, max_size=6))
def test_no_part_of_a_digest_runs_into_the_next(parts):
    """A session is not a principal, and nothing is not an empty text."""
    first, second = parts[:3], parts[3:]
    digests = [digest_of_call(part[0] or "", {"a": part[0]}, part[1], part[2]) for part in (first, second)]
    assert (digests[0] == digests[1]) == (first == second)


def test_a_default_that_has_no_json_form_is_left_to_the_function():
    """The stored arguments do not have it, and the function fills it in again."""
    marker = object()
    decoded = {"wood": "oak", "pieces": marker}
    assert canonical_arguments(BASE, decoded, {"wood": "oak"}) == {"wood": "oak"}


def test_a_tool_keeps_its_identity_in_a_catalog():
    catalog = Catalog()
    catalog.add(BASE)
    tool = catalog.get("cut")
    assert tool is not None
    assert identity_of(tool) == identity_of(BASE)


class Login(pydantic.BaseModel):
    """Who logs in."""

    user: str
    password: pydantic.SecretStr


@pytest.mark.parametrize("kind", [pydantic.SecretStr, pydantic.Secret[str], Login])
def test_an_approved_call_gets_the_secret_that_was_sent(kind):
    """The JSON form of a secret of pydantic is stars, which also read back as a secret."""
    catalog, received = Catalog(), []

    def log_in(secret) -> str:
        """Log in."""
        received.append(secret)
        return "done"

    log_in.__annotations__["secret"] = kind
    catalog.tool(approval="always")(log_in)
    dispatcher = Dispatcher(catalog)
    sent = {"user": "ada", "password": "hunter2"} if kind is Login else "hunter2"
    waiting = dispatcher.call_sync("log_in", {"secret": sent})
    assert "hunter2" not in str(waiting.request.to_json())
    assert dispatcher.resume_sync(waiting, Decision.approve()).kind == "ok"
    (secret,) = received
    assert (secret.password if kind is Login else secret).get_secret_value() == "hunter2"
