"""A result that cannot be given is an error, which says that the tool ran, what is wrong, and what to return."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import pydantic
import pytest
from annotated_types import Ge, MaxLen, Predicate

from tests.calls.render_kit import NAN, PLAIN, Sum, plan_for, sent
from tests.values.odd_values import BadStr, Nothing
from toolkit import Catalog
from toolkit.calls.render_result import render_result
from toolkit.content import FilePart, ImagePart, JsonPart, TextPart
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Replace
from toolkit.results import ToolResult

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")]


class Customer:
    """A class without a JSON form."""


@pytest.mark.parametrize(
    ("returns", "value", "problem", "text"),
    [
        (int, "five", 'expected an integer, got "five"', "five"),
        (int, 10**2000, "expected an integer", hex(10**2000)),
        (str, 5, "expected a string, got 5", "5"),
        (str, None, "expected a string, got null", "null"),
        (None, 5, "expected null, got 5", "5"),
        (float, NAN, 'expected a number, got "nan"', "nan"),
        (list[float], [1.0, NAN], '[1]: expected a number, got "nan"', '[1.0,"nan"]'),
        (Sum, Sum("x"), 'sum: expected an integer, got "x"', '{"sum":"x"}'),
        (dict[str, int], ImagePart(b"x"), "expected an object, got null", "[image/png, 1 byte]"),
        (dict[str, int], ToolResult("words"), "expected an object, got null", "words"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_the_output_schema_does_not_allow_is_a_failure(returns, value, problem, text):
    """The result says what is wrong, and what was returned, because the tool ran and cannot be called again."""
    result = render_result(value, plan_for(returns))
    assert (result.kind, result.value) == ("failed", None)
    assert problem in result.error.message
    assert result.text.endswith(f"\nIt returned: {text}")
    assert result.returned is value
    sent(result)
    assert render_result(value, plan_for(returns, check_output=False)).kind == "ok"


class Numbered:
    """A number of another package."""

    def __index__(self) -> int:
        return 7


@dataclass
class Holder:
    count: Annotated[int, Predicate(lambda count: count < 5)]


@pytest.mark.parametrize(
    ("returns", "value", "problem"),
    [
        (Annotated[int, Ge(0)], -1, "expected at least 0, got -1"),
        (Annotated[int, Ge(8)], Numbered(), "expected at least 8, got 7"),
        (list[Annotated[str, MaxLen(2)]], ["abc"], "expected at most 2 characters"),
        (Annotated[int, Predicate(lambda count: count < 5)], Numbered(), "got 7"),
        (dict[str, Annotated[int, Predicate(lambda count: count < 5)]], {"a": Numbered()}, "got 7"),
        (list[Holder], [Holder(Numbered())], "the limits and validators in it cannot check a list"),
    ],
    ids=["bound", "bound of a number", "length", "predicate", "deep predicate", "field"],
)
def test_a_check_in_the_return_annotation_is_never_left_out(returns, value, problem):
    """A number of another package is checked as the number that it is; what cannot be checked is not given."""
    result = render_result(value, plan_for(returns))
    assert (result.kind, result.error.details) == ("failed", {"ran": True})
    assert problem in result.error.message


@dataclass
class Price:
    amount: Decimal
    city: str


class HugeArray:
    """An array of another package."""

    dtype, size = "int8", 6_000_000

    def tolist(self) -> list[int]:
        raise MemoryError


_PARTS = [TextPart("see"), JsonPart([1, Customer()]), ImagePart(b"x")]


@pytest.mark.parametrize(
    ("returns", "value", "problem", "text"),
    [
        (list[Decimal], [Decimal("1.5"), Decimal("nan")], "[1]: Decimal('NaN') has no JSON form", '["1.5","NaN"]'),
        (Any, {"a": Decimal("-inf"), "b": 2}, "a: Decimal('-Infinity') has no", '{"a":"-Infinity","b":2}'),
        (Price, Price(Decimal("inf"), "Rome"), "amount: Decimal('Infinity')", '{"amount":"Infinity","city":"Rome"}'),
        (Decimal, Decimal("nan"), "Decimal('NaN') has no JSON form", "NaN"),
        (dict, {"a": 1, "b": Customer()}, "b: a `", '{"a":1,"b":"<Customer>"}'),
        (Any, map(str, [1]), "return a list of its items", "<map>"),
        (Any, ToolResult("words", Customer()), "return a dictionary", "words"),
        (Any, ToolResult("", [1, Customer()]), "[1]: a `", '[1,"<Customer>"]'),
        (Any, _PARTS, "[1]: a `", 'see\n{"value":[1,"<Customer>"]}\n[image/png, 1 byte]'),
        (Any, [HugeArray(), 1], "it has 6,000,000 items", '["<HugeArray>",1]'),
        (Annotated[int, Ge(3)], 2, "expected at least 3, got 2", "2"),
        (Annotated[int, pydantic.Field(ge=3)], 2, "expected at least 3, got 2", "2"),
        (list[Annotated[str, MaxLen(2)]], ["a", "abc"], "expected at most 2 characters", '["a","abc"]'),
        (Annotated[str, pydantic.AfterValidator(int)], "x", "invalid literal", "x"),
        (list[Holder], [Holder(Numbered())], "cannot check a list", '[{"count":7}]'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_refused_result_says_what_was_returned(returns, value, problem, text):
    """One value without a JSON form does not lose the others, nor does a limit in the return annotation."""
    result = render_result(value, plan_for(returns))
    assert (result.kind, result.value) == ("failed", None)
    assert problem in result.error.message
    assert result.text.endswith(f"\nIt returned: {text}")
    assert result.returned is value
    sent(result)


def test_what_a_serializer_cannot_write_is_not_shown():
    """The serializer may be there to leave something out."""
    plan = plan_for(Annotated[str, pydantic.PlainSerializer(lambda text: text / 0)])
    result = render_result("the key", plan)
    assert result.kind == "failed"
    assert "the key" not in result.text
    assert "It returned" not in result.text


async def test_what_a_refused_result_shows_is_masked_and_cut():
    catalog = Catalog()

    @catalog.tool(max_chars=600)
    async def read() -> list[Decimal | str]:
        """Read."""
        return ["hunter2-secret", Decimal("nan"), *["a" * 50] * 100]

    result = await Dispatcher(catalog, redact=["hunter2-secret"]).call("read")
    assert '\nIt returned: ["' in result.text
    assert "hunter2" not in result.text
    assert result.truncated
    assert len(result.text) <= 600


@pytest.mark.parametrize("returns", [..., Any, str, list[Sum], dict[str, Any]], ids=str)
@pytest.mark.parametrize(
    ("wrap", "place"),
    [
        (lambda value: value, ""),
        (lambda value: [1, value], "[1]: "),
        (lambda value: {"a": {"b c": value}}, "a['b c']: "),
        (lambda value: Sum([value]), "sum[0]: "),
        (lambda value: {value: 1}, ""),
        (lambda value: ToolResult("text", [value]), "[0]: "),
        (lambda value: [JsonPart(value), "text"], ""),
        (lambda value: TextPart(value), ""),
        (lambda value: FilePart(value), ""),
    ],
    ids=["itself", "list", "dict", "dataclass", "key", "result", "json part", "text part", "file part"],
)
@pytest.mark.parametrize("cls", [Customer, Nothing, BadStr])
def test_a_result_without_a_json_form_is_an_error_that_names_the_type_and_the_remedy(returns, wrap, place, cls):
    """The text never shows the repr of an object in memory."""
    value = cls()
    result = render_result(wrap(value), plan_for(returns))
    assert result.kind == "failed"
    assert result.error.message.startswith(f"the tool ran, but its result cannot be given: {place}a `{cls.__module__}")
    assert f"register_codec({cls.__name__}, encode=...)" in result.error.message
    assert " at 0x" not in result.text
    sent(result)


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ((number for number in [1]), "a `generator` has no JSON form; return a list of its items"),
        (map(str, [1]), "return a list of its items"),
        (Sum, "return its name, or a dictionary that describes it"),
        (print, "return its name, or a dictionary that describes it"),
        (json, "return its name, or a dictionary that describes it"),
    ],
    ids=["generator", "map", "class", "function", "module"],
)
def test_the_remedy_fits_the_value(value, remedy):
    """A generator is not a customer."""
    assert remedy in render_result(value, PLAIN).text


@pytest.mark.parametrize(("read_only", "advice"), [(False, "do not call it again"), (True, "would give the same")])
async def test_a_call_whose_result_cannot_be_sent_is_not_retried(read_only, advice):
    """The effect has happened, and the result says that the call ran."""
    catalog, times = Catalog(), []

    @catalog.tool(read_only=read_only)
    async def hire() -> Customer:
        """Hire a person."""
        times.append(1)
        return Customer()

    result = await Dispatcher(catalog).call("hire")
    assert (result.kind, result.attempts, len(times)) == ("failed", 1, 1)
    assert result.text.startswith("error: the tool ran, but its result cannot be given: a `")
    assert advice in result.text
    assert result.error.details == {"ran": True}
    assert isinstance(result.returned, Customer)


@pytest.mark.parametrize(
    "value", [Customer(), [Customer()], ToolResult("a", Customer())], ids=["alone", "list", "result"]
)
async def test_the_result_blames_a_hook_that_gives_a_value_without_a_json_form(value):
    catalog = Catalog()

    @catalog.tool
    async def do() -> int:
        """Do it."""
        return 1

    class Replacing:
        def before(self, call):
            return Replace(value)

    result = await Dispatcher(catalog, hooks=[Replacing()]).call("do")
    assert result.kind == "internal"
    assert "a hook gave a result that cannot be sent" in result.text
