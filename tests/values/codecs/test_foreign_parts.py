"""Records of pydantic and msgspec are taken apart into fields that are the arguments of a flat tool."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.values import damaged
from tests.properties.verdict_comparison import find_disagreement
from toolkit import BadArgs, Tool


class Inner(pydantic.BaseModel):
    value: int = pydantic.Field(alias="theValue")


class Model(pydantic.BaseModel):
    amount: Decimal = pydantic.Field(gt=0, alias="theAmount")
    words: list[str] = pydantic.Field(
        default=["a"], validation_alias=pydantic.AliasChoices("terms", "words"), serialization_alias="written"
    )
    inner: Inner | None = None
    left_out: int = pydantic.Field(default=1, exclude=True)
    _seen: list[str] = pydantic.PrivateAttr(default_factory=list)

    @pydantic.field_validator("words", mode="before")
    @classmethod
    def double(cls, words: Any) -> Any:
        return [word * 2 for word in words]

    @pydantic.field_serializer("words")
    def halve(self, words: list[str]) -> list[str]:
        return [word[: len(word) // 2] for word in words]

    @pydantic.model_validator(mode="after")
    def note(self) -> Model:
        self._seen.append("validated")
        return self

    @pydantic.computed_field
    def total(self) -> int:
        return 5

    @property
    def seen(self) -> list[str]:
        return self._seen


@pydantic.dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    amount: Annotated[Decimal, pydantic.Field(gt=0)]
    words: list[str] = dataclasses.field(default_factory=list)
    computed: int = dataclasses.field(default=3, init=False)

    @pydantic.field_serializer("words")
    def sort(self, words: list[str]) -> list[str]:
        return sorted(words)


@dataclasses.dataclass
class Plain:
    """A plain dataclass that only pydantic can check."""

    amount: int = pydantic.Field(gt=0)


class Tagged(msgspec.Struct, tag_field="kind", tag="refund", rename="camel"):
    the_amount: Annotated[int, msgspec.Meta(gt=0)]
    reason: str | msgspec.UnsetType = msgspec.UNSET


def make(kind: Any) -> Tool:
    def take(record):
        """Take a record."""

    take.__annotations__ = {"record": kind}
    return Tool.described(take, flat=True)


def bind(tool: Tool, sent: dict[str, Any]) -> Any:
    """Return the record that the function gets."""
    return tool.signature.bind(tool.check(sent))[1]["record"]


@pytest.mark.parametrize(
    ("kind", "sent", "decoded", "encoded"),
    [
        (
            Model,
            {"theAmount": 5, "terms": ["b"], "inner": {"theValue": 1}},
            {"theAmount": Decimal(5), "terms": ["bb"], "inner": Inner(theValue=1), "left_out": 1},
            {"theAmount": "5", "terms": ["b"], "inner": {"theValue": 1}, "left_out": 1},
        ),
        (
            Checked,
            {"amount": "5", "words": ["b", "a"]},
            {"amount": Decimal(5), "words": ["b", "a"]},
            {"amount": "5", "words": ["a", "b"]},
        ),
        (Plain, {"amount": 5}, {"amount": 5}, {"amount": 5}),
        (
            Tagged,
            {"kind": "refund", "theAmount": 5},
            {"kind": "refund", "theAmount": 5},
            {"kind": "refund", "theAmount": 5},
        ),
        (
            Tagged,
            {"kind": "refund", "theAmount": 5, "reason": "late"},
            {"kind": "refund", "theAmount": 5, "reason": "late"},
            {"kind": "refund", "theAmount": 5, "reason": "late"},
        ),
    ],
)
@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
def test_fields_have_their_names_in_json(kind, sent, decoded, encoded, validation):
    """They are decoded and encoded as by the library, together or one by one."""
    tool = make(kind)
    assert tool.check(sent, validation=validation) == decoded
    assert tool.encode(decoded) == encoded
    assert {name: tool.encode({name: value})[name] for name, value in decoded.items()} == encoded
    assert tool.encode(tool.check(encoded)) == encoded


def test_the_function_gets_the_record_that_was_validated():
    """Values that its validators store outside the fields are there, and the validators ran once."""
    assert bind(make(Model), {"theAmount": 5}).seen == ["validated"]


def test_a_field_that_the_constructor_does_not_take_is_not_an_argument():
    """It is computed, so a model cannot send it."""
    assert list(make(Checked).schema["properties"]) == ["amount", "words"]
    with pytest.raises(BadArgs, match="^computed: unknown key"):
        make(Checked).check({"amount": 1, "computed": 3})


@pytest.mark.parametrize("kind", [Model, Checked, Plain, Tagged])
def test_a_name_that_the_record_would_ignore_is_refused(kind):
    """A misspelt argument would have no effect."""
    sent = {"theAmount": 5, "amount": 5, "kind": "refund", "more": 1}
    with pytest.raises(BadArgs, match="more: unknown key"):
        make(kind).check(sent)


FORMS = {
    Model: {"theAmount": 5, "terms": ["b"], "inner": {"theValue": 1}},
    Checked: {"amount": "5", "words": ["b"]},
    Plain: {"amount": 5},
    Tagged: {"kind": "refund", "theAmount": 5, "reason": "late"},
}


@pytest.mark.parametrize("kind", FORMS)
@given(data=st.data())
def test_damaged_fields_get_one_verdict(kind, data):
    """Both modes judge alike, and never accept what jsonschema refuses."""
    assert find_disagreement(make(kind), data.draw(damaged(FORMS[kind]))) is None
