"""The call-knowledge file: its text, its merging, writers at once and writers that die."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faults import MODES, run_with_faults
from tests.fuzzing import LONG, SHORT, survives

from kprof.errors import FileAccessError, NameFileError
from kprof.names.calls import (
    CallKnowledge,
    FunctionFacts,
    calls_path,
    format_calls,
    parse_calls,
    read_calls,
    update_calls,
)

TEXT = """\
# kprof calls 1
\tkern/tty.c:0\t\t\t\tinit ttyopen
init\tkern/tty.c:9\tjS\tstatic int init(struct tty *tp)\tlongjmp ttyopen\t
main\tmy file.c:12\tins\tint main(int argc, char **argv)\tinit setjmp\tinit
my file.c:run\tmy file.c:3\tS\tstatic void run(void)\t\t
ttyopen\tkern/tty.c:40\t\tint ttyopen(void)\tmy%20file.c:run printf\t
"""

_text = st.text(
    st.characters(blacklist_characters="\t\r\n\ufeff", blacklist_categories=()), max_size=8
)
_name = _text.filter(lambda text: text and not text.startswith("#"))
_facts = st.builds(
    FunctionFacts,
    name=st.one_of(st.sampled_from(["f", "g", "a.c:f"]), _name),
    file=st.one_of(st.sampled_from(["a.c", "b.h"]), _text),
    line=st.integers(0, 999_999),
    signature=_text,
    calls=st.frozensets(_name, max_size=3),
    address_taken=st.booleans(),
    indirect=st.booleans(),
    noreturn=st.booleans(),
    setjmp=st.booleans(),
    longjmp=st.booleans(),
    static=st.booleans(),
    addresses=st.frozensets(_name, max_size=3),
)


def test_what_the_columns_mean() -> None:
    known = parse_calls(TEXT)
    main = known.functions["main"]
    assert (main.file, main.line) == ("my file.c", 12)
    assert (main.indirect, main.noreturn, main.setjmp, main.longjmp, main.static) == (
        True, True, True, False, False,
    )  # fmt: skip
    assert main.calls == {"init", "setjmp"}
    assert known.functions["ttyopen"].calls == {"my file.c:run", "printf"}
    assert known.functions["init"].address_taken
    assert known.functions["ttyopen"].address_taken  # by an initialiser at file scope
    assert not main.address_taken
    assert known.scopes == {"kern/tty.c": {"init", "ttyopen"}}
    assert known.functions["init"].signature == "static int init(struct tty *tp)"


@given(st.lists(_facts, max_size=8))
def test_formatting_and_parsing_give_the_same_knowledge(facts: list[FunctionFacts]) -> None:
    known = parse_calls(format_calls(CallKnowledge({item.name: item for item in facts})))
    text = format_calls(known)
    assert parse_calls(text) == known
    assert format_calls(parse_calls(text)) == text


@pytest.mark.parametrize(
    "count", [SHORT, pytest.param(LONG, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_any_call_knowledge(count: int) -> None:
    def read(data: bytes) -> None:
        known = parse_calls(data.decode("utf-8", "surrogateescape"), "x")
        assert parse_calls(format_calls(known)) == known

    outcome = survives(read, [TEXT.encode(), b"# kprof calls 1\r\nf\ta.c:1\t\t\tg\t\r\n"], count)
    assert min(outcome.values()) > count // 50


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("f\ta.c:1", "x:2: 2 columns; expected 6"),
        ("f\ta.c\t\t\t\t", "x:2: the place is 'a.c'; expected file:line"),
        ("f\ta.c:one\t\t\t\t", "x:2: the place is 'a.c:one'"),
        ("f\ta.c:1\tQ\t\t\t", "x:2: the flag 'Q' is not known; expected some of ainsjS"),
    ],
)
def test_problems_have_their_line(line: str, problem: str) -> None:
    with pytest.raises(NameFileError, match=problem):
        parse_calls(f"# kprof calls 1\n{line}\n", "x")


def test_another_version_is_refused_and_not_written_over(tmp_path: Path) -> None:
    path = calls_path(tmp_path / "k.names")
    path.write_text("# kprof calls 2\nsomething\n")
    with pytest.raises(NameFileError, match="expected '# kprof calls 1'"):
        read_calls(tmp_path / "k.names")
    with pytest.raises(NameFileError, match="expected '# kprof calls 1'"):
        update_calls(tmp_path / "k.names", "a.c", [FunctionFacts("f", "a.c", 1)])
    assert path.read_text() == "# kprof calls 2\nsomething\n"


def test_where_there_is_none(tmp_path: Path) -> None:
    assert read_calls(tmp_path / "k.names") is None
    assert read_calls("-") is None
    with pytest.raises(FileAccessError, match="cannot write"):
        update_calls(tmp_path / "no" / "k.names", "a.c", [])


def fact(folder: Path, name: str, place: str, *calls: str, static: bool = False) -> FunctionFacts:
    file, _, line = place.rpartition(":")
    return FunctionFacts(
        name, str(folder / file), int(line), f"void {name}(void)", frozenset(calls), static=static
    )


def test_a_unit_replaces_its_own_lines_and_no_others(tmp_path: Path) -> None:
    names = tmp_path / "k.names"

    def put(unit: str, *facts: FunctionFacts) -> None:
        update_calls(names, str(tmp_path / unit), facts)

    put("src/a.c", fact(tmp_path, "a", "src/a.c:1", "h"), fact(tmp_path, "h", "inc/h.h:5", "x"))
    put("src/b.c", fact(tmp_path, "b", "src/b.c:1"), fact(tmp_path, "h", "inc/h.h:5", "y"))
    known = read_calls(names)
    assert known is not None
    assert known.functions["h"].calls == {"x", "y"}  # what two units see of one header function
    assert known.functions["a"].file == "src/a.c"
    put("src/a.c", fact(tmp_path, "c", "src/a.c:2"))
    known = read_calls(names)
    assert known is not None
    assert sorted(known.functions) == ["b", "c", "h"]
    put("src/b.c", fact(tmp_path, "b", "src/b.c:1"), fact(tmp_path, "h", "inc/h.h:7", "z"))
    known = read_calls(names)
    assert known is not None
    assert known.functions["h"].calls == {"z"}  # the header has changed


def test_the_same_again_writes_nothing(tmp_path: Path) -> None:
    names = tmp_path / "k.names"
    facts = [fact(tmp_path, "a", "a.c:1", "h"), fact(tmp_path, "h", "h.h:5", "x")]
    update_calls(names, str(tmp_path / "a.c"), facts)
    update_calls(names, str(tmp_path / "b.c"), [fact(tmp_path, "h", "h.h:5", "y")])
    before = calls_path(names).stat()
    update_calls(names, str(tmp_path / "b.c"), [fact(tmp_path, "h", "h.h:5", "y")])
    update_calls(names, str(tmp_path / "a.c"), facts)
    after = calls_path(names).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_functions_of_one_name_in_two_programs(tmp_path: Path) -> None:
    names = tmp_path / "k.names"
    update_calls(names, str(tmp_path / "a.c"), [fact(tmp_path, "main", "a.c:1", "x")])
    update_calls(names, str(tmp_path / "b.c"), [fact(tmp_path, "main", "b.c:1", "y")])
    known = read_calls(names)
    assert known is not None
    assert known.functions["main"].calls == {"x", "y"}
    assert known.functions["main"].file == "a.c"


def test_a_call_of_a_global_whose_name_a_static_had_first(tmp_path: Path) -> None:
    names = tmp_path / "k.names"
    update_calls(names, str(tmp_path / "a.c"), [
        fact(tmp_path, "init", "a.c:1", static=True), fact(tmp_path, "a", "a.c:2", "init"),
    ])  # fmt: skip
    update_calls(names, str(tmp_path / "b.c"), [fact(tmp_path, "b.c:init", "b.c:1")])
    update_calls(names, str(tmp_path / "c.c"), [fact(tmp_path, "c", "c.c:1", "init")])
    known = read_calls(names)
    assert known is not None
    assert known.functions["a"].calls == {"init"}
    assert "b.c:init" in known.functions["c"].calls


def test_two_facts_of_one_function_in_a_unit_are_put_together(tmp_path: Path) -> None:
    names = tmp_path / "k.names"
    one = fact(tmp_path, "f", "a.c:9", "x", static=True)
    other = replace(one, line=2, calls=frozenset({"y"}), static=False)
    update_calls(names, str(tmp_path / "a.c"), [one, other])
    known = read_calls(names)
    assert known is not None
    assert known.functions["f"].calls == {"x", "y"}
    assert (known.functions["f"].line, known.functions["f"].static) == (9, True)


WORKER = """
import sys
from kprof.names.calls import FunctionFacts, update_calls
names, number = sys.argv[1], int(sys.argv[2])
sys.stdin.readline()
folder = names.rpartition("/")[0]
for turn in range(4):
    for unit in range(number, number + 3):
        file = f"{folder}/u{unit}.c"
        own = [FunctionFacts(f"u{unit}_{n}", file, n, calls=frozenset({"h"})) for n in range(20)]
        shared = FunctionFacts("h", f"{folder}/h.h", 1, calls=frozenset({f"from{unit}"}))
        update_calls(names, file, [*own, shared])
