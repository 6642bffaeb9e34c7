"""Functions that cannot be edited: what a model does not send, by option or because it has no JSON form."""

import functools
import json
import types
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict, TypeVar, Union

import pydantic
import pytest

from toolkit import (
    BadArgs,
    Catalog,
    Context,
    DefinitionError,
    Dispatcher,
    DuplicateTool,
    Inject,
    Tool,
    ToolkitWarning,
    Writes,
    tool,
)
from toolkit.values.codecs.base import CodecRules, HintReader
from toolkit.values.codecs.refusals import UnsendableType
from toolkit.values.codecs.rules import all_rules


class Session: ...


class URL: ...


FIELD = pydantic.Field(default_factory=Session)


class Database:
    def __init__(self, name="db"):
        self.name = name


def fetch(url: str | URL, session: Session | None = None, *, retries: int = 3):
    """Fetch a page."""
    return [url, session, retries]


def names(tool):
    return list(tool.schema["properties"])


def refusal(function, **options):
    with pytest.raises(DefinitionError) as caught:
        Tool.described(function, **options)
    return str(caught.value)


def omissions(function, **options):
    """The warnings about what the schema leaves out, and the tool."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = Tool.described(function, **options)
    assert all(warning.category is ToolkitWarning for warning in caught)
    return [str(warning.message) for warning in caught], spec


# Left out because there is no JSON form.


def test_an_optional_parameter_without_a_json_form_is_left_out_with_a_warning():
    """The warning names the parameter, the reason and the remedy, at the function's own line."""
    with pytest.warns(ToolkitWarning) as caught:
        spec = Tool.described(fetch)
    left_out, narrowed = (str(warning.message) for warning in caught)
    assert left_out.startswith(f"{__name__}.fetch: a model cannot send `session` (Session has no JSON form)")
    assert 'Write `hidden=["session"]` if this is meant, or `inject=`' in left_out
    assert caught[0].filename == __file__
    assert caught[0].lineno == fetch.__code__.co_firstlineno
    assert names(spec) == ["url", "retries"]
    assert Dispatcher(Catalog(spec)).call_sync("fetch", {"url": "u"}).value == ["u", None, 3]


def test_a_parameter_that_is_left_out_cannot_be_sent():
    """Not even where the function takes any key."""

    def take(a: int, session: Session = None, **more):
        """Take."""
        return session, more

    _, spec = omissions(take)
    assert spec.check({"a": 1, "other": 2}) == {"a": 1, "other": 2}
    with pytest.raises(BadArgs, match="session: not yours to give"):
        spec.check({"a": 1, "session": 2})


def test_a_union_is_described_by_its_members_that_have_a_json_form():
    """`str | URL` is `str`, with a warning; only the first member would have been refused before."""
    texts, spec = omissions(fetch, hidden=["session"])
    assert spec.schema["properties"]["url"] == {"type": "string"}
    assert len(texts) == 1
    assert texts[0].startswith(f"{__name__}.fetch: a model can send only some of the types of `url` (not URL); ")
    assert "Call `register_codec` for a type that it should send, or ignore this warning" in texts[0]
    with pytest.raises(BadArgs):
        spec.check({"url": 5})


T = TypeVar("T", str, URL)


@dataclass
class Page:
    address: str | URL
    size: int


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (list[str | URL], {"type": "array", "items": {"type": "string"}}),
        (Union[URL, int, None], {"type": ["integer", "null"]}),
        (str | Callable[[], str], {"type": "string"}),
        (str | list[URL] | dict[str, URL], {"type": "string"}),
        (T, {"type": "string"}),
        (Annotated[str | URL, "Where."], {"type": "string", "description": "Where."}),
    ],
    ids=str,
)
def test_a_union_is_narrowed_at_every_depth(hint, schema):
    """In containers, type variables and annotated types, always with a warning."""

    def take(x): ...

    take.__annotations__ = {"x": hint}
    texts, spec = omissions(take, description="Take.")
    assert spec.schema["properties"]["x"] == schema
    assert len(texts) == 1
    assert "`x` (not " in texts[0]


def test_a_union_in_a_record_is_narrowed_too():
    """The fields of a dataclass are read as parameters are."""

    def take(page: Page):
        """Take."""

    texts, spec = omissions(take)
    assert spec.check({"page": {"address": "a", "size": 1}}) == {"page": Page("a", 1)}
    assert "`page` (not URL)" in texts[0]


