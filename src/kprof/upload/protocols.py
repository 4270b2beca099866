"""The protocols of `kprof upload`: what the board can speak."""

from __future__ import annotations

AGENT = ("kpr1",)
FILES = ("xmodem", "ymodem")  # the sender says how long it is
DUMPS = ("srec", "ihex", "hexdump")  # text that a monitor prints
MEMORY = (*FILES, *DUMPS, "gdb", "raw")  # without the agent
PROTOCOLS = (*AGENT, *MEMORY)
