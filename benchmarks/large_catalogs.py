"""
What ten thousand tools cost in time and memory: to make, to add, to search and to show, and in a turn of an agent.

    python -m benchmarks.large_catalogs

Reads the tools of `../shared/search-dev`, and says so when they are not there. Processor time, beside the goal.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

from toolkit import Agent, Catalog, Tool
from toolkit.providers import ScriptedProvider

from . import search

__all__ = ["main"]

_COUNT = 10_000
_TOOLS_PER_WORD = 500
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def main() -> None:
    """Print the table, or why there is none."""
    if not (search.DATA / "tools.jsonl.gz").is_file():
        print(f"Ten thousand tools: no data at {search.DATA}, so nothing was measured.")
        return
    warnings.simplefilter("ignore")  # some of the tools say nothing about themselves
    lines = list(itertools.islice(itertools.cycle(search.read_data("tools")), _COUNT))
    rows: list[tuple[str, str, str]] = []
    tools: list[Tool] = []
    rows.append(
        ("`Tool.from_schema` of all", _seconds(lambda: tools.extend(map(_make_tool, lines, range(_COUNT)))), "2 s")
    )
    catalog = Catalog()
    rows.append(("`catalog.add` of all at once", _seconds(lambda: Catalog().add(*tools)), "0.5 s"))
    rows.append(("`catalog.add` of all, one by one", _seconds(lambda: [catalog.add(tool) for tool in tools]), "0.5 s"))
    tracemalloc.start()
    catalog.search("weather forecast")
    memory = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    fresh = Catalog(*tools)
    rows.append(("first search, with the index", _seconds(lambda: fresh.search("weather forecast")), "0.6 s"))
    rows.append(("memory of the index", f"{memory:.0f} MB", "60 MB"))
    middle, slow = _measure_common_words()
    rows.append(
        (f"three words of {_TOOLS_PER_WORD} tools each, p50 / p95", f"{middle:.0f} / {slow:.0f} us", "130 / 400 us")
    )
    fresh = Catalog(*tools)
    rows.append(("first `definitions`", _seconds(fresh.definitions), "0.02 s"))
    turns = [min(_measure_turn(Catalog(*tools[:count])) for _ in range(5)) for count in (10, _COUNT)]
    rows.append(("agent turn, more than with 10 tools", f"{(turns[1] - turns[0]) * 1e3:.1f} ms", "3 ms"))
    print(f"\n{_COUNT:,} deferred tools\n\n| | measured | goal |\n|---|--:|--:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def _make_tool(line: dict[str, Any], number: int) -> Tool:
    properties = {
        name: {key: value for key, value in each.items() if key in _IS_USABLE and _IS_USABLE[key](value)}
        for name, each in line["parameters"].items()
    }
    schema = {"type": "object", "properties": properties, "required": line["required"] or []}
    name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in line["name"])
    return Tool.from_schema(f"t_{name[:50]}_{number}", line["description"], schema, lambda arguments: None, defer=True)


_IS_USABLE: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: value in ("string", "integer", "number", "boolean", "array", "object", "null"),
    "description": lambda value: isinstance(value, str),
    "enum": lambda value: isinstance(value, list),
}
"""Real definitions have other values there too."""


def _seconds(run: Callable[[], object]) -> str:
    started = time.process_time()
    run()
    return f"{time.process_time() - started:.3f} s"


def _measure_common_words() -> tuple[float, float]:
    """Return the median and the 95th percentile in microseconds, of the best of five rounds of each query."""
    chance = random.Random(20261117)
    words = [
        first + second
        for first, second in itertools.product(("lam", "gre", "tor", "bin", "dal"), ("pok", "nim", "vas"))
    ]
    texts: list[list[str]] = [[] for _ in range(_COUNT)]
    for word in words:
        for text in chance.sample(texts, _TOOLS_PER_WORD):
            text.append(word)
    catalog = Catalog()
    for number, text in enumerate(texts):
        tool = Tool.from_schema(f"tool_{number}", f"Work with {' and '.join(text)}.", _SCHEMA, lambda arguments: None)
        catalog.add(tool)
    queries = [" ".join(chance.sample(words, 3)) for _ in range(300)]
    rounds = [[_search_seconds(catalog, query) for query in queries] for _ in range(6)][1:]
    best = sorted(1e6 * min(times) for times in zip(*rounds, strict=True))
    return best[len(best) // 2], best[len(best) * 95 // 100]


def _search_seconds(catalog: Catalog, query: str) -> float:
    started = time.perf_counter()
    catalog.search(query, 5)
    return time.perf_counter() - started


def _measure_turn(catalog: Catalog) -> float:
    async def run_twice() -> float:
        # The first run does what is done once.
        agent = Agent(ScriptedProvider(["yes", "yes"]), catalog)
        await agent.run("Is it so?")
        started = time.process_time()
        await agent.run("Is it so?")
        return time.process_time() - started

    return asyncio.run(run_twice())


if __name__ == "__main__":
    main()
