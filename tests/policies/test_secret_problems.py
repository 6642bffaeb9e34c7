"""
Secrets in arguments that do not fit: the error of no check quotes them.
"""

import json
import pickle
import traceback
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

from toolkit import BadArgs, Catalog, Dispatcher, Problem, Secret, Tool

KEY = "sk-live-9271"


@dataclass
class Account:
    user: str
    password: Annotated[str, Secret]


class Login(BaseModel):
    password: str

    @field_validator("password")
    @classmethod
    def check(cls, value):
        raise ValueError(f"{value} is too short")


def pay(amount: int, key: Annotated[Literal["test"], Secret]) -> None:
    """Pay."""


def dial(number: Annotated[int, Secret], key: str = "") -> None:
    """Dial."""


def enter(account: Account) -> None:
    """Enter."""


def open_box(size: int, key: Annotated[str, Secret] = "", **further: int) -> None:
    """Open it."""


def log_in(login: Annotated[Login, Secret]) -> None:
    """Log in."""


def collect_texts(error):
    """Return all texts that an error shows to programs and to people."""
    texts = [str(error), repr(error), repr(error.args), str(error.problems), str([p.message for p in error.problems])]
    return "\n".join([*texts, *traceback.format_exception(error)])


REFUSED = [
    (pay, {"amount": 1, "key": KEY}),
    (pay, {"amount": "many", "key": KEY}),
    (pay, json.dumps({"amount": 1, "key": KEY})),
    (pay, json.dumps({"amount": 1, "key": KEY}).encode()),
    (pay, json.dumps(json.dumps({"amount": 1, "key": KEY}))),
    (pay, json.dumps(KEY)),
    (pay, [KEY]),
    (dial, {"number": KEY}),
    (enter, {"account": {"user": 1, "password": KEY}}),
    (enter, {"account": {"user": "ada", "password": [KEY]}}),
    (enter, {"account": KEY}),
    (open_box, {"size": 1, "Key": KEY}),
    (open_box, {"size": KEY, "key": KEY}),
    (log_in, {"login": {"password": KEY}}),
]


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@pytest.mark.parametrize(("function", "arguments"), REFUSED)
def test_check_does_not_show_a_secret(function, arguments, validation):
    """The text of the error, its problems, its cause and its context are free of it."""
    with pytest.raises(BadArgs) as raised:
        Tool.of(function).check(arguments, validation=validation)
    assert KEY not in collect_texts(raised.value)
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)
    assert raised.value.problems


@pytest.mark.anyio
@pytest.mark.parametrize(("function", "arguments"), REFUSED)
async def test_check_async_does_not_show_a_secret(function, arguments):
    with pytest.raises(BadArgs) as raised:
        await Tool.of(function).check_async(arguments)
    assert KEY not in collect_texts(raised.value)


@pytest.mark.anyio
@pytest.mark.parametrize("repair", [True, False])
@pytest.mark.parametrize(("function", "arguments"), REFUSED)
async def test_no_result_of_a_dispatcher_shows_a_secret(function, arguments, repair):
    """Repairs name the parameter and not the value."""
    result = await Dispatcher(Catalog(function), repair=repair).call(function.__name__, arguments)
    assert KEY not in json.dumps(result.to_json())
    assert KEY not in f"{result!r} {result.error!r} {result.repairs}"


def test_the_problem_still_names_the_place():
    with pytest.raises(BadArgs) as raised:
        Tool.of(pay).check({"amount": "many", "key": KEY})
    assert [str(problem) for problem in raised.value.problems] == [
        'amount: expected an integer, got "many"',
        "key: the value does not fit",
    ]


def test_a_key_in_another_case_is_a_secret_too():
    """A model may write `Key` for `key`."""
    with pytest.raises(BadArgs) as raised:
        Tool.of(open_box).check({"size": 1, "Key": KEY})
    assert [problem.path for problem in raised.value.problems] == [("Key",)]


def quote(arguments):
    return Problem(f"the key {arguments['key']} does not fit {json.dumps(arguments)}", ["amount"])


async def quote_later(arguments):
    raise ValueError(f"no {arguments['key']!r} here")


def test_the_check_of_a_tool_cannot_quote_a_secret():
    """The text of the check is masked for every parameter."""
    with pytest.raises(BadArgs, match=r"amount: the key \[redacted\] does not fit") as raised:
        tool(quote).check({"amount": 1, "key": KEY})
    assert KEY not in collect_texts(raised.value)


@pytest.mark.anyio
async def test_the_async_check_of_a_tool_cannot_quote_a_secret():
    """Raised errors are masked like returned ones."""
    with pytest.raises(BadArgs, match=r"no '\[redacted\]' here") as raised:
        await tool(quote_later).check_async({"amount": 1, "key": KEY})
    assert KEY not in collect_texts(raised.value)


def tool(validate):
    def charge(amount: int, key: Annotated[str, Secret]) -> None:
        """Charge."""

    return Tool.described(charge, validate=validate)


def test_a_masked_error_can_be_pickled():
    """The pickled form does not hold the secret."""
    with pytest.raises(BadArgs) as raised:
        Tool.of(pay).check({"amount": 1, "key": KEY})
    copy = pickle.dumps(raised.value)
    assert KEY.encode() not in copy
    assert pickle.loads(copy).problems == raised.value.problems


def test_a_problem_shows_the_value_if_the_tool_has_no_secrets():
    """The value helps a model to correct the call."""

    def count(n: int) -> None:
        """Count."""

    with pytest.raises(BadArgs, match='n: expected an integer, got "ten"'):
        Tool.of(count).check({"n": "ten"})


@given(st.text(min_size=4, max_size=30).filter(lambda text: text not in "the value does not fit"), st.text(max_size=5))
def test_no_secret_is_quoted(secret, amount):
    """The check of the author quotes it, and the type of the parameter refuses it."""
    with pytest.raises(BadArgs) as raised:
        tool(quote).check({"amount": 1, "key": secret})
    assert secret not in str(raised.value).replace("[redacted]", "").replace("the key", "").replace("does not fit", "")
    with pytest.raises(BadArgs) as raised:
        Tool.of(dial).check({"number": secret})
    assert str(raised.value) == "number: the value does not fit"


def test_a_secret_that_is_sent_as_a_key_too_is_masked_in_the_path():
    """The path of a problem is made of what was sent."""
    with pytest.raises(BadArgs) as caught:
        Tool.of(open_box).check({"size": 1, "key": KEY, KEY: "many"})
    assert KEY not in collect_texts(caught.value)
    assert str(caught.value.problems[0].path) == "('[redacted]',)"
