"""The index of a name file says what the name file says, or there is none."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from kprof.errors import NameFileError
from kprof.names import parse_names
from kprof.names.index import NameIndex

NAMES = st.sampled_from(["a", "b", "kern/tty.c:a", "a b", "#c", "", "d/1", " e", "f "])
VALUES = st.sampled_from(
    ["", "2 ", "0", "2", "4", "6", "7", "06", "1024", "65534", "65535", "70000", "8=", "9=", "10$",
     "12*", "14!", "16@4", "6@3", "x", "20%", "22~", "24^"]
)  # fmt: skip
OTHERS = "# text|#@|#@ x.c|#@static x.c|#@static y.c\r| #@ z.c|#@own a\tx.c|#@tags 40 80|\t|"
LINES = st.one_of(
    st.builds("{}/{}".format, NAMES, VALUES),
    st.sampled_from(f"{OTHERS}|#@task 17 init|g/26\r|h/28 ".split("|")),
)


@settings(max_examples=2_000, deadline=None)
@given(st.lists(LINES, max_size=8))
def test_the_same_as_the_name_file(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    index = NameIndex.of(text)
    try:
        names = parse_names(text)
    except NameFileError:
        assert index is None
        return
    if index is None:
        assert " #@" in text
        return
    asked = {entry.name for entry in names.entries} | {"a", "b", "c", "#c"}
    for name in asked:
        found, expected = index.get(name), names.get(name)
        assert found == expected
        if found and expected:
            assert (found.source, found.static) == (expected.source, expected.static)
    assert index.next_value(1024) == names.next_value(1024)
    assert (index.last_tag, index.text) == (names.last_tag, names.text)


def test_a_large_file_costs_little() -> None:
    """Least of a few runs, both in one process: a busy machine hits both."""
    text = "".join(
        f"#@static f{n}.c\n" * (n % 20 == 0) + f"some_function_{n}/{2 * n + 1024}\n"
        for n in range(31_000)
    )

    def least(action: object) -> float:
        times = []
        for _ in range(5):
            start = time.process_time()
            action(text)  # type: ignore[operator]
            times.append(time.process_time() - start)
        return min(times)

    assert least(NameIndex.of) < least(parse_names) / 2
