"""What a model nearly got right is mended, and said; anything else is refused as it came."""

import copy
import dataclasses
import inspect
import json
from typing import Any, Literal, Optional, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.values import damaged, json_values
from toolkit import Tool
from toolkit.values.schemas import repair
from toolkit.values.schemas.member_names import NO_VALUE
from toolkit.values.schemas.repair import repair_arguments
from toolkit.values.schemas.validator import compile_schema
from toolkit.values.strictjson.checks import loads

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


@dataclasses.dataclass
class Item:
    sku: str
    count: int = 1
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    value: int
    children: list["Tree"] = dataclasses.field(default_factory=list)


class Circle(TypedDict):
    kind: Literal["circle"]
    radius: float


class Square(TypedDict):
    kind: Literal["square"]
    side: float
    holes: list[int]


def judge_of(**hints):
    """Return the validator of a function with these parameters; a default of None makes one optional."""

    def function(**arguments):
        raise NotImplementedError

    function.__signature__ = inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=hint[0] if isinstance(hint, tuple) else hint,
                default=hint[1] if isinstance(hint, tuple) else inspect.Parameter.empty,
            )
            for name, hint in hints.items()
        ]
    )
    return Tool.described(function, name="f", description="Mends.").about.checker.validator


def mend(arguments, **hints):
    result = repair_arguments(arguments, judge_of(**hints))
    return None if result is None else result.arguments


