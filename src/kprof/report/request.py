"""What a user asks of `kprof report`: one value for all options."""

from __future__ import annotations

from dataclasses import dataclass, field

from kprof.errors import UsageError


@dataclass(frozen=True)
class Request:
    """The options of a report as they were written; times and fields are still text.

    Attributes
    ----------
    what
        ``summary``, ``trace``, ``graph``, ``hist``, ``worst``, ``around``, ``between``,
        ``interrupts`` or ``tasks``.
    subject
        The function, the time or the triggers that `what` is about.
    many
        How many calls, or how many events around.
    by
        What the worst calls have most of: ``total`` (elapsed) or ``net``.
    slower
        A filter: calls that took longer than this time.
    only, without, callers, hide, depth, least, span, tasks, match
        The filters, see `kprof.analysis.filters.Filter`.
    fields, sort, never
        Of the summary.
    elf
        The program, for the sizes of its functions.
    irqs
        Functions named as interrupts.
    """

    what: str = "summary"
    subject: tuple[str, ...] = ()
    many: int = 5
    by: str = "total"
    slower: str | None = None
    form: str = "text"
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    depth: int | None = None
    least: str | None = None
    span: str | None = None
    tasks: tuple[int, ...] = ()
    match: str = "regex"
    fields: str | None = None
    sort: str | None = None
    never: bool = False
    elf: str | None = None
    trigger_cost: str | None = None
    irqs: tuple[str, ...] = field(default=())


FILTERS = ("only", "without", "callers", "hide", "depth", "least", "span", "tasks")
_QUESTIONS = ("trace", "graph", "hist", "worst", "around", "between", "interrupts", "tasks")


def make_request(options: dict[str, object]) -> Request:
    """The request of the command line's options, each by its long name.

    Raises
    ------
    UsageError
        Two questions were asked at once, or a program was given that none needs.
    """
    if options.get("elf") is not None and "size" not in f"{options['fields']},{options['sort']}":
        raise UsageError("--elf is for the functions' sizes; expected -f +size with it")
    asked = [name for name in _QUESTIONS if options.get(name) not in (None, False)]
    if options.get("slower_than") is not None:
        asked.append("slower-than")
    if len(asked) > 1:
        raise UsageError(f"--{' and --'.join(asked)} are different reports; expected one of them")
    values = {
        name: options[name]
        for name in Request.__dataclass_fields__
        if options.get(name) is not None
    }
    if not asked:
        return Request(**values)  # type: ignore[arg-type]
    what = asked[0]
    if what == "slower-than":
        return Request(**{**values, "what": "trace", "slower": options["slower_than"]})  # type: ignore[arg-type]
    subject = options[what]
    if isinstance(subject, str):
        subject = (subject,)
    elif not isinstance(subject, tuple):
        subject = ()
    return Request(**{**values, "what": what, "subject": subject})  # type: ignore[arg-type]


def filter_request(options: dict[str, object]) -> Request:
    """The request of a command that takes filters, a trigger's cost and interrupts alone."""
    names = (*FILTERS, "match", "trigger_cost", "irqs")
    given = {name: options[name] for name in names if options.get(name) is not None}
    return Request(**given)  # type: ignore[arg-type]
