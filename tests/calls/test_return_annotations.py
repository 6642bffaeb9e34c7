"""The checks that stand in a return annotation run on what a tool returns, or the tool is refused."""

import uuid
from dataclasses import dataclass, make_dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple, Optional

import annotated_types as at
import pydantic
import pytest
from pydantic import AfterValidator, BeforeValidator, PlainSerializer, PlainValidator, StringConstraints, WrapSerializer

from toolkit import Catalog, DefinitionError, Dispatcher, tool
from toolkit.results import ToolResult

pytestmark = pytest.mark.anyio


def inside(path):
    if ".." in path:
        raise ValueError("stays outside the project")
    return path.strip()


Inside = Annotated[str, AfterValidator(inside)]


@dataclass
class Box:
    """A record whose constructor checks nothing."""

    path: Inside


class Opaque:
    """A class without a JSON form."""

    size = 3


async def call(returns: Any, value: Any) -> tuple[Any, ToolResult]:
    """Return the output schema of a tool that promises *returns*, and the result when it returns *value*."""
    catalog = Catalog()

    def probe():
        """Probe."""
        return value

    probe.__annotations__["return"] = returns
    tool(probe, catalog=catalog)
    return catalog["probe"].output_schema, await Dispatcher(catalog).call("probe", {})


@pytest.mark.parametrize(
    ("returns", "value", "problem"),
    [
        (Inside, "../a", "stays outside the project"),
        (Optional[Inside], "../a", "stays outside the project"),
        (list[Inside], ["a", "../a"], "stays outside the project"),
        (dict[str, Inside], {"a": "../a"}, "stays outside the project"),
        (Box, Box("../a"), "stays outside the project"),
        (NamedTuple("Pair", [("path", Inside)]), None, "stays outside the project"),
        (Annotated[str, BeforeValidator(inside)], "../a", "stays outside the project"),
        (Annotated[str, PlainValidator(inside)], "../a", "stays outside the project"),
        (Annotated[str, at.Predicate(str.islower)], "A", "str.islower holds"),
        (Annotated[int, at.Gt(0)], -1, "expected more than 0, got -1"),
        (Annotated[int | None, at.Gt(0)], -1, "expected more than 0, got -1"),
        (Annotated[datetime, at.Timezone(...)], datetime(2024, 5, 1), "a time with a time zone"),
        (pydantic.UUID4, uuid.UUID(int=1), "a UUID of version 4"),
        (Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)], "  ", "at least 1 character"),
        (Annotated[str, PlainSerializer(lambda text: 1 / 0)], "a", "division by zero"),
    ],
)
async def test_a_result_that_its_annotation_refuses_is_an_error(returns, value, problem):
    """A validator in a return annotation is never dropped: what it refuses does not reach the model as ok."""
    if value is None:
        value = returns("../a")
    _, result = await call(returns, value)
    assert result.kind == "failed"
    assert "it returned what its return annotation does not allow" in result.text
    assert problem in result.text


def format_number(number: float) -> str:
    return f"{number:.1f}"


@pytest.mark.parametrize(
    ("returns", "value", "form", "schema"),
    [
        (Inside, " a ", "a", {"type": "string"}),
        (Optional[Inside], " a ", "a", {"type": ["string", "null"]}),
        (Optional[Inside], None, None, {"type": ["string", "null"]}),
        (list[Inside], [" a "], ["a"], {"type": "array", "items": {"type": "string"}}),
        (Annotated[int, at.Gt(0)], 1, 1, {"type": "integer", "exclusiveMinimum": 0}),
        (Annotated[str, StringConstraints(to_upper=True)], "a", "A", {"type": "string"}),
        (Annotated[float, PlainSerializer(format_number)], 1.25, "1.2", {"type": "string"}),
        (Annotated[float, PlainSerializer(lambda number: number + 1, return_type=float)], 1.5, 2.5, {"type": "number"}),
        (Annotated[float, WrapSerializer(lambda number, handler: handler(number) + 1)], 1.5, 2.5, None),
        (Annotated[Opaque, PlainSerializer(lambda box: box.size, return_type=int)], Opaque(), 3, {"type": "integer"}),
        (pydantic.Json[list[int]], [1], [1], {"type": "array", "items": {"type": "integer"}}),
        (pydantic.Base64Str, "hello", "aGVsbG8=", {"type": "string", "format": "base64"}),
        (
            Annotated[int, pydantic.WithJsonSchema({"type": "number"}, mode="serialization")],
            1,
            1,
            {"type": "number"},
        ),
        (Annotated[int, pydantic.WithJsonSchema({"type": "number"}, mode="validation")], 1, 1, {"type": "integer"}),
    ],
)
async def test_a_result_is_written_as_its_annotation_says(returns, value, form, schema):
    """Validators and serializers change the value; the output schema is of what is written."""
    output_schema, result = await call(returns, value)
    assert (result.kind, result.value) == ("ok", form)
    assert output_schema == schema


@pytest.mark.parametrize(
    "place", [lambda hint: hint, lambda hint: list[hint], lambda hint: make_dataclass("Data", [("x", hint)])]
)
def test_a_check_that_cannot_run_on_a_result_is_refused(place):
    """A return annotation that cannot be read is ignored, but a check in it is not."""

    def probe():
        """Probe."""

    probe.__annotations__["return"] = place(pydantic.SkipValidation[int])
    with pytest.raises(DefinitionError, match="probe: the return annotation: .*SkipValidation"):
        tool(probe, catalog=None)


async def test_a_value_of_another_type_is_not_mistaken_for_a_refusal():
    """The function of a validator sees only values of the type."""
    _, result = await call(Inside | int, 5)
    assert (result.kind, result.value) == ("ok", 5)