@pytest.mark.parametrize(
    ("hint", "sent", "expected"),
    [
        # JSON in a string.
        (list[int], "[1, 2]", [1, 2]),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Item, '{"sku": "a"}', {"sku": "a"}),
        (Optional[Item], '{"sku": "a"}', {"sku": "a"}),
        (list[Item], '[{"sku": "a"}]', [{"sku": "a"}]),
        # A number, a truth, a null in a string.
        (int, "5", 5),
        (int, " -5 ", -5),
        (float, "5.5", 5.5),
        (bool, "true", True),
        (bool, "True", True),
        (bool, "FALSE", False),
        (Optional[int], "null", None),
        (Optional[int], "None", None),
        (Optional[int], "5", 5),
        (Literal[1, 2], "2", 2),
        (int | bool, "5", 5),
        (int | list[int], "5", 5),
        # One item for a list.
        (list[str], "a", ["a"]),
        (list[str], "5", ["5"]),
        (list[int], 5, [5]),
        (list[int], "5", [5]),
        (list[Item], {"sku": "a"}, [{"sku": "a"}]),
        (list[Item], '{"sku": "a"}', [{"sku": "a"}]),
        (set[str], "a", ["a"]),
        (tuple[int, ...], 5, [5]),
        (Optional[list[str]], "a", ["a"]),
        # Keys that differ in case and separators.
        (Item, {"SKU": "a"}, {"sku": "a"}),
        (Item, {"s-k u": "a"}, {"sku": "a"}),
        # Null for what may be left out.
        (Item, {"sku": "a", "count": None}, {"sku": "a"}),
        (Item, {"sku": "a", "count": "null"}, {"sku": "a"}),
        (Item, {"sku": "a", "tags": None}, {"sku": "a"}),
        # Inside: lists, dictionaries, unions, references.
        (list[int], ["1", 2, "3"], [1, 2, 3]),
        (dict[str, int], {"a": "1"}, {"a": 1}),
        (dict[str, list[int]], {"a": 1}, {"a": [1]}),
        (Item, {"sku": "a", "count": "3", "tags": "x"}, {"sku": "a", "count": 3, "tags": ["x"]}),
        (Optional[Item], {"sku": "a", "count": "3"}, {"sku": "a", "count": 3}),
        (Optional[Item], {"Sku": "a", "count": None}, {"sku": "a"}),
        (Item | int, {"Sku": "a", "Tags": "x"}, {"sku": "a", "tags": ["x"]}),
        (dict[str, Item], {"a": {"sku": "b", "count": "3"}}, {"a": {"sku": "b", "count": 3}}),
        (
            Tree,
            {"value": 1, "children": [{"value": "2", "children": {"value": "3"}}]},
            {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]},
        ),
        (Circle | Square, {"kind": "circle", "radius": "1"}, {"kind": "circle", "radius": 1}),
        (
            Circle | Square,
            {"kind": "square", "side": "1", "holes": "2"},
            {"kind": "square", "side": 1, "holes": [2]},
        ),
        (list[Circle | Square], {"kind": "circle", "Radius": "1"}, [{"kind": "circle", "radius": 1}]),
        # Several steps: text, then what is in it.
        (Item, '{"SKU": "a", "count": "3", "tags": "[\\"x\\"]"}', {"sku": "a", "count": 3, "tags": ["x"]}),
        (list[list[int]], '[5, ["6"]]', [[5], [6]]),
        (Optional[Item], '{"sku": "a", "count": "3"}', {"sku": "a", "count": 3}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_repair_takes_the_value_that_was_meant(hint, sent, expected):
    """There is a note with the place."""
    result = repair_arguments({"a": sent}, judge_of(a=hint))
    assert result is not None
    assert result.arguments == {"a": expected}
    assert json.dumps(result.arguments) == json.dumps({"a": expected}) or isinstance(expected, dict)
    assert result.notes
    assert all(note.startswith("a") for note in result.notes)


@pytest.mark.parametrize(
    ("hint", "sent"),
    [
        (int, "five"),
        (int, "5.5"),
        (int, ""),
        (int, None),
        (int, "null"),
        (int, [5]),
        (int, '"5"'),
        (str, 5),
        (str, ["a"]),
        (list[int], None),
        (list[Optional[int]], None),
        (list[int], "a"),
        (list[int], "[1, 'a']"),
        (list[int], [1, None]),
        (dict[str, int], {"a": None}),
        (dict[str, dict[str, int]], {"a": {"a": None}}),
        (Item, {"sku": None}),
        (Item, {"sku": "a", "unknown": 1}),
        (Item, {"sku": "a", "SKU": "b"}),
        (Item, {"Sku": "a", "SKU": "b"}),
        (Item, {"sku": "a", "count": 1, "Count": 1}),
        (Item, {"sku+": "a"}),
        (Item, "[1]"),
        (Item, '{"sku": 1}'),
        (Literal["a", "b"], "A"),
        (Circle | Square, {"kind": "triangle", "side": "1"}),
        (int, "NaN"),
        (int, "1e999"),
        (list[int], "[" * 100 + "1" + "]" * 100),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_ambiguous_value_is_not_changed(hint, sent):
    """No guess is better than a wrong one."""
    arguments = {"a": sent}
    before = copy.deepcopy(arguments)
    assert repair_arguments(arguments, judge_of(a=hint)) is None
    assert arguments == before


def test_several_parameters_are_repaired_at_once():
    """Each has one repair and one note."""
    result = repair_arguments(
        {"max-Count": "5", "items": {"sku": "a"}, "verbose": None, "fine": "7"},
        judge_of(max_count=int, items=list[Item], verbose=(bool, False), fine=str),
    )
    assert result is not None
    assert result.arguments == {"max_count": 5, "items": [{"sku": "a"}], "fine": "7"}
    assert sorted(result.notes) == [
        'items: took an object with keys "sku" as a list of one item',
        'max_count: took the key "max-Count" for "max_count"',
        'max_count: took the text "5" as the JSON it holds',
        "verbose: left out, because null was sent for an optional parameter",
    ]


def test_one_hopeless_value_means_no_repair_at_all():
    """The call is refused as it came, with all of its problems."""
    assert mend({"a": "5", "b": "five"}, a=int, b=int) is None


def test_null_for_a_required_parameter_is_not_dropped():
    """The schema does not say that it may be absent."""
    assert mend({"a": None}, a=int) is None
    assert mend({"a": None}, a=(int, 5)) == {}


def test_null_for_a_nullable_parameter_stays():
    """It is valid. The text "null" becomes null, and is not left out."""
    assert mend({"a": None, "b": "5"}, a=(Optional[int], 5), b=int) == {"a": None, "b": 5}
    assert mend({"a": "null"}, a=(Optional[int], 5)) == {"a": None}


def test_a_valid_text_is_not_parsed():
    assert mend({"a": "5", "b": "5"}, a=str, b=int) == {"a": "5", "b": 5}
    assert mend({"a": "null", "b": "5"}, a=Optional[str], b=int) == {"a": "null", "b": 5}


def test_a_key_is_not_renamed_if_other_keys_are_allowed():
    """It is valid as it is."""

    def function(path: str, **more: int): ...

    judge = Tool.described(function).about.checker.validator
    assert repair_arguments({"Path": "a"}, judge) is None


def test_two_parameters_that_differ_in_separators_are_not_confused():
    assert mend({"a-b": 1}, a_b=(int, 0), ab=(int, 0)) is None


def test_the_whole_object_may_come_as_text():
    """Some models encode their arguments twice."""
    result = repair_arguments('{"a": "5"}', judge_of(a=int))
    assert result is not None
    assert result.arguments == {"a": 5}
    assert result.notes[0].startswith("arguments: took the text")


@pytest.mark.parametrize("arguments", [None, 5, ["a"], "text", "[1]", {"a": float("nan")}, {"a": {1, 2}}, {1: 2}])
def test_arguments_that_are_not_an_object_are_not_repaired(arguments):
    assert mend(arguments, a=int) is None


def test_secrets_are_not_shown_in_notes():
    """A note describes the repair without the value."""
    result = repair_arguments({"key": "1234", "n": "5"}, judge_of(key=int, n=int), hidden={"key"})
    assert result is not None
    assert result.notes == (
        "key: took the text a value as the JSON it holds",
        'n: took the text "5" as the JSON it holds',
    )
    whole = repair_arguments('{"key": 1234}', judge_of(key=int), hidden={"key"})
    assert whole is not None
    assert "1234" not in " ".join(whole.notes)


def test_a_schema_without_end_ends_the_search():
    """Wrapping a value in lists could go on for ever."""
    nested: dict[str, Any] = {
        "$defs": {"n": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}, {"const": 1}]}}
    }
    schema = {**nested, "type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert repair_arguments({"a": "x"}, compile_schema(schema)) is None
    assert repair_arguments({"a": "1"}, compile_schema(schema)).arguments == {"a": 1}


def test_a_judge_that_raises_means_no_repair():
    class Broken:
        def iter_errors(self, value):
            raise RuntimeError("no")

    assert repair_arguments({"a": 1}, Broken()) is None


def test_each_of_many_items_is_repaired():
    sent = [{"Sku": "a", "count": "3"} for _ in range(100)]
    assert mend({"a": sent}, a=list[Item | int]) == {"a": [{"sku": "a", "count": 3}] * 100}


def test_a_value_that_fits_two_members_is_not_changed():
    """`oneOf` refuses it, but the value itself is not wrong."""
    schema = {"type": "object", "properties": {"a": {"oneOf": [{"type": "integer"}, {"minimum": 0}]}}}
    assert repair_arguments({"a": 5}, compile_schema(schema)) is None


def test_the_member_with_the_fewest_repairs_is_chosen():
    """One mistake is likelier than two."""
    two = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
    nearest = {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}}
    schema = {"type": "object", "properties": {"a": {"anyOf": [two, nearest]}}}
    result = repair_arguments({"a": {"x": "1", "y": "2"}}, compile_schema(schema))
    assert result is not None
    assert result.arguments == {"a": {"x": 1, "y": "2"}}


