"""Types that a user registers with a codec."""

from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import pytest

from tests.values.codecs.foreign_kit import TEXT, Node
from toolkit import DefinitionError, register_codec

from .kit import problem, there_and_back, three_ways, tool_for, written


class Money:
    def __init__(self, amount, currency):
        self.amount, self.currency = Decimal(amount), currency

    def __eq__(self, other):
        return isinstance(other, Money) and vars(self) == vars(other)

    def __hash__(self):
        return hash(self.amount)

    @classmethod
    def parse(cls, text):
        amount, _, currency = text.partition(" ")
        if currency == "XXX":
            raise ValueError("there is no such currency")
        return cls(amount, currency)

    def __str__(self):
        return f"{self.amount} {self.currency}"


MONEY = TEXT | {"pattern": "^[0-9.]+ [A-Z]{3}$"}


@pytest.fixture
def money(own_forms):
    """A class that every tool knows during the test."""
    return register_codec(Money, schema=MONEY, decode=Money.parse, encode=str)


@pytest.mark.usefixtures("money")
def test_a_registered_type_goes_three_ways(validation):
    """A few lines teach every tool the JSON form of a class."""
    three_ways(Money, Money("1.50", "EUR"), "1.50 EUR", MONEY, validation)
    assert problem(Money, "much", validation).startswith("value: expected text that matches")
    assert problem(list[Money], ["1 EUR", "1 XXX"], validation) == "value[1]: there is no such currency"
    with pytest.raises(TypeError, match="expected Money, got str"):
        written(Money, "1.50 EUR")


@pytest.mark.usefixtures("money")
def test_a_registered_type_is_recognized_in_unions(validation):
    """Its schema is narrower than that of any text, so it wins if it fits."""
    there_and_back(str | Money, Money("1.50", "EUR"), "1.50 EUR", validation)
    there_and_back(str | Money, "much", "much", validation)
    there_and_back(int | Money | None, 3, 3, validation)
    there_and_back(set[Money], {Money("1.50", "EUR")}, ["1.50 EUR"], validation)
    there_and_back(dict[Money, int], {Money("1.50", "EUR"): 1}, {"1.50 EUR": 1}, validation)


@dataclass
class Price:
    money: Money
    visible: bool = True


@pytest.mark.usefixtures("money")
def test_a_registered_type_may_stand_in_records(validation):
    there_and_back(Price, Price(Money("1", "EUR")), {"money": "1 EUR", "visible": True}, validation)


class Tag:
    def __init__(self, *words):
        self.words = words

    def __eq__(self, other):
        return self.words == other.words

    __hash__ = None


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "items": TEXT, "contains": {"const": "a"}}, ["a", "b"], ["b"]),
        ({"type": "array", "items": TEXT, "uniqueItems": True}, ["a", "b"], ["a", "a"]),
        ({"anyOf": [{"type": "array", "maxItems": 1}, {"type": "array", "minItems": 3}]}, ["a"], ["a", "b"]),
        ({"type": "array", "items": {"$ref": "#/$defs/word"}, "$defs": {"word": TEXT | {"minLength": 1}}}, ["a"], [""]),
        ({"$ref": "#/$defs/all", "$defs": {"all": {"type": "array", "items": TEXT}}}, ["a"], [1]),
        ({"$ref": "#/$defs/all", "minItems": 1, "$defs": {"all": {"type": "array"}}}, ["a"], []),
        ({"type": "array", "items": {"anyOf": [TEXT, {"$ref": "#"}]}}, ["a", ["b"]], ["a", [1]]),
    ],
)
def test_a_registered_schema_may_use_any_keyword(schema, good, bad, validation, own_forms):
    """jsonschema judges the keywords that our code does not know, and references work in any place."""
    register_codec(Tag, schema=schema, decode=lambda words: Tag(*words), encode=lambda tag: list(tag.words))
    there_and_back(Tag, Tag(*good), good, validation)
    there_and_back(dict[str, Tag | None], {"a": Tag(*good), "b": None}, {"a": good, "b": None}, validation)
    there_and_back(
        tuple[Tag, Tag, Node],
        (Tag(*good), Tag(*good), Node(value=1)),
        [good, good, {"value": 1, "children": []}],
        validation,
    )
    assert problem(list[Tag], [good, bad], validation).startswith("value[1]")
    with pytest.raises(DefinitionError, match="cannot be hashed"):
        tool_for(set[Tag])


@pytest.mark.parametrize(
    ("kind", "schema", "words"),
    [
        ("Money", TEXT, "expected a class"),
        (Money, {"type": "text"}, r"register_codec\(Money\)"),
        (Money, {"$ref": "https://example.com/x"}, r"register_codec\(Money\)"),
        (Money, {"type": "object", "properties": {"a": TEXT, "b": {"$ref": "#/properties/a"}}}, "refer to `#` or"),
        (Money, {"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x"}}}, "refer to `#` or"),
    ],
)
def test_a_registration_that_cannot_work_is_refused(kind, schema, words, own_forms):
    """Mistakes show where they were made, not at the first call."""
    with pytest.raises(DefinitionError, match=words):
        register_codec(kind, schema=schema, decode=str, encode=str)


class Pair(NamedTuple):
    a: int
    b: int


def test_a_registered_codec_replaces_our_own(validation, own_forms):
    """This holds also for a class that could have been read, and for one of our own."""
    register_codec(
        Pair,
        schema=TEXT,
        decode=lambda text: Pair(*map(int, text.split("/"))),
        encode=lambda pair: f"{pair.a}/{pair.b}",
    )
    three_ways(Pair, Pair(1, 2), "1/2", TEXT, validation)
