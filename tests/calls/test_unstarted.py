from __future__ import annotations

import asyncio
from collections.abc import Generator

import pytest

from toolkit import Catalog, Dispatcher
from toolkit.calls.unstarted import run_in_steps
from toolkit.spec import Tool


def _echo(arguments: dict[str, object]) -> dict[str, object]:
    return arguments


def test_other_tasks_run_between_the_steps():
    async def main() -> None:
        turns: list[str] = []

        def work() -> Generator[None, None, str]:
            for number in range(3):
                turns.append(f"step {number}")
                yield
            return "done"

        async def watch() -> None:
            for number in range(2):
                turns.append(f"other {number}")
                await asyncio.sleep(0)

        result, _ = await asyncio.gather(run_in_steps(work()), watch())
        assert result == "done"
        assert turns == ["step 0", "other 0", "step 1", "other 1", "step 2"]

    asyncio.run(main())


def test_an_error_passes():
    async def main() -> None:
        def work() -> Generator[None, None, str]:
            yield
            raise KeyError("x")

        with pytest.raises(KeyError):
            await run_in_steps(work())

    asyncio.run(main())


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
        assert turns > 5

    asyncio.run(main())
