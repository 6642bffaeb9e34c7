"""Options are facts, and are checked where they are given."""

import json
from decimal import Decimal
from functools import partial

import pytest

from toolkit import DefinitionError, Facts, tool
from toolkit.facts import FactOptions, Options, build_facts, check_name, has_parameter


class Hostile:
    def __eq__(self, other):
        raise RuntimeError("compared")

    def __repr__(self):
        raise RuntimeError("shown")


def function(arguments):
    return True


def facts(**options):
    return build_facts(options, "test")


WRONG = [
    *[
        (name, 1)
        for name in (
            "read_only",
            "destructive",
            "idempotent",
            "open_world",
            "defer",
            "thread",
            "background",
            "streaming",
        )
    ],
    ("concurrency_safe", "yes"),
    ("approval", "sometimes"),
    ("approval", True),
    ("approval", Hostile()),
    *[(name, "text") for name in ("preflight", "preview", "validate", "summary")],
    ("activity", 5),
    ("activity", " "),
    *[(name, "") for name in ("search_hint", "group", "version", "name", "description")],
    *[(name, 5) for name in ("search_hint", "group", "version", "name", "description")],
    ("timeout_seconds", 0),
    ("timeout_seconds", -1),
    ("timeout_seconds", float("nan")),
    ("timeout_seconds", float("inf")),
    ("timeout_seconds", True),
    ("timeout_seconds", "5"),
    *[(name, value) for name in ("max_chars", "max_bytes") for value in (0, 1.5, True)],
    *[
        ("cost", value)
        for value in (-0.01, float("nan"), float("inf"), 10**400, True, "0.05", Decimal("NaN"), Decimal("sNaN"))
    ],
    ("aliases", "cat"),
    ("aliases", [1]),
    ("aliases", {"a", "b"}),
    ("aliases", ["two words"]),
    ("aliases", ["ok", ""]),
    ("examples", {"a": 1}),
    ("examples", ["a"]),
    ("describe", True),
    ("describe", "everything"),
    ("schema", True),
    ("schema", []),
    ("metadata", []),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=lambda value: str(value) if type(value) is str else None)
def test_a_wrong_option_is_refused_at_decoration(name, value):
    """The option is named, and so is what would be right."""

    def f():
        """Do."""

    with pytest.raises(DefinitionError, match=rf"test_facts\..*f: `{name}`"):
        tool(f, catalog=None, **{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(name, True) for name in ("destructive", "idempotent", "open_world", "defer", "concurrency_safe")],
        ("thread", False),
        ("concurrency_safe", function),
        ("approval", "always"),
        ("approval", function),
        *[(name, function) for name in ("preflight", "preview", "validate", "summary", "activity")],
        ("activity", "Reading"),
        *[(name, "text") for name in ("search_hint", "group", "version")],
        *[("cost", value) for value in (0.05, 0, 3, Decimal("0.1"), function)],
        ("timeout_seconds", 0.5),
        ("max_chars", 10),
        ("max_bytes", 10),
        ("metadata", {"any": object}),
    ],
)
def test_a_valid_option_is_stored_unchanged(name, value):
    assert getattr(facts(**{name: value}), name) is value


def test_all_mistakes_are_reported_together():
    with pytest.raises(DefinitionError) as error:
        facts(read_only="yes", max_chars=0, aliases=["a b"], readonly=True, wibble=1)
    message = str(error.value)
    assert "`read_only` has to be True or False, got 'yes'" in message
    assert "`max_chars` has to be a whole number above 0" in message
    assert "`aliases`: 'a b' cannot be a tool's name" in message
    assert "unknown option `readonly`; did you mean `read_only`?" in message
    assert "unknown option `wibble`" in message


def test_a_tool_is_not_both_harmless_and_harmful():
    """`read_only` and `destructive` exclude each other."""
    with pytest.raises(DefinitionError, match="both `read_only` and `destructive`"):
        facts(read_only=True, destructive=True)
    assert facts(read_only=True, destructive=False).read_only


@pytest.mark.parametrize("read_only", [True, False])
def test_a_read_only_tool_is_idempotent_and_concurrency_safe_by_default(read_only):
    assert facts(read_only=read_only).idempotent is read_only
    assert facts(read_only=read_only).concurrency_safe is read_only
    assert facts(read_only=read_only, concurrency_safe=not read_only).concurrency_safe is not read_only
    assert facts(read_only=read_only, idempotent=not read_only).idempotent is not read_only


def test_the_defaults_are_those_of_an_unknown_function():
    """No good or bad fact is assumed of it."""
    assert facts() == Facts()
    assert Facts().approval == "never"
    assert Facts().thread is True


def test_an_option_of_none_is_not_stated():
    """A program may pass options on."""
    assert facts(read_only=None, aliases=None, timeout_seconds=None) == Facts()


def test_lists_are_kept_apart_from_their_giver():
    """Changing the list afterwards changes nothing."""
    aliases = ["a"]
    record = facts(aliases=aliases)
    aliases.append("b")
    assert record.aliases == ("a",)


def test_facts_as_json_leave_functions_and_metadata_out():
    assert facts(cost=Decimal("0.05")).as_json()["cost"] == 0.05
    assert facts(cost=function).as_json()["cost"] == "by arguments"
    record = facts(read_only=True, aliases=["a"], group="g", search_hint="h", version="1", metadata={"x": object()})
    assert json.loads(json.dumps(record.as_json())) == {
        "read_only": True,
        "destructive": False,
        "idempotent": True,
        "open_world": False,
        "defer": False,
        "aliases": ["a"],
        "group": "g",
        "search_hint": "h",
        "version": "1",
    }


@pytest.mark.parametrize("name", ["a", "_", "read_file", "fs.read-all", "A" * 64])
def test_a_legal_name_is_accepted(name):
    assert check_name(name, "test") == name


@pytest.mark.parametrize(
    "name", ["", "9a", "a b", "größe", "A" * 65, "a\n", "-a", ".a", "<lambda>", None, 5, Hostile()]
)
def test_an_illegal_name_comes_with_the_rule(name):
    """The error names the option that helps."""
    with pytest.raises(DefinitionError, match="cannot be a tool's name; give one with `name=`"):
        check_name(name, "test")


def test_every_fact_is_an_option_and_documented():
    """The record, the options and their text cannot drift apart."""
    names = set(Facts.__dataclass_fields__)
    assert set(FactOptions.__annotations__) == names
    others = {"name", "description", "describe", "schema", "hidden", "inject", "flat", "parameters"}
    assert set(Options.__annotations__) - names == others
    documented = {line.partition(":")[0].strip() for line in FactOptions.__doc__.splitlines() if ": " in line}
    assert documented == names


class Previews:
    """Previews of several forms."""

    def preview(self, arguments, call=None):
        return call

    def __call__(self, arguments):
        return arguments


def preview(store, arguments, call=None):
    return call


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (preview, True),
        (partial(preview, "store"), True),
        (partial(partial(preview, "store"), call=None), False),
        (partial(preview, "store", {}, None), False),
        (Previews().preview, True),
        (lambda arguments: arguments, False),
        (Previews(), False),
    ],
)
def test_an_option_gets_the_call_if_it_has_a_parameter_for_it(function, expected):
    """A function with a parameter `call` that is not filled in gets the call, also if it is a `functools.partial`."""
    assert has_parameter(function, "call") is expected
