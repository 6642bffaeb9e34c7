"""What a tool is given besides its arguments is out of a model's reach."""

import functools
import json
import logging
from dataclasses import dataclass
from typing import Annotated, Generic, Optional, TypeVar, Union

import pytest

from toolkit import BadArgs, Context, DefinitionError, Facts, Inject, Tool
from toolkit.context import Injected

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")

T = TypeVar("T")


class Database:
    """Nothing that JSON could say."""


@dataclass(slots=True, kw_only=True)
class OwnContext(Context):
    user: str = ""


class GenericContext(Context, Generic[T]):
    pass


def taking(hint, default=...):
    """Return a function with a parameter `resource` of this type, and its tool."""

    def take(sent: int, resource=default, **more: int):
        return sent, resource, more

    if default is ...:

        def take(resource, sent: int, **more: int):
            return sent, resource, more

    take.__annotations__["resource"] = hint
    return take


HINTS = [
    (Context, Context),
    ("Context", Context),
    (Optional[Context], Context),
    (Context | None, Context),
    (Optional["Context"], Context),
    ("Optional[Context]", Context),
    (Annotated[Context, "the call"], Context),
    (Annotated[Optional[Context], "the call"], Context),
    (OwnContext, OwnContext),
    (GenericContext[int], GenericContext[int]),
    (Inject[Database], Database),
    ("Inject[Database]", Database),
    (Inject["Database"], Database),
    (Inject[Database] | None, Database),
    (Inject[Optional[Database]], Database),
    (Inject[Optional["Database"]], Database),
    (Inject[Database | OwnContext], Database | OwnContext),
    (Annotated[Database, Injected], Database),
    (Inject[str], str),
]
IDS = [str(hint) for hint, _ in HINTS]


@pytest.mark.parametrize(("hint", "kind"), HINTS, ids=IDS)
def test_an_injected_parameter_is_not_in_the_schema(hint, kind):
    """The schema has only arguments of the model. The other parameters are listed for the caller."""
    tool = Tool.of(taking(hint))
    assert list(tool.schema["properties"]) == ["sent"]
    assert "resource" not in json.dumps(tool.definition)
    assert tool.signature.injected == {"resource": kind}


@pytest.mark.parametrize(("hint", "kind"), HINTS, ids=IDS)
@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
def test_an_argument_for_an_injected_parameter_is_refused(hint, kind, validation):
    """This holds also if the signature takes any keywords."""
    tool = Tool.of(taking(hint))
    assert tool.check({"sent": 1, "other": 2}, validation=validation) == {"sent": 1, "other": 2}
    with pytest.raises(BadArgs) as error:
        tool.check({"sent": 1, "resource": 2}, validation=validation)
    assert [problem.path for problem in error.value.problems] == [("resource",)]


def test_a_forged_argument_is_refused_under_a_hand_written_schema_too():
    """A hand-written schema cannot let it through."""
    tool = Tool.described(taking(Context), schema={"properties": {"sent": {"type": "integer"}}})
    with pytest.raises(BadArgs, match="resource"):
        tool.check({"sent": 1, "resource": 2})


def test_a_hand_written_schema_cannot_name_an_injected_parameter():
    """It would promise a value to the model that is then refused."""
    with pytest.raises(DefinitionError, match="does not take: resource"):
        Tool.described(taking(Context), schema={"properties": {"sent": {}, "resource": {}}})


def test_an_injected_resource_reaches_the_function():
    """It is passed by keyword, or by position if the parameter is positional-only."""
    resource = Database()

    def take(resource: Inject[Database], /, sent: int, *rest: int):
        return resource, sent, rest

    tool = Tool.of(take)
    args, kwargs = tool.signature.bind({**tool.check({"sent": 1, "rest": [2]}), "resource": resource})
    assert take(*args, **kwargs) == (resource, 1, (2,))


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
def test_a_missing_context_falls_back_to_its_default(validation):
    def by_position(context: Optional[Context] = None, /, *rest: int):
        return context, rest

    tool = Tool.of(by_position)
    args, kwargs = tool.signature.bind(tool.check({"rest": [1]}, validation=validation))
    assert by_position(*args, **kwargs) == (None, (1,))

    by_keyword = taking(Context, None)
    args, kwargs = Tool.of(by_keyword).signature.bind(Tool.of(by_keyword).check({"sent": 1}))
    assert by_keyword(*args, **kwargs) == (1, None, {})


def test_a_resource_that_a_partial_has_bound_is_not_injected():
    partial = functools.partial(taking(Inject[Database]), resource=Database())
    tool = Tool.of(partial)
    assert tool.signature.injected == {}
    with pytest.raises(BadArgs, match="resource"):
        tool.check({"sent": 1, "resource": 2})


@pytest.mark.parametrize("star", ["*resource", "**resource"])
def test_one_thing_cannot_be_given_many_times(star):
    """`*contexts: Context` is refused, with the remedy."""
    namespace = {"Context": Context}
    exec(f"def take({star}: Context): ...", namespace)
    with pytest.raises(DefinitionError, match=r"parameter `resource`: only one is given, so take it .* without \*"):
        Tool.of(namespace["take"])


@pytest.mark.parametrize("hint", [list[Context], Union[Context, int], dict[str, Context]])
def test_a_context_inside_data_is_refused(hint):
    """A model cannot send one."""
    with pytest.raises(DefinitionError, match="parameter `resource`"):
        Tool.of(taking(hint))


def test_a_context_has_facts_resources_and_a_logger():
    context = Context(facts=Facts(read_only=True))
    assert context.facts.read_only
    assert context.resources == {}
    assert isinstance(context.logger, logging.Logger)
    assert repr(Injected()) == "Injected()"