def test_null_alone_is_no_description():
    """`Session | None` that has to be sent is refused."""

    def take(session: Session | None):
        """Take."""

    assert "parameter `session`: Session has no JSON form" in refusal(take)


def test_a_return_annotation_is_never_narrowed():
    """A result of the other type would break the output schema, so there is none."""

    def give(a: int) -> str | URL:
        """Give."""

    texts, spec = omissions(give)
    assert spec.output_schema is None
    assert ["URL` in the return annotation has no JSON form" in text for text in texts] == [True]


def test_variable_parameters_without_a_json_form_are_left_out():
    """They are optional too; the schema is closed then."""

    def take(a: int, *sessions: Session, b: int = 2, **more: Session):
        """Take."""
        return [a, sessions, b, more]

    texts, spec = omissions(take)
    assert "`sessions`" in texts[0]
    assert "`more`" in texts[0]
    assert spec.schema["additionalProperties"] is False
    args, kwargs = spec.signature.bind(spec.check({"a": 1}))
    assert take(*args, **kwargs) == [1, (), 2, {}]


def test_required_items_of_an_unpacked_tuple_are_not_left_out():
    """A call without them fails."""

    def take(a: int, *rest: *tuple[int, Session]):
        """Take."""

    assert "parameter `rest`: Session has no JSON form" in refusal(take)


class Nested(TypedDict):
    inner: "list[Nested]"
    run: Callable[[], None]


def test_a_record_that_contains_itself_names_the_place_once():
    """The path to the field is not repeated at every level."""

    def take(nested: Nested):
        """Take."""

    assert refusal(take).count("Nested.run") == 1


def test_positional_only_parameters_are_left_out_in_their_place():
    """The default is passed, so that the next one stays in its place."""

    def take(a: int, session: Session = "none", b: int = 2, /):
        """Take."""
        return [a, session, b]

    _, spec = omissions(take)
    args, kwargs = spec.signature.bind(spec.check({"a": 1, "b": 5}))
    assert take(*args, **kwargs) == [1, "none", 5]


def test_a_mistake_in_an_annotation_is_still_refused():
    """Also if the parameter has a default: no warning hides what its author can mend."""

    def take(a: dict[int, int, int] = None):
        """Take."""

    def pick(b: Session = FIELD):
        """Pick."""

    assert "parameter `a`" in refusal(take)
    assert "parameter `b`: Session has no JSON form" in refusal(pick)


class Shy:
    """pydantic asks its classes, which may raise anything."""

    def __get_pydantic_core_schema__(self, source, handler): ...


def test_a_class_that_cannot_describe_itself_has_no_json_form():
    """A type that contains itself without end has none either; both are left out if that is possible."""
    module = types.ModuleType("endless")
    exec(
        "from typing import Union\nTree = Union[int, list['Tree']]\ndef grow(a: int, tree: Tree = 0, shy=1): 'Grow.'",
        vars(module),
    )
    module.grow.__annotations__["shy"] = Shy
    (text,), spec = omissions(module.grow)
    assert names(spec) == ["a"]
    assert "`tree` (its type contains itself without end), `shy` (pydantic cannot describe Shy: " in text


