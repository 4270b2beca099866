"""The board's serial line as a pseudo-terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kprof.board import pty
from kprof.board.pty import Pty


@pytest.fixture
def line() -> Iterator[Pty]:
    line = Pty()
    yield line
    line.close()


def test_bytes_pass_unchanged_both_ways(line: Pty) -> None:
    every = bytes(range(256))
    with Path(line.path).open("r+b", buffering=0) as other:
        assert line.exchange(every) == b""
        assert other.read(1000) == every
        other.write(every)
        assert line.exchange(b"") == every


def test_the_line_survives_programs_that_come_and_go(line: Pty) -> None:
    for text in (b"one", b"two"):
        with Path(line.path).open("r+b", buffering=0) as other:
            other.write(text)
        assert line.exchange(b"") == text


def test_nobody_listens(line: Pty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pty, "KEPT_BYTES", 100_000)
    for _ in range(10):
        line.exchange(bytes(20_000))
    assert line.dropped > 0
    got = 0
    other = os.open(line.path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
    with os.fdopen(other, "r+b", buffering=0) as stream:
        while data := stream.read(65_536):
            got += len(data)
            line.exchange(b"")
    assert got == 200_000 - line.dropped


def test_wait_returns_when_something_comes(line: Pty) -> None:
    with Path(line.path).open("r+b", buffering=0) as other:
        other.write(b"x")
        line.wait(60)
    assert line.exchange(b"") == b"x"
