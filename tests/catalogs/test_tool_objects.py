"""An object with the shape of a tool states its facts as attributes."""

from dataclasses import dataclass

import pytest

from toolkit import Catalog, Context, DefinitionError, Dispatcher, DuplicateTool, Facts, Inject, Permissions
from toolkit.facts import FACT_NAMES

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "context": {"type": "string"}}}


class Shaped:
    name = "wipe"
    description = "Wipe a folder."
    schema = SCHEMA

    def __init__(self):
        self.ran = []

    def call(self, arguments):
        self.ran.append(arguments)
        return "wiped"


def make(**attributes):
    """Return an object with the shape of a tool and these class attributes."""
    return type("Wiper", (Shaped,), attributes)()


def facts_of(instance):
    return Catalog(instance)["wipe"].facts


# Facts.


def function(self, arguments):
    return True


def ask_first(self, arguments):
    return arguments.get("path") == "/"


FACTS = {
    "read_only": True,
    "destructive": True,
    "idempotent": True,
    "concurrency_safe": True,
    "open_world": True,
    "defer": True,
    "search_hint": "delete remove",
    "aliases": ("rm", "erase"),
    "group": "files",
    "approval": "always",
    "cost": 0.05,
    "timeout_seconds": 2.5,
    "max_chars": 100,
    "max_bytes": 100,
    "thread": False,
    "background": True,
    "streaming": True,
    "examples": ({"path": "a"},),
    "activity": "Wiping",
    "version": "2",
    "metadata": {"owner": "me"},
}
FUNCTIONS = ("concurrency_safe", "approval", "preflight", "preview", "cost", "validate", "summary", "activity")


@pytest.mark.parametrize(("name", "value"), FACTS.items(), ids=str)
def test_facts_on_an_object_that_is_a_tool_by_its_shape_count(name, value):
    """Each option of `@tool` is read from the attribute of its name."""
    assert getattr(facts_of(make(**{name: value})), name) == value


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_fact_that_is_a_function_may_be_a_method(name):
    """It is bound to the object, and gets the arguments."""
    instance = make(**{name: function})
    assert getattr(facts_of(instance), name).__self__ is instance


def test_every_fact_is_tried_above():
    """A new fact needs a line there."""
    assert FACTS.keys() | set(FUNCTIONS) == FACT_NAMES


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("attributes", "mode", "kind"),
    [
        ({}, "auto", "ok"),
        ({"destructive": True}, "auto", "waiting"),
        ({"destructive": True}, "plan", "denied"),
        ({"read_only": True}, "plan", "ok"),
        ({"open_world": True}, "auto", "waiting"),
        ({"approval": "always"}, "auto", "waiting"),
        ({"approval": ask_first}, "auto", "waiting"),
    ],
    ids=str,
)
async def test_a_destructive_object_asks_in_mode_auto(attributes, mode, kind):
    """Permissions act on the facts of an object as on those of a function."""
    instance = make(**attributes)
    async with Dispatcher(Catalog(instance), permissions=Permissions(mode=mode)) as dispatcher:
        result = await dispatcher.call("wipe", {"path": "/"})
    assert result.kind == kind
    assert len(instance.ran) == (kind == "ok")


@pytest.mark.anyio
async def test_the_aliases_and_the_validation_of_an_object_count():
    """Its aliases are found, and its own check is called."""

    def refuse_root(self, arguments):
        return {"path": "not the whole disk"} if arguments["path"] == "/" else None

    catalog = Catalog(make(aliases=["rm"], validate=refuse_root))
    assert catalog["rm"] is catalog["wipe"]
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("rm", {"path": "/"})).kind == "bad_args"
        assert (await dispatcher.call("rm", {"path": "a"})).kind == "ok"


@pytest.mark.anyio
async def test_a_deferred_object_stays_out_of_the_definitions():
    assert Catalog(make(defer=True)).definitions() == []


