"""What can be counted or timed without a conversation: packages, imports and plain calls."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.metadata import distribution

from packaging.requirements import Requirement

from toolkit import Catalog, Dispatcher

from ..dispatching import best_of, peers
from ..subjects import CALLS, FUNCTIONS

__all__ = ["call_microseconds", "count_dependencies", "measure_seconds"]


def count_dependencies(name: str) -> int:
    """Count the distributions that *name* requires, directly or not, without extras that it does not ask for."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting: list[tuple[str, frozenset[str]]] = [(name, frozenset())]
    while waiting:
        package, extras = waiting.pop()
        key = (package.lower().replace("_", "-").replace(".", "-"), extras)
        if key in seen:
            continue
        seen.add(key)
        for line in distribution(package).requires or []:
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return len({package for package, _ in seen}) - 1


def measure_seconds(code: str, *, rounds: int = 5) -> float:
    """Return the processor time that a fresh interpreter takes for *code*, with compiled bytecode; the best round."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        best = float("inf")
        for _ in range(rounds + 1):  # the first run compiles
            before = os.times()
            subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env=environment)
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            best = min(best, used)
        return best


_CANDIDATES = {
    "pytoolkit": "toolkit",
    "pydantic-ai-slim": "pydantic-ai ToolManager",
    "fastmcp": "fastmcp",
    "openai-agents": "openai-agents on_invoke_tool",
    "langchain": "langchain-core",
}
_best: dict[str, float] = {}


async def call_microseconds(name: str) -> float:
    """Return the microseconds of one call; all libraries are measured together, in turns, the first time."""
    if not _best:
        function, arguments = FUNCTIONS["two integers"], CALLS["two integers"]
        dispatcher = Dispatcher(Catalog(function))
        candidates = await peers(function, arguments)
        _best.update(await best_of({"toolkit": lambda: dispatcher.call("add", arguments), **candidates}))
    return _best[_CANDIDATES[name]]
