"""
`toolkit agent`: a model works with the tools of a target, and you watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import Any

import click

from .. import providers
from ..agent import Agent, Run
from ..permissions import Mode
from ..providers.remote import RemoteProvider
from .commands import subcommand, target_argument
from .display import AgentDisplay
from .exits import RUN_EXITS
from .failures import Failure
from .loops import runner
from .output import Output
from .policies import Policy, ask_option, audit_option, dispatcher_for, mode_option, rule_option, somebody_to_ask
from .targets import loaded

__all__ = ["PROVIDERS", "agrees", "command"]

PROVIDERS = {
    "anthropic": "AnthropicProvider",
    "openai": "OpenAIProvider",
    "openai_responses": "OpenAIResponsesProvider",
    "gemini": "GeminiProvider",
}


@subcommand("agent", piped="text")
@target_argument
@click.argument("prompt")
@click.option("--provider", type=click.Choice(list(PROVIDERS)), required=True, help="Whose model.")
@click.option("--model", required=True, help="Which, as the provider names it.")
@click.option("--system", default="", help="What the model is told first.")
@click.option("--max-turns", type=click.IntRange(min=1), default=50, show_default=True, help="How often it is asked.")
@click.option("--base-url", help="Another address that speaks the provider's format.")
@click.option("--key-from", metavar="VARIABLE", help="The environment variable with the key, if not the usual one.")
@mode_option
@rule_option
@audit_option
@ask_option
def command(
    output: Output,
    target: str,
    prompt: str,
    provider: str,
    model: str,
    system: str,
    max_turns: int,
    base_url: str | None,
    key_from: str | None,
    mode: Mode | None,
    rules: tuple[str, ...],
    audit: str | None,
    asks: bool,
) -> int:
    """Let a model work on PROMPT with the tools of TARGET.

    You see what it says and does as it happens, and are asked in the terminal
    before anything is changed. With --mode plan it only looks around and hands
    over a plan, which you may have carried out. A PROMPT of - is read from
    standard input. With --json the whole run is written as JSON, and what happens
    is told on standard error.

    The key comes from the provider's usual environment variable. With another
    --base-url it is sent only if you name the variable with --key-from.

    The exit code is 0 if it is done, 7 if it waits for a person, 11 if it was
    stopped, 13 if the provider failed. Loading TARGET runs its code.

    \b
    Examples:
      toolkit agent builtin 'Why does the test fail?' --provider anthropic --model ... --mode plan
    """
    asked = sys.stdin.read() if prompt == "-" else prompt
    if not asked.strip():
        raise Failure("the prompt is empty; say what is to be done")
    chosen = _provider(provider, model, base_url, key_from)
    with loaded(target) as found, AgentDisplay(output.errors if output.is_json else output.console) as display:
        asker = somebody_to_ask(asks, display.asking)
        policy = Policy(mode=mode, rules=rules, audit=audit, asker=asker)
        dispatcher = dispatcher_for(found, policy, output)
        agent = Agent(chosen, dispatcher, system=system, max_turns=max_turns, on_event=display.show)
        with contextlib.closing(dispatcher), runner() as loop:
            run = _worked(loop, agent, asked, display, may_ask=asker is not None)
            loop.run(chosen.aclose())
    if output.is_json:
        output.json(run.to_json())
    output.note(_summary(run), "dim")
    return RUN_EXITS[run.status]


def _worked(loop: asyncio.Runner, agent: Agent, prompt: str, display: AgentDisplay, *, may_ask: bool) -> Run:
    """The run, and the execution of its plan if it has one and somebody agrees."""
    display.thinking()
    run = loop.run(agent.run(prompt))
    # Asked outside of the loop, which would keep Ctrl-C from whoever is asked.
    if run.status == "planned" and may_ask and agrees():
        display.thinking()
        run = loop.run(agent.execute(run))
    return run


def agrees(terminal: str = "/dev/tty") -> bool:
    """Whether somebody at *terminal* wants the plan carried out; nothing but a clear yes counts."""
    with contextlib.suppress(ImportError, OSError), open(terminal, "r+b", buffering=0) as device:
        import termios  # not everywhere; nor is the terminal of this name

        if not device.isatty():
            return False
        termios.tcflush(device, termios.TCIFLUSH)  # what was typed before was meant for something else
        device.write(b"Carry out this plan? [y]es, [n]o: ")
        return device.readline().strip().lower() in (b"y", b"yes")
    return False


def _provider(name: str, model: str, base_url: str | None, key_from: str | None) -> RemoteProvider:
    options: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    if key_from is not None:
        if not os.environ.get(key_from):
            raise Failure(f"--key-from {key_from}: there is no such environment variable, or it is empty")
        options["api_key"] = os.environ[key_from]
    try:
        made: RemoteProvider = getattr(providers, PROVIDERS[name])(model, **options)
    except ValueError as error:
        raise Failure(str(error)) from None
    return made


def _summary(run: Run) -> str:
    reason = f" ({run.reason})" if run.reason else ""
    usage = run.usage
    return (
        f"{run.status}{reason} after {run.turns} turn{'s' * (run.turns != 1)}, "
        f"{usage.input_tokens:,} tokens read and {usage.output_tokens:,} written"
    )
