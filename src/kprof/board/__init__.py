"""Simulated hardware: the Profiler, the EPROM socket, the devices, the CPU, the board."""
