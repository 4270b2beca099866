"""Fetching the event RAM over a serial line."""
