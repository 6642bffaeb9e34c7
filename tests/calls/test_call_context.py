"""What a running call knows of itself, and what it can say."""

import json
import logging
from typing import Annotated, Optional

import pytest

from toolkit import Catalog, Context, Facts, Tool
from toolkit.context import Progress, Secret, is_secret
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolCall
from toolkit.session import Session

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


@pytest.mark.anyio
async def test_a_tool_sees_its_call():
    """It can read the principal, the arguments, the attempt and the deadline."""
    catalog = Catalog()
    contexts = []

    @catalog.tool(read_only=True, timeout_seconds=30)
    def look(context: Context, size: int = 5) -> None:
        """Look."""
        contexts.append(context)

    session = Session(id="s", principal="me")
    async with Dispatcher(catalog, clock=lambda: 1000.0) as dispatcher:
        await dispatcher.call("look", {"size": 7}, id="c1", session=session, resources={str: "given"})
    (context,) = contexts
    assert (context.call.name, context.call.id, context.call.arguments) == ("look", "c1", {"size": 7})
    assert (context.session, context.call.principal) == (session, "me")
    assert (context.attempt, context.deadline, context.facts.read_only) == (1, 1030.0, True)
    assert context.resources == {str: "given"}
    assert context.logger.name == "toolkit.tools.look"
    assert not context.cancelled


def test_a_report_names_its_call():
    """The name is that of the tool, for every alias."""
    events = []
    context = Context(facts=Facts(), call=ToolCall("cat", id="c1"), on_progress=events.append)
    context.report(1, 2, "half")
    context.call.tool = type("Found", (), {"name": "read"})
    context.report(message="found")
    assert events == [
        Progress(call_id="c1", tool="cat", progress=1, total=2, message="half"),
        Progress(call_id="c1", tool="read", message="found"),
    ]


def test_a_context_can_be_made_for_a_test():
    """Facts are all that it needs. It has no listener, and is never cancelled."""
    context = Context(facts=Facts())
    context.report(1)
    assert context.session is None
    assert isinstance(context.logger, logging.Logger)
    context.stop.set()
    assert context.cancelled


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[str, Secret],
        Annotated[str, Secret()],
        Annotated[str, "a key", Secret],
        Annotated[str, Secret] | None,
        Optional[Annotated[str, Secret]],
        list[Annotated[str, Secret]],
        dict[str, Annotated[str, Secret] | None],
        Annotated[Annotated[str, Secret] | None, "a key"],
    ],
    ids=str,
)
def test_a_secret_marker_counts_in_any_place_of_a_hint(hint):
    """The whole parameter is a secret. Models see an ordinary schema."""
    assert is_secret(hint)

    def login(key, user: str) -> None:
        """Log in."""

    login.__annotations__["key"] = hint
    tool = Tool.of(login)
    assert tool.signature.secrets == {"key"}
    assert "Secret" not in json.dumps(tool.schema)


@pytest.mark.parametrize("hint", [str, Annotated[str, "Secret"], list[str], None, "Secret"])
def test_a_hint_without_the_mark_is_not_a_secret(hint):
    assert not is_secret(hint)
