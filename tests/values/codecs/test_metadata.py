"""
Metadata of a known family either runs or is a `DefinitionError`, wherever it stands.

The tables hold every class of metadata that pydantic, annotated-types and msgspec offer.
"""

import base64
import functools
import re
import socket
import uuid
from dataclasses import dataclass, make_dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypeVar, Union

import annotated_types as at
import attrs
import msgspec
import pydantic
import pytest
from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, StringConstraints, WrapValidator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError, core_schema
from typing_extensions import TypedDict

from tests.values.codecs.metadata_kit import fail, inside
from toolkit import BadArgs, DefinitionError, register_codec
from toolkit.values.schemas.text_forms import TEXT_FORMS

from .kit import problem, read, schema_of, tool_for, written

HERE = str(Path(__file__))
FOLDER = str(Path(__file__).parent)
MISSING = str(Path(__file__).parent / "no-such-file")
VERSION_1 = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"


def with_info(value, info):
    assert value != "bad", f"not in {info.mode} mode"
    return value


def split(value):
    return value.split(",") if isinstance(value, str) else value


def around(value, handler):
    if value == "bad":
        raise PydanticCustomError("bad", "it is bad")
    return handler(value)


class Rot13(pydantic.EncoderProtocol):
    @classmethod
    def decode(cls, data):
        if not data.startswith(b"r:"):
            raise pydantic.ValidationError.from_exception_data("x", []) if not data else ValueError("no r")
        return data[2:]

    @classmethod
    def encode(cls, value):
        return b"r:" + value

    @classmethod
    def get_json_format(cls):
        return "rot13"


