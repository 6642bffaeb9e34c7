"""The parameter `background` in the schema of a tool that may run in the background."""

from __future__ import annotations

import json

import pytest

from toolkit import (
    Catalog,
    DefinitionError,
    Dispatcher,
    Session,
    Tool,
)
from toolkit.builtin import job_output_for
from toolkit.formats import anthropic, gemini, openai

pytestmark = pytest.mark.anyio

PROPERTY = {
    "type": "boolean",
    "description": "Return at once, with the name of a job for `job_output` and `job_stop`.",
    "default": False,
}


@pytest.mark.parametrize("form", [anthropic, openai, gemini], ids=["anthropic", "openai", "gemini"])
def test_the_background_parameter_is_in_the_definition_for_every_provider(work, form):
    assert "background" in json.dumps(form.definitions(work.catalog))


def test_the_parameter_is_a_boolean_that_may_be_left_out(work):
    tool = work.catalog["build"]
    assert tool.schema["properties"]["background"] == PROPERTY
    assert tool.schema["required"] == ["target"]
    assert tool.definition["facts"]["background"] is True
    assert tool.output_schema is None  # the name of a job is no `dict[str, str]`
    names = [definition for definition in anthropic.definitions(work.catalog) if definition["name"] == "build"]
    assert names[0]["input_schema"]["properties"]["background"]["type"] == "boolean"


def test_a_function_never_gets_the_parameter():
    """The function stays as it is: positional parameters, `*args` and `**kwargs` do not see the new one."""
    received = []

    def any_kind(a: int, /, *rest: int, **more: str) -> None:
        """Take anything."""
        received.append((a, rest, more))

    catalog = Catalog(job_output_for())
    catalog.add(Tool.described(any_kind, background=True))
    dispatcher, session = Dispatcher(catalog), Session()
    dispatcher.call_sync("any_kind", {"a": 1, "rest": [2], "x": "y", "background": False})
    dispatcher.call_sync("any_kind", {"a": 1, "background": True}, session=session)
    dispatcher.call_sync("job_output", {"job": "job_1", "wait_seconds": 20}, session=session)
    assert received == [(1, (2,), {"x": "y"}), (1, (), {})]
    dispatcher.close()


def test_a_tool_made_of_a_schema_may_run_in_the_background(session):
    """Any tool may be started in the background."""
    received = []
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    handler = Tool.from_schema("handler", "Handle.", schema, received.append, background=True)

    def typed(a: int = 0) -> None:
        """Take a number."""
        received.append(a)

    dispatcher = Dispatcher(Catalog(handler, Tool.described(typed, schema=schema, background=True), job_output_for()))
    assert "background" not in schema["properties"]
    assert handler.schema["properties"]["background"] == PROPERTY
    for number, name in enumerate(("handler", "typed"), 1):
        started = dispatcher.call_sync(name, {"a": number, "background": True}, session=session)
        assert started.metadata == {"job": f"job_{number}"}
        dispatcher.call_sync("job_output", {"job": f"job_{number}", "wait_seconds": 20}, session=session)
    assert received == [{"a": 1}, 2]
    dispatcher.close()


def test_a_parameter_of_that_name_is_refused():
    """Bad input gets an error that names the thing, the place and the remedy."""

    def mine(background: bool) -> None:
        """Do."""

    with pytest.raises(DefinitionError, match=r"mine: the fact `background` adds a parameter .* rename yours"):
        Tool.described(mine, background=True)
    with pytest.raises(DefinitionError, match=r"tool `x`: the fact `background` adds a parameter"):
        Tool.from_schema("x", "X.", {"properties": {"background": {}}}, print, background=True)


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_a_schema_that_might_refuse_the_parameter_is_refused(keyword):
    """A call that sets it could fail the check, and the author is told which keyword."""
    schema = {"type": "object", keyword: [{"properties": {}, "additionalProperties": False}]}
    with pytest.raises(DefinitionError, match=rf"adds a property `background` .* `{keyword}` might refuse"):
        Tool.from_schema("x", "X.", schema, print, background=True)
