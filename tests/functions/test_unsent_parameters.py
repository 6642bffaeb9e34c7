"""Functions that cannot be edited: what a model does not send, by option or because it has no JSON form."""

import json
import types
import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Annotated, TypedDict, TypeVar, Union

import pydantic
import pytest

from tests.functions.unsent_kit import URL, Session, fetch, names, omissions, refusal
from toolkit import (
    BadArgs,
    Catalog,
    Dispatcher,
    Tool,
    ToolkitWarning,
)
from toolkit.values.codecs.base import CodecRules, HintReader
from toolkit.values.codecs.refusals import UnsendableType
from toolkit.values.codecs.rules import all_rules

FIELD = pydantic.Field(default_factory=Session)


# Left out because there is no JSON form.


def test_an_optional_parameter_without_a_json_form_is_left_out_with_a_warning():
    """The warning names the parameter, the reason and the remedy, at the function's own line."""
    with pytest.warns(ToolkitWarning) as caught:
        spec = Tool.described(fetch)
    left_out, narrowed = (str(warning.message) for warning in caught)
    assert left_out.startswith(f"{fetch.__module__}.fetch: a model cannot send `session` (Session has no JSON form)")
    assert 'Write `hidden=["session"]` if this is meant, or `inject=`' in left_out
    assert caught[0].filename == fetch.__code__.co_filename
    assert caught[0].lineno == fetch.__code__.co_firstlineno
    assert names(spec) == ["url", "retries"]
    assert Dispatcher(Catalog(spec)).call_sync("fetch", {"url": "u"}).value == ["u", None, 3]


def test_a_parameter_that_is_left_out_cannot_be_sent():
    """This holds also for a function with `**kwargs`."""

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
    assert texts[0].startswith(
        f"{fetch.__module__}.fetch: a model can send only some of the types of `url` (not URL); "
    )
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
    """The depth may come from containers, type variables and annotated types. There is always a warning."""

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


def test_null_alone_is_not_a_description():
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
    """They are optional, and the schema is closed then."""

    def take(a: int, *sessions: Session, b: int = 2, **more: Session):
        """Take."""
        return [a, sessions, b, more]

    texts, spec = omissions(take)
    assert "`sessions`" in texts[0]
    assert "`more`" in texts[0]
    assert spec.schema["additionalProperties"] is False
    args, kwargs = spec.signature.bind(spec.check({"a": 1}))
    assert take(*args, **kwargs) == [1, (), 2, {}]


def test_required_items_of_an_unpacked_tuple_need_a_json_form():
    """A call without them would fail."""

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
    """This holds also if the parameter has a default: no warning hides what its author can mend."""

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
    """A tool with an undefined name is read again at its first use, without another warning."""

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


def test_the_refusal_of_a_long_type_has_its_short_form():
    def load(session: dict[str, dict[str, dict[str, dict[str, dict[str, dict[str, list[Session]]]]]]]):
        """Load."""

    assert "`session: Inject[...]`" in refusal(load)


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
