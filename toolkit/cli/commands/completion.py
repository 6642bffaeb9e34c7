"""`toolkit completion`: print the script that a shell has to read so that the tab key completes names of tools."""

from __future__ import annotations

import click

from ..command import subcommand
from ..completion.shell_scripts import SHELLS
from ..output import Output

__all__ = ["command"]


@subcommand("completion", piped="text")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(context: click.Context, output: Output, shell: str) -> None:
    """Print the script for tab completion in a shell.

    The script completes commands and the targets, tools and parameters that the last "toolkit list TARGET" has seen. No
    target is imported. Put this line into the file that your shell reads when it starts:

    \b
    eval "$(toolkit completion bash)"         in ~/.bashrc
    eval "$(toolkit completion zsh)"          in ~/.zshrc
    toolkit completion fish | source          in ~/.config/fish/config.fish
    """
    output.raw(SHELLS[shell](context.find_root().command, {}, "toolkit", "_TOOLKIT_COMPLETE").source())
