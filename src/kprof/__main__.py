"""`python -m kprof` is the command `kprof`."""

from kprof.cli.main import main

main()
