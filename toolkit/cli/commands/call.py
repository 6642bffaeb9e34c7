"""
`toolkit call`: make one call through the whole pipeline.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from ..._plumbing.wording import format_count
from ...content import AudioPart, FilePart, ImagePart, ResourcePart
from ...context import Progress
from ...dispatcher import Dispatcher
from ...results import ToolResult
from ...session import Session
from ...settings import MergedSettings
from ...spec import Tool
from ..approval_prompt import InterruptiblePrompt, make_prompt
from ..argument_values import arguments_of, parse_json_arguments
from ..call_policy import CallPolicy, ask_option, audit_option, dispatcher_for
from ..command import arguments_argument, subcommand, target_argument, tool_argument
from ..display.lines import format_duration
from ..exit_codes import EXITS, INTERRUPTED
from ..failures import Failure
from ..interruptible_loop import run_coroutine
from ..output import Output
from ..resources import load_resources, with_option
from ..settings_options import settings_options
from ..targets import open_target
from ..user_extensions import with_skills

__all__ = ["arguments_option", "command", "format_trace", "read_arguments"]

_PART_NAMES: dict[type, str] = {
    ImagePart: "an image",
    AudioPart: "sound",
    FilePart: "a file",
    ResourcePart: "a resource",
}

arguments_option = click.option(
    "--arguments", "text", metavar="OBJECT", help="All arguments, as one JSON object; - reads it from standard input."
)


@subcommand("call")
@target_argument
@tool_argument
@arguments_argument
@arguments_option
@settings_options()
@audit_option
@ask_option
@with_option
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="How long the whole call may take.",
)
@click.option("--trace", is_flag=True, help="Also print the repairs, the retries and the duration.")
def command(
    output: Output,
    target: str,
    name: str,
    words: tuple[str, ...],
    text: str | None,
    settings: MergedSettings,
    audit: str | None,
    asks: bool,
    resource_names: tuple[str, ...],
    timeout: float | None,
    trace: bool,
) -> int:
    """Call a tool of TARGET, as a model would.

    The whole pipeline runs. Arguments are checked and repaired. Rules and safety
    checks decide whether the call may run, and you are asked in the terminal if
    they require it. A transient failure is tried again. Loading TARGET runs its code.

    The schema decides the type of a value: limit=5 is a number if the schema wants
    an integer, and a text if it wants a string. tag=a tag=b is a list. name:=VALUE
    is always JSON. - reads all arguments as a JSON object from standard input.

    The exit code says how the call ended: 0 well, 1 the tool failed, 3 bad arguments,
    4 no such tool, 5 denied, 6 unsafe, 7 waiting for a person, 8 timed out,
    9 transient, 10 cancelled, 11 halted, 12 internal error.

    \b
    Examples:
      toolkit call tools.py free_days year=2026 country=FR
      toolkit call tools.py free_days --arguments '{"year": 2026}'
      echo '{"path": "notes.txt"}' | toolkit call builtin read - --trace
    """
    with open_target(target, settings=settings) as target_tools:
        loaded_target = with_skills(target_tools, output, unless=name, settings=settings)
        arguments = read_arguments(loaded_target.catalog[name], words, text)
        prompt = make_prompt(asks)
        policy = CallPolicy(
            audit=audit,
            asker=prompt,
            settings=settings,
            resources=load_resources(resource_names),
            needed_by=(name,),
        )
        dispatcher = dispatcher_for(
            loaded_target, policy, output, on_progress=lambda progress: _report(progress, output)
        )
        call = _call_tool(
            dispatcher,
            name,
            arguments,
            timeout_seconds=timeout,
            prompt=None if loaded_target.dispatcher is None else prompt,
            resources=policy.resources_of_call(loaded_target),
        )
        result = run_coroutine(call, take_interrupt=None if prompt is None else prompt.interrupt)
    if prompt is not None and prompt.is_interrupted:
        raise Failure(f"interrupted; `{name}` did not run; to be asked again, give the command again", INTERRUPTED)
    if output.is_json:
        output.json(result.to_json())
    elif not result.is_error and result.kind != "waiting":
        output.text(result.text)
        for part in result.parts:
            output.note(f"the result also has {_PART_NAMES.get(type(part), 'another part')}, which --json shows")
    if result.is_error or result.kind == "waiting":
        output.note(_describe_problem(result), "red" if result.is_error else "yellow")
    for line in format_trace(result) if trace else ():
        output.note(line, "dim")
    return EXITS[result.kind]


def read_arguments(tool: Tool, words: Sequence[str], text: str | None) -> dict[str, Any]:
    """
    Return the arguments for *tool*, which come from *words*, from JSON *text*, or, for `-`, from standard input.

    Raises:
        Failure: The user gave arguments in more than one of these ways, or a JSON object among the words.
        BadArgs: The arguments cannot be read.
    """
    ways = [text is not None, "-" in words, any(word != "-" for word in words)]
    if sum(ways) > 1:
        raise Failure("arguments are given in more than one way; use NAME=VALUE, --arguments or -, one of them")
    if text == "-" or "-" in words:
        return parse_json_arguments(sys.stdin.buffer.read())
    if text is not None:
        return parse_json_arguments(text)
    if any(word.startswith("{") for word in words):
        raise Failure("a JSON object is given as a word; write --arguments '{...}' (--json is about the output)")
    return arguments_of(words, tool.schema)


def format_trace(result: ToolResult) -> Iterator[str]:
    """Yield a line for each repair and each retry of a call, and a last line about its end."""
    yield from (f"repaired: {repair}" for repair in result.repairs)
    yield from (f"retry: {retry}" for retry in result.retries)
    times = format_count(result.attempts, "attempt")
    yield f"{result.kind} after {times} in {format_duration(result.duration_seconds)}{', cut' * result.truncated}"


async def _call_tool(
    dispatcher: Dispatcher,
    name: str,
    arguments: dict[str, Any],
    *,
    prompt: InterruptiblePrompt | None,
    **options: Any,
) -> ToolResult:
    """Make the call. If it waits, because the dispatcher asks no person itself, ask *prompt*, and go on with it."""
    session = Session()
    async with dispatcher:
        result = await dispatcher.call(name, arguments, session=session, **options)
        while prompt is not None and (request := result.request) is not None and request.auth is None:
            decision = await asyncio.to_thread(prompt.ask, request)
            if decision is None:
                break
            handle = request.id if request.seal is None else request
            result = await dispatcher.resume(handle, decision, session=session, **options)
        return result


def _describe_problem(result: ToolResult) -> str:
    if result.request is None or result.request.auth is not None:
        return result.text
    return f"{result.text}; answer in a terminal, or permit it with --mode or --rule (toolkit explain shows what asks)"


def _report(progress: Progress, output: Output) -> None:
    if output.error_console.is_terminal and progress.message:
        output.note(f"{progress.tool}: {progress.message}", "dim")
