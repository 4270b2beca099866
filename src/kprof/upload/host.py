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
from kprof.upload.connect import (
    change_rate,
    connect,
    fall_back,
    refuse_another_run,
    refuse_strange,
)
from kprof.upload.delta import decode_delta
from kprof.upload.failures import (
    InterruptedUploadError,
    NoAnswerError,
    PortError,
    TransferError,
    VerifyError,
)
from kprof.upload.image import Image
from kprof.upload.kept import spread
from kprof.upload.leave import leave_rate, let_finish, say_goodbye
from kprof.upload.link import Link
from kprof.upload.policy import DELTA, FALL_BACK_AT, RAW, STOP_LIMIT_S, Policy
from kprof.upload.progress import Notify, Progress, silent
from kprof.upload.talk import SetBaud, Talk
from kprof.upload.verify import Checker
from kprof.upload.wire import CAN_CHECK, CAN_DELTA, Data, End, Info

VERIFY_ROUNDS = 5
SOUND_RECORDS = 64  # to a damaged frame: a rate that carries so many is sound
LAST_S = 0.1  # for the end of a reply whose last records have come
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
        Fetch everything twice where the board gives no checksums.
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
        ``"crc"``: the board's checksums agree; ``"twice"``: two passes agree; ``"samples"``: some
        records were read again, and are the same.
    verified_records
        How many records that covers.
    """

    info: Info
    image: Image
    verified: str
    verified_records: int
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
        self._taken = 0  # records in all
        self._changed = 0, 0  # bad frames and records when the rate was changed
        self._raised_again = False
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
        options = self.options
        self._show("connecting")
        self.info = yield from connect(self.link)
        refuse_strange(self.info)
        try:
            yield from self._prepare()
            verified, records = yield from self._fetch_all()
        except InterruptedUploadError:
            yield from self._leave(drain=self.link.interrupts < 2)
            raise
        except PortError:
            raise
        except KprofError:
            yield from self._leave(drain=False)
            raise
        with contextlib.suppress(PortError):  # everything is here: an agent may hang up on us now
            if not (options.goodbye and (yield from say_goodbye(self.link))):
                yield from self._leave(drain=False)
            elif self.baud != options.base_baud:
                yield SetBaud(options.base_baud)
        return Fetched(self.info, self.image, verified, records, self.retries, self.policy.baud)

    def _prepare(self) -> Talk[None]:
        info, options = self.info, self.options
        records = info.capacity
        if options.valid_only and info.valid is not None:
            records = min(info.valid, info.capacity)
        encoding = DELTA if options.delta and info.flags & CAN_DELTA else RAW
        self.image = self._new_image(info, records)
        self.policy = Policy(info, options.base_baud, encoding, new_at=self.link.now)
        self.policy.round_trip_s = self.link.round_trip_s
        if self.image.held:
            yield from self._check_resumed()
        if options.baud not in (None, options.base_baud):
            baud = yield from self._change_rate(options.baud or 0)
            if baud != options.baud:
                self._show("notice", f"the line runs at {baud} baud, not at {options.baud}")
        self.policy.new_at = self.link.now

    def _change_rate(self, wanted: int) -> Talk[int]:
        base = self.options.base_baud
        self.baud = self.policy.baud = yield from change_rate(self.link, self.info, base, wanted)
        self._changed = self.link.bad, self._taken
        return self.baud

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

    def _fetch_all(self) -> Talk[tuple[str, int]]:
        """Fetch and verify until both are content; how, and how many records, were verified."""
        for _ in range(VERIFY_ROUNDS):
            yield from self._fetch()
            refuse_another_run(self.info, (yield from self._call_again()))
            clean = not (self._suspect or self.image.conflicts or self.link.bad)
            if not self.info.flags & CAN_CHECK:
                if self.options.verify or not clean:
                    yield from self._second_pass()
                    return "twice", self.image.records
                return "samples", (yield from self._look_again())
            yield from self._verify(clean=clean)
            if self.image.complete:
                return "crc", self.image.records
            self._suspect = True
            self.policy.new_at = self.link.now
        raise VerifyError(
            f"after {VERIFY_ROUNDS} rounds the board's checksums still differ from what arrived: "
            "its event RAM changes while it is read (turn the Profiler off, or to READ, and try "
            "again)"
        )

    def _verify(self, *, clean: bool = False) -> Talk[None]:
        def tell(done: int) -> None:
            self._tell("verifying", done, self.image.records)

        checker = Checker(self.link, self._stop_if_asked, tell)
        while True:
            raised = self.policy.baud != self.options.base_baud
            try:
                return (yield from checker.check(self.image, clean=clean, patient=not raised))
            except TransferError:
                if not raised:
                    raise
            yield from self._fall_back()

    def _look_again(self) -> Talk[int]:
        """Read samples again and compare; how many records."""
        again = Image(self.image.records)
        again.put(0, bytes(self.image.data))
        for first, count in spread(again.records):
            again.forget(first, count)
        looked = again.records - again.held
        yield from self._fetch(again)
        if again.data != self.image.data:
            raise VerifyError(
                f"of {looked} records that were read again some are others now: the board was "
                "started again or is still recording (stop it, upload again)"
            )
        return looked

    def _second_pass(self) -> Talk[None]:
        before = bytes(self.image.data)
        self.image.forget(0, self.image.records)
        self.policy.new_at = self.link.now
        yield from self._fetch()
        if bytes(self.image.data) != before:
            raise VerifyError(
                "two passes over the event RAM differ: it changes while it is read (turn the "
                "Profiler off, or to READ, and try again)"
            )

    def _fetch(self, image: Image | None = None) -> Talk[None]:
        """Ask until nothing is missing in the image, which is that of the upload unless given."""
        policy = self.policy
        policy.barren = 0
        image = image or self.image
        self._show("fetching")
        while not image.complete:
            self._stop_if_asked()
            first, count = image.missing(policy.join)[0]
            count = min(count, policy.window)
            bad, received, held = self.link.bad, self.link.received, image.held
            ended = yield from self._request(image, first, count)
            policy.saw(self.link.bad - bad, self.link.received - received)
            if image.held > held:
                policy.barren, policy.new_at = 0, self.link.now
                self._weigh(image.held - held, self.link.received - received)
            else:
                policy.barren += 1
            if not ended or self.link.bad > bad or image.held == held:
                self.retries += 1
                self._suspect = True
            if policy.hopeless(self.link.now):
                raise TransferError(
                    f"no new record for {self.link.now - policy.new_at:.0f} s, after "
                    f"{image.held:,} of {image.records:,} (check the cable and the board)"
                )
            if policy.barren in FALL_BACK_AT and policy.baud != self.options.base_baud:
                yield from self._fall_back()

    def _request(self, image: Image, first: int, count: int) -> Talk[bool]:
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
                    if self._take(image, reply):
                        new_at = self.link.now
                    if reply.first + reply.count >= first + count:
                        latest = self.link.now + LAST_S  # only the end can still come
                elif isinstance(reply, End) and reply.seq == seq:
                    return True
            self._stop_if_asked()
            if self.link.now - new_at > policy.empty_s:
                break  # bytes come, but no records: a console, a wrong rate
        return False

    def _take(self, image: Image, data: Data) -> int:
        if data.encoding == RAW:
            records = data.payload if len(data.payload) == data.count * 5 else None
        elif data.encoding == DELTA:
            records = decode_delta(data.payload, data.count)
        else:
            records = None
        if records is None or data.first + data.count > self.info.capacity:
            self.link.malformed += 1
            return 0
        new = image.put(data.first, records)
        self._taken += new
        if new:
            self.policy.new_at = self.link.now
            self._show("fetching")
        return new

    def _weigh(self, records: int, received: int) -> None:
        if self.policy.encoding == DELTA and records >= 256 and received > EXPANDS * records:
            self.policy.encoding = RAW

    def _fall_back(self) -> Talk[None]:
        """Go back to the base rate; once up again, where the rate itself did no harm.

        An agent of an older kind leaves its rate for one damaged request and the sound one behind.
        """
        base, rate = self.options.base_baud, self.policy.baud
        bad, records = self.link.bad - self._changed[0], self._taken - self._changed[1]
        sound = records >= SOUND_RECORDS * bad and not self._raised_again
        self.policy.baud = self.baud = base
        yield from fall_back(self.link, base)
        yield from self._call_again(self.link.heard_at + STOP_LIMIT_S)
        if sound:
            self._raised_again = True
            yield from self._change_rate(rate)
        if self.baud == base:
            self._show("notice", f"too many errors at {rate} baud; going on at {base}")

    def _call_again(self, until: float | None = None) -> Talk[Info]:
        """Ask the agent again, who has answered once."""
        raised = self.policy.baud != self.options.base_baud
        try:
            info = yield from connect(self.link, self.link.now if raised else until)
        except NoAnswerError as error:
            if raised:
                yield from self._fall_back()
                return (yield from self._call_again())
            raise TransferError(
                f"the board answers no longer, after {self.image.held:,} of "
                f"{self.image.records:,} records (check the cable and the board)"
            ) from error
        self.policy.round_trip_s = self.link.round_trip_s
        return info

    def _leave(self, *, drain: bool) -> Talk[None]:
        if drain:
            yield from let_finish(self.link, self.info, lambda data: self._take(self.image, data))
        if self.baud != self.options.base_baud:
            self.baud = self.options.base_baud
            yield from leave_rate(self.link, self.baud)

    def _stop_if_asked(self) -> None:
        if self.link.interrupts:
            raise InterruptedUploadError("interrupted")

    def _show(self, phase: str, note: str = "") -> None:
        image = getattr(self, "image", None)
        done, total = (image.held, image.records) if image else (0, 0)
        self._tell(phase, done, total, note)

    def _tell(self, phase: str, done: int, total: int, note: str = "") -> None:
        retries = self.retries + self.link.bad
        self._notify(Progress(phase, done, total, retries, self.link.now, note))
