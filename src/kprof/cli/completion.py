"""`kprof completion`: the shell script that completes kprof's verbs and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kprof.cli.main import kprof_command


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    \b
    Example:
      kprof completion bash > ~/.local/share/bash-completion/completions/kprof
      kprof completion zsh > ~/.zfunc/_kprof
      kprof completion fish > ~/.config/fish/completions/kprof.fish
    """
    completer = get_completion_class(shell)
    assert completer is not None  # click knows all three
    script = completer(kprof_command, {}, "kprof", "_KPROF_COMPLETE").source()
    click.echo(script.replace('string split ","', 'string split -m 1 ","'))  # fish: total,self
