"""Captures: the file, raw images, bank images."""
