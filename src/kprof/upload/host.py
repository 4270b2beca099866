"""The host's side of KPR1 as a conversation (`kprof.upload.talk`): connect, fetch, verify, leave.

The event RAM does not change while it is served, so everything is one thing: asking for ranges
until no record is missing. Lost or damaged frames leave holes, holes are asked for again, an
earlier part of an upload is a RAM with fewer holes, and verifying finds ranges to be asked for.

States: connecting -> (changing the rate) -> fetching <-> verifying -> leaving. The rate falls back
to the base rate from any of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from kprof.errors import KprofError
from kprof.upload.connect import change_rate, connect, fall_back, refuse_strange, settle
from kprof.upload.delta import decode_delta
from kprof.upload.failures import (
    InterruptedUploadError,
    PortError,
    TransferError,
    VerifyError,
)
from kprof.upload.image import Image
from kprof.upload.link import Link
from kprof.upload.policy import DELTA, FALL_BACK_AT, RAW, STOP_LIMIT_S, Policy
from kprof.upload.progress import Notify, Progress, silent
from kprof.upload.talk import SetBaud, Talk
from kprof.upload.verify import Checker
from kprof.upload.wire import CAN_CHECK, CAN_DELTA, CAN_STOP, Data, End, Info

VERIFY_ROUNDS = 5
LAST_S = 0.1  # for the end of a reply whose last records have come
DRAIN_S = 3.0  # for what the agent still sends after Ctrl-C
EXPANDS = 5.1  # bytes a record above which the delta coding is no gain


@dataclass(frozen=True)
class HostOptions:
    """How to fetch.

    Attributes
    ----------
    base_baud
        The rate at which the agent is called.
    baud
        The rate to change to for the transfer; None: stay.
    delta
        Use the delta coding where the agent has it.
    verify
        Compare checksums at the end even of a transfer without errors.
    valid_only
        Fetch only the records of the last run, where the board knows how many.
    goodbye
        Send the agent back to its monitor at the end.
    """

    base_baud: int = 115200
    baud: int | None = None
    delta: bool = True
    verify: bool = False
    valid_only: bool = False
    goodbye: bool = True


@dataclass(frozen=True)
class Fetched:
    """A complete upload.

    Attributes
    ----------
    verified
        ``"crc"``: the board's checksums agree; ``"twice"``: two passes agree; ``""``: not asked
        for, and every frame arrived whole at its first request.
    """

    info: Info
    image: Image
    verified: str
    retries: int
    baud: int


class Host:
    """One upload.

    Parameters
    ----------
    options
        How to fetch.
    new_image
        Makes the `Image` of so many records, for what the agent serves; may hold an earlier part.
    notify
        Is told how far it is.
    """

    def __init__(
        self,
        options: HostOptions,
        new_image: Callable[[Info, int], Image] | None = None,
        notify: Notify = silent,
    ) -> None:
        self.options = options
        self.link = Link()
        self.baud = options.base_baud
        self.retries = 0
        self._new_image = new_image or (lambda info, records: Image(records))  # noqa: ARG005
        self._notify = notify
        self._suspect = False  # something went wrong: only checksums prove the result
        self.policy: Policy
        self.image: Image
        self.info: Info

    def run(self) -> Talk[Fetched]:
        """The conversation.

        Raises
        ------
        NoAnswerError
            Nobody answers, or no agent does.
        TransferError, VerifyError, InterruptedUploadError
            It ended early; the image holds what arrived.
        """
        self._show("connecting")
        self.info = yield from connect(self.link)
        refuse_strange(self.info)
        try:
            yield from self._prepare()
            verified = yield from self._fetch_all()
        except InterruptedUploadError:
            yield from self._leave(drain=self.link.interrupts < 2)
            raise
        except PortError:
            raise
        except KprofError:
            yield from self._leave(drain=False)
            raise
        with contextlib.suppress(PortError):  # everything is here: an agent may hang up on us now
            if not (self.options.goodbye and (yield from self._say_goodbye())):
                yield from self._leave(drain=False)
        return Fetched(self.info, self.image, verified, self.retries, self.policy.baud)

    def _prepare(self) -> Talk[None]:
        info, options = self.info, self.options
        records = info.capacity
        if options.valid_only and info.valid is not None:
            records = min(info.valid, info.capacity)
        encoding = DELTA if options.delta and info.flags & CAN_DELTA else RAW
        self.image = self._new_image(info, records)
        self.policy = Policy(info, options.base_baud, encoding, new_at=self.link.now)
        if self.image.held:
            yield from self._check_resumed()
        if options.baud not in (None, options.base_baud):
            baud = yield from change_rate(self.link, info, options.base_baud, options.baud or 0)
            self.baud = self.policy.baud = baud
            if baud != options.baud:
                self._show("notice", f"the line stays at {baud} baud")
        self.policy.new_at = self.link.now

    def _check_resumed(self) -> Talk[None]:
        held = self.image.held
        if self.info.flags & CAN_CHECK:
            yield from self._verify()
        else:
            self.image.forget(0, self.image.records)
        if self.image.held < held:
            self._show(
                "notice",
                f"{held - self.image.held} of the {held} records kept earlier are not what the "
                "board has now; they are fetched again",
            )

    def _fetch_all(self) -> Talk[str]:
        """Fetch and verify until both are content; how it was verified."""
        for _ in range(VERIFY_ROUNDS):
            yield from self._fetch()
            after = yield from connect(self.link)
            if (after.capacity, after.valid, after.clock_hz) != (
                self.info.capacity,
                self.info.valid,
                self.info.clock_hz,
            ):
                raise TransferError(
                    f"the board now says {_described(after)}, and said {_described(self.info)} at "
                    "the start: it was started again or is still recording (stop it, upload again)"
                )
            suspect = self._suspect or self.image.conflicts or self.link.bad
            if not (self.options.verify or suspect):
                return ""
            if not self.info.flags & CAN_CHECK:
                return (yield from self._second_pass())
            yield from self._verify()
            if self.image.complete:
                return "crc"
            self._suspect = True
            self.policy.new_at = self.link.now
        raise VerifyError(
            f"after {VERIFY_ROUNDS} rounds the board's checksums still differ from what arrived: "
            "its event RAM changes while it is read (turn the Profiler off, or to READ, and try "
            "again)"
        )

    def _verify(self) -> Talk[None]:
        checker = Checker(self.link, self._stop_if_asked, self._tell_verified)
        try:
            yield from checker.check(self.image)
        except TransferError:
            if self.policy.baud == self.options.base_baud:
                raise
            yield from self._fall_back()
            yield from checker.check(self.image)

    def _second_pass(self) -> Talk[str]:
        before = bytes(self.image.data)
        self.image.forget(0, self.image.records)
        self.policy.new_at = self.link.now
        yield from self._fetch()
        if bytes(self.image.data) != before:
            raise VerifyError(
                "two passes over the event RAM differ: it changes while it is read (turn the "
                "Profiler off, or to READ, and try again)"
            )
        return "twice"

    def _fetch(self) -> Talk[None]:
        """Ask until nothing is missing."""
        policy = self.policy
        policy.barren = 0
        self._show("fetching")
        while not self.image.complete:
            self._stop_if_asked()
            first, count = self.image.missing(policy.join)[0]
            count = min(count, policy.window)
            bad, received, held = self.link.bad, self.link.received, self.image.held
            ended = yield from self._request(first, count)
            policy.saw(self.link.bad - bad, self.link.received - received)
            if self.image.held > held:
                policy.barren, policy.new_at = 0, self.link.now
                self._weigh(self.image.held - held, self.link.received - received)
            else:
                policy.barren += 1
            if not ended or self.link.bad > bad or self.image.held == held:
                self.retries += 1
                self._suspect = True
            if policy.hopeless(self.link.now):
                raise TransferError(
                    f"no new record for {self.link.now - policy.new_at:.0f} s, after "
                    f"{self.image.held:,} of {self.image.records:,} (check the cable and the board)"
                )
            if policy.barren in FALL_BACK_AT and policy.baud != self.options.base_baud:
                yield from self._fall_back()

    def _request(self, first: int, count: int) -> Talk[bool]:
        """Ask for a range and take what comes; True: the reply came to its end."""
        policy = self.policy
        how = policy.frame_records | policy.encoding << 12
        seq = yield from self.link.send("R", first, count, how)
        latest = self.link.now + policy.reply_s(count) + policy.quiet_s
        quiet = self.link.now + policy.quiet_s
        new_at = self.link.now
        while self.link.now < min(quiet, latest):
            replies = yield from self.link.listen(min(quiet, latest))
            if replies is None:
                self._stop_if_asked()
                continue
            quiet = self.link.now + policy.quiet_s
            for reply in replies:
                if isinstance(reply, Data):
                    if self._take(reply):
                        new_at = self.link.now
                    if reply.first + reply.count >= first + count:
                        latest = self.link.now + LAST_S  # only the end can still come
                elif isinstance(reply, End) and reply.seq == seq:
                    return True
            self._stop_if_asked()
            if self.link.now - new_at > max(1.0, 4 * policy.frame_s):
                break  # bytes come, but no records: a console, a wrong rate
        return False

    def _take(self, data: Data) -> int:
        if data.encoding == RAW:
            records = data.payload if len(data.payload) == data.count * 5 else None
        elif data.encoding == DELTA:
            records = decode_delta(data.payload, data.count)
        else:
            records = None
        if records is None or data.first + data.count > self.info.capacity:
            self.link.malformed += 1
            return 0
        new = self.image.put(data.first, records)
        if new:
            self.policy.new_at = self.link.now
            self._show("fetching")
        return new

    def _weigh(self, records: int, received: int) -> None:
        if self.policy.encoding == DELTA and records >= 256 and received > EXPANDS * records:
            self.policy.encoding = RAW

    def _fall_back(self) -> Talk[None]:
        base = self.options.base_baud
        self._show("notice", f"too many errors at {self.policy.baud} baud; going on at {base}")
        self.policy.baud = self.baud = base
        yield from fall_back(self.link, base)
        yield from connect(self.link, self.link.heard_at + STOP_LIMIT_S)

    def _leave(self, *, drain: bool) -> Talk[None]:
        """Let the agent finish what it sends, and take it back to the base rate."""
        base = self.options.base_baud
        if drain and self.info.flags & CAN_STOP:
            yield from self.link.write(b"~")
        until = self.link.now + DRAIN_S
        while drain and self.link.interrupts < 2 and self.link.now < until:
            replies = yield from self.link.listen(self.link.now + 0.3)
            if replies is None:
                break
            for reply in replies:
                if isinstance(reply, Data):
                    self._take(reply)
        if self.baud != base:
            self.baud = base
            for _ in range(2):
                if (yield from self.link.ask("B", base, wait=0.3)) is not None:
                    yield SetBaud(base)
                    yield from settle(self.link)
                    return
            yield from fall_back(self.link, base)

    def _say_goodbye(self) -> Talk[bool]:
        """Send the agent back to its caller, at the base rate; True: it has heard."""
        for _ in range(2):
            if (yield from self.link.ask("Q", wait=0.3)) is not None:
                if self.baud != self.options.base_baud:
                    yield SetBaud(self.options.base_baud)
                return True
        return False

    def _stop_if_asked(self) -> None:
        if self.link.interrupts:
            raise InterruptedUploadError("interrupted")

    def _tell_verified(self, done: int) -> None:
        self._tell("verifying", done, self.image.records)

    def _show(self, phase: str, note: str = "") -> None:
        image = getattr(self, "image", None)
        done, total = (image.held, image.records) if image else (0, 0)
        self._tell(phase, done, total, note)

    def _tell(self, phase: str, done: int, total: int, note: str = "") -> None:
        retries = self.retries + self.link.bad
        self._notify(Progress(phase, done, total, retries, self.link.now, note))


def _described(info: Info) -> str:
    valid = "an unknown number of" if info.valid is None else f"{info.valid:,}"
    return f"{valid} valid records of {info.capacity:,} at {info.clock_hz:,} Hz"
