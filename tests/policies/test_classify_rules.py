"""The user's rules about errors, and groups of errors: which rule decides, and what a rule may return."""

import asyncio
import email.message
import urllib.error

import httpx
import pytest

from tests.policies.classify_kit import REQUESTS, classify_error, httpx_status
from toolkit import BadArgs, Catalog, Dispatcher, Safety, ToolError, Transient
from toolkit.policies.classify import compile_rules, is_expected

# The user's rules.


class Busy(Exception):
    pass


class VeryBusy(Busy):
    pass


def test_a_rule_for_a_class_holds_for_its_subclasses():
    tool_error = classify_error(VeryBusy("later"), {Busy: Transient})
    assert type(tool_error) is Transient
    assert (str(tool_error), tool_error.happened) == ("VeryBusy: later", "no")


@pytest.mark.parametrize("kind", [ToolError, Safety, BadArgs, Transient])
def test_a_rule_may_choose_any_of_our_error_classes(kind):
    """The message has the words of the exception."""
    tool_error = classify_error(Busy("why"), {Busy: kind})
    assert isinstance(tool_error, kind)
    assert "why" in str(tool_error)


@pytest.mark.parametrize(
    "rules", [{Exception: Safety, Busy: Transient}, {Busy: Transient, Exception: Safety}], ids=["far", "near"]
)
def test_the_rule_of_the_nearest_class_wins(rules):
    """The order of the dictionary does not matter."""
    assert type(classify_error(VeryBusy(), rules)) is Transient
    assert type(classify_error(ValueError(), rules)) is Safety


def test_the_table_adds_its_facts_to_the_class_that_a_rule_chooses():
    """A rule that makes the errors of httpx transient does not say whether the call took effect."""
    rules = {httpx.HTTPError: Transient}
    assert classify_error(httpx.ReadTimeout("x"), rules).happened == "maybe"
    assert classify_error(httpx_status(429, **{"Retry-After": "7"}), rules).retry_after_seconds == 7
    assert type(classify_error(httpx_status(404), rules)) is Transient


class NoSuchOrder(KeyError):
    pass


@pytest.mark.parametrize("kind", [ToolError, BadArgs, Safety, Transient])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NoSuchOrder("there is no order 7"), "there is no order 7"),
        (ValueError("it's closed on Sunday"), "it's closed on Sunday"),
        (ConnectionResetError(104, "reset by peer"), "[Errno 104] reset by peer"),
        (KeyError("tea"), "KeyError: 'tea'"),
        (NoSuchOrder(7), "NoSuchOrder: 7"),
        (NoSuchOrder(), "NoSuchOrder"),
        (KeyError("no tea", "no milk"), "KeyError: ('no tea', 'no milk')"),
        (NoSuchOrder("tea", 5), "NoSuchOrder: ('tea', 5)"),
        (NoSuchOrder("no \ud800 tea"), "no ? tea"),
    ],
)
def test_the_model_reads_the_message_of_an_error_that_a_rule_chooses(error, text, kind):
    """The name of the class is left out, unless the message alone says too little."""
    assert str(classify_error(error, {Exception: kind})) == text


def test_a_rule_comes_before_the_table():
    """The user knows the server better."""
    assert type(classify_error(ConnectionResetError(), {ConnectionError: Safety})) is Safety
    assert not isinstance(classify_error(httpx_status(503), lambda error: ToolError("for ever")), Transient)


def test_a_function_may_return_none():
    """Then the next rule is asked, and the table in the end."""
    calls = []
    rules = [lambda error: calls.append("first"), {Busy: lambda error: calls.append("second")}]
    assert type(classify_error(Busy(), rules)) is ToolError
    assert calls == ["first", "second"]
    assert type(classify_error(TimeoutError(), rules)) is Transient


def test_a_function_gives_an_error_or_a_class():
    """An error can say more: how long to wait."""
    error = Transient("busy", retry_after_seconds=3)
    assert classify_error(Busy(), {Busy: lambda raised: error}) is error
    assert type(classify_error(Busy(), [lambda raised: Safety])) is Safety


@pytest.mark.parametrize("answer", [ValueError, "transient", True, ValueError("x")])
def test_a_rule_with_an_invalid_answer_is_skipped(answer, caplog):
    """The log says so."""
    assert type(classify_error(ConnectionResetError(), lambda error: answer)) is Transient
    assert "has to return a ToolError" in caplog.text