"""


def workers(names: Path, count: int) -> list[subprocess.Popen[str]]:
    command = [sys.executable, "-c", WORKER, str(names)]
    started = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, text=True)
        for number in range(count)
    ]
    for worker in started:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return started


def test_eight_writers_at_once_write_what_one_after_the_other_would(tmp_path: Path) -> None:
    names = tmp_path / "k.names"
    for worker in workers(names, 8):
        worker.communicate()
        assert worker.returncode == 0
    known = read_calls(names)
    assert known is not None
    assert len(known.functions) == 10 * 20 + 1
    assert known.functions["h"].calls == {f"from{unit}" for unit in range(10)}
    (tmp_path / "again").mkdir()
    order = list(range(8))
    random.Random(11).shuffle(order)
    for number in order:
        subprocess.run(
            [sys.executable, "-c", WORKER, str(tmp_path / "again" / "k.names"), str(number)],
            input="go\n", text=True, check=True,
        )  # fmt: skip
    assert calls_path(tmp_path / "again" / "k.names").read_text() == calls_path(names).read_text()


def test_writers_killed_at_random_leave_whole_knowledge(tmp_path: Path) -> None:
    names = tmp_path / "k.names"
    choice = random.Random(1993)
    for worker in workers(names, 6):
        try:
            worker.wait(timeout=choice.random() / 2)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        assert worker.stdin is not None
        worker.stdin.close()
    read_calls(names)
    update_calls(names, str(tmp_path / "z.c"), [fact(tmp_path, "z", "z.c:1")])
    known = read_calls(names)
    assert known is not None
    assert "z" in known.functions
    units = {name.partition("_")[0] for name in known.functions if "_" in name}
    assert all(f"{unit}_{n}" in known.functions for unit in units for n in range(20))


def test_every_fault_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    tried = run_with_faults(tmp_path, "tests.names.fault_calls", "replace_unit")
    assert tried > 4 * len(MODES)
