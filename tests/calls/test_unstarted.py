from __future__ import annotations

import asyncio
from typing import Any

from toolkit import Catalog, Dispatcher, Permissions, ToolResult, UnknownTool
from toolkit.spec import Tool


def _echo(arguments: dict[str, object]) -> dict[str, object]:
    return arguments


def test_the_search_for_a_similar_name_among_thousands_lets_other_tasks_run():
    async def main() -> None:
        catalog = Catalog(
            *(
                Tool.from_schema(f"tool_{number:04}_list", "List.", {"type": "object"}, _echo, read_only=True)
                for number in range(2_000)
            )
        )
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        result = await Dispatcher(catalog).call("tool_1234_lits", {})
        counting.cancel()
        assert result.kind == "not_found"
        assert "tool_1234_list" in result.text
        assert turns > 0

    asyncio.run(main())


def _call_unknown(catalog: Catalog, name: str, **options: Any) -> ToolResult:
    return Dispatcher(catalog, **options).call_sync(name, {})


def _build_catalog(*, defer: bool) -> Catalog:
    texts = {
        "list_invoices": "List the bills of a customer.\nThe newest comes first.",
        "pay_bill": "Pay a bill.",
        "cancel_bill": "Cancel a bill.",
        "file_bill": "File a bill with the others.",
        "water_plants": "Water all plants.",
    }
    return Catalog(
        *(Tool.from_schema(name, text, {"type": "object"}, _echo, defer=defer) for name, text in texts.items())
    )


def test_a_guessed_name_is_answered_with_the_deferred_tools_that_fit_its_words():
    """The model has not seen their names, so the spelling alone does not help."""
    result = _call_unknown(_build_catalog(defer=True), "fetch_customer_bills")
    lines = result.text.splitlines()
    assert lines[0] == "error: unknown tool `fetch_customer_bills`"
    assert lines[1] == "These tools fit the words of the name:"
    assert lines[2] == "- `list_invoices`: List the bills of a customer."
    assert len(lines) == 6
    assert lines[-1] == "Call one of these tools, or one of those you were given."
    assert result.error is not None
    assert isinstance(result.error.cause, UnknownTool)


def test_a_guessed_name_does_not_lead_to_a_tool_that_is_forbidden():
    result = _call_unknown(
        _build_catalog(defer=True), "fetch_customer_bills", permissions=Permissions("auto", ["deny list_invoices"])
    )
    assert "list_invoices" not in result.text
    assert "`pay_bill`" in result.text


def test_only_the_spelling_counts_for_unknown_tools_if_no_tools_are_deferred():
    """The model has seen all names."""
    result = _call_unknown(_build_catalog(defer=False), "fetch_customer_bills")
    assert result.text == "error: unknown tool `fetch_customer_bills`\nCall one of the tools you were given."


def test_a_name_whose_words_no_tool_has_is_answered_as_before():
    result = _call_unknown(_build_catalog(defer=True), "xylophone")
    assert result.text == "error: unknown tool `xylophone`\nCall one of the tools you were given."