def test_a_warning_comes_once():
    """Although a tool with an undefined name is read again at its first use."""

    def take(a: int, session: Session = None) -> "Later":  # noqa: F821
        """Take."""

    texts, spec = omissions(take)
    assert len(texts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert names(spec) == ["a"]


def test_hashable_is_any_json_value_that_can_be_hashed():
    """Labels of columns are texts and numbers."""

    def take(label: Hashable):
        """Take."""

    spec = Tool.described(take)
    assert spec.schema["properties"]["label"] == {"type": ["string", "integer", "number", "boolean", "null"]}
    assert spec.check({"label": 1.5}) == {"label": 1.5}


# The refusal.


def test_the_refusal_of_a_session_names_inject_partial_and_hidden():
    """Codecs come last: a session is not data."""

    def load(name: str, session: Session):
        """Load."""

    text = refusal(load)
    remedies = [
        "`session: Inject[Session]`",
        '`inject={"session": Session}`',
        "`functools.partial`",
        '`hidden=["session"]`',
        "`register_codec`",
    ]
    places = [text.index(remedy) for remedy in remedies]
    assert places == sorted(places)
    assert f"{__name__}." in text.partition(": parameter `session`")[0]


def test_the_refusal_of_a_long_type_stays_short():
    """The type is told once."""

    def load(session: dict[str, dict[str, dict[str, dict[str, dict[str, dict[str, list[Session]]]]]]]):
        """Load."""

    assert "`session: Inject[...]`" in refusal(load)


# hidden=


def test_hidden_parameters_are_not_seen_and_keep_their_default():
    """No warning, as the author has said it; a model that sends one is refused."""
    texts, spec = omissions(fetch, hidden=["session"])
    assert names(spec) == ["url", "retries"]
    assert len(texts) == 1  # about `url`
    with pytest.raises(BadArgs, match="session: unknown key"):
        spec.check({"url": "u", "session": None})


def test_hidden_works_with_tool_and_with_a_catalog():
    """As an option like any other, decorating or called."""
    catalog = Catalog()

    def count(word: str, step: int = 1):
        """Count."""
        return [word, step]

    assert catalog.tool(count, hidden=["step"]) is count
    assert names(catalog["count"]) == ["word"]

    @tool(catalog=catalog, hidden=["step"], name="other")
    def other(word: str, step: int = 2):
        """Count."""
        return [word, step]

    assert tool(count, catalog=None, hidden=("step",)) is count
    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("count", {"word": "a"}).value == ["a", 1]
    assert dispatcher.call_sync("other", {"word": "a"}).value == ["a", 2]
    assert dispatcher.call_sync("other", {"word": "a", "step": 3}).kind == "bad_args"


def test_the_same_function_with_other_hidden_parameters_is_another_tool():
    """Adding it again under the same name is not taken for the same."""

    def take(a: int = 1, b: int = 2):
        """Take."""

    catalog = Catalog(Tool.described(take, hidden=["a"]))
    catalog.add(Tool.described(take, hidden=["a"]))
    with pytest.raises(DuplicateTool, match="`take` is taken"):
        catalog.add(Tool.described(take, hidden=["b"]))
    with pytest.raises(DuplicateTool, match="`take` is taken"):
        catalog.add(Tool.described(take, inject={"a": Database}))


@pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")
def test_hidden_variable_parameters_close_the_schema():
    """`hidden=["kwargs"]` for a function that takes anything."""

    def get(url: str, *paths: str, **kwargs: Any):
        """Get."""
        return [url, paths, kwargs]

    spec = Tool.described(get, hidden=["paths", "kwargs"])
    assert spec.schema == {
        "type": "object",
        "properties": {"url": {"type": "string"}},
        "required": ["url"],
        "additionalProperties": False,
    }
    args, kwargs = spec.signature.bind(spec.check({"url": "u"}))
    assert get(*args, **kwargs) == ["u", (), {}]


def test_a_marked_parameter_is_neither_hidden_nor_left_out():
    """The check of what a call touches would not see its default."""

    def save(text: str, path: Annotated[Path, Writes] = Path("notes")):
        """Save."""

    def send(text: str, target: Annotated[Session | None, Writes] = None):
        """Send."""

    def post(text: str, path: "Annotated[Path, Writes]" = Path("notes")):
        """Post."""

    for function in (save, post):
        assert "parameter `path`: it is marked `Writes`" in refusal(function, hidden=["path"])
    assert "parameter `target`: Session has no JSON form" in refusal(send)


# inject=


def query(db: Database, text: str, context: Any = None):
    """Query."""
    return [db.name, text, context.call.name if context is not None else None]


def test_inject_fills_a_parameter_from_the_resources():
    """As `Inject[...]` does, for a function that cannot be edited; `Context` too."""
    spec = Tool.described(query, inject={"db": Database, "context": Context})
    assert names(spec) == ["text"]
    assert spec.signature.injected == {"db": Database, "context": Context}
    dispatcher = Dispatcher(Catalog(spec), resources={Database: Database("main")})
    assert dispatcher.call_sync("query", {"text": "t"}).value == ["main", "t", "query"]
    assert dispatcher.call_sync("query", {"text": "t", "db": "x"}).kind == "bad_args"


@pytest.mark.parametrize("kind", [Inject[Database], Database | None, Inject[Database | None]], ids=str)
def test_inject_takes_what_stands_in_its_brackets(kind):
    """An optional type asks for the type inside."""
    assert Tool.described(query, inject={"db": kind}).signature.injected == {"db": Database}


def test_inject_keeps_the_default_of_a_parameter_without_a_resource():
    """As `Inject[...]` does."""

    def ask(text: str, db: Session = None):
        """Ask."""
        return [text, db]

    spec = Tool.described(ask, inject={"db": Database})
    assert Dispatcher(Catalog(spec)).call_sync("ask", {"text": "t"}).value == ["t", None]


def test_inject_works_with_positional_only_parameters_and_partials():
    """Each value gets to its place."""

    def ask(db, text: str, /, more=3):
        """Ask."""
        return [db.name, text, more]

    spec = Tool.described(functools.partial(ask, more=4), inject={"db": Database})
    assert names(spec) == ["text"]
    dispatcher = Dispatcher(Catalog(spec), resources={Database: Database()})
    assert dispatcher.call_sync("ask", {"text": "t"}).value == ["db", "t", 4]


def test_inject_counts_with_a_hand_written_schema():
    """A closed schema that leaves the parameter out, as it should."""
    schema = {"properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": False}
    spec = Tool.described(query, schema=schema, inject={"db": Database, "context": Context})
    assert spec.signature.injected.keys() == {"db", "context"}


class Service:
    @tool(hidden=["step"], inject={"db": Database})
    def count(self, word: str, db: Session, step: int = 1):
        """Count."""
        return [word, db.name, step]

    @staticmethod
    @tool(hidden=["first"])
    def start(first: int = 1, second: int = 2):
        """Start."""
        return [first, second]


def test_methods_have_hidden_and_injected_parameters():
    """A static one is known as such only when the class exists."""
    catalog = Catalog(Service())
    assert [names(catalog[name]) for name in ("count", "start")] == [["word"], ["second"]]
    dispatcher = Dispatcher(catalog, resources={Database: Database()})
    assert dispatcher.call_sync("count", {"word": "a"}).value == ["a", "db", 1]
    assert dispatcher.call_sync("start", {}).value == [1, 2]


# Mistakes.

MISTAKES = [
    ({"hidden": ["sesion"]}, "`hidden` names `sesion`, which is not a parameter; did you mean `session`?"),
    ({"hidden": ["qqqqqq"]}, "which is not a parameter; the parameters are: url, session, retries"),
    (
        {"hidden": ["url"]},
        "`hidden` names `url`, which has no default, so no call could be made; fill it with `inject=`",
    ),
    ({"inject": {"sesion": Session}}, "`inject` names `sesion`, which is not a parameter; did you mean `session`?"),
    ({"inject": {"session": Session}, "hidden": ["session"]}, "`session` is in `hidden` and in `inject`"),
    ({"inject": {"session": Database()}}, "`inject` wants the type of `session`, got <"),
    ({"inject": {"session": "Session"}}, "`inject` wants the type of `session`, got 'Session'; give the class"),
    ({"hidden": "session"}, "`hidden` has to be a list of names of parameters, got 'session'"),
    ({"inject": ["session"]}, "`inject` has to be a dictionary of names of parameters and types, got ['session']"),
    ({"hiden": ["session"]}, "unknown option `hiden`; did you mean `hidden`?"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_a_mistake_names_the_parameter(options, message):
    """With the near miss, when the function is decorated."""
    text = refusal(fetch, **options)
    assert text.startswith(f"{__name__}.fetch: ")
    assert message in text


def test_every_mistake_is_told_at_once():
    """As for other options."""
    text = refusal(fetch, hidden=["url", "x"], inject={"y": int})
    assert text.count("`hidden`") == 2
    assert text.count("`inject` names") == 1


def test_variable_parameters_cannot_be_injected():
    """One value is not many."""

    def take(a: int, *rest: Any):
        """Take."""

    assert "`inject` names `*rest: Any`, which takes any number of values" in refusal(take, inject={"rest": Database})


def test_a_name_that_a_partial_has_bound_is_said_to_be_bound():
    """It is hidden already."""
    text = refusal(functools.partial(fetch, session=None), hidden=["session"])
    assert "`session`, which the partial has bound already" in text


def test_the_object_of_a_method_cannot_be_hidden():
    """`self` is no parameter of the tool."""
    with pytest.raises(DefinitionError, match="`hidden` names `self`, which is not a parameter"):

        class Other:
            @tool(hidden=["self"])
            def count(self, word: str):
                """Count."""


def test_a_handler_has_no_parameters_to_hide():
    """`Tool.from_schema` takes the whole object."""
    with pytest.raises(
        DefinitionError, match="`hidden` is about parameters, but a handler gets all arguments as one object"
    ):
        Tool.from_schema("x", "X.", {"type": "object"}, lambda arguments: None, hidden=["a"])


# Records that contain each other.


class Broken(TypedDict):
    good: "Good | None"
    run: Callable[[], None]


class Good(TypedDict):
    broken: "Broken | int"


def test_no_reference_to_a_record_without_a_json_form_remains():
    """`Good` was read while `Broken` was being read, which had no JSON form in the end."""

    def take(x: Broken | Good, y: Good):
        """Take."""

    texts, spec = omissions(take)
    assert "`x` (not Broken)" in texts[0]
    assert "Broken" not in json.dumps(spec.schema)
    assert spec.check({"x": {"broken": 1}, "y": {"broken": 2}}) == {"x": {"broken": 1}, "y": {"broken": 2}}
    with pytest.raises(BadArgs):
        spec.check({"x": {"broken": {"good": None}}, "y": {"broken": 2}})


def test_records_without_a_json_form_are_read_in_bounded_time():
    """A union of thirty records that contain that union: each is read a few times, not once for every path."""
    count = 30
    fields = {"inner": "list[Node] | None", "run": "Runner"}
    records = [
        TypedDict(f"Record{number}", fields if number % 2 else {"inner": fields["inner"]}) for number in range(count)
    ]
    union = Union[tuple(records)]
    runs = []

    def read_runner(hint, reader):
        runs.append(hint)
        raise UnsendableType("no runner")

    rules = CodecRules({**all_rules().by_origin, Session: read_runner}, all_rules().by_predicate)
    reader = HintReader(rules, {"Node": union, "Runner": Session})
    reader.omitted_members = []
    assert len(reader.codec(union).members) == count / 2
    assert len(runs) == count / 2


# parameters=


@dataclass
class Refund:
    """A refund."""

    order: str
    amount: int = 0


def give_back(order: Annotated[str, "Old text."], *, amount: int = 0, debug: bool = False):
    """
    Give money back.

    Args:
        amount: Cents.
    """


def test_parameters_are_described_from_outside():
    """The given text counts before that of the annotation and of the docstring; the others stay."""
    catalog = Catalog()
    assert catalog.tool(give_back, parameters={"order": "The number of the order."}) is give_back
    properties = catalog["give_back"].schema["properties"]
    assert properties["order"] == {"type": "string", "description": "The number of the order."}
    assert properties["amount"]["description"] == "Cents."
    assert "description" not in properties["debug"]
    assert Tool.described(give_back).schema["properties"]["order"]["description"] == "Old text."


def test_the_fields_of_a_flat_record_are_described_from_outside():
    def refund(refund: Refund):
        """Give money back."""

    spec = Tool.described(refund, flat=True, parameters={"order": "Its number."})
    assert spec.schema["properties"]["order"] == {"type": "string", "description": "Its number."}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": {"ordr": "x"}}, "`parameters` names `ordr`, which a model does not send; did you mean `order`"),
        (
            {"parameters": {"debug": "x"}, "hidden": ["debug"]},
            "`parameters` names `debug`, which a model does not send",
        ),
        ({"parameters": {"order": ""}}, "a dictionary of names of parameters and their descriptions"),
        ({"parameters": {"type": "object", "properties": {}}}, "a schema of your own is `schema`"),
        (
            {"parameters": {"order": "x"}, "schema": {"properties": {"order": {}}}},
            "write the descriptions .* into the sch",
        ),
    ],
)
def test_descriptions_of_other_parameters_are_refused(options, message):
    with pytest.raises(DefinitionError, match=message):
        Tool.described(give_back, **options)