def test_facts_may_stand_on_the_instance_in_a_slot_or_behind_a_property():
    """None, and a slot that was never set, state nothing."""

    @dataclass(slots=True)
    class Record:
        name: str = "wipe"
        description: str = "Wipe."
        destructive: bool | None = None
        group: str = "files"

        def schema(self):
            return SCHEMA

        def call(self, arguments):
            return arguments

        @property
        def open_world(self):
            return self.group == "web"

        def version(self):
            return "3"

    assert facts_of(Record()) == Facts(group="files", version="3")
    assert facts_of(Record(destructive=True, group="web")) == Facts(
        destructive=True, group="web", open_world=True, version="3"
    )
    record = Record()
    del record.destructive
    assert not facts_of(record).destructive


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"destructive": 1}, r"Wiper, the tool `wipe`: `destructive` has to be True or False, got 1"),
        ({"aliases": "rm"}, r"`aliases` has to be a list of names"),
        ({"timeout_seconds": "5"}, r"`timeout_seconds` has to be a number"),
        ({"thread": object()}, r"`thread` has to be True, False or \"caller\".*rename any other"),
        ({"read_only": True, "destructive": True}, r"cannot be both `read_only` and `destructive`"),
        ({"examples": [{"path": 5}]}, r"example 1 does not fit"),
        ({"group": lambda self, other: "x"}, r"`group` cannot be read: TypeError"),
        ({"version": property(lambda self: 1 / 0)}, r"`version` cannot be read: ZeroDivisionError"),
        ({"version": property(lambda self: self.absent)}, r"`version` cannot be read: .*'absent'"),
    ],
)
def test_wrong_or_contradictory_facts_are_refused_when_the_object_is_added(attributes, words):
    with pytest.raises(DefinitionError, match=words):
        Catalog(make(**attributes))


@pytest.mark.parametrize(
    ("name", "value", "fact"),
    [
        ("destructve", True, "destructive"),
        ("readonly", True, "read_only"),
        ("readOnly", True, "read_only"),
        ("readOnlyHint", True, "read_only"),
        ("destructive_hint", True, "destructive"),
        ("alias", ["rm"], "aliases"),
        ("openworld", property(lambda self: True), "open_world"),
        ("preveiw", function, "preview"),
        ("aproval", "always", "approval"),
    ],
)
def test_a_misspelt_fact_is_refused_with_the_nearest_one(name, value, fact):
    with pytest.raises(DefinitionError, match=rf"the attribute `{name}` states no fact; did you mean `{fact}`"):
        Catalog(make(**{name: value}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("threads", 4),
        ("threads", property(lambda self: 4)),
        ("groups", ["a"]),
        ("_read_only", True),
        ("timeout", 5),
        ("folder", "a"),
        ("client", object()),
    ],
)
def test_an_attribute_that_is_not_a_fact_is_ignored(name, value):
    """An object may have any other attributes."""
    assert facts_of(make(**{name: value})) == Facts()


def test_a_similar_attribute_beside_the_fact_is_ignored():
    assert facts_of(make(readonly=True, read_only=True)).read_only


def test_an_inherited_attribute_of_a_pydantic_model_is_not_a_fact():
    """Every model has a method `validate`, which its author did not write."""
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        name: str = "wipe"
        description: str = "Wipe."
        destructive: bool = True

        def schema(self):
            return SCHEMA

        def call(self, arguments):
            return arguments

    assert facts_of(Model()) == Facts(destructive=True)


def test_an_object_that_has_changed_is_not_the_same_tool():
    """Adding it again changes nothing only if it says the same."""
    instance = make()
    catalog = Catalog(instance)
    assert catalog.add(instance)["wipe"].facts == Facts()
    instance.destructive = True
    with pytest.raises(DuplicateTool):
        catalog.add(instance)
    del instance.destructive
    instance.schema = {"type": "object"}
    with pytest.raises(DuplicateTool):
        catalog.add(instance)


# Handlers.


class Database:
    name = "orders"


@pytest.mark.anyio
async def test_the_call_of_an_object_may_take_the_context_and_resources():
    """They are found by their annotations, as for functions. An argument of the same name is kept apart."""

    def call(self, payload, context: Context, database: Inject[Database], *, times=2):
        return [payload, context.call.name, database.name, times]

    async with Dispatcher(Catalog(make(call=call)), resources={Database: Database()}) as dispatcher:
        result = await dispatcher.call("wipe", {"context": "of the model"})
    assert result.value == [{"context": "of the model"}, "wipe", "orders", 2]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda self, payload, context: None,
            r"handler `.*\(payload, context\)` is called with one JSON object; annotate `context` as `Context`",
        ),
        (lambda self: None, r"needs one positional parameter"),
        (lambda self, **payload: None, r"handler `.*\(\*\*payload\)`.*needs one positional parameter"),
        (lambda self, *, payload: None, r"needs one positional parameter"),
    ],
)
def test_an_object_whose_call_has_the_wrong_arity_is_refused_when_it_is_added(call, words):
    catalog = Catalog()
    with pytest.raises(DefinitionError, match=words):
        catalog.add(make(call=call))
    assert not catalog
