"""`toolkit explain`: show which rule, check, fact or mode decides about a call, and what it decides."""

from __future__ import annotations

from dataclasses import asdict, replace

from rich.text import Text

from ..._plumbing.wording import format_dollars
from ...hooks.shell.shell_hooks import name_hooks_before
from ...session import Session
from ...settings import MergedSettings
from ...verdicts import Verdict
from ..call_policy import CallOptions, dispatcher_for
from ..command import arguments_argument, subcommand, target_argument, tool_argument
from ..exit_codes import VERDICT_EXITS
from ..interruptible_loop import run_coroutine
from ..output import Output, to_safe_text
from ..settings_options import settings_options
from ..user_extensions import open_extended_target
from .call import arguments_option, read_arguments

__all__ = ["command"]

_STYLES = {"allow": "green", "ask": "yellow", "deny": "red"}


@subcommand("explain")
@target_argument
@tool_argument
@arguments_argument
@arguments_option
@settings_options()
def command(
    output: Output, target: str, name: str, words: tuple[str, ...], text: str | None, settings: MergedSettings
) -> int:
    """Explain whether a call would run, and what decides that.

    A rule, a check, a fact or a mode decides. The output says which one, and why. No tool is run, and no person is
    asked. A warning names a rule that denies one tool while another tool has the same access, and each hook that a call
    would go through. Give the arguments as for call. The exit code is 0 if the call would run, 7 if a person would be
    asked, 5 if it would be denied. Loading TARGET runs its code.

    \b
    Examples:
      toolkit explain builtin bash command='git push' --mode auto
      toolkit explain tools.py cancel day=2026-05-01 --rule 'deny cancel(day=2026-12-*)'
    """
    with open_extended_target(target, output, unless=name, settings=settings) as loaded_target:
        arguments = read_arguments(loaded_target.catalog[name], words, text)
        dispatcher = dispatcher_for(loaded_target, CallOptions(settings=settings), output, needed_by=())
        verdict = run_coroutine(dispatcher.explain(name, arguments, session=Session()))
        hook_names = name_hooks_before(dispatcher.settings.chain.hooks, loaded_target.catalog[name])
    warnings = [f"hooks are not run here; {hook_name} may still deny or change the call" for hook_name in hook_names]
    verdict = replace(verdict, warnings=(*verdict.warnings, *warnings))
    if output.is_json:
        output.json(asdict(verdict))
    else:
        _show(verdict, output)
    return VERDICT_EXITS[verdict.word]


def _show(verdict: Verdict, output: Output) -> None:
    word = Text(verdict.word, f"{_STYLES[verdict.word]} bold")
    output.show(Text.assemble(word, to_safe_text(f" by {verdict.by}: {verdict.reason}")))
    others = [finding for finding in verdict.findings if finding.by != verdict.by]
    for finding in others:
        output.show(
            Text.assemble(
                "  ", (finding.word, _STYLES[finding.word]), to_safe_text(f" by {finding.by}: {finding.reason}", "dim")
            )
        )
    if verdict.cost is not None:
        output.show(to_safe_text(f"  costs {format_dollars(verdict.cost)}", "dim"))
    for warning in verdict.warnings:
        output.show(Text.assemble("  ", ("warning", "yellow"), to_safe_text(f": {warning}")))
