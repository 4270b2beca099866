"""Taking leave of the agent: let it finish what it sends, and leave it at the base rate."""

from __future__ import annotations

from collections.abc import Callable

from kprof.upload.connect import fall_back, settle
from kprof.upload.link import Link
from kprof.upload.talk import SetBaud, Talk
from kprof.upload.wire import CAN_STOP, Data, Info

DRAIN_S = 3.0  # for what the agent still sends after Ctrl-C
ANSWER_S = 0.3


def let_finish(link: Link, info: Info, take: Callable[[Data], object]) -> Talk[None]:
    """Take what the agent still sends; stop it where it can be stopped.

    A second Ctrl-C ends the wait.
    """
    if info.flags & CAN_STOP:
        yield from link.write(b"~")
    until = link.now + DRAIN_S
    while link.interrupts < 2 and link.now < until:
        replies = yield from link.listen(link.now + ANSWER_S)
        if replies is None:
            break
        for reply in replies:
            if isinstance(reply, Data):
                take(reply)


def leave_rate(link: Link, base: int) -> Talk[None]:
    """Take both ends to the base rate; an agent that does not answer is made to give up its own."""
    asked: dict[int, float] = {}
    for _ in range(2):
        if (yield from link.ask("B", base, wait=ANSWER_S, asked=asked)) is not None:
            yield SetBaud(base)
            yield from settle(link)
            return
    yield from fall_back(link, base)


def say_goodbye(link: Link) -> Talk[bool]:
    """Send the agent back to its caller, at the base rate; True: it has heard."""
    asked: dict[int, float] = {}
    for _ in range(2):
        if (yield from link.ask("Q", wait=ANSWER_S, asked=asked)) is not None:
            return True
    return False
