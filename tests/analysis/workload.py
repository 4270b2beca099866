"""A made-up kernel at work, for comparing runs: the same code, another day."""

from __future__ import annotations

import random

NAMES = "".join(f"{name}/{1024 + 2 * i}\n" for i, name in enumerate(
    ["clock", "vec1", "lanisr", "ipintr", "tcp_input", "in_cksum", "soreceive", "uiomove",
     "splnet", "m_get", "sbappend", "select"]
))  # fmt: skip
TAGS = {line.split("/")[0]: int(line.split("/")[1]) for line in NAMES.split()}

# name: (its own time in us, spread, what it calls with which probability)
CODE: dict[str, tuple[float, float, tuple[tuple[str, float], ...]]] = {
    "clock": (25, 3, ()),
    "vec1": (8, 1, (("lanisr", 1.0),)),
    "lanisr": (80, 20, (("m_get", 0.8), ("splnet", 0.5))),
    "ipintr": (13, 4, (("in_cksum", 0.9), ("tcp_input", 0.7), ("splnet", 0.9))),
    "tcp_input": (126, 15, (("in_cksum", 0.8), ("sbappend", 0.6))),
    "in_cksum": (102, 40, ()),
    "soreceive": (169, 30, (("uiomove", 0.9), ("splnet", 0.9), ("splnet", 0.9))),
    "uiomove": (132, 50, ()),
    "splnet": (2, 0.7, ()),
    "m_get": (17, 1, (("splnet", 1.0),)),
    "sbappend": (12, 3, (("splnet", 0.2),)),
    "select": (34, 9, (("soreceive", 0.4), ("splnet", 0.3))),
}


class Run:
    """`times` and `tags` of a run; `slower` is a factor on the own time of some functions."""

    def __init__(self, seed: int, events: int = 3000, **slower: float) -> None:
        self._random = random.Random(seed)
        self._slower = slower
        self._now = self._random.random()
        self._clock = self._now + 1000
        self.times: list[int] = []
        self.tags: list[int] = []
        while len(self.tags) < events:
            self._now += self._random.expovariate(1 / 200)
            self._call(self._random.choice(("ipintr", "select", "soreceive", "vec1")))

    def _call(self, name: str) -> None:
        own, spread, inside = CODE[name]
        own = max(0.3, self._random.gauss(own, spread)) * self._slower.get(name, 1.0)
        self._event(TAGS[name])
        parts = [called for called, chance in inside if self._random.random() < chance]
        for called in parts:
            self._pass(own / (len(parts) + 1))
            self._call(called)
        self._pass(own / (len(parts) + 1))
        self._event(TAGS[name] + 1)

    def _pass(self, time: float) -> None:
        while self._now + time >= self._clock:
            before = max(0.0, self._clock - self._now)
            self._now += before
            time -= before
            self._clock += 1000
            self._event(TAGS["clock"])
            own, spread, _ = CODE["clock"]
            own *= self._slower.get("clock", 1.0)
            self._now += max(1.0, self._random.gauss(own, spread))
            self._event(TAGS["clock"] + 1)
        self._now += time

    def _event(self, tag: int) -> None:
        self.times.append(int(self._now))
        self.tags.append(tag)
