"""The name file's text: the paper's sample, every problem, round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kprof.errors import NameFileError
from kprof.names import (
    Modifier,
    NameEntry,
    NameFile,
    check_name,
    display_name,
    format_names,
    parse_names,
)

PAPER = """duartint/100
splclock/106
splimp/110
softint/112
vec0/116
sw_sys/200$
sw_task/202*
MGET/222=
MCLGET/224=
MCLFREE/226=
MFREE/228=
soo_rw/5038
soo_ioctl/5040
soo_select/5042
"""


MODIFIERS = (
    "expected nothing, or = inline, $ switch out, * switch in, ! swtch, @N task marks, % user "
    "mode, ~ idle, ^ interrupt"
)


def problems_of(text: str) -> list[str]:
    with pytest.raises(NameFileError) as caught:
        parse_names(text, "x.names")
    return list(caught.value.problems)


def test_the_papers_sample() -> None:
    names = parse_names(PAPER)
    assert len(names.entries) == 14
    assert names.get("sw_sys") == NameEntry("sw_sys", 200, Modifier.SWITCH_OUT)
    assert names.get("sw_task") == NameEntry("sw_task", 202, Modifier.SWITCH_IN)
    assert names.get("MGET") == NameEntry("MGET", 222, Modifier.INLINE)
    assert names.get("softint") == NameEntry("softint", 112, Modifier.FUNCTION)
    assert names.get("nobody") is None
    assert format_names(names) == PAPER


def test_tags_of_an_entry() -> None:
    assert (NameEntry("f", 112).entry_tag, NameEntry("f", 112).exit_tag) == (112, 113)
    inline = NameEntry("f", 113, Modifier.INLINE)
    assert (inline.entry_tag, inline.exit_tag) == (113, None)
    assert (NameEntry("f", 0).entry_tag, NameEntry("f", 0).exit_tag) == (None, None)
    assert NameEntry("sw", 200, Modifier.SWITCH_OUT).exit_tag == 201


def test_by_tag_knows_entries_and_exits() -> None:
    names = parse_names("a/10\nm/13=\nb/0\n")
    assert {tag: entry.name for tag, entry in names.by_tag.items()} == {10: "a", 11: "a", 13: "m"}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "softint/113",
            "softint has odd tag 113; entry tags are even, an exit's is the next (try 112)",
        ),
        ("sw/113$", "sw has odd tag 113; entry tags are even, an exit's is the next (try 112)"),
        ("f/1", "f has odd tag 1; entry tags are even, an exit's is the next (try 2)"),
        ("f/65536", "f has value 65536; expected 0 to 65535"),
        ("f/" + "9" * 5000, "f has value " + "9" * 77 + "...; expected 0 to 65535"),
        ("f", "f has no /value; expected name/value, such as f/1024"),
        ("/12", "there is no name before /12; expected name/value"),
        ("f/", "f has no value after the /; expected a decimal number from 0 to 65535"),
        ("f/-2", "f has value -2; expected a decimal number from 0 to 65535"),
        (
            "f/0x12",
            "f has an unknown modifier x12; " + MODIFIERS,
        ),
        (
            "f/12==",
            "f has an unknown modifier ==; " + MODIFIERS,
        ),
        ("f/\u0661", "f has value \u0661; expected a decimal number from 0 to 65535"),
    ],
)
def test_one_problem(line: str, problem: str) -> None:
    assert problems_of(f"ok/2\n{line}\n") == [f"x.names:2: {problem}"]


def test_all_problems_at_once_in_line_order() -> None:
    text = "a/100\nb/101=\n\n# note\nc/100\nd/7\ne/200+\na/300\ng/70000\n"
    assert [problem.split(";")[0] for problem in problems_of(text)] == [
        "x.names:2: b has value 101, which is the exit tag of a in line 1",
        "x.names:5: c has value 100, which is that of a in line 1",
        "x.names:6: d has odd tag 7",
        "x.names:7: e has an unknown modifier +",
        "x.names:8: a is already named in line 1",
        "x.names:9: g has value 70000",
    ]


def test_an_exit_tag_is_taken_whichever_line_comes_first() -> None:
    assert problems_of("m/101=\nf/100\n") == [
        "x.names:1: m has value 101, which is the exit tag of f in line 2; expected a value of "
        "its own"
    ]


def test_value_0_may_repeat_and_inline_neighbours_are_free() -> None:
    names = parse_names("a/0\nb/0\nc/0=\nm/10=\nn/11=\n")
    assert len(names.entries) == 5


def test_comments_blank_lines_and_spaces_are_kept() -> None:
    text = "# top\n\n  a/10  \r\n\t# b/11\nlast / 12="
    names = parse_names(text)
    assert [(e.name, e.value, e.modifier) for e in names.entries] == [
        ("a", 10, Modifier.FUNCTION),
        ("last", 12, Modifier.INLINE),
    ]
    assert format_names(names) == text


def test_a_line_is_split_at_its_last_slash() -> None:
    assert parse_names("kern/tty.c:init/10\n").get("kern/tty.c:init") is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 1024),
        ("a/0\n", 1024),
        ("a/112\n", 114),
        ("m/222=\n", 224),
        ("m/223=\n", 226),
        ("b/200\na/100\n", 202),
        ("m/65535=\n", 65538),
    ],
)
def test_the_next_value(text: str, value: int) -> None:
    assert parse_names(text).next_value(1024) == value


_NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=20
).filter(lambda name: check_name(name) is None)


@given(st.lists(_NAMES, unique=True, max_size=30), st.data())
def test_what_is_written_is_read_back(names: list[str], data: st.DataObject) -> None:
    entries = []
    for position, name in enumerate(names):
        modifier = data.draw(st.sampled_from(list(Modifier)))
        odd = data.draw(st.booleans()) and modifier is Modifier.INLINE
        count = data.draw(st.integers(1, 2)) if modifier is Modifier.TASKS else 0
        entries.append(NameEntry(name, 2 + 2 * position + odd, modifier, count=count))
    text = "".join(f"{entry.line()}\n" for entry in entries)
    parsed = parse_names(text)
    assert parsed.entries == tuple(entries)
    assert format_names(parsed) == text


@given(st.text(st.sampled_from("ab/#@0123456789=$*!+ \t\r\n\x0b\x85\u2028"), max_size=60))
def test_any_text_is_kept_or_refused_with_its_lines(text: str) -> None:
    problems: tuple[str, ...] = ()
    try:
        assert format_names(parse_names(text, "x")) == text
    except NameFileError as error:
        problems = error.problems
    assert all(problem.startswith("x:") for problem in problems)


def test_65536_names_of_odd_characters() -> None:
    text = "".join(f"f\u202e\x1b[3{n % 8}m{n}/{n}=\n" for n in range(65_536))
    names = parse_names(text)
    assert isinstance(names, NameFile)
    assert len(names.entries) == 65_536
    assert len(names.by_tag) == 65_535  # value 0 is no trigger


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("softint", "softint"),
        ("caf\u00e9", "caf\u00e9"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\udcff", "\\xff"),
        ("\U000e0001", "\\U000e0001"),
        ("a\u2028b\x85", "a\\u2028b\\x85"),
    ],
)
def test_names_are_made_safe_to_show(name: str, shown: str) -> None:
    assert display_name(name) == shown


def test_problems_show_names_safely() -> None:
    assert "\x1b" not in problems_of("\x1b[31m/113\n")[0]


def test_where_a_function_is_defined() -> None:
    text = "#@ a.c\nf/2\n#@static b.c\ng/4\n#@\nh/6\n#@own h\tk/c.c\n#@other x\n"
    names = parse_names(text)
    assert [(e.name, e.source, e.static) for e in names.entries] == [
        ("f", "a.c", False),
        ("g", "b.c", True),
        ("h", "k/c.c", True),
    ]


def test_task_marks_are_a_range_of_tags() -> None:
    names = parse_names("f/1024\nproc/4096@64\n#@task 4099 init\n")
    marks = names.entries[1]
    assert (marks.modifier, marks.count, marks.last_tag) == (Modifier.TASKS, 64, 4159)
    assert marks.line() == "proc/4096@64"
    assert names.by_tag[4159] is marks
    assert 4160 not in names.by_tag
    assert names.task_names == {4099: "init"}
    assert names.next_value(1024) == 1026


def test_allocation_steps_over_task_marks() -> None:
    assert parse_names("f/4094\nproc/4096@63\n").next_value(1024) == 4160
    assert parse_names("proc/1023@4\n").next_value(1024) == 1028
    assert parse_names("f/100\nproc/4096@4\n").next_value(1024) == 102


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("proc/4096@0\n", "x.names:1: proc marks 0 tasks from 4096 on; expected 1 to 61440"),
        ("proc/65535@2\n", "x.names:1: proc marks 2 tasks from 65535 on; expected 1 to 1"),
        (
            "proc/4096@64\nf/4158\n",
            "x.names:2: f has value 4158, which is among the tags 4096 to 4159 of proc in line 1; "
            "expected a value of its own",
        ),
        (
            "f/4094\nproc/4095@64\n",
            "x.names:2: proc has value 4095, which is the exit tag of f in line 1; "
            "expected a value of its own",
        ),
    ],
)
def test_task_marks_that_cannot_be(text: str, problem: str) -> None:
    with pytest.raises(NameFileError) as error:
        parse_names(text, "x.names")
    assert str(error.value) == problem
