"""Runs whose noise is known: made-up ones, a kernel that calls too often, and a host's program."""

from __future__ import annotations

import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tests.upload.peers import AGENT, compiler

from kprof.analysis.measured import MeasuredRun, measure
from kprof.capture import Capture
from kprof.capture.open import open_capture
from kprof.names import NameFile, parse_names


@dataclass(frozen=True)
class Noise:
    """What the net times of a made-up run are made of.

    Attributes
    ----------
    functions, calls
        How many; each call is of a function at random.
    spread
        Of each call on its own, relative.
    load
        Relative spread of a load that wanders from call to call as an AR(1) process with the
        coefficient `rho`: one load for all calls, or with `own` one for the calls of each function.
    between
        Of each function from run to run, relative.
    """

    functions: int = 40
    calls: int = 8192
    spread: float = 0.1
    load: float = 0.0
    rho: float = 0.0
    own: bool = False
    between: float = 0.0

    @property
    def names(self) -> NameFile:
        """The name file of its runs."""
        return parse_names("".join(f"f{i}/{1024 + 2 * i}\n" for i in range(self.functions)))

    def run(self, rng: np.random.Generator, slower: dict[int, float] | None = None) -> MeasuredRun:
        """A run, measured; `slower` are factors on the times of some functions."""
        function = rng.integers(0, self.functions, self.calls)
        mean = 10 * np.exp(np.linspace(0, 3, self.functions))
        factor = np.maximum(0.05, 1 + self.spread * rng.standard_normal(self.calls))
        groups = [np.arange(self.calls)]
        if self.own:
            groups = [np.flatnonzero(function == i) for i in range(self.functions)]
        if self.load:
            for group in groups:
                factor[group] *= np.maximum(0.05, 1 + self.load * ar1(rng, len(group), self.rho))
        factor *= (1 + self.between * rng.standard_normal(self.functions))[function]
        for number, times in (slower or {}).items():
            factor[function == number] *= times
        net = mean[function] * factor
        leave = np.cumsum(net + 3.0)
        times = np.stack([leave - net, leave], 1).ravel().astype(np.int64)
        tags = np.stack([1024 + 2 * function, 1025 + 2 * function], 1).ravel()
        return measure(Capture.from_events(times, tags), self.names)


def ar1(rng: np.random.Generator, size: int, rho: float) -> NDArray[np.float64]:
    """A stationary AR(1) process of variance 1."""
    value = rng.standard_normal()
    found = np.empty(size)
    for i, step in enumerate((rng.standard_normal(size) * math.sqrt(1 - rho * rho)).tolist()):
        value = rho * value + step
        found[i] = value
    return found


KERNEL = parse_names("read/2\nsplnet/4\nuiomove/6\nclock/8\n")


def kernel(seed: int, splnets: int, events: int = 16384) -> MeasuredRun:
    """A kernel whose `read` calls `splnet` so many times, each call with half a us in `read`."""
    rng = np.random.default_rng(seed)
    now, clock = 0.0, 1000.0
    times: list[int] = []
    tags: list[int] = []

    def event(tag: int) -> None:
        times.append(int(now))
        tags.append(tag)

    def work(us: float) -> None:
        nonlocal now, clock
        while now + us >= clock:
            us -= max(0.0, clock - now)
            now = max(now, clock)
            clock += 1000
            event(8)
            now += 25
            event(9)
        now += us

    while len(times) < events:
        event(2)
        work(10 * rng.uniform(0.8, 1.2))
        for _ in range(splnets):
            event(4)
            work(max(1.0, rng.normal(8, 1)))
            event(5)
            work(0.5)
        event(6)
        work(max(5.0, rng.normal(30, 8)))
        event(7)
        work(10 * rng.uniform(0.8, 1.2))
        event(3)
        work(3)
    return measure(Capture.from_events(times, tags), KERNEL)


_FUNCTIONS = (
    "fill", "sort", "hash", "move", "letters", "search", "get", "format", "packet", "table",
)  # fmt: skip
HOST_NAMES = parse_names("".join(f"{n}/{1024 + 2 * i}\n" for i, n in enumerate(_FUNCTIONS)))
_HOST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kprof_ram.h"
#define IN(n) kprof_event(1024 + 2 * (n))
#define OUT(n) kprof_event(1025 + 2 * (n))
static unsigned seed = 1, sink;
static char text[4096], copy[4096];
static int values[512];
static unsigned number(void)
{ seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed >> 4; }
static int order(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static void fill(void)
{ int i; IN(0); for (i = 0; i < 512; i++) values[i] = (int)(number() & 0xffff); OUT(0); }
static void sort(int n) { IN(1); qsort(values, (size_t)n, sizeof *values, order); OUT(1); }
static void hash(int n)
{ int i; IN(2); for (i = 0; i < n; i++) sink = sink * 31 + (unsigned)text[i & 4095]; OUT(2); }
static void move(int n)
{ IN(3); memcpy(copy, text, (size_t)n); sink += (unsigned)copy[n / 2]; OUT(3); }
static void letters(void)
{ int i; IN(4); for (i = 0; i < 4096; i += 4) text[i] = (char)('a' + number() % 26); OUT(4); }
static void search(int n)
{ int i; IN(5); for (i = 0; i < n; i++) sink += memchr(text, 'a' + i % 26, 4096) != 0; OUT(5); }
static void get(void)
{ char *p; IN(6); p = malloc(16 + number() % 900); p[0] = 1; sink += (unsigned)p[0]; free(p);
  OUT(6); }
static void format(void)
{ char line[80]; IN(7); sprintf(line, "%u %s", number(), "words"); sink += (unsigned)strlen(line);
  OUT(7); }
static void packet(void)
{
    IN(8);
    letters();
    hash(200 + (int)(number() % 800));
    move(1024 + (int)(number() % 1024));
    if (number() % 3 == 0) search(8);
    get();
    format();
    OUT(8);
}
static void table(void)
{ IN(9); fill(); sort(64 + (int)(number() % 128)); hash(100); OUT(9); }
int main(int argc, char **argv)
{
    int i;
    if (argc > 1) seed = (unsigned)atoi(argv[1]) * 2654435761u;
    for (i = 0; i < 4000; i++) { if (number() % 2) packet(); else table(); }
    return sink == 42;
}
"""


def host_program(folder: Path) -> Path:
    """A program that was compiled with the software event RAM in it."""
    source, made = folder / "host.c", folder / "host"
    source.write_text(_HOST)
    command = [compiler(), "-O1", "-fno-inline", "-I", str(AGENT), "-o", str(made)]
    subprocess.run([*command, str(source), str(AGENT / "kprof_ram.c")], check=True, timeout=60)
    return made


def host_runs(program: Path, runs: int, seed: int = 1) -> list[MeasuredRun]:
    """The runs of a host's program, one after another, each with data of its own."""
    out = program.parent / "run.bin"
    environment = dict(os.environ) | {"KPROF_OUT": str(out), "KPROF_EVENTS": "16384"}
    found = []
    for number in range(runs):
        command = [str(program), str(seed + number)]
        subprocess.run(command, check=True, timeout=60, env=environment, capture_output=True)
        found.append(measure(open_capture(out), HOST_NAMES))
    return found
