"""The analysis against simulated kernels that know the truth, and against the reference.

With task marks every call is right. Without, a capture of which the reference says that no switch
was a guess comes out as it was; the others keep the ledger and say that they are uncertain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from tests.analysis import scenarios
from tests.analysis.harness import (
    MARKS,
    library,
    run_kernel,
    run_of,
    summary_differences,
)
from tests.analysis.kernels import Kernel
from tests.analysis.programs import Options, random_options
from tests.analysis.reference import Reference, unwrapped
from tests.analysis.truth import AMBIGUOUS, NEW, Books, differences

KINDS = [(True, True), (True, False), (False, True), (False, False)]
needs_marks = pytest.mark.skipif(not MARKS, reason="the analysis has no task marks yet")


def kernel_of(seed: int, marks: bool, known: bool) -> Kernel:
    return Kernel(seed, random_options(seed, marks=marks, known=known, cut=marks))


def tells(kernel: Kernel) -> bool:
    """Is every switch function that has an exit trigger seen to leave? It looks as if not, else."""
    tags = set(kernel.tags)
    return all(
        tag not in tags or tag + 1 in tags or not kernel.program.leaves(name)
        for name, tag in kernel.program.tags.items()
        if name.startswith("sw_")
    )


def replayed(kernel: Kernel, known: bool) -> Books:
    times = unwrapped(kernel.ticks)
    assert times == kernel.times
    knowledge = kernel.knowledge if known else None
    return Reference(times, kernel.tags, kernel.names, knowledge).books


def hold(books: Books, kernel: Kernel) -> None:
    """`books` must be the kernel's own."""
    said = differences(books, kernel.truth, first=kernel.options.start == 0)
    assert not said, "\n".join([f"{kernel.options}", *said[:10]])


def check_reference(seeds: range) -> Counter[bool]:
    """How many captures without marks were certain, and not."""
    outcomes: Counter[bool] = Counter()
    for seed in seeds:
        for marks, known in KINDS:
            kernel = kernel_of(seed, marks, known)
            books = replayed(kernel, known)
            assert kernel.truth.balance() == books.balance() == 0
            outcomes[books.certain] += not marks
            assert books.certain or not marks
            if books.certain and tells(kernel):
                hold(books, kernel)
    return outcomes


def check_library(seeds: range) -> None:
    """Certain captures come out as they were; of the others it is said where they are wrong."""
    silent = 0
    for seed in seeds:
        for marks, known in KINDS:
            kernel = kernel_of(seed, marks, known)
            found = library(kernel, known=known)
            if tells(kernel) and replayed(kernel, known).certain:
                hold(found, kernel)
                said = summary_differences(kernel, known=known)
                assert not said, "\n".join([f"{kernel.options}", *said[:10]])
            else:
                hold_totals(found, kernel)
                wrong = tells(kernel) and differences(found, kernel.truth)
                anomalies = run_kernel(kernel, known).summary.anomalies
                silent += bool(wrong) and not anomalies.ambiguous_switches
        hold_totals(library(kernel := Kernel(seed, random_options(seed, marks=False))), kernel)
    # A slice that shows nothing of its task is now and then taken wrongly without a word.
    assert silent <= len(seeds) // 20, f"{silent} of {4 * len(seeds)} captures"


def hold_totals(books: Books, kernel: Kernel) -> None:
    """What is known however uncertain the tasks are."""
    assert books.balance() == 0
    assert books.elapsed == kernel.truth.elapsed
    entered = Counter(call.name for call in kernel.truth.calls)
    assert Counter(call.name for call in books.calls) == entered


def test_the_reference_finds_the_truth() -> None:
    outcomes = check_reference(range(40))
    assert min(outcomes.values()) > 10


@needs_marks
def test_the_library_finds_the_truth() -> None:
    check_library(range(1000, 1040))


@pytest.mark.long
def test_the_reference_finds_the_truth_of_many_kernels() -> None:
    check_reference(range(100, 1100))


@needs_marks
@pytest.mark.long
def test_the_library_finds_the_truth_of_many_kernels() -> None:
    check_library(range(1100, 3000))


# -- named scenarios


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("style", ["pair", "early", "swtch"])
def test_four_bodies_keep_their_own_time(style: str, known: bool, marks: bool) -> None:
    if style != "pair" and not marks and not known:
        pytest.skip("a new task that begins without a trace cannot be told from a call")
    for seed in range(4):
        kernel = scenarios.Bodies(seed, style, marks)
        hold(replayed(kernel, known), kernel)
        if seed == 0:
            nets = Counter[str]()
            for call in kernel.truth.calls:
                nets[call.name] += call.net
            assert tuple(nets[f"p{k}"] for k in range(4)) == scenarios.BODY_NETS
        if MARKS:
            hold(library(kernel, known=known), kernel)


