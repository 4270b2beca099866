"""`kprof examples`: what comes with kprof besides the command, copied to where one works."""

from __future__ import annotations

import click

from kprof.cli.choices import Choice, Verb, decorate, force_choice

EXAMPLES = {
    "agent": "the event RAM in software (kprof_ram.c) and the upload agent (kpr_agent.c)",
    "microcontroller": "a program for an STM32 and a RISC-V board, with start-up code",
    "minikernel": "the example kernel of the simulated board, with ready-built images",
    "lwip": "the network stack lwIP on the simulated board (fetches lwIP)",
    "analyser": "a logic analyser's recording of the EPROM socket",
    "ci": "measuring in CI: a script, and files for GitHub, GitLab and Jenkins",
    "notebook": "a Jupyter notebook that compares two kernels",
}


@click.command("examples", cls=Verb)
@decorate(
    Choice(["--copy"], metavar="FOLDER", help="Copy the examples into FOLDER."), force_choice()
)
@click.argument("names", nargs=-1, metavar="[EXAMPLE]...")
def command(names: tuple[str, ...], copy: str | None, force: bool) -> None:
    """List the examples, or copy them into a folder.

    Each example becomes a folder of its own name. Without EXAMPLE all are copied.

    \b
    Example:
      kprof examples
      kprof examples --copy .
      kprof examples agent microcontroller --copy work
    """
    import shutil
    from pathlib import Path

    from kprof.board.minikernel import examples_folder
    from kprof.cli.output import say
    from kprof.errors import FileAccessError, UsageError
    from kprof.files import explain

    for name in names:
        if name not in EXAMPLES:
            raise UsageError(f"{name}: is not an example; expected one of {', '.join(EXAMPLES)}")
    chosen = names or tuple(EXAMPLES)
    if copy is None:
        for name in chosen:
            click.echo(f"{name:16} {EXAMPLES[name]}")
        return
    targets = [Path(copy) / name for name in chosen]
    for target in targets:
        if target.exists() and not force:
            raise UsageError(f"{target}: already exists (--force copies over it)")
    for target in targets:
        try:
            shutil.copytree(
                examples_folder() / target.name, target, dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("__pycache__", "build", "*.o"),
            )  # fmt: skip
        except OSError as error:
            raise FileAccessError(explain(target, "write", error)) from error
    say(f"copied to {copy}: {', '.join(chosen)}")
