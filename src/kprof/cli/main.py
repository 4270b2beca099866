"""The command `kprof`: finds the verb, imports only that verb, turns errors into exit codes.

Every verb is one module of `kprof.cli` with a click command called `command`. `VERBS` carries the
one-line help so that `kprof --help` imports none of them.
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

VERBS: dict[str, str] = {
    "instrument": "Plant triggers in C sources and keep the name file.",
    "cc": "Compile C with triggers in it: the compiler and its arguments follow.",
    "names": "Check, list and explain a name file.",
    "sim": "Run a kernel on a simulated 68k board with the Profiler in its EPROM socket.",
    "upload": "Fetch the event RAM over a serial line into a capture file.",
    "report": "Print the summary, the nested call trace and what people look at.",
    "diff": "Compare two runs: what changed beyond chance, and which call paths.",
    "check": "Check a capture against limits; for CI, with JUnit XML.",
    "merge": "Merge captures and saved statistics into one file of statistics.",
    "export": "Write a capture for Perfetto, speedscope, KCachegrind, pprof and other viewers.",
    "annotate": "Print a source file with calls, net and max in its margin.",
    "tui": "Look through a capture in the terminal: functions, call tree, worst calls.",
    "info": "Tell everything about a capture file.",
    "import": "Make a capture of a logic analyser's recording.",
    "convert": "Write a capture in another form: capture file, raw image, bank images.",
    "demo": "Run the whole chain on the simulated board: C source to report.",
    "completion": "Print the completion script for bash, zsh or fish.",
}


class VerbGroup(click.Group):
    """A click group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in VERBS:
            return None
        name = cmd_name.replace("-", "_") + "_" * keyword.iskeyword(cmd_name)  # import_.py
        module = importlib.import_module(f"kprof.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=VerbGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(kprof.__version__, prog_name="kprof")
def kprof_command() -> None:
    """Profile kernels and firmware to the microsecond.

    \b
    Example:
      kprof instrument src/*.c -o build/ --names kernel.names
      kprof upload /dev/ttyUSB0 -o dump.bin
      kprof report dump.bin --trace
    """


def _terminate(signum: int, frame: object) -> None:  # noqa: ARG001
    """SIGTERM ends a verb as an exception does: what it has begun is put in order."""
    raise SystemExit(128 + signum)


def main() -> None:
    """Run the command line; the process exits with the code that says how it went."""
    for name in ("stdout", "stderr"):  # closed by the caller: what goes there goes nowhere
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    gc.set_threshold(100_000)  # most verbs end before a collection would free anything
    try:
        if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = kprof_command.main(prog_name="kprof", standalone_mode=False)
        sys.stdout.flush()
        gc.freeze()  # else the interpreter looks at every object once more before it ends
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
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
