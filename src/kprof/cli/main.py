"""The command `kprof`: finds the verb, imports only that verb, turns errors into exit codes.

Every verb is one module of `kprof.cli` with a click command called `command`. The verbs of the
reports come from `kprof.report.registry`. `SECTIONS` carries the one-line help so that
`kprof --help` imports none of them.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import keyword
import os
import signal
import sys

import click

import kprof
from kprof.errors import KprofError
from kprof.report.registry import REPORTS

SECTIONS: dict[str, dict[str, str]] = {
    "Plant triggers": {
        "cc": "Compile C with triggers: a wrapper around the compiler.",
        "instrument": "Write copies of C sources with triggers in them.",
        "names": "Begin, check, list and tune a name file.",
    },
    "Record": {
        "record": "Build a host program with triggers, run it, show its summary.",
        "run": "Run a host program that has triggers and show its summary.",
        "upload": "Read the event RAM of a board into a capture file.",
        "import": "Convert a logic analyser's recording into a capture file.",
        "sim": "Run a kernel on a simulated 68k board with a Profiler.",
        "qemu": "Run a system in QEMU and record its triggers.",
        "demo": "Show the whole chain on the simulated board, from C to reports.",
    },
    "Show": {
        "report": "Show the summary of a capture, or any of the reports below.",
        **{report.name: report.help for report in REPORTS.values()},
        "annotate": "Show a source file with the figures of its functions.",
        "tui": "Browse a capture in the terminal.",
    },
    "Compare": {
        "diff": "Compare runs: functions and call paths that changed beyond chance.",
        "check": "Check a capture against limits, for CI.",
        "merge": "Merge captures and saved statistics into one file of statistics.",
        "history": "Keep the statistics of runs over months in a Parquet dataset.",
        "trend": "Show how functions went over the runs of a history, and where they changed.",
    },
    "Files": {
        "info": "Show all that a capture file holds besides its events.",
        "convert": "Write a capture as a capture file, a raw image or bank images.",
        "export": "Write a capture for Perfetto, speedscope, KCachegrind, pprof, ...",
        "completion": "Print the completion script for bash, zsh or fish.",
        "examples": "List the examples that come with kprof, or copy them.",
        "man": "Print a man page, or write all of them to a folder.",
    },
}
VERBS: dict[str, str] = {name: text for part in SECTIONS.values() for name, text in part.items()}

# What other tools call it, or what one types first.
_FOREIGN = {
    "replay": "trace", "script": "trace", "calls": "trace", "show": "trace",
    "stat": "summary", "top": "tui", "view": "tui", "browse": "tui", "live": "run",
    "profile": "run", "exec": "run",
    "dump": "export", "flamegraph": "export", "save": "convert", "extract": "upload",
    "recv": "upload", "fetch": "upload", "download": "upload", "read": "upload",
    "capture": "upload", "compile": "cc", "build": "cc", "gcc": "cc", "simulate": "sim",
    "emulate": "sim",
    "histogram": "hist", "distribution": "hist", "slowest": "worst", "irq": "interrupts",
    "sched": "tasks", "threads": "tasks", "contexts": "tasks", "html": "page", "callgraph": "graph",
    "tree": "graph", "compare": "diff", "source": "annotate", "list": "names", "header": "info",
}  # fmt: skip


class VerbGroup(click.Group):
    """A click group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        if cmd_name in REPORTS:
            from kprof.cli.reports import report_command

            command: click.Command = report_command(cmd_name)
        else:
            name = cmd_name + "_" * keyword.iskeyword(cmd_name)  # import_.py
            command = importlib.import_module(f"kprof.cli.{name}").command
        if "_KPROF_COMPLETE" in os.environ:
            from kprof.cli.complete import complete_arguments

            complete_arguments(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0] if args else ""
        if verb not in VERBS and not verb.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {verb!r}.{_meant(verb)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, verbs in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(verbs.items()))


def _meant(verb: str) -> str:
    """The verb that was meant, as a question; "" where nothing is near."""
    import difflib

    if verb.endswith((".bin", ".kpd")):
        return f" Did you mean 'kprof report {verb}'?"
    near = difflib.get_close_matches(verb.lower(), VERBS, 1, 0.7)
    foreign = _FOREIGN.get(verb.lower())
    meant = foreign or (near[0] if near else "")
    return f" Did you mean 'kprof {meant}'?" if meant else ""


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(kprof.__version__, prog_name="kprof")
def kprof_command() -> None:
    """Profile kernels and firmware to the microsecond.

    \b
    Example:
      kprof cc --names kernel.names -- m68k-elf-gcc -O2 -c x.c
      kprof upload /dev/ttyUSB0 -o dump.bin
      kprof report dump.bin
      kprof trace dump.bin
    """


# Letters of other tools, and of kprof once.
_LETTERS = {"-D": "--depth", "-f": "--force", "--base": "--start-baud", "--budget": "--overhead"}


def _with_hint(error: click.ClickException) -> click.ClickException:
    """The error, with the option that was meant where it is known."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return error
    meant = _LETTERS.get(error.option_name, "")
    if not any(meant in param.opts for param in error.ctx.command.params):
        return error
    said = f"No such option '{error.option_name}'. Did you mean '{meant}'?"
    return click.UsageError(said, error.ctx)


def _terminate(signum: int, frame: object) -> None:  # noqa: ARG001
    """SIGTERM ends a verb as an exception does: what it has begun is put in order."""
    raise SystemExit(128 + signum)


def main(running: object = None) -> None:
    """Run the command line; the process exits with the code that says how it went.

    Parameters
    ----------
    running
        How `kprof cc` runs compilers (`kprof.instrument.running`); None: by itself.
    """
    for name in ("stdout", "stderr"):  # closed by the caller: what goes there goes nowhere
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(100_000)  # most verbs end before a collection would free anything
    try:
        if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = kprof_command.main(prog_name="kprof", standalone_mode=False, obj=running)
        sys.stdout.flush()
        gc.freeze()  # else the interpreter looks at every object once more before it ends
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        _with_hint(error).show()
        sys.exit(error.exit_code)
    except KprofError as error:
        with contextlib.suppress(OSError):  # the terminal may be gone
            from kprof.cli.output import say

            say(str(error))
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("kprof: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, a pager) has gone: nothing to say, as in click. No second flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        if error.filename is not None:  # files have their own messages: this is a bug
            raise
        click.echo(f"kprof: standard output: cannot write: {error.strerror}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
