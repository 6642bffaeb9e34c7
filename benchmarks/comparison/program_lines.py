"""
Nine small programs, written for each library as its own documentation would write them, and how many lines each has.

`programs/NAME/LIBRARY.py` is a whole program. Its lines are counted without blank ones and comments, at most 120
characters long, as the formatter leaves them. The model plays a script, which costs each program the same line.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FOLDER", "PROGRAMS", "Program", "count_lines", "find_cell", "run_program"]

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "programs"
_ECHO_SERVER = [sys.executable, str(Path(__file__).with_name("echo_server.py"))]


@dataclass(frozen=True, slots=True)
class Program:
    """
    One line of the table.

    Attributes:
        name: The folder of its files.
        title: What the table calls it.
        about: What it does.
        starts: The words of the command line of each process that runs it, one after the other.
        output: The pattern of what the last process prints.
        missing: Why a library has no such program, by the name of its file.
        notes: Words after the number of lines, by the name of the file.
    """

    name: str
    title: str
    about: str
    output: str
    starts: tuple[tuple[str, ...], ...] = ((),)
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


_NO_AGENT = ("fastmcp", "it has no agent")

PROGRAMS = (
    Program(
        "agent",
        "An agent with a tool",
        "A model calls a function, and answers.",
        r"Take a coat\.",
        missing=(_NO_AGENT,),
    ),
    Program(
        "typed_answer",
        "A typed answer",
        "A model answers with a dataclass.",
        r"Trip\(city='Oslo', days=3\)",
        missing=(_NO_AGENT,),
    ),
    Program(
        "approval",
        "An approval",
        "A call waits for a person, is approved, and the run goes on.",
        r"delete\nGone\.",
        missing=(_NO_AGENT,),
    ),
    Program(
        "mcp_server",
        "An MCP server",
        "A function is served over standard input and output.",
        "hello",
        missing=(
            ("pydantic_ai", "it has a client alone"),
            ("openai_agents", "it has a client alone"),
            ("langchain", "neither client nor server is in the package"),
        ),
    ),
    Program(
        "mcp_client",
        "An MCP client",
        "A model calls a tool of a server that the program starts.",
        "It said hello.|hello",
        (tuple(_ECHO_SERVER),),
        missing=(("langchain", "it is in a package of its own, `langchain-mcp-adapters`"),),
        notes=(("fastmcp", "without a model"),),
    ),
    Program(
        "durable_approval",
        "A durable run with an approval",
        "A run waits for a person and its process ends; another process approves, and the run goes on.",
        r"paid A-7\ndone",
        ((), ("approve",)),
        missing=(_NO_AGENT,),
        notes=(
            ("pydantic_ai", "it keeps the messages between processes, and no steps"),
            ("openai_agents", "it keeps the state between processes, and no steps"),
        ),
    ),
    Program(
        "retry_and_time_limit",
        "Retry and time limit",
        "A sync tool loses its connection once and is tried again; each attempt has two seconds.",
        r"(Three\.|3) 2",
        missing=(
            ("pydantic_ai", "no retry without the model"),
            ("openai_agents", "no retry, and no time limit for sync tools"),
            ("langchain", "no time limit"),
        ),
        notes=(("fastmcp", "without a model"),),
    ),
    Program(
        "thousand_tools",
        "1,000 tools",
        "A model finds one of 1,000 tools by a search, and calls it.",
        r"Done\.|a\.txt",
        notes=(("fastmcp", "without a model"), ("openai_agents", "OpenAI's server searches")),
    ),
    Program(
        "property_test",
        "A property test",
        "Hypothesis draws arguments, and each call goes through the checks of the library.",
        "",
        notes=tuple(
            (library, "the arguments are described by hand")
            for library in ("pydantic_ai", "fastmcp", "openai_agents", "langchain")
        ),
    ),
)


def count_lines(program: Program, library: str) -> int | None:
    """Return how many lines *program* has for *library*, without blank ones and comments; None if there is none."""
    path = FOLDER / program.name / f"{library}.py"
    if not path.exists():
        return None
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def find_cell(program: Program, library: str) -> str:
    """Return the cell of the table: how many lines the program has, or why there is none."""
    count = count_lines(program, library)
    if count is None:
        return f"none ({dict(program.missing)[library]})"
    note = dict(program.notes).get(library)
    return str(count) if note is None else f"{count} ({note})"


def run_program(program: Program, library: str) -> None:
    """Run *program* for *library*, and raise `AssertionError` unless it prints what it should."""
    if program.name == "mcp_server":
        output = _call_server(program, library)
    else:
        with tempfile.TemporaryDirectory() as folder:
            output = [_start(program, library, words, folder) for words in program.starts][-1]
    assert re.fullmatch(program.output, output.strip()), f"{program.name}/{library}.py printed {output!r}"


def _start(program: Program, library: str, words: tuple[str, ...], folder: str) -> str:
    command = [*_command(program, library), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_AGENTS_DISABLE_TRACING": "1"}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, f"{program.name}/{library}.py failed: {ended.stderr[-2000:]}"
    return ended.stdout


def _call_server(program: Program, library: str) -> str:
    """Return what `echo` of the server answers to our client."""
    from toolkit import Dispatcher
    from toolkit.mcp import RemoteServer, Servers

    server = RemoteServer(_command(program, library), env={"PYTHONPATH": str(ROOT)})
    with Servers(peer=server) as tools, contextlib.closing(Dispatcher(tools)) as dispatcher:
        return dispatcher.call_sync("peer_echo", {"text": "hello"}).text


def _command(program: Program, library: str) -> list[str]:
    return [sys.executable, "-m", f"benchmarks.comparison.programs.{program.name}.{library}"]
