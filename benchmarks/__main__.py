"""Run every benchmark and print its table: `make bench`."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version

from . import (
    accepting,
    configurations,
    decorating,
    defining,
    dispatching,
    endurance,
    files,
    generating,
    importing,
    judging,
    large_catalogs,
    mcp_serving,
    refusing,
    search,
    sizes,
)
from .timing import print_table

BENCHMARKS = {
    "Decorating a function of five parameters": decorating,
    "Accepting and converting good arguments": accepting,
    "Refusing bad arguments, all problems worded": refusing,
    "One call, and many": dispatching,
    "One call in many configurations": configurations,
    "One call, and how its cost grows": sizes,
    "Permissions and safety checks": judging,
    "Searching 50,000 files": files,
    "Definitions": defining,
    "Arguments drawn from a schema, a test of 300 examples": generating,
    "Importing": importing,
    "One call over MCP": mcp_serving,
}


def main(chosen: list[str]) -> None:
    peers = ", ".join(
        f"{name} {version(name)}" for name in ("anthropic", "pydantic-ai-slim", "pydantic-core", "jsonschema")
    )
    print(f"CPython {platform.python_version()}; {peers}")
    for title, benchmark in BENCHMARKS.items():
        if not chosen or benchmark.__name__.rpartition(".")[2] in chosen:
            print_table(title, benchmark.rows())
    if not chosen or "search" in chosen:
        search.main()
        large_catalogs.main()
    if not chosen or "endurance" in chosen:
        print()
        endurance.main(["--part", "batch", "--part", "soak", "--minutes", "1"])


main(sys.argv[1:])
