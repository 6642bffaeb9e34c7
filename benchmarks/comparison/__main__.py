"""Run every row with every library and print the tables of `docs/comparison.md`: `python -m benchmarks.comparison`."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
import sys
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .library import Library, NotOfferedError
from .program_lines import PROGRAMS, count_lines, find_cell, run_program

LIBRARIES = {
    "pytoolkit": "ours:Toolkit",
    "pydantic-ai-slim": "pydantic_ai_peer:PydanticAI",
    "fastmcp": "fastmcp_peer:FastMCPPeer",
    "openai-agents": "openai_agents_peer:OpenAIAgents",
    "langchain": "langchain_peer:LangChain",
}


def load_library(distribution: str) -> Library:
    """Import one library only: the processes that ask and answer need no other."""
    module, _, name = LIBRARIES[distribution].partition(":")
    library: Library = getattr(import_module(f".{module}", __package__), name)()
    return library


def run_cell(row: Any, library: Library) -> str:
    """Return what *row* found out about *library*, with the library's note."""
    try:
        cell = asyncio.run(row.run(library))
    except NotOfferedError as error:
        return str(error) or "none"
    return f"{cell} ({library.notes[row.name]})" if row.name in library.notes else cell


def main() -> None:
    """Print the table, then what each row does."""
    logging.disable(logging.CRITICAL)  # peers log every failure of a tool
    warnings.simplefilter("ignore")
    from .rows import ROWS

    libraries = [load_library(name) for name in LIBRARIES]
    names = [f"{name} {version(name)}" for name in LIBRARIES]
    print(f"CPython {platform.python_version()}, {platform.system()}.\n")
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}", flush=True)
    for row in ROWS:
        print(f"| {row.title} | {' | '.join(run_cell(row, library) for library in libraries)} |", flush=True)
    print("\n| row | what is run |\n|---|---|")
    for row in ROWS:
        print(f"| {row.title} | {' '.join((row.run.__doc__ or '').split())} |")
    print_lines(names)


def print_lines(names: list[str]) -> None:
    """Run the programs of all libraries, and print how many lines each has."""
    files = ["ours", *(LIBRARIES[name].partition("_peer:")[0] for name in list(LIBRARIES)[1:])]
    print(f"\n| program | {' | '.join(names)} |\n|---|{'---|' * len(names)}", flush=True)
    for program in PROGRAMS:
        for file in files:
            if count_lines(program, file) is not None:
                run_program(program, file)
        print(f"| {program.title} | {' | '.join(find_cell(program, file) for file in files)} |", flush=True)
    print("\n| program | what it does |\n|---|---|")
    for program in PROGRAMS:
        print(f"| {program.title} | {program.about} |")


def play_part(distribution: str, part: str, folder: Path) -> None:
    """Ask and be killed, answer, or pay bills, in a process of its own."""
    library = load_library(distribution)
    if part == "pay":
        asyncio.run(library.pay_bills(folder))
        return
    if part == "ask":
        waits = asyncio.run(library.ask(folder))
        os.kill(os.getpid(), signal.SIGKILL if waits else signal.SIGTERM)
    asyncio.run(library.answer(folder))


if __name__ == "__main__":
    if len(sys.argv) == 4:
        play_part(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        main()