# Properties.

HINTS = {
    "count": int,
    "ratio": (float, 0.5),
    "flag": (bool, False),
    "name": (Optional[str], None),
    "items": (list[Item], []),
    "scores": (dict[str, list[int]], {}),
    "shape": (Optional[Circle | Square], None),
    "tree": (Optional[Tree], None),
}
JUDGE = judge_of(**HINTS)

_texts = st.sampled_from(["a", "5", "null", "true", "[1]", '{"a": 1}', ""])
_items = st.fixed_dictionaries({"sku": _texts}, optional={"count": st.integers(), "tags": st.lists(_texts, max_size=2)})
_floats = st.floats(-1e6, 1e6)
_trees = st.recursive(
    st.fixed_dictionaries({"value": st.integers()}),
    lambda deeper: st.fixed_dictionaries({"value": st.integers(), "children": st.lists(deeper, max_size=2)}),
    max_leaves=4,
)
_valid = st.fixed_dictionaries(
    {"count": st.integers()},
    optional={
        "ratio": _floats,
        "flag": st.booleans(),
        "name": st.none() | _texts,
        "items": st.lists(_items, max_size=2),
        "scores": st.dictionaries(_texts, st.lists(st.integers(), max_size=2), max_size=2),
        "shape": st.none()
        | st.fixed_dictionaries({"kind": st.just("circle"), "radius": _floats})
        | st.fixed_dictionaries({"kind": st.just("square"), "side": _floats, "holes": st.lists(st.integers())}),
        "tree": st.none() | _trees,
    },
)


