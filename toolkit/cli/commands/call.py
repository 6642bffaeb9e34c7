"""`toolkit call`: make one call through the whole pipeline."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import click

from ..._plumbing.wording import format_count, format_dollars
from ...agent.events import ToolProgress, ToolStarted
from ...content import AudioPart, FilePart, ImagePart, ResourcePart
from ...context import Progress
from ...dispatcher import Dispatcher
from ...results import ToolCall, ToolResult
from ...session import Session
from ...spec import Tool
from ...values.rendering import as_json
from ..approval_prompt import InterruptiblePrompt, make_prompt
from ..argument_values import arguments_of, parse_json_arguments
from ..call_policy import CallOptions, call_options, dispatcher_for, resources_of_call
from ..command import SECONDS, arguments_argument, subcommand, target_argument, undecorated_option
from ..completion.known_names import complete_tool
from ..display.agent_display import AgentDisplay
from ..display.lines import format_duration
from ..exit_codes import EXITS
from ..failures import Failure
from ..interruptible_loop import run_coroutine
from ..output import Output
from ..saved_files import SavedFile, SavedKind, raise_if_interrupted, saved_file_options
from ..targets import Target
from ..user_extensions import open_extended_target

__all__ = ["arguments_option", "command", "format_trace", "read_arguments"]

_PART_NAMES = {ImagePart: "an image", AudioPart: "sound", FilePart: "a file", ResourcePart: "a resource"}

arguments_option = click.option(
    "--arguments", "text", metavar="OBJECT", help="All arguments, as one JSON object; - reads it from standard input."
)


CALL: SavedKind[ToolResult] = SavedKind(
    "call",
    lambda content: ToolResult.from_json(json.loads(content)),
    lambda result: json.dumps(result.to_json(), default=as_json),
)


@subcommand("call")
@target_argument
@click.argument("name", required=False, shell_complete=complete_tool)
@arguments_argument
@arguments_option
@undecorated_option
@call_options(may_ask=True)
@saved_file_options(CALL, "Save the result to this new file, to be asked later if the call waits.")
@click.option("--timeout", type=SECONDS, metavar="SECONDS", help="How long the whole call may take.")
@click.option("--trace", is_flag=True, help="Also print the repairs, the retries and the duration.")
def command(
    output: Output,
    target: str,
    name: str | None,
    words: tuple[str, ...],
    text: str | None,
    undecorated: bool,
    options: CallOptions,
    saved: SavedFile[ToolResult],
    timeout: float | None,
    trace: bool,
) -> int:
    """Call a tool of TARGET, as a model would.

    The whole pipeline runs. Arguments are checked and repaired. Rules and safety checks decide whether the call may
    run, and you are asked in the terminal if they require it. A transient failure is tried again. Loading TARGET runs
    its code.

    The schema decides the type of a value: limit=5 is a number if the schema wants an integer, and a text if it wants a
    string. tag=a tag=b is a list. name:=VALUE is always JSON. - reads all arguments as a JSON object from standard
    input.

    --resume asks you about a call that waits and that --save has saved, and saves its result to the same file. It needs
    your answer whatever the rules and mode of the new command permit, and they may still deny it.

    The exit code says how the call ended: 0 well, 1 the tool failed, 3 bad arguments, 4 no such tool, 5 denied, 6
    unsafe, 7 waiting for a person, 8 timed out, 9 transient, 10 cancelled, 11 halted, 12 internal error.

    \b
    Examples:
      toolkit call tools.py free_days year=2026 country=FR
      toolkit call tools.py free_days --arguments '{"year": 2026}'
      echo '{"path": "notes.txt"}' | toolkit call builtin read - --trace
      toolkit call tools.py --resume call.json
    """
    waiting = saved.content
    tool_name = _find_tool_name(name, waiting, has_arguments=bool(words) or text is not None)
    with open_extended_target(
        target, output, unless=tool_name, settings=options.settings, undecorated=undecorated
    ) as loaded_target:
        arguments = read_arguments(loaded_target.catalog[tool_name], words, text) if waiting is None else {}
        call = ToolCall(tool_name, arguments)
        result = _call_and_save(loaded_target, call, options, saved, output, timeout_seconds=timeout)
    _show_result(result, output, saved, trace=trace)
    return EXITS[result.kind]


def _find_tool_name(name: str | None, waiting: ToolResult | None, *, has_arguments: bool) -> str:
    """Return the name of the tool: *name*, or that of the call that *waiting* is the result of."""
    if waiting is None:
        if name is None:
            raise click.UsageError("Missing argument 'NAME'; 'toolkit list TARGET' shows the names of the tools.")
        return name
    if name is not None or has_arguments:
        raise click.UsageError("a resumed call has its tool and its arguments; leave them out")
    if waiting.request is None:
        raise Failure("the call is over, so there is nothing to continue; give a tool and its arguments")
    return waiting.request.tool


def _call_and_save(
    target: Target, call: ToolCall, options: CallOptions, saved: SavedFile[ToolResult], output: Output, **limits: Any
) -> ToolResult:
    """Make *call*, or go on with the one that *saved* has, and write the result to the file."""
    resources, display = resources_of_call(target, options), AgentDisplay(output.error_console)
    prompt = make_prompt(options.asks, display.paused)
    dispatcher = dispatcher_for(
        target,
        options,
        output,
        asker=prompt,
        store=saved.store(),
        needed_by=(call.name,),
        on_progress=partial(_report, output, display, set()),
    )
    # The dispatcher asks itself about a new call, unless it is that of a program.
    is_asked_here = saved.content is not None or target.dispatcher is not None
    asker = prompt if is_asked_here else None
    work = _call_tool(dispatcher, call, saved.content, prompt=asker, resources=resources, **limits)
    with display:
        result = run_coroutine(work, take_interrupt=None if prompt is None else prompt.interrupt)
    saved.write(result)
    raise_if_interrupted(prompt, saved)
    return result


def _show_result(result: ToolResult, output: Output, saved: SavedFile[ToolResult], *, trace: bool) -> None:
    if output.is_json:
        output.json(result.to_json())
    elif not result.is_error and result.kind != "waiting":
        if result.text == "null" and result.value is None:
            output.note("the tool returned nothing", "dim")
        else:
            output.text(result.text)
        for part in result.parts:
            output.note(f"the result also has {_PART_NAMES.get(type(part), 'another part')}, which --json shows")
    if result.is_error or result.kind == "waiting":
        output.note(_describe_problem(result, saved), "red" if result.is_error else "yellow")
    for line in format_trace(result) if trace else ():
        output.note(line, "dim")


def read_arguments(tool: Tool, words: Sequence[str], text: str | None) -> dict[str, Any]:
    """Return the arguments for *tool*, which come from *words*, from JSON *text*, or, for `-`, from standard input."""
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
    """Yield a line for the alias, each repair and each retry of a call, and a last line about its end."""
    yield from (f"repaired: {repair}" for repair in result.repairs)
    yield from (f"retry: {retry}" for retry in result.retries)
    if result.alias is not None:
        yield f"alias: {result.alias} of {result.tool}"
    times = format_count(result.attempts, "attempt")
    cost = f", costs {format_dollars(result.cost)}" if result.cost else ""
    yield f"{result.kind} after {times} in {format_duration(result.duration_seconds)}{cost}{', cut' * result.truncated}"


async def _call_tool(
    dispatcher: Dispatcher,
    call: ToolCall,
    waiting: ToolResult | None,
    *,
    prompt: InterruptiblePrompt | None,
    **options: Any,
) -> ToolResult:
    """
    Make *call*, or go on with the call whose result is *waiting*.

    If the call waits, because the dispatcher asks no person itself, ask *prompt*, and go on with it.
    """
    request = None if waiting is None else waiting.request
    session = Session() if request is None else Session(id=request.session or request.id, principal=request.principal)
    async with dispatcher:
        result = waiting or await dispatcher.call(call.name, call.arguments, session=session, **options)
        while prompt is not None and (request := result.request) is not None and request.auth is None:
            decision = await asyncio.to_thread(prompt.ask, request)
            if decision is None:
                break
            # The person has seen this request, which may come from a file. If the store's own differs, nothing runs.
            result = await dispatcher.resume(request, decision, session=session, **options)
        return result


def _describe_problem(result: ToolResult, saved: SavedFile[ToolResult]) -> str:
    if result.request is None or result.request.auth is not None:
        return result.text
    answer = "answer in a terminal" + ("" if saved.path is None else f" with --resume {saved.path}")
    # A call that waits for a person is not permitted by a rule or mode of the command that resumes it.
    if result.request.questions or saved.content is not None:
        return f"{result.text}; {answer}"
    # The rules and the mode of a dispatcher in the target hold beside those of the command.
    permit = "permit it with --mode or --rule, unless a dispatcher of the target asks (toolkit explain shows what asks)"
    return f"{result.text}; {answer}, or {permit}"


def _report(output: Output, display: AgentDisplay, shown_ids: set[str], progress: Progress) -> None:
    """Show a report with a total as a bar, and the message of any other report as a line, if there is a terminal."""
    console = output.error_console
    if progress.total and not console.is_dumb_terminal:
        if progress.call_id not in shown_ids:
            shown_ids.add(progress.call_id)
            display.show(ToolStarted(ToolCall(progress.tool, {}, progress.call_id), ""))
        display.show(ToolProgress(progress))
    elif progress.message and console.is_terminal:
        output.note(f"{progress.tool}: {progress.message}", "dim")