def test_a_rule_that_raises_is_passed_over(caplog):
    """The call must not be lost with it."""

    def broken(error):
        raise ZeroDivisionError

    assert type(classify_error(ConnectionResetError(), [broken, {ValueError: Safety}])) is Transient
    assert "it is passed over" in caplog.text


def test_a_class_that_wants_more_than_a_message_becomes_a_plain_error():
    """It cannot be made, but the call has to end."""

    class Picky(ToolError):
        def __init__(self, code: int, *, reason: str) -> None:
            super().__init__(reason)

    assert not isinstance(classify_error(Busy("x"), {Busy: Picky}), Picky)


@pytest.mark.parametrize(
    "rules",
    [5, "Busy", Busy, [Busy], {Busy: ValueError}, {Busy: "transient"}, {"Busy": Transient}, {int: Transient}, [[5]]],
)
def test_an_invalid_rule_is_refused_at_once(rules):
    """The error does not wait for the first failure."""
    with pytest.raises(TypeError, match="classify"):
        compile_rules(rules)


def test_a_class_that_only_claims_kinship_counts_last():
    """`isinstance` is asked, as `except` would not."""

    class Meta(type(Exception)):
        def __instancecheck__(cls, instance):
            return True

    class Everything(Exception, metaclass=Meta):
        pass

    assert type(classify_error(Busy(), {Everything: Safety})) is Safety
    assert type(classify_error(Busy(), {Everything: Safety, Exception: Transient})) is Transient


# Groups.


def test_a_group_of_transients_is_transient_and_may_have_happened():
    """A sibling of the one that failed may have done its work."""
    group = ExceptionGroup("two", [httpx.ConnectError("a"), httpx_status(429, **{"Retry-After": "7"})])
    tool_error = classify_error(group)
    assert isinstance(tool_error, Transient)
    assert tool_error.happened == "maybe"
    assert tool_error.retry_after_seconds == 7
    assert "ConnectError: a" in str(tool_error)
    assert "status 429" in str(tool_error)


def test_a_group_with_anything_else_is_not_transient():
    """Trying again would meet it again."""
    tool_error = classify_error(ExceptionGroup("two", [TimeoutError(), ExceptionGroup("inner", [ValueError("bad")])]))
    assert type(tool_error) is ToolError
    assert "ValueError: bad" in str(tool_error)


@pytest.mark.parametrize("gravest", [Safety("no"), BadArgs("wrong")])
def test_the_gravest_error_of_a_group_counts(gravest):
    """A refusal is not lost among failures."""
    assert classify_error(ExceptionGroup("all", [TimeoutError(), ValueError(), gravest])) is gravest


def test_a_rule_for_a_group_wins_over_rules_for_its_members():
    group = ExceptionGroup("all", [Busy(), VeryBusy()])
    assert type(classify_error(group, {ExceptionGroup: Safety, Busy: Transient})) is Safety
    assert type(classify_error(group, {Busy: Transient})) is Transient


@pytest.mark.parametrize(
    ("error", "rules", "verdict"),
    [
        (httpx.ConnectError("x"), (), True),
        (REQUESTS.SSLError("x"), (), True),
        (PermissionError("x"), (), True),
        (urllib.error.HTTPError("http://x", 404, "gone", email.message.Message(), None), (), True),
        (Busy("x"), {Busy: BadArgs}, True),
        (ExceptionGroup("x", [TimeoutError(), ConnectionResetError()]), (), True),
        (ExceptionGroup("x", [TimeoutError(), KeyError()]), (), False),
        (KeyError("x"), (), False),
        (SystemExit(500), (), False),
        (asyncio.CancelledError(), {asyncio.CancelledError: Transient}, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_expected_failure_is_distinguished_from_a_bug(error, rules, verdict):
    assert is_expected(error, classify_error(error, rules)) is verdict


class NoSuchOrder(KeyError):
    """An exception of a module that exists already."""


@pytest.mark.parametrize("rule", [{NoSuchOrder: ToolError}, lambda error: ToolError("gone")], ids=["class", "function"])
def test_an_exception_that_counts_as_a_tool_error_is_not_a_bug(rule, caplog):
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def get_order(order: int) -> str:
        """Look up an order."""
        raise NoSuchOrder(f"no order {order}")

    result = Dispatcher(catalog, classify=rule, raise_bugs=True).call_sync("get_order", {"order": 1})
    assert result.kind == "failed"
    assert all(record.exc_info is None for record in caplog.records)
