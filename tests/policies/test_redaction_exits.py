"""Masking through a dispatcher: no result, event or log shows a secret."""

import json
import logging
from typing import Annotated, Any

import pydantic
import pytest

from toolkit import BadArgs, Catalog, Context, Safety, ToolError
from toolkit.content import FilePart, JsonPart, ResourcePart, TextPart
from toolkit.context import Progress, Secret
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Ask, Halt
from toolkit.policies.redaction import MASK
from toolkit.results import ToolCall, ToolResult

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


# Through a dispatcher.

SECRET = "hunter2!"
Key = Annotated[str, Secret]


async def exits(function, arguments, caplog, **options):
    """Return everything that leaves a dispatcher for one call, as one text."""
    caplog.set_level(logging.DEBUG)
    catalog = Catalog()
    catalog.tool(**options.pop("facts", {}))(function)
    progress: list[Progress] = []
    async with Dispatcher(catalog, on_progress=progress.append, **options) as dispatcher:
        result = await dispatcher.call(function.__name__, arguments)
    return result, f"{json.dumps(result.to_json())} {progress} {caplog.text}"


@pytest.mark.anyio
async def test_the_tool_gets_the_secret_and_the_model_does_not(caplog):
    keys = []

    async def login(key: Key, user: str) -> dict[str, str]:
        keys.append(key)
        return {"key": key, "user": user}

    result, left = await exits(login, {"key": SECRET, "user": "me"}, caplog, redact=["me"])
    assert keys == [SECRET]
    assert result.value == {"key": MASK, "user": MASK}
    assert SECRET not in left


def _returns(key: Key) -> str:
    """Return."""
    return f"key {key}"


def _raises(key: Key) -> str:
    """Raise."""
    raise ValueError(f"bad {key}")


def _raises_ours(key: Key) -> str:
    """Raise."""
    raise ToolError(f"bad {key}")


def _refuses(key: Key) -> str:
    """Raise."""
    raise BadArgs(f"bad {key}")


def _is_unsafe(key: Key) -> str:
    """Raise."""
    raise Safety(f"bad {key}")


def _yields(key: Key):
    """Yield."""
    yield key
    yield {"key": [key]}


def _reports(key: Key, context: Context) -> str:
    """Report."""
    context.report(1, 2, f"using {key}")
    return "done"


def _gives_parts(key: Key) -> Any:
    """Give parts."""
    resources = [ResourcePart(f"memo:{key}", f"x{key}"), ResourcePart("memo:1", key.encode())]
    return [TextPart(key), JsonPart({key: key}), FilePart(f"file:///{key}"), *resources]


def _gives_a_long_resource(key: Key) -> ToolResult:
    """Give a resource that is cut in the middle of the secret."""
    return ToolResult("see", parts=[ResourcePart("memo:1", "x" * 62 + key + "y" * 200)])


def _is_long(key: Key) -> str:
    """Return much; the cut falls into the secret."""
    return "x" * 60 + key + "y" * 200


@pytest.mark.anyio
@pytest.mark.parametrize(
    "function",
    [
        _returns,
        _raises,
        _raises_ours,
        _refuses,
        _is_unsafe,
        _yields,
        _reports,
        _gives_parts,
        _gives_a_long_resource,
        _is_long,
    ],
    ids=lambda function: function.__name__,
)
async def test_a_secret_leaves_by_no_exit(function, caplog):
    """Results, errors, logs, progress, and where the text is cut."""
    _, left = await exits(function, {"key": SECRET}, caplog, max_chars=100)
    assert SECRET not in left
    assert SECRET[:5] not in left


@pytest.mark.anyio
@pytest.mark.parametrize("tool", ["unknown", "_returns"])
async def test_a_secret_of_a_call_that_is_not_started_is_not_logged(tool, caplog):
    """A hook that sees its result may fail, and quote it."""

    class Failing:
        def before(self, call):
            return Halt("enough")

        def after(self, call, result):
            if call.arguments["key"] == SECRET:
                raise ValueError(f"bad {call.arguments}")
            return result

    calls = [ToolCall("_returns", {"key": "x"}), ToolCall(tool, {"key": SECRET})]
    async with Dispatcher(Catalog(_returns), hooks=[Failing()], redact=[SECRET]) as dispatcher:
        await dispatcher.call_many(calls)
    assert "hook Failing failed in after" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("hint", "sent"),
    [
        (Annotated[int, Secret], SECRET),
        (Annotated[int, Secret], SECRET * 20),
        (Annotated[dict[str, int], Secret], {"a": SECRET}),
        (Annotated[int, Secret], json.dumps(SECRET)),
        (Annotated[str, Secret, pydantic.Field(max_length=3)], SECRET),
    ],
    ids=["short", "long", "inside", "text", "limit"],
)
async def test_an_invalid_secret_is_not_quoted(hint, sent, caplog):
    """Messages quote parts of other long values."""

    def login(key):
        raise AssertionError("must not run")

    login.__annotations__["key"] = hint
    result, left = await exits(login, {"key": sent}, caplog)
    assert result.kind == "bad_args"
    assert "key" in result.text
    assert "hunter2" not in left


@pytest.mark.anyio
async def test_a_secret_that_was_repaired_is_not_quoted(caplog):
    """The repair is said, the value is not."""

    def login(key: Annotated[int, Secret]) -> int:
        return key

    result, left = await exits(login, {"Key": "123456"}, caplog)
    assert result.value == MASK
    assert len(result.repairs) == 2
    assert "123456" not in left


class Asking:
    def before(self, call):
        return Ask(f"is {call.arguments['key']} right?")


@pytest.mark.anyio
async def test_a_secret_is_not_shown_in_an_approval_request(caplog):
    """It is not in the reason, the preview or the arguments."""

    def login(key: Annotated[list[str], Secret], user: str) -> None: ...

    facts = {"preview": lambda arguments: f"log in with {arguments['key']}"}
    result, left = await exits(login, {"key": [SECRET], "user": "me"}, caplog, facts=facts, hooks=[Asking()])
    assert result.kind == "waiting"
    assert result.request.arguments == {"key": MASK, "user": "me"}
    assert SECRET not in left


class Failing:
    def __init__(self, stage):
        setattr(self, stage, self.fail)

    def fail(self, call, *more):
        raise ValueError(f"bad {call.arguments}")


@pytest.mark.anyio
@pytest.mark.parametrize("stage", ["before", "around", "after"])
async def test_a_hook_that_fails_leaks_no_secret(stage, caplog):
    """Its error is masked and logged like a tool's."""
    result, left = await exits(_returns, {"key": SECRET}, caplog, hooks=[Failing(stage)])
    assert result.kind == "internal"
    assert SECRET not in left


@pytest.mark.anyio
async def test_rules_of_the_dispatcher_hold_for_unknown_tools(caplog):
    """There is no exit without them."""
    result, left = await exits(_returns, {"key": "x"}, caplog, redact=[SECRET])
    async with Dispatcher(Catalog(), redact=[SECRET]) as dispatcher:
        result = await dispatcher.call(SECRET, {})
    assert result.kind == "not_found"
    assert SECRET not in result.text
