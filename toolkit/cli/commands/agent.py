"""
`toolkit agent`: let a model work with the tools of a target, and show the user what it does.
"""

from __future__ import annotations

import contextlib
import sys

import click

from ..._plumbing.wording import format_count
from ...agent import Run
from ...permissions import Mode
from ...settings import build_agent, build_provider
from ...settings.builders import find_instructions
from ...settings.keys import PROVIDERS
from ..approval_prompt import make_prompt
from ..call_policy import CallPolicy, ask_option, audit_option, dispatcher_for, mode_option, rule_option
from ..command import subcommand, target_argument
from ..display.agent_display import AgentDisplay
from ..exit_codes import INTERRUPTED, RUN_EXITS
from ..failures import Failure
from ..output import Output
from ..resources import load_resources, with_option
from ..settings_options import load_command_settings, note_instructions, set_option
from ..targets import open_target
from ..user_extensions import with_skills
from .run_driver import describe_interruption, open_driver
from .saved_runs import SavedRun

__all__ = ["PROVIDERS", "command"]


@subcommand("agent", piped="text")
@target_argument
@click.argument("prompt", required=False)
@click.option("--provider", type=click.Choice(list(PROVIDERS)), help="The provider of the model.")
@click.option("--model", help="The name of the model, as the provider writes it.")
@click.option("--system", help="The system prompt.")
@click.option(
    "--max-turns",
    type=click.IntRange(min=1),
    help="How often the model may be asked; 50 times unless your settings say otherwise.",
)
@click.option("--base-url", help="The address of another server that uses the provider's format.")
@click.option(
    "--key-from", metavar="VARIABLE", help="The environment variable that holds the key, if it is not the usual one."
)
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Save the run to this new file, to continue it later.",
)
@click.option("--resume", type=click.Path(dir_okay=False), metavar="FILE", help="Continue the run in this file.")
@mode_option
@rule_option
@set_option
@audit_option
@ask_option
@with_option
def command(
    output: Output,
    target: str,
    prompt: str | None,
    provider: str | None,
    model: str | None,
    system: str | None,
    max_turns: int | None,
    base_url: str | None,
    key_from: str | None,
    save: str | None,
    resume: str | None,
    mode: Mode | None,
    rules: tuple[str, ...],
    assignments: tuple[str, ...],
    audit: str | None,
    asks: bool,
    resource_names: tuple[str, ...],
) -> int:
    """Let a model work on PROMPT with the tools of TARGET.

    You see what the model says and does as it happens. You are asked in the terminal
    before anything is changed. With --mode plan the model changes nothing and returns
    a plan, and you are asked whether to carry it out. If PROMPT is -, it is read from
    standard input. With --json the whole run is written as JSON, and the progress goes
    to standard error.

    --resume continues a run that --save has saved, and saves it to the same file. If
    the run waits for answers, you are asked. If it has a plan, you are asked whether to
    carry it out. If it was interrupted, it continues. With a PROMPT, the conversation
    continues. Rules and modes are those of the new command.

    The provider, the model and other options may also come from your settings, which
    'toolkit settings' shows. The model is told what the instruction files say, AGENTS.md
    and CLAUDE.md in this folder and above it, if you trust their folders.

    The key comes from the provider's usual environment variable. It is sent to another
    --base-url only if you name the variable with --key-from.

    The exit code is 0 if the run is done or has a plan, 7 if it waits for a person, 11
    if it was stopped, 13 if the provider failed. Loading TARGET runs its code.

    \b
    Examples:
      toolkit agent builtin 'Why does the test fail?' --provider anthropic --model ... --mode plan
      toolkit agent builtin --provider anthropic --model ... --resume run.json
    """
    if save and resume:
        raise click.UsageError("a resumed run is saved to its own file; give --save or --resume, not both")
    prompt_text = _read_prompt(prompt, is_needed=resume is None)
    saved_run = SavedRun(resume) if resume else SavedRun(save).require_new() if save else None
    run = saved_run.read() if saved_run is not None and resume else None
    settings = load_command_settings(
        assignments,
        rules=rules,
        provider=provider,
        model=model,
        base_url=base_url,
        key_from=key_from,
        system=system,
        mode=mode,
        limits__max_turns=max_turns,
    )
    model_provider = build_provider(settings)
    with (
        open_target(target, settings=settings) as loaded_target,
        AgentDisplay(output.error_console if output.is_json else output.console) as display,
    ):
        asker = make_prompt(asks, pause=display.paused)
        store = None if saved_run is None else saved_run.store()
        policy = CallPolicy(
            audit=audit, asker=asker, store=store, settings=settings, resources=load_resources(resource_names)
        )
        dispatcher = dispatcher_for(with_skills(loaded_target, output, settings=settings), policy, output)
        instructions = find_instructions(settings)
        note_instructions(instructions, output)
        agent = build_agent(
            settings, dispatcher, provider=model_provider, instructions=instructions, on_event=display.show
        )
        with contextlib.closing(dispatcher), open_driver(agent, display, asker, loaded_target, policy) as driver:
            with driver.save_afterwards(saved_run):
                run = driver.run(prompt_text, run)
            driver.loop.run(model_provider.aclose())
    if output.is_json:
        output.json(run.to_json())
    output.note(_summarize_run(run), "dim")
    if asker is not None and asker.is_interrupted:
        raise Failure(describe_interruption(asker, saved_run), INTERRUPTED)
    return RUN_EXITS[run.status]


def _read_prompt(prompt: str | None, *, is_needed: bool) -> str | None:
    """
    Return the prompt, which is read from standard input if it is `-`.

    Args:
        prompt: The prompt on the command line, if there is one.
        is_needed: Whether there must be a prompt. If not, the result is None for a missing prompt.

    Raises:
        Failure: The prompt is empty, or it is needed and missing.
    """
    text = sys.stdin.read() if prompt == "-" else prompt
    if not (text or "").strip() and (is_needed or text is not None):
        raise Failure("the prompt is empty; say what to do")
    return text


def _summarize_run(run: Run) -> str:
    reason = f" ({run.reason})" if run.reason else ""
    usage = run.usage
    return (
        f"{run.status}{reason} after {format_count(run.turns, 'turn')}, "
        f"{format_count(usage.input_tokens, 'token')} read and {usage.output_tokens:,} written"
    )