class Upper:
    """A user's own annotation, written as pydantic's documentation says."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        def check(text):
            if not text.isupper():
                raise ValueError("not in capitals")
            return text

        return core_schema.no_info_after_validator_function(check, handler(source))


class Even(at.GroupedMetadata):
    def __iter__(self):
        yield AfterValidator(lambda number: number if number % 2 == 0 else fail("odd"))


@dataclass
class Cat:
    kind: Literal["cat"]


@dataclass
class Dog:
    kind: Literal["dog"]


def read_uuid(version):
    return str(uuid.UUID(int=uuid.UUID(VERSION_1).int & ~(0xF << 76) | version << 76))


RUNNING = {
    # pydantic's functions
    "after": (Annotated[str, AfterValidator(inside)], "a/b", "../b"),
    "after with info": (Annotated[str, AfterValidator(with_info)], "good", "bad"),
    "after a partial": (Annotated[str, AfterValidator(functools.partial(with_info, info=at.Gt))], "good", None),
    "before": (Annotated[str, BeforeValidator(inside)], "a/b", "../b"),
    "before with a type": (
        Annotated[list[str], BeforeValidator(split, json_schema_input_type=str), at.MaxLen(2)],
        "a,b",
        "a,b,c",
    ),
    "before that makes the value": (Annotated[date, BeforeValidator(date.fromisoformat)], "2024-05-01", "May 1st"),
    "wrap": (Annotated[str, WrapValidator(around)], "good", "bad"),
    "plain": (Annotated[str, PlainValidator(inside)], "a/b", "../b"),
    "plain with a type": (Annotated[int, PlainValidator(int, json_schema_input_type=str)], "12", "twelve"),
    "after a limit": (Annotated[int, at.Ge(1), AfterValidator(lambda number: -number)], 1, 0),
    "a limit after": (Annotated[str, AfterValidator(len), at.Ge(2)], "ab", "a"),
    "a pattern after": (Annotated[str, AfterValidator(str.upper), Field(pattern="^A")], "a", "b"),
    "a group of functions": (Annotated[int, Even()], 2, 3),
    # pydantic's text
    "strip": (Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], " a ", "  "),
    "to_lower": (Annotated[str, StringConstraints(to_lower=True), at.Predicate(str.islower)], "A", "1"),
    "to_upper": (Annotated[str, StringConstraints(to_upper=True), at.Predicate(str.isupper)], "a", "1"),
    "a predicate first": (Annotated[str, at.Predicate(str.isupper), StringConstraints(to_lower=True)], "A", "a"),
    "pattern": (Annotated[str, StringConstraints(pattern="^a$", strip_whitespace=True)], "a", "b"),
    "ascii": (Annotated[str, StringConstraints(ascii_only=True)], "a", "ä"),
    "constr": (pydantic.constr(strip_whitespace=True, max_length=2), "ab", "abc"),
    # pydantic's types
    "FilePath": (pydantic.FilePath, HERE, MISSING),
    "DirectoryPath": (pydantic.DirectoryPath, FOLDER, HERE),
    "NewPath": (pydantic.NewPath, MISSING, HERE),
    "SocketPath": (pydantic.SocketPath, None, HERE),
    **{f"UUID{n}": (getattr(pydantic, f"UUID{n}"), read_uuid(n), read_uuid(2)) for n in (1, 3, 4, 5, 6, 7, 8)},
    "Base64Str": (pydantic.Base64Str, "aGVsbG8=", "a"),
    "Base64Bytes": (pydantic.Base64Bytes, "aGVsbG8=", "a"),
    "Base64UrlStr": (pydantic.Base64UrlStr, "aGVsbG8=", "a"),
    "Base64UrlBytes": (pydantic.Base64UrlBytes, "aGVsbG8=", "a"),
    "EncodedStr": (Annotated[str, pydantic.EncodedStr(encoder=Rot13)], "r:a", "a"),
    "EncodedBytes": (Annotated[bytes, pydantic.EncodedBytes(encoder=Rot13)], "r:a", "a"),
    "Json": (pydantic.Json[list[int]], "[1]", '["a"]'),
    "Json that is none": (pydantic.Json[list[int]], "[]", "[1"),
    "Json without a type": (pydantic.Json, "{}", "{"),
    "WithJsonSchema": (Annotated[str, pydantic.WithJsonSchema({"type": "string", "maxLength": 1})], "a", "ab"),
    "InstanceOf": (pydantic.InstanceOf[date], "2024-05-01", "soon"),
    "InstanceOf a name": (pydantic.InstanceOf["int"], 1, "soon"),
    "Strict": (Annotated[int, pydantic.Strict()], 1, "1"),
    "Strict as a class": (Annotated[int, pydantic.Strict], 1, "1"),
    "StrictInt": (pydantic.StrictInt, 1, "1"),
    "FiniteFloat": (pydantic.FiniteFloat, 1.5, "inf"),
    "FailFast": (Annotated[list[int], pydantic.FailFast()], [1], ["a"]),
    "SecretStr": (Annotated[pydantic.SecretStr, Field(min_length=3)], None, "ab"),
    "PastDate": (pydantic.PastDate, "2001-05-01", "2999-05-01"),
    "PastDate as metadata": (Annotated[date, pydantic.PastDate], "2001-05-01", "2999-05-01"),
    "AwareDatetime": (pydantic.AwareDatetime, "2024-05-01T00:00:00Z", "2024-05-01T00:00:00"),
    "UrlConstraints": (
        Annotated[pydantic.AnyUrl, pydantic.UrlConstraints(allowed_schemes=["ftp"])],
        "ftp://a/",
        "http://a/",
    ),
    "ImportString": (pydantic.ImportString[Any], None, "no.such.module"),
    "GetPydanticSchema": (
        Annotated[
            str, pydantic.GetPydanticSchema(lambda source, handler: Upper.__get_pydantic_core_schema__(source, handler))
        ],
        "A",
        "a",
    ),
    "ValidateAs": (Annotated[Path, pydantic.ValidateAs(int, lambda number: Path(str(number)))], None, "a"),
    "a user's annotation": (Annotated[str, Upper], "A", "a"),
    "a user's annotation as an object": (Annotated[str, Upper()], "A", "a"),
    "Discriminator": (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat"}, {"kind": "cow"}),
    "Discriminator as an object": (
        Annotated[Cat | Dog, pydantic.Discriminator("kind")],
        {"kind": "cat"},
        {"kind": "cow"},
    ),
    "Discriminator with a function": (
        Annotated[
            Annotated[Cat, pydantic.Tag("c")] | Annotated[Dog, pydantic.Tag("d")],
            pydantic.Discriminator(lambda value: "c" if isinstance(value, Cat) or value["kind"] == "cat" else "d"),
        ],
        {"kind": "cat"},
        {"kind": "cow"},
    ),
    "union_mode": (Annotated[int | float, Field(union_mode="left_to_right")], 1, "a"),
    "json_schema_extra": (Annotated[str, Field(json_schema_extra={"maxLength": 1})], "a", "ab"),
    # annotated-types
    "Timezone of any": (Annotated[datetime, at.Timezone(...)], "2024-05-01T00:00:00+00:00", "2024-05-01T00:00:00"),
    "Timezone of none": (Annotated[datetime, at.Timezone(None)], "2024-05-01T00:00:00", "2024-05-01T00:00:00Z"),
    "Timezone UTC": (Annotated[datetime, at.Timezone(UTC)], "2024-05-01T00:00:00+00:00", "2024-05-01T00:00:00+02:00"),
    "Timezone by name": (
        Annotated[datetime, at.Timezone("Europe/Paris")],
        "2024-05-01T00:00:00+02:00",
        "2024-05-01T00:00:00+01:00",
    ),
    "Timezone of a time": (Annotated[time, at.Timezone(None)], "12:30:00", "12:30:00+00:00"),
    "Unit": (Annotated[int, at.Unit("m")], 1, "a"),
    "Not": (Annotated[str, at.Not(str.islower)], "A", "a"),
    "Predicate": (Annotated[str, at.Predicate(str.islower)], "a", "A"),
    "LowerCase": (at.LowerCase[str], "a", "A"),
    "IsAscii": (at.IsAscii[str], "a", "ä"),
    "IsFinite": (at.IsFinite[float], 1.5, "a"),
    "Interval": (Annotated[int, at.Interval(ge=1, lt=3)], 1, 3),
    "Len": (Annotated[str, at.Len(1, 2)], "a", ""),
    "MultipleOf": (Annotated[int, at.MultipleOf(2)], 2, 3),
    # msgspec
    "Meta with a time zone": (
        Annotated[datetime, msgspec.Meta(tz=True)],
        "2024-05-01T00:00:00+00:00",
        "2024-05-01T00:00:00",
    ),
    "Meta without a time zone": (
        Annotated[datetime, msgspec.Meta(tz=False)],
        "2024-05-01T00:00:00",
        "2024-05-01T00:00:00Z",
    ),
    "Meta with a schema": (Annotated[str, msgspec.Meta(extra_json_schema={"maxLength": 1})], "a", "ab"),
}

T = TypeVar("T")
PLACES = {
    "parameter": (lambda hint: hint, lambda form: form),
    "list item": (lambda hint: list[hint], lambda form: [form]),
    "optional": (lambda hint: Optional[hint], lambda form: form),
    "union": (lambda hint: Union[hint, bool], lambda form: form),
    "dict value": (lambda hint: dict[str, hint], lambda form: {"a": form}),
    "tuple": (lambda hint: tuple[hint, int], lambda form: [form, 1]),
    "dataclass": (lambda hint: make_dataclass("Data", [("x", hint)]), lambda form: {"x": form}),
    "typed dict": (lambda hint: TypedDict("Typed", {"x": hint}), lambda form: {"x": form}),
    "named tuple": (lambda hint: NamedTuple("Named", [("x", hint)]), lambda form: {"x": form}),
    "attrs": (lambda hint: attrs.make_class("Attrs", {"x": attrs.field(type=hint)}), lambda form: {"x": form}),
}


def every_place(table):
    """Return each row in each place, but for what Python refuses (metadata without a hash) or reads otherwise."""
    alone = {"FailFast", "Not", "SkipJsonSchema"}
    return [(row, place) for row in table for place in PLACES if row not in alone or place not in ("optional", "union")]


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize(("name", "place"), every_place(RUNNING))
def test_a_check_in_an_annotation_runs_in_any_place(name, place):
    """It may stand at a parameter and inside every type."""
    hint, good, bad = RUNNING[name]
    wrap_hint, wrap_form = PLACES[place]
    tool = tool_for(wrap_hint(hint))
    if good is not None:
        decoded = tool.check({"value": wrap_form(good)})
        tool.check({"value": wrap_form(good)}, validation="jsonschema")
        tool.encode(decoded)
    if bad is not None:
        with pytest.raises(BadArgs, match="^value"):
            tool.check({"value": wrap_form(bad)})
        with pytest.raises(BadArgs, match="^value"):
            tool.check({"value": wrap_form(bad)}, validation="jsonschema")


REFUSED = {
    "SkipValidation": (pydantic.SkipValidation[int], "SkipValidation: arguments are always checked; leave it out"),
    "SkipValidation as a class": (Annotated[int, pydantic.SkipValidation], "arguments are always checked"),
    "OnErrorOmit": (pydantic.OnErrorOmit[int], "OnErrorOmit: an item that fails its check is refused"),
    "SkipJsonSchema": (SkipJsonSchema[int], "SkipJsonSchema: .*counts only for a member of a union"),
    "Tag": (Annotated[Cat, pydantic.Tag("c")], "Tag: it counts only in a union that has a Discriminator"),
    "alias": (Annotated[int, Field(alias="y")], r"Field\(alias=...\) counts only in a pydantic model; name the"),
    "validation_alias": (Annotated[int, Field(validation_alias="y")], r"Field\(validation_alias=...\)"),
    "exclude": (Annotated[int, Field(exclude=True)], r"Field\(exclude=...\)"),
    "a function for the schema": (Annotated[int, Field(json_schema_extra=dict.clear)], "write a dictionary"),
    "numbers as text": (Annotated[str, Field(coerce_numbers_to_str=True)], r"take `str \| int` and convert it"),
    "Timezone of no time": (Annotated[int, at.Timezone(None)], "Timezone is about a datetime, and int is none"),
    "Timezone without a zone": (Annotated[datetime, at.Timezone("Mars/Base")], "no time zone 'Mars/Base'"),
    "FilePath of a pure path": (Annotated[str, *pydantic.FilePath.__metadata__], "is about a Path, and str is none"),
    "UUID4 of no UUID": (Annotated[str, *pydantic.UUID4.__metadata__], "is about a UUID, and str is none"),
    "strip of no text": (Annotated[int, StringConstraints(strip_whitespace=True)], "about text, and int is none"),
    "an async validator": (Annotated[str, AfterValidator(lambda: None)], "pydantic cannot use"),
    "a class without its function": (Annotated[str, AfterValidator], r"write `AfterValidator\(function\)`"),
    "a class without its value": (Annotated[int, at.Gt], r"Gt has no value; write `Gt\(...\)`"),
    "an alias as metadata": (Annotated[str, at.LowerCase], "is a type and not metadata; use it as the type"),
    "WithJsonSchema(None)": (Annotated[str, pydantic.WithJsonSchema(None)], "WithJsonSchema has no schema"),
    "WithJsonSchema of no schema": (Annotated[str, pydantic.WithJsonSchema({"type": "text"})], "not a valid schema"),
    "a schema that refers": (
        Annotated[str, pydantic.WithJsonSchema({"$ref": "#/$defs/A"})],
        "write that part in its place",
    ),
    "a discriminator of nothing": (Annotated[int, Field(discriminator="kind")], "the discriminator `kind`"),
    "a discriminator that one lacks": (
        Annotated[Cat | make_dataclass("Bird", [("name", str)]), Field(discriminator="kind")],
        "Bird has no such Literal field",
    ),
}


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize(("name", "place"), every_place(REFUSED))
def test_a_check_that_cannot_run_is_refused_with_the_parameter_and_the_remedy(name, place):
    """Metadata of a known family that can have no effect is a `DefinitionError`, never ignored."""
    hint, words = REFUSED[name]
    with pytest.raises(DefinitionError, match=f"parameter `value`: .*{words}"):
        tool_for(PLACES[place][0](hint))


async def check_later(value):
    return value


class CheckLater:
    async def __call__(self, value):
        return value


@pytest.mark.parametrize(
    "item",
    [
        *(kind(check_later) for kind in (AfterValidator, BeforeValidator, PlainValidator, WrapValidator)),
        AfterValidator(CheckLater()),
        AfterValidator(functools.partial(check_later)),
        at.Predicate(check_later),
        pydantic.PlainSerializer(check_later),
    ],
)
def test_an_async_validator_is_refused(item):
    """It would never run while arguments are checked."""
    with pytest.raises(DefinitionError, match="parameter `value`: .*has an async function.*plain function"):
        tool_for(Annotated[str, item])


def test_a_validator_that_returns_a_coroutine_is_refused(validation):
    """A plain function that calls an async one is found at the first call."""
    hint = Annotated[str, AfterValidator(lambda text: check_later(text))]
    assert "returned a coroutine" in problem(hint, "a", validation)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("too blue"), "value.x[0]: too blue"),
        (AssertionError("too red"), "value.x[0]: too red"),
        (AssertionError(), "value.x[0]: refused by `check`"),
        (KeyError("green"), "value.x[0]: 'green'"),
        (ZeroDivisionError(), "value.x[0]: `check` raised ZeroDivisionError"),
        (PydanticCustomError("dark", "too dark for {who}", {"who": "us"}), "value.x[0]: too dark for us"),
    ],
)
def test_an_error_of_a_validator_is_reported_with_its_place(error, message, validation):
    """The message of the author stands after the path."""

    def check(text):
        raise error

    record = make_dataclass("Record", [("x", list[Annotated[str, AfterValidator(check)]])])
    assert problem(record, {"x": ["a"]}, validation) == message


def test_a_validator_does_not_run_on_a_wrong_type(validation):
    values = []
    hint = Annotated[int, BeforeValidator(lambda value: values.append(value) or value)]
    assert problem(hint, "1", validation) == 'value: expected an integer, got "1"'
    assert values == []
    assert read(hint, 1, validation) == 1


def test_validators_run_in_their_written_order(validation):
    """As in pydantic, before-validators run from the right, and the others from the left."""
    names = []

    def note(name):
        return lambda value: names.append(name) or value

    hint = Annotated[
        str, AfterValidator(note("after 1")), BeforeValidator(note("before 1")), AfterValidator(note("after 2"))
    ]
    read(hint, "a", validation)
    assert names[-3:] == ["before 1", "after 1", "after 2"]


def test_a_validator_may_change_the_value(validation):
    """The function receives what the validator returns."""
    path = Annotated[str, AfterValidator(lambda text: Path(text))]
    assert read(path, "a/b", validation) == Path("a/b")
    assert written(path, Path("a/b")) == "a/b"
    assert read(Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True)], " a ", validation) == "A"
    assert read(pydantic.Base64Bytes, base64.b64encode(b"hello").decode(), validation) == b"hello"
    assert read(pydantic.Json[dict[str, date]], '{"a": "2024-05-01"}', validation) == {"a": date(2024, 5, 1)}


class Box:
    """A class without a JSON form."""

    def __init__(self, size):
        self.size = size


def test_a_plain_validator_needs_no_json_form_of_the_class(validation):
    """The function makes the value, and a serializer writes it."""
    hint = Annotated[
        Box, PlainValidator(Box, json_schema_input_type=int), pydantic.PlainSerializer(lambda box: box.size)
    ]
    assert schema_of(hint) == {"type": "integer"}
    assert read(hint, 3, validation).size == 3
    assert written(hint, Box(3)) == 3
    assert "expected an integer" in problem(hint, "3", validation)


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (Annotated[str, AfterValidator(inside)], {"type": "string"}),
        (Annotated[list[str], BeforeValidator(split, json_schema_input_type=str)], {"type": "string"}),
        (Annotated[int, PlainValidator(int)], {}),
        (pydantic.FilePath, {"type": "string", "format": "path", "description": "A file that exists."}),
        (pydantic.UUID4, {"type": "string", "format": "uuid4", "pattern": TEXT_FORMS["uuid"].pattern}),
        (pydantic.Base64Str, {"type": "string", "format": "base64"}),
        (
            pydantic.Json[list[int]],
            {
                "type": "string",
                "contentMediaType": "application/json",
                "contentSchema": {"type": "array", "items": {"type": "integer"}},
            },
        ),
        (Annotated[Any, pydantic.WithJsonSchema({"type": "integer", "maximum": 3})], {"type": "integer", "maximum": 3}),
        (Annotated[int, at.Unit("m")], {"type": "integer", "description": "Unit: m."}),
        (Annotated[int, at.Unit("m"), "How far."], {"type": "integer", "description": "How far. Unit: m."}),
        (
            Annotated[datetime, at.Timezone(...)],
            {"type": "string", **TEXT_FORMS["date-time"].schema, "description": "With a time zone."},
        ),
        (Annotated[int, Field(title="Age", deprecated=True)], {"type": "integer", "title": "Age", "deprecated": True}),
        (Annotated[int, msgspec.Meta(title="Age")], {"type": "integer", "title": "Age"}),
        (Annotated[str, Field(json_schema_extra={"x-order": 1})], {"type": "string", "x-order": 1}),
        (Annotated[str, StringConstraints(strip_whitespace=True, max_length=3)], {"type": "string", "maxLength": 3}),
        (Annotated[int, AfterValidator(abs), at.Ge(1)], {"type": "integer"}),
        (int | SkipJsonSchema[None], {"type": "integer"}),
    ],
)
def test_metadata_is_shown_in_the_schema(hint, schema):
    """It becomes a keyword or a sentence, if one of them can express it."""
    assert schema_of(hint) == schema


def test_a_hidden_member_of_a_union_is_a_default_and_cannot_be_sent(validation):
    """`int | SkipJsonSchema[None] = None` hides null from the model."""

    def probe(value: int | SkipJsonSchema[None] = None):
        """Probe."""

    tool = tool_for(int | SkipJsonSchema[None])
    assert tool.encode({"value": None}) == {"value": None}
    assert problem(int | SkipJsonSchema[None], None, validation) == "value: expected an integer, got null"
    assert read(int | SkipJsonSchema[None], 3, validation) == 3


def test_a_validator_works_with_a_users_codec(validation, own_forms):
    """A function validator runs around any codec; what only pydantic can read is refused beside one."""
    register_codec(Box, schema={"type": "integer"}, decode=Box, encode=lambda box: box.size)

    def check(box):
        return box if box.size < 5 else fail("too large")

    assert problem(list[Annotated[Box, AfterValidator(check)]], [3, 7], validation) == "value[1]: too large"
    with pytest.raises(DefinitionError, match="Upper lets pydantic read the type.*does not know the codec of Box"):
        tool_for(Annotated[Box, Upper])


@pytest.mark.parametrize(
    ("key", "good", "decoded", "bad"),
    [
        (Annotated[str, AfterValidator(inside)], "a", "a", "../a"),
        (Annotated[str, BeforeValidator(inside)], "a", "a", "../a"),
        (Annotated[str, StringConstraints(to_upper=True)], "a", "A", None),
        (Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], " a", "a", " "),
        (pydantic.Base64Str, "aGVsbG8=", "hello", "a"),
        (pydantic.UUID4, read_uuid(4), uuid.UUID(read_uuid(4)), read_uuid(1)),
        (pydantic.Json[int], "3", 3, "x"),
        (Annotated[str, pydantic.PlainSerializer(str.upper)], "a", "a", None),
    ],
)
def test_a_check_runs_on_keys(key, good, decoded, bad, validation):
    """A key of a dictionary is checked and written like any other value."""
    assert read(dict[key, int], {good: 1}, validation) == {decoded: 1}
    if bad is not None:
        assert problem(dict[key, int], {bad: 1}, validation)
    assert written(dict[Annotated[str, pydantic.PlainSerializer(str.upper)], int], {"a": 1}) == {"A": 1}


def test_socket_path_accepts_a_socket(tmp_path, validation, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert read(pydantic.SocketPath, "s", validation) == Path("s")


def test_a_name_in_a_pattern_is_not_needed():
    """A compiled pattern after a validator counts as one before it."""
    hint = Annotated[str, AfterValidator(str.strip), Field(pattern=re.compile("^A", re.I))]
    assert read(hint, " ab") == "ab"
    assert "text that matches" in problem(hint, " b")
