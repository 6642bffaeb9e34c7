from __future__ import annotations

import asyncio

from toolkit import Catalog, Dispatcher
from toolkit.spec import Tool


def _echo(arguments: dict[str, object]) -> dict[str, object]:
    return arguments


def test_looking_for_a_near_name_among_thousands_lets_other_tasks_run():
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
