"""The command `kprof`, and `python -m kprof`: where Ctrl-C is quiet from the first line on.

`_signal` is built into the interpreter, and `os` is there before any program. To import `signal`
takes 8 ms, in which a Ctrl-C would print a traceback. What runs before this file is Python's: the
start of the interpreter, and the few lines that pip writes for a command.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys


def _leave(*_: object) -> None:
    """End at once: nothing has been begun while the command line is being imported."""
    os.write(2, b"kprof: interrupted\n")
    os._exit(130)


def main() -> None:
    """Run the command line; the process exits with the code that says how it went."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _leave)
    if sys.argv[1:2] == ["cc"] and "-c" in sys.argv and hasattr(os, "fork"):
        from kprof.cli.compile_client import compile_at_server

        compile_at_server(sys.argv[1:])
    from kprof.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
