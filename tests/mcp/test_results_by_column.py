"""What a tool returns or raises is the same in the process, through a server and through a gateway."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.mcp.columns import every_column, open_column, remote_columns
from toolkit import Catalog, Context, ImagePart, ResourcePart, Transient

pytestmark = pytest.mark.anyio


@dataclass
class Shelf:
    """A place in the shop."""

    number: int


def build_shop():
    """Return tools with results of many kinds."""
    shop = Catalog()

    @shop.tool(read_only=True)
    def echo(text: str) -> str:
        """Say the same."""
        return text

    @shop.tool(read_only=True)
    def same(value: Any = None) -> Any:
        """Return the same."""
        return value

    @shop.tool(read_only=True)
    def shelf(number: int | None = None) -> Shelf | None:
        """Find a shelf."""
        return None if number is None else Shelf(number)

    @shop.tool(read_only=True)
    def nothing() -> None:
        """Do nothing."""

    @shop.tool(read_only=True)
    def link(uri: str) -> ResourcePart:
        """Name a resource."""
        return ResourcePart(uri, None, "text/plain")

    @shop.tool(read_only=True, max_chars=2_000)
    def page(count: int) -> list[ResourcePart | ImagePart]:
        """Give a resource, and a picture."""
        return [ResourcePart("memo:1", "\n".join(f"line {n}" for n in range(count))), ImagePart(b"\x89PNG\r\n\x1a\n")]

    @shop.tool(read_only=True)
    def numbers() -> list[int]:
        """Return more numbers than a text may have."""
        return list(range(20_000))

    @shop.tool(read_only=True, timeout_seconds=0.01)
    async def hang() -> str:
        """Take too long."""
        await asyncio.Event().wait()

    @shop.tool(read_only=True)
    def wrong() -> int:
        """Return something else than it says."""
        return "many"

    @shop.tool(read_only=True)
    def lose() -> str:
        """Lose the connection."""
        raise Transient("the till is closed", retry_after_seconds=3600)

    @shop.tool(read_only=True)
    async def title(context: Context) -> str:
        """Ask a model that is not there."""
        return await context.sample("A title?")

    @shop.tool(read_only=True)
    def fail() -> str:
        """Fail."""
        raise RuntimeError("no stock")

    return shop


async def call(column, name, **arguments):
    """Return the result of one call."""
    async with open_column(build_shop(), column) as dispatcher:
        return await dispatcher.call(name, arguments)


@every_column
@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("echo", {"text": "tea \u00e9 \U0001f375 \x00"}, "tea \u00e9 \U0001f375 \x00"),
        ("echo", {"text": ""}, ""),
        ("echo", {"text": " \n"}, " \n"),
        ("echo", {"text": "null"}, "null"),
        ("same", {"value": None}, None),
        ("same", {"value": ""}, ""),
        ("same", {"value": 10**30}, 10**30),
        ("same", {"value": {"result": [None]}}, {"result": [None]}),
        ("shelf", {"number": 3}, {"number": 3}),
        ("shelf", {}, None),
        ("nothing", {}, None),
    ],
)
async def test_a_value_is_the_same(column, name, arguments, value):
    result = await call(column, name, **arguments)
    assert (result.kind, result.value) == ("ok", value)


@every_column
async def test_a_link_without_a_name_stays_a_resource(column):
    result = await call(column, "link", uri="memo:7")
    assert (result.text, result.parts) == (
        "[resource memo:7, text/plain]",
        [ResourcePart("memo:7", None, "text/plain")],
    )


@remote_columns
async def test_the_text_of_a_resource_that_was_cut_is_sent_once(column):
    """The resource keeps its beginning, which the text beside it does not repeat."""
    result = await call(column, "page", count=1_000)
    assert len(result.text) < 2_200
    assert result.text.count("line 7\n") == 1
    [resource] = [part for part in result.parts if isinstance(part, ResourcePart)]
    assert resource.content.startswith("line 0\nline 1\n")
    assert [part for part in result.parts if isinstance(part, ImagePart)]


@remote_columns
async def test_a_model_reads_that_a_tool_whose_value_is_too_long_has_run(column):
    """The client has the same limit as the server, and would cut off what stands after the text."""
    result = await call(column, "numbers")
    assert result.is_error
    assert result.text.startswith("error: tool failed: `numbers` has run, and succeeded.")


FAILURES = {
    "hang": "timed out: took longer than 0.01 s",
    "lose": "the till is closed",
    "wrong": "the tool ran, but it returned what its output schema does not allow",
    "title": "denied: `title` asks for the model or the folders of this client",
    "fail": "no stock",
}


@remote_columns
@pytest.mark.parametrize("name", FAILURES)
async def test_a_failure_has_one_reason_and_one_advice(column, name):
    """What our server has written around the reason is not written around it again."""
    result = await call(column, name)
    assert result.kind == "failed"
    assert FAILURES[name] in result.reason
    assert re.findall(r"(?<!with an )error: ", result.text) == ["error: "]
    assert result.text.count("another way") <= 1