@given(_valid)
def test_valid_arguments_are_never_repaired(arguments):
    assert repair_arguments(arguments, JUDGE) is None


def _spoilt(value, draw):
    """Send *value* as a careless model does: some numbers as text, some lists without brackets, some of it as JSON."""
    if isinstance(value, dict):
        value = {key: _spoilt(item, draw) for key, item in value.items()}
    elif isinstance(value, list):
        value = [_spoilt(item, draw) for item in value]
    if value is None or isinstance(value, str) or not draw(st.booleans()):
        return value
    return json.dumps(value)


@given(st.data())
def test_values_sent_as_text_are_restored(data):
    """They are numbers, booleans, lists and objects, at every depth."""
    valid = data.draw(_valid)
    # A text in a union with text is valid as it is; nothing says that more was meant.
    spoilt = {name: _spoilt(value, data.draw) for name, value in valid.items()}
    result = repair_arguments(spoilt, JUDGE)
    assert (spoilt if result is None else result.arguments) == valid


@st.composite
def careless(draw):
    """Draw valid arguments as a careless model sends them, sometimes with other damage."""
    sent = {name: _spoilt(value, draw) for name, value in draw(_valid).items()}
    return draw(damaged(sent)) if draw(st.booleans()) else sent


@given(careless())
def test_repaired_arguments_pass_and_need_no_second_repair(arguments):
    """jsonschema is the judge of that, too; what came is not changed."""
    before = copy.deepcopy(arguments)
    result = repair_arguments(arguments, JUDGE)
    assert arguments == before
    if result is not None:
        assert not JUDGE.is_valid(arguments)
        assert JUDGE.is_valid(result.arguments)
        assert repair_arguments(result.arguments, JUDGE) is None


@given(careless())
def test_valid_parameters_are_not_changed(arguments):
    """Only refused ones are."""
    wrong = {next(iter(error.absolute_path), None) for error in JUDGE.iter_errors(arguments)}
    result = repair_arguments(arguments, JUDGE)
    if result is not None:
        valid_arguments = {name: value for name, value in arguments.items() if name not in wrong}
        assert {name: result.arguments[name] for name in valid_arguments} == valid_arguments


@given(careless() | st.dictionaries(st.sampled_from(sorted(HINTS)), json_values(), max_size=6))
def test_the_given_errors_of_the_check_do_not_change_the_repair(arguments):
    """They save work, and so does skipping lists that obviously do not fit."""
    errors = list(JUDGE.iter_errors(arguments))
    quick = repair_arguments(arguments, JUDGE, errors=errors)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repair, "_may_fit", lambda schema, candidate: True)
        slow = repair_arguments(arguments, JUDGE)
    assert quick == slow


def test_a_list_of_errors_that_may_not_be_complete_is_not_used():
    """The check stops at a hundred errors, and there may be more."""
    validator = judge_of(numbers=list[int])
    arguments = {"numbers": [str(number) for number in range(150)]}
    errors = list(validator.iter_errors(arguments))
    assert len(errors) == 100
    assert repair_arguments(arguments, validator, errors=errors) == repair_arguments(arguments, validator)


@pytest.mark.parametrize(
    "text",
    [
        "five",
        "",
        " ",
        "true",
        " TRUE ",
        "null",
        "None",
        '"5"',
        "5",
        " -1.5 ",
        "[1",
        "[1]",
        "NaN",
        "-Infinity",
        "\u00a05",
    ],
)
def test_text_is_parsed_as_by_the_json_parser(text):
    """Most text is not JSON, and its first letter shows that."""
    try:
        parsed = loads(text)
    except ValueError:
        parsed = repair._JSON_WORDS.get(text.strip().lower(), NO_VALUE)
    expected = NO_VALUE if isinstance(parsed, str) else parsed
    assert repair._parse_text(text) == expected
    assert type(repair._parse_text(text)) is type(expected)
