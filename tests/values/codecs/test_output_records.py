"""A record that is returned has all its fields in the value, in the text and in the output schema alike."""

import json
from dataclasses import InitVar, dataclass, field
from typing import Any, NamedTuple

import attrs
import jsonschema
import msgspec
import pydantic
import pytest

from toolkit import Catalog, Dispatcher, Tool

pytestmark = pytest.mark.anyio


@dataclass
class Order:
    price: int
    count: int = 1
    rate: InitVar[int] = 2
    total: int = field(init=False)
    note: str = field(init=False, default="none")

    def __post_init__(self, rate: int) -> None:
        self.total = self.price * self.count * rate


@dataclass
class Written:
    """A dataclass with a constructor of its own."""

    first: str
    last: str

    def __init__(self, whole: str) -> None:
        self.first, self.last = whole.split()


@dataclass
class Unset:
    there: int
    absent: int = field(init=False)


@attrs.define
class Attrs:
    _price: int
    total: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.total = self._price * 2


class Model(pydantic.BaseModel):
    price: int = pydantic.Field(alias="Price")
    hidden: int = pydantic.Field(default=1, exclude=True)

    @pydantic.computed_field
    @property
    def total(self) -> int:
        return self.price * 2


class Struct(msgspec.Struct, rename="camel"):
    unit_price: int


class Pair(NamedTuple):
    left: int
    right: int = 2


CASES: list[tuple[Any, Any, dict[str, Any]]] = [
    (Order, Order(5), {"price": 5, "count": 1, "total": 10, "note": "none"}),
    (Written, Written("Ada Lovelace"), {"first": "Ada", "last": "Lovelace"}),
    (Unset, Unset(1), {"there": 1}),
    (Attrs, Attrs(5), {"price": 5, "total": 10}),
    (Model, Model(Price=5), {"Price": 5, "total": 10}),
    (Struct, Struct(5), {"unitPrice": 5}),
    (Pair, Pair(1), {"left": 1, "right": 2}),
]


async def call(value: Any, returns: Any = ...) -> tuple[Tool, Any]:
    catalog = Catalog()

    async def give():
        """Give it."""
        return value

    if returns is not ...:
        give.__annotations__["return"] = returns
    catalog.tool(give)
    return catalog["give"], await Dispatcher(catalog).call("give")


@pytest.mark.parametrize(("cls", "value", "form"), CASES, ids=[case[0].__name__ for case in CASES])
@pytest.mark.parametrize("wrap", [lambda item: item, lambda item: [item]], ids=["alone", "list"])
async def test_value_and_text_and_output_schema_of_a_result_agree(cls, value, form, wrap):
    """This holds for fields with `init=False`, computed fields, and constructors."""
    returns = cls if wrap(1) == 1 else list[cls]
    tool, result = await call(wrap(value), returns)
    assert (result.kind, result.value) == ("ok", wrap(form))
    assert json.loads(result.text) == wrap(form)
    jsonschema.validate(result.value, tool.output_schema)
    schema = tool.output_schema if returns is cls else tool.output_schema["items"]
    assert form.keys() <= schema["properties"].keys()
    assert set(schema["properties"]) - form.keys() <= {"absent"}


@pytest.mark.parametrize(("cls", "value", "form"), CASES, ids=[case[0].__name__ for case in CASES])
@pytest.mark.parametrize("wrap", [lambda item: item, lambda item: {"a": [item, {1}]}], ids=["alone", "deep"])
async def test_the_value_is_the_same_without_an_annotation(cls, value, form, wrap):
    """The class decides."""
    _, result = await call(wrap(value))
    expected = wrap(form)
    assert result.value == (expected if expected is form else {"a": [form, [1]]})


@pytest.mark.parametrize("cls", [Order, Attrs, Model], ids=lambda cls: cls.__name__)
def test_the_schema_of_a_record_argument_has_only_the_parameters_of_its_constructor(cls):
    """A model cannot send computed fields."""

    def take(value: cls) -> None:
        """Take it."""

    take.__annotations__["value"] = cls
    assert "total" not in Tool.of(take).schema["properties"]["value"]["properties"]


@dataclass
class Wrong:
    price: Any = None
    total: int = field(init=False, default="many")  # type: ignore[assignment]


async def test_a_computed_field_of_another_type_is_noticed():
    """It has to keep to its annotation, too."""
    _, result = await call(Wrong(), Wrong)
    assert (result.kind, "total: expected an integer" in result.text) == ("failed", True)
