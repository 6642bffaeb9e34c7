"""`toolkit agent`: let a model work with the tools of a target, and show the user what it does."""

from __future__ import annotations

import click

from ..._plumbing.wording import format_count, format_dollars
from ...agent import Run
from ..call_policy import CallOptions, call_options
from ..command import read_prompt, subcommand, target_argument
from ..display.lines import describe_usage
from ..exit_codes import RUN_EXITS
from ..output import Output
from ..run_driver import RUN, open_driver
from ..saved_files import SavedFile, raise_if_interrupted, saved_file_options

__all__ = ["command"]


@subcommand("agent", piped="text")
@target_argument
@click.argument("prompt", required=False)
@call_options(for_model=True, may_ask=True)
@saved_file_options(RUN, "Save the run to this new file, to continue it later.")
def command(output: Output, target: str, prompt: str | None, options: CallOptions, saved: SavedFile[Run]) -> int:
    """Let a model work on PROMPT with the tools of TARGET.

    You see what the model says and does as it happens. You are asked in the terminal before anything is changed. With
    --mode plan the model changes nothing and returns a plan, and you are asked whether to carry it out. If PROMPT is -,
    it is read from standard input. With --json the whole run is written as JSON, and the progress goes to standard
    error.

    --resume continues a run that --save has saved, and saves it to the same file. If the run waits for answers, you are
    asked. If it has a plan, you are asked whether to carry it out. If it was interrupted, it continues. With a PROMPT,
    the conversation continues. Rules and modes are those of the new command.

    The provider, the model and other options may also come from your settings, which 'toolkit settings' shows. The
    model is told what the instruction files say, AGENTS.md and CLAUDE.md in this folder and above it, if you trust
    their folders. It gets the tools of the MCP servers in your settings beside those of TARGET.

    The key comes from the provider's usual environment variable. It is sent to another --base-url only if you name the
    variable with --key-from. --provider scripted:FILE needs no key: it plays the answers in FILE, a JSON list of texts
    and lists of calls.

    The exit code is 0 if the run is done or has a plan, 7 if it waits for a person, 11 if it was stopped, 13 if the
    provider failed. Loading TARGET runs its code.

    \b
    Examples:
      toolkit agent builtin 'Why does the test fail?' --provider anthropic --model ... --mode plan
      toolkit agent builtin --provider anthropic --model ... --resume run.json
      toolkit agent builtin 'Read it.' --provider scripted:answers.json
    """
    prompt_text = None if prompt is None and saved.content is not None else read_prompt(prompt)
    with open_driver(target, options, output, saved) as driver, driver.save_afterwards(saved):
        run = driver.run(prompt_text, saved.content)
    if output.is_json:
        output.json(run.to_json())
    driver.note_requests(run, saved, output)
    output.note(_summarize_run(run), "dim")
    raise_if_interrupted(driver.prompt, saved)
    return RUN_EXITS[run.status]


def _summarize_run(run: Run) -> str:
    reason = f" ({run.reason})" if run.reason else ""
    money = f"; its tools cost {format_dollars(float(run.spent.tool_cost))}" if run.spent.tool_cost else ""
    return f"{run.status}{reason} after {format_count(run.turns, 'turn')}, {describe_usage(run.usage)}{money}"
