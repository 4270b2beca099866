"""Random mixes of faults on a simulated line, and what must hold for each."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.upload.agent import Agent, Run
from tests.upload.rams import random_ram, run_ram
from tests.upload.simline import EPOCH, Faults, SimLine

from kprof.upload.failures import NoAnswerError, TransferError, VerifyError
from kprof.upload.host import Host, HostOptions
from kprof.upload.image import Image
from kprof.upload.line import converse
from kprof.upload.wire import CAN_BAUD, CAN_CHECK, CAN_DELTA, CAN_STOP, FULL, Info

SIZES = (1, 64, 300, 1000, 1000, 2500, 4096, 16384)
# A give-up comes at most so long after the last sound message, three round trips apart.
GIVE_UP_S = 12.0


@dataclass(frozen=True)
class Ended:
    """How one mix ended: ``right``, or the name of the error."""

    how: str
    seconds: float


def run_mix(seed: int) -> Ended:
    """Run one mix; raises AssertionError where a file would be wrong."""
    rng = random.Random(seed)
    records = rng.choice(SIZES)
    ram = (run_ram if rng.random() < 0.8 else random_ram)(records, seed)
    flags = FULL | CAN_DELTA
    flags |= CAN_CHECK if rng.random() < 0.8 else 0
    flags |= CAN_STOP if rng.random() < 0.4 else 0
    flags |= CAN_BAUD if rng.random() < 0.7 else 0
    agent = Agent(ram, flags=flags, rng=random.Random(seed + 1))
    agent.counts_all = rng.random() < 0.3
    agent.run = rng.choice([None, None, 1])
    agent.nearest = rng.choice([None, None, None, 460800])
    if rng.random() < 0.3:
        # Fast enough that two looks at the RAM always differ while it lasts.
        lasts = records * rng.choice([0, 0, 1 / 20000, 1 / 4000])
        agent.runs = (Run(rng.uniform(0, 1.2) * records / 2000, run_ram(records, seed + 9), lasts),)
    agent.hostile = rng.choice([0, 0, 0, 0, 0.02, 0.3])
    if rng.random() < 0.2:
        agent.refuses = (921600,)
    if rng.random() < 0.3:
        agent.after_reset = run_ram(records, seed + 7)
    return check(agent, random_faults(rng), random_options(rng), seed, rng)


def check(
    agent: Agent, faults: Faults, options: HostOptions, seed: int, rng: random.Random
) -> Ended:
    """One upload; where it fails, a second one goes on with what it held, on a sound line."""
    rams = {agent.ram, agent.after_reset or agent.ram, *(run.ram for run in agent.runs)}
    blind = bool(agent.runs) and not agent.flags & CAN_CHECK and agent.run is None
    latency = rng.choice([0.0005, 0.008, 0.008, 0.03, 0.4])
    fifo = rng.choice([1, 16, 4096])
    line = SimLine(
        agent, baud=options.base_baud, latency_s=latency, fifo=fifo, faults=faults, seed=seed
    )
    host = Host(options)
    ended, waited = "right", 0.0
    try:
        done = converse(host.run(), line)
    except (NoAnswerError, TransferError, VerifyError) as error:
        ended = type(error).__name__
        waited = line.clock() - max(EPOCH, host.link.heard_at)
    if ended != "right":
        assert waited < GIVE_UP_S + 6 * latency, f"seed {seed}: gave up after {waited} s"
        if hasattr(host, "image"):
            _resume(host, agent, options, seed)
        return Ended(ended, line.now)
    got = bytes(done.image.data)
    right = got in rams or (blind and _is_begun(got, rams))
    assert right, f"seed {seed}: a wrong file"
    return Ended("right", line.now)


def _is_begun(got: bytes, rams: set[bytes]) -> bool:
    """A RAM as it is while a run is stored: the records of one run in front of another's.

    A board without checksums and run number says nothing of it.
    """
    for new in rams:
        stored = 0
        while got[stored : stored + 5] == new[stored : stored + 5]:
            stored += 5
        if any(got[stored:] == old[stored:] for old in rams):
            return True
    return False


def _resume(host: Host, agent: Agent, options: HostOptions, seed: int) -> None:
    agent.hostile, agent.done, agent.runs = 0.0, False, ()
    agent.reset()
    held = host.image

    def image(info: Info, records: int) -> Image:  # noqa: ARG001
        again = Image(records)
        again.restore(bytes(held.data), held.bitmap())
        return again

    line = SimLine(agent, baud=options.base_baud, seed=seed)
    done = converse(Host(options, image).run(), line)
    assert bytes(done.image.data) == agent.ram, f"seed {seed}: wrong after --resume"


def random_faults(rng: random.Random) -> Faults:
    """Some of the faults, each at a random strength."""

    def rate(most: float = 3e-3) -> float:
        return most * 10 ** -rng.uniform(0, 4) if rng.random() < 0.4 else 0.0

    def times(count: int, most: float) -> tuple[float, ...]:
        return tuple(sorted(rng.uniform(0, most) for _ in range(count)))

    cuts = tuple((at, at + rng.uniform(0.01, 4)) for at in times(rng.choice([0, 0, 1, 3]), 10))
    return Faults(
        flip=rate(),
        drop=rate(),
        double=rate(),
        insert=rate(),
        burst=rate(3e-4),
        stall=rng.choice([0, 0, 0.01]),
        stall_s=rng.uniform(0, 3),
        cuts=cuts,
        echo=rng.random() < 0.15,
        xon=rng.choice([0, 0, 1e-3]),
        seven_bits=rng.random() < 0.03,
        chatter=rng.choice([0, 0, 0.01, 0.2]),
        printk=rate(1e-4),
        line_ends=rng.random() < 0.03,
        noise_above=300_000,
        noise=rng.choice([0, 0, 0.01, 0.2]),
        resets=times(rng.choice([0, 0, 0, 1, 2]), 8),
        boot_s=rng.uniform(0.1, 2),
    )


def random_options(rng: random.Random) -> HostOptions:
    """The host's options."""
    return HostOptions(
        base_baud=115200,
        baud=rng.choice([None, None, 230400, 921600]),
        delta=rng.random() < 0.7,
        verify=rng.random() < 0.2,
    )


def steady(total: float, seed: int) -> Ended:
    """An upload of a whole RAM with errors of every kind, `total` a byte together, both ways."""
    rng = random.Random(seed)
    agent = Agent(run_ram(16384, seed % 16), rng=rng)
    fifth = total / 5
    faults = Faults(flip=fifth, drop=fifth, double=fifth, insert=fifth, burst=fifth / 20)
    options = HostOptions(delta=rng.random() < 0.5)
    return check(agent, faults, options, seed, rng)
