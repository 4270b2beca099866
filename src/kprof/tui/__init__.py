"""Looking through a capture in the terminal (extra ``kprof[tui]``): see ``docs/tui.md``."""
