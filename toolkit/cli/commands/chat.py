"""`toolkit chat`: a conversation with a model that works with the tools of a target."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from ...agent import Run
from ...errors import ToolError
from ..call_policy import CallOptions, call_options
from ..command import subcommand, target_argument
from ..exit_codes import INTERRUPTED, RUN_EXITS
from ..failures import Failure, find_exit_code
from ..interruptible_loop import unblock_on_interrupt
from ..output import Output
from ..run_driver import RUN, RunDriver, open_driver
from ..saved_files import SavedFile, raise_if_interrupted, saved_file_options

__all__ = ["command"]

_ENDS = ("/exit", "/quit")
_QUESTION = "> "


@subcommand("chat", piped="text")
@target_argument
@call_options(for_model=True, may_ask=True)
@saved_file_options(RUN, "Save the conversation to this new file after each prompt.", noun="conversation")
def command(output: Output, target: str, options: CallOptions, saved: SavedFile[Run]) -> int:
    """Talk with a model that uses the tools of TARGET.

    Each line that you type is a prompt, and the conversation goes on until /exit or the end of input. A line that ends
    with \\ continues on the next one. /name text is a skill. Standard input may be a file with prompts.

    You are asked before anything is changed. Ctrl-C breaks off the answer, and the conversation goes on; Ctrl-C at the
    prompt ends it. --save keeps the conversation, and --resume continues it, also one of toolkit agent. Where no person
    can be asked, the command says what waits, and the next line refuses it. The provider, the model and other options
    may come from your settings, as for toolkit agent, and so do MCP servers, whose tools the model gets beside those of
    TARGET.

    The exit code is that of the last answer: 0 if it is done, 7 if something waits for a person, 3 if a skill got bad
    arguments, 11 if it was stopped or did not end, 13 if the provider failed. Loading TARGET runs its code.

    \b
    Examples:
      toolkit chat builtin --provider anthropic --model ... --save talk.json
      toolkit chat builtin --provider anthropic --model ... --resume talk.json
    """
    with open_driver(target, options, output, saved, needs_key=True) as driver:
        run, exit_code = _converse(driver, saved, output)
    if run is not None and output.is_json:
        output.json(run.to_json())
    raise_if_interrupted(driver.prompt, saved)
    return exit_code


def _converse(driver: RunDriver, saved: SavedFile[Run], output: Output) -> tuple[Run | None, int]:
    """
    Answer the user's prompts one after the other. Return the conversation, and the exit code of the last answer.

    It ends early if the person at the terminal left a request open. It is None if no model was asked.
    """
    run = saved.content
    if _is_waiting(run):
        with driver.save_afterwards(saved):
            run = driver.run(None, run)
        driver.note_requests(run, saved, output, next_line_refuses=not sys.stdin.isatty())
    exit_code = _exit_code_of(run)
    if sys.stdin.isatty():
        output.note("/exit or Ctrl-D ends the conversation, Ctrl-C breaks off an answer", "dim")
    prompts = _read_prompts()
    with contextlib.suppress(KeyboardInterrupt):  # at the prompt it ends the conversation
        while not (_is_waiting(run) and (sys.stdin.isatty() or driver.is_interrupted)):
            text = next(prompts, None)
            if text is None:
                break
            run, exit_code = _answer(driver, text, run, saved, output)
            driver.note_requests(run, saved, output, next_line_refuses=not sys.stdin.isatty())
    return run, _exit_code_of(run) if _is_waiting(run) else exit_code


def _is_waiting(run: Run | None) -> bool:
    return run is not None and run.status == "waiting"


def _answer(
    driver: RunDriver, text: str, run: Run | None, saved: SavedFile[Run], output: Output
) -> tuple[Run | None, int]:
    """Return the conversation with the answer to *text*, up to Ctrl-C if it comes, and the exit code of its end."""
    try:
        with driver.save_afterwards(saved):
            run = driver.run(text, run, refuses_requests=True)
    except KeyboardInterrupt:
        if driver.loop.has_abandoned:
            # The old answer would go on beside the next one, and end in its place.
            raise Failure("interrupted; the answer did not end, so the conversation ends", INTERRUPTED) from None
        output.note("\ninterrupted; the conversation goes on", "yellow")
        run = driver.agent.last_run or run
    except ToolError as error:  # a skill was named with the wrong arguments, and no model was asked
        output.note(f"error: {error}", "red")
        return run, find_exit_code(error)
    return run, _exit_code_of(run)


def _exit_code_of(run: Run | None) -> int:
    return 0 if run is None else RUN_EXITS[run.status]


def _read_prompts() -> Iterator[str]:
    """Yield the prompts that the user types, or those on standard input, until the end or `/exit`."""
    lines: list[str] = []
    while True:
        line = _read_line("" if lines else _QUESTION)
        if line is None or (not lines and line.strip() in _ENDS):
            line = None
        elif line.endswith("\\"):
            lines.append(line[:-1])
            continue
        text = "\n".join([*lines, *([] if line is None else [line])])
        lines = []
        if text.strip():
            yield text
        if line is None:
            return


def _read_line(question: str) -> str | None:
    """Return the next line of standard input without its end; None at the end of input."""
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 -- importing it gives `input` line editing and a history
    try:
        # `input` edits lines only if standard output is the terminal itself, and here it is redirected.
        with contextlib.redirect_stdout(sys.__stdout__ or sys.stderr), unblock_on_interrupt():
            return input(question)
    except EOFError:
        return None
