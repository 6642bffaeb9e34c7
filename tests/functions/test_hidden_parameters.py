"""Parameters that an option hides from the model, or fills from the resources."""

import functools
from pathlib import Path
from typing import Annotated, Any

import pytest

from tests.functions.unsent_kit import Session, fetch, names, omissions, refusal
from toolkit import (
    BadArgs,
    Catalog,
    Context,
    DefinitionError,
    Dispatcher,
    DuplicateTool,
    Inject,
    Tool,
    Writes,
    tool,
)


class Database:
    def __init__(self, name="db"):
        self.name = name


# hidden=


def test_hidden_parameters_are_not_seen_and_keep_their_default():
    """No warning, as the author has said it; a model that sends one is refused."""
    texts, spec = omissions(fetch, hidden=["session"])
    assert names(spec) == ["url", "retries"]
    assert len(texts) == 1  # about `url`
    with pytest.raises(BadArgs, match="session: unknown key"):
        spec.check({"url": "u", "session": None})


def test_hidden_works_with_tool_and_with_a_catalog():
    """It is an option of the decorator and of the call."""
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


def save(text: str, path: Annotated[Path, Writes] = Path("notes")):
    """Save."""


def save_later(text: str, path: "Annotated[Path, Writes]" = Path("notes")):
    """Save, with a quoted annotation."""


@pytest.mark.parametrize("function", [save, save_later])
def test_a_marked_parameter_cannot_be_hidden(function):
    """The safety checks would not see its default."""
    assert "parameter `path`: it is marked `Writes`" in refusal(function, hidden=["path"])


def test_a_marked_parameter_without_a_json_form_is_refused():
    def send(text: str, target: Annotated[Session | None, Writes] = None):
        """Send."""

    assert "parameter `target`: Session has no JSON form" in refusal(send)


# inject=


def query(db: Database, text: str, context: Any = None):
    """Query."""
    return [db.name, text, context.call.name if context is not None else None]


def test_inject_fills_a_parameter_from_the_resources():
    """It serves functions that cannot be edited, and works like `Inject[...]`. `Context` is allowed, too."""
    spec = Tool.described(query, inject={"db": Database, "context": Context})
    assert names(spec) == ["text"]
    assert spec.signature.injected == {"db": Database, "context": Context}
    dispatcher = Dispatcher(Catalog(spec), resources={Database: Database("main")})
    assert dispatcher.call_sync("query", {"text": "t"}).value == ["main", "t", "query"]
    assert dispatcher.call_sync("query", {"text": "t", "db": "x"}).kind == "bad_args"


@pytest.mark.parametrize("kind", [Inject[Database], Database | None, Inject[Database | None]], ids=str)
def test_inject_accepts_the_same_types_as_its_annotation(kind):
    """An optional type asks for the inner type."""
    assert Tool.described(query, inject={"db": kind}).signature.injected == {"db": Database}


def test_inject_keeps_the_default_of_a_parameter_without_a_resource():
    def ask(text: str, db: Session = None):
        """Ask."""
        return [text, db]

    spec = Tool.described(ask, inject={"db": Database})
    assert Dispatcher(Catalog(spec)).call_sync("ask", {"text": "t"}).value == ["t", None]


def test_inject_works_with_positional_only_parameters_and_partials():
    """Each value gets to its parameter."""

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
    """A similar name is suggested when the function is decorated."""
    text = refusal(fetch, **options)
    assert text.startswith(f"{fetch.__module__}.fetch: ")
    assert message in text


def test_all_mistakes_of_hidden_and_inject_are_reported_together():
    text = refusal(fetch, hidden=["url", "x"], inject={"y": int})
    assert text.count("`hidden`") == 2
    assert text.count("`inject` names") == 1


def test_variable_parameters_cannot_be_injected():
    def take(a: int, *rest: Any):
        """Take."""

    assert "`inject` names `*rest: Any`, which takes any number of values" in refusal(take, inject={"rest": Database})


def test_hiding_a_parameter_that_a_partial_has_bound_is_refused():
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
    with pytest.raises(
        DefinitionError, match="`hidden` is about parameters, but a handler gets all arguments as one object"
    ):
        Tool.from_schema("x", "X.", {"type": "object"}, lambda arguments: None, hidden=["a"])
