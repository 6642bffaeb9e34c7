"""Checks that a class defines: validators of pydantic and attrs, and constructors."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

import annotated_types as at
import attrs
import msgspec
import pydantic
import pytest
from pydantic import AfterValidator, Field, StringConstraints
from typing_extensions import TypedDict

from tests.values.codecs.metadata_kit import fail, inside
from toolkit import DefinitionError, Tool

from .kit import problem, read, schema_of, tool_for


@dataclass
class Leaf:
    kind: Literal["leaf"]


@dataclass
class Branch:
    kind: Literal["branch"]
    left: "Annotated[Leaf | Branch, Field(discriminator='kind')]"


def test_a_discriminator_may_stand_in_a_record_that_contains_itself(validation):
    """The field is looked for where the record is complete."""
    form = {"kind": "branch", "left": {"kind": "branch", "left": {"kind": "leaf"}}}
    assert read(Branch, form, validation).left.left == Leaf("leaf")
    assert problem(Branch, {"kind": "branch", "left": {"kind": "cow"}}, validation).startswith("value.left")


@attrs.define
class Checked:
    x: int = attrs.field(validator=attrs.validators.gt(0), converter=abs)
    y: str = attrs.field(default="a", validator=attrs.validators.matches_re("[a-z]"))


@dataclass
class PostInit:
    x: int

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("negative")


@pytest.mark.parametrize(
    ("hint", "form", "message"),
    [
        (Checked, {"x": 0}, "must be > 0"),
        (Checked, {"x": 1, "y": "A"}, "must match regex"),
        (PostInit, {"x": -1}, "negative"),
    ],
)
def test_checks_of_a_class_run(hint, form, message, validation):
    """attrs validators, attrs converters and `__post_init__` run when a call is checked."""
    assert message in problem(list[hint], [form], validation)
    assert read(Checked, {"x": -3}, validation) == Checked(3)


class Lowered(TypedDict):
    __pydantic_config__ = pydantic.ConfigDict(str_to_lower=True, str_max_length=3)
    x: str


@dataclass
class Decorated:
    x: str

    @pydantic.field_validator("x")
    @classmethod
    def check(cls, x):
        return x.lower() if len(x) < 4 else fail("too long")


@dataclass
class WithField:
    x: str = Field(default="a", max_length=3)


@pytest.mark.parametrize("record", [Lowered, Decorated, WithField])
def test_a_plain_class_with_checks_of_pydantic_is_decoded_by_pydantic(record, validation):
    """It has the settings, decorators or fields of pydantic, and its constructor would not run them."""
    tool = tool_for(list[record])
    decoded = tool.check({"value": [{"x": "abc"}]}, validation=validation)
    assert tool.encode(decoded) == {"value": [{"x": "abc"}]}
    assert problem(list[record], [{"x": "abcd"}], validation).startswith("value[0].x: ")


class Point(msgspec.Struct):
    x: Annotated[int, msgspec.Meta(gt=0)]


class LimitedPoint(msgspec.Struct):
    x: list[Annotated[int, at.Gt(0)]]


class CheckedPoint(msgspec.Struct):
    x: Annotated[int, AfterValidator(abs)] | None


class PointHolder(msgspec.Struct):
    points: dict[str, LimitedPoint]


class MetaModel(pydantic.BaseModel):
    x: Annotated[int, msgspec.Meta(gt=0)]


class ZoneModel(pydantic.BaseModel):
    x: Annotated[datetime, at.Timezone(None)]


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (LimitedPoint, "LimitedPoint.x: msgspec ignores Gt; use `msgspec.Meta`"),
        (CheckedPoint, "CheckedPoint.x: msgspec ignores AfterValidator; use `msgspec.Meta`"),
        (list[PointHolder], "LimitedPoint.x: msgspec ignores Gt"),
        (MetaModel, "MetaModel.x: pydantic ignores Meta; use a validator or a type of pydantic"),
        (ZoneModel | None, "ZoneModel.x: pydantic ignores Timezone"),
    ],
)
def test_a_check_that_the_library_of_the_class_ignores_is_refused(hint, words, validation):
    """A struct runs only msgspec's checks, and a model only pydantic's."""
    with pytest.raises(DefinitionError, match=f"parameter `value`: {words}"):
        tool_for(hint)
    assert problem(Point, {"x": 0}, validation).startswith("value.x: ")


def test_a_default_in_a_named_tuple_cannot_be_a_field():
    """The constructor would take the field itself for the value."""

    class Pair(NamedTuple):
        x: int = Field(gt=0)

    with pytest.raises(DefinitionError, match=r"Pair.x: `= Field\(...\)` counts only in a dataclass; write `Annotated"):
        tool_for(Pair)


def test_a_default_is_checked_if_the_field_has_validate_default():
    """`validate_default=True` refuses a default that a validator refuses, and keeps what the validator returns."""

    def with_default(**options):
        def probe(value: Annotated[str, AfterValidator(inside), StringConstraints(to_upper=True)] = Field(**options)):
            """Probe."""

        return Tool.described(probe)

    assert with_default(default="a", validate_default=True).check({}) == {"value": "A"}
    assert with_default(default_factory=lambda: "a", validate_default=True).check({}) == {"value": "A"}
    assert with_default(default="..").check({}) == {"value": ".."}
    with pytest.raises(DefinitionError, match="parameter `value`: .*the default is refused: stays outside"):
        with_default(default="..", validate_default=True)


@attrs.define
class Parcel:
    """Its constructor runs the validators, after the converters."""

    width: int = attrs.field(default=1, validator=attrs.validators.ge(0))
    name: str = attrs.field(default="a", validator=[attrs.validators.max_len(3), attrs.validators.min_len(1)])
    limit: int | None = attrs.field(default=None, validator=attrs.validators.optional(attrs.validators.lt(5)))
    _weight: float = attrs.field(default=1.0, validator=attrs.validators.gt(0))
    kind: str = attrs.field(default="x", validator=attrs.validators.in_(["x", "y"]))
    doubled: int = attrs.field(default=1, converter=lambda number: number * 2, validator=attrs.validators.ge(4))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"width": -1}, "value.width: expected at least 0, got -1"),
        ({"name": "abcd"}, "value.name: expected at most 3 characters"),
        ({"name": ""}, "value.name: expected at least 1 character"),
        ({"limit": 5}, "value.limit: expected less than 5, got 5"),
        ({"weight": 0}, "value.weight: expected more than 0, got 0"),
        ({"kind": "z"}, "value.kind: 'kind' must be in ['x', 'y'] (got 'z')"),
        ({"doubled": 1}, "value: 'doubled' must be >= 4: 2"),
    ],
    ids=str,
)
def test_what_a_validator_of_attrs_refuses_names_the_field(form, message, validation):
    refusal = problem(Parcel, {"doubled": 2, **form}, validation)
    assert refusal.startswith(message)
    assert "Attribute(" not in refusal


def test_the_bounds_and_lengths_of_validators_of_attrs_are_in_the_schema():
    """A converter may make a valid value of any argument, and a result is not validated."""
    parts = schema_of(Parcel)["properties"]
    stated = {name: set(part) - {"type", "default", "format"} for name, part in parts.items()}
    assert stated["width"] == {"minimum"}
    assert stated["name"] == {"minLength", "maxLength"}
    assert stated["limit"] == {"exclusiveMaximum"}
    assert stated["weight"] == {"exclusiveMinimum"}
    assert not stated["kind"] | stated["doubled"]


@attrs.define(init=False)
class Handmade:
    """Its constructor runs no validator."""

    width: int = attrs.field(validator=attrs.validators.ge(0))

    def __init__(self, width: int) -> None:
        self.width = abs(width)


def test_a_handwritten_constructor_decides_whether_validators_run(validation):
    assert read(Handmade, {"width": -1}, validation).width == 1