@pytest.mark.parametrize("known", [True, False])
def test_six_tasks_stay_six(known: bool) -> None:
    options = Options(tasks=6, ends=0, preempt=0, events=16_384)
    kernel = Kernel(6, options)
    if MARKS:
        found = library(kernel, known=known)
        assert found.balance() == 0
        assert len({call.context for call in found.calls}) <= 7
        assert not found.orphans or not known


def test_a_longjmp_to_the_main_loop_unwinds() -> None:
    kernel = scenarios.Jumps()
    jumps = scenarios.TURNS // 2
    assert sum(call.unwound for call in kernel.truth.calls) == 2 * jumps
    hold(replayed(kernel, True), kernel)
    if MARKS:
        hold(library(kernel, known=True), kernel)


@needs_marks
def test_a_main_loop_that_begins_again_is_unwound_without_knowledge() -> None:
    # Over and over, `task` is entered from what was not its caller; it does not nest for ever.
    for turns in (20, 200):
        found = library(scenarios.Jumps(turns))
        deepest = max(_depths(found))
        assert deepest < 8, f"{turns} turns: depth {deepest}"


def _depths(books: Books) -> list[int]:
    depths: dict[int, int] = {}
    for call in books.calls:
        depths[id(call)] = depths[id(call.parent)] + 1 if call.parent else 0
    return list(depths.values())


@pytest.mark.parametrize("known", [True, False])
def test_switch_functions_without_exits_lose_no_idle_time(known: bool) -> None:
    kernel = scenarios.NoExits()
    assert kernel.truth.idle == scenarios.IDLE
    hold(replayed(kernel, known), kernel)
    if MARKS:
        hold(library(kernel, known=known), kernel)


# -- what the kernels must have in them, or the tests above show nothing


WANTED: dict[str, Callable[[Kernel], bool]] = {
    "a wrap": lambda k: k.ticks != sorted(k.ticks),
    "several events in a microsecond": lambda k: len(set(k.times)) < len(k.times),
    "idle time": lambda k: k.truth.idle > 0,
    "user time": lambda k: k.truth.user > 0,
    "unattributed time": lambda k: k.truth.unattributed > 0,
    "unknown tags": lambda k: k.truth.unknown > 0,
    "inline triggers": lambda k: k.truth.inlines > 0,
    "orphans": lambda k: bool(k.truth.orphans),
    "open calls": lambda k: any(c.exit is None for c in k.truth.calls),
    "a longjmp": lambda k: any(c.unwound for c in k.truth.calls),
    "recursion": lambda k: any(c.parent and c.parent.name == c.name for c in k.truth.calls),
    "a preempted interrupt": lambda k: any(
        c.parent and c.parent.name.startswith("irq") and c.name == k.program.switcher
        for c in k.truth.calls
    ),
    "an interrupt of user mode": lambda k: any(
        c.name.startswith("irq") and c.parent and c.parent.own == "user" for c in k.truth.calls
    ),
    "an interrupt of an interrupt": lambda k: any(
        c.name.startswith("irq") and c.parent and c.parent.name.startswith("irq")
        for c in k.truth.calls
    ),
    "a task that ends": lambda k: any(c.name.startswith("exit") for c in k.truth.calls),
    "64 tasks": lambda k: k.options.tasks == 64,
}


def test_the_kernels_have_everything_in_them() -> None:
    for marks in (True, False):
        kernels = [kernel_of(seed, marks, True) for seed in range(60)]
        for what, there in WANTED.items():
            assert any(map(there, kernels)), f"{what}: in no kernel (marks {marks})"
        styles = {kernel.options.style for kernel in kernels}
        assert len(styles) == (6 if marks else 3)


def test_the_reference_says_what_is_ambiguous() -> None:
    # Two tasks of one program sleep in one place; the slice that follows tells nothing.
    names = "main/2\nsleep/4\nsw_sys/6$\nsw_task/8*\n"
    begin = [8, 2, 4, 6, 9] * 2
    go_on = [8, 7, 5, 4, 6, 9]
    tags = begin + go_on
    books = Reference(list(range(len(tags))), tags, names).books
    assert [switch.verdict for switch in books.switches] == [NEW, NEW, AMBIGUOUS]
    assert books.switches[-1].context == 1
    assert books.ambiguous == 1
    assert not books.certain


def test_a_difference_is_found() -> None:
    kernel = Kernel(1, Options(marks=True))
    books = replayed(kernel, False)
    victim = books.calls[len(books.calls) // 2]
    victim.net += 1
    assert len(differences(books, kernel.truth)) == 2


def test_events_are_given_to_the_library_as_they_are() -> None:
    run = run_of([0, 3, 5, 9], [2, 4, 5, 3], "a/2\nb/4\n")
    assert run.calls["net_us"].tolist() == [7, 2]
