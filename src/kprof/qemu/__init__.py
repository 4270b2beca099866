"""QEMU with the Profiler as a plugin: `plugin.c` and what builds, starts and reads it."""
