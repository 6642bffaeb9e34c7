"""Numbers, text, truth, nothing and anything: one plain JSON value each."""

import enum
import inspect
from typing import Any

import pytest

from toolkit.spec import Tool

from .kit import problem, read, schema_of, there_and_back, three_ways, tool_for, written

pytestmark = pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")


@pytest.mark.parametrize(
    ("hint", "value", "schema"),
    [
        (str, "text", {"type": "string"}),
        (str, "", {"type": "string"}),
        (str, "日本 🎉", {"type": "string"}),
        (int, 3, {"type": "integer"}),
        (int, -(10**30), {"type": "integer"}),
        (float, 2.5, {"type": "number"}),
        (float, -0.0, {"type": "number"}),
        (bool, True, {"type": "boolean"}),
        (bool, False, {"type": "boolean"}),
        (None, None, {"type": "null"}),
        (type(None), None, {"type": "null"}),
        (Any, {"a": [1, None, 2.5, True, "x"]}, {}),
        (object, ["anything", 1], {}),
        (inspect.Parameter.empty, 1, {}),
    ],
)
def test_scalars_go_three_ways(hint, value, schema, validation):
    """A plain value looks the same in JSON and in Python."""
    if hint is inspect.Parameter.empty:
        there_and_back(hint, value, value, validation)
    else:
        three_ways(hint, value, value, schema, validation)


def test_no_annotation_takes_anything(validation):
    """A parameter without an annotation is one that takes any JSON value."""

    def probe(value): ...

    tool = Tool.described(probe, name="probe", description="Probe.")
    assert tool.schema["properties"]["value"] == {}
    assert tool.check({"value": {"deep": [1]}}, validation=validation) == {"value": {"deep": [1]}}


@pytest.mark.parametrize(
    ("hint", "form", "value"), [(int, 3.0, 3), (int, -0.0, 0), (int, 1e20, 10**20), (float, 3, 3.0), (float, -1, -1.0)]
)
def test_numbers_arrive_as_the_annotated_type(hint, form, value, validation):
    """JSON knows one kind of number; `3.0` is an integer, and `3` a float where one is wanted."""
    received = read(hint, form, validation)
    assert (received, type(received)) == (value, hint)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (int, True, "an integer"),
        (int, "3", "an integer"),
        (int, 3.5, "an integer"),
        (int, None, "an integer"),
        (int, [3], "an integer"),
        (float, True, "a number"),
        (float, "2.5", "a number"),
        (float, 10**400, "a number"),
        (str, 3, "a string"),
        (str, None, "a string"),
        (bool, 1, "true or false"),
        (bool, "true", "true or false"),
        (None, 0, "null"),
        (None, "", "null"),
    ],
)
def test_other_scalars_are_refused(hint, form, words, validation):
    """No value is taken for another: `true` is no integer, `"3"` is none either."""
    message = problem(hint, form, validation)
    assert message.startswith("value: ")
    assert words in message


@pytest.mark.parametrize("hint", [int, float, str, bool, None, Any])
@pytest.mark.parametrize("form", [float("nan"), float("inf"), "\ud800", 10**2000, b"bytes"])
def test_a_value_that_is_not_json_is_refused(hint, form, validation):
    """This holds for every type."""
    assert problem(hint, form, validation)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (int, True),
        (int, 3.0),
        (int, "3"),
        (int, 10**2000),
        (float, True),
        (float, float("nan")),
        (float, float("inf")),
        (float, 10**400),
        (float, "2.5"),
        (str, 3),
        (bool, 1),
        (None, 0),
        (Any, {1, 2}),
        (Any, float("nan")),
        (Any, {1: "a"}),
    ],
)
def test_values_of_another_type_do_not_encode(hint, value):
    """Encoding says what is wrong instead of sending something else."""
    with pytest.raises((TypeError, ValueError)):
        written(hint, value)


class Loud(str, enum.Enum):
    HEY = "hey"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(("hint", "value", "form"), [(str, Loud.HEY, "hey"), (int, Level.HIGH, 3), (float, 1, 1.0)])
def test_subclasses_encode_as_plain_values(hint, value, form):
    """A value of a subclass is sent as what it is underneath."""
    encoded = written(hint, value)
    assert (encoded, type(encoded)) == (form, type(form))


@pytest.mark.parametrize("hint", [str, int, float, bool, None, Any])
def test_one_codec_serves_every_tool(hint):
    """Two tools with the same parameter have the same schema, and neither can change the other's."""
    tool_for(hint).schema["properties"]["value"]["description"] = "spoilt"
    assert "description" not in schema_of(hint)
