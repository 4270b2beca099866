"""The command `kprof`, and `python -m kprof`: where Ctrl-C is quiet from the first import on."""

import os
import signal


def _leave(*_: object) -> None:
    """End at once: nothing has been begun while the command line is being imported."""
    os.write(2, b"kprof: interrupted\n")
    os._exit(130)


def main() -> None:
    """Run the command line; the process exits with the code that says how it went."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from kprof.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
