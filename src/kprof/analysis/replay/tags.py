"""From tags to ops: what each of the 65,536 tags means to the replay.

The tables are numpy columns, so that a block of tags is translated in one indexing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kprof.analysis.replay.codes import (
    GUARDED,
    INLINE,
    KINDS,
    ROLE_IDLE,
    ROLE_IN,
    ROLE_OUT,
    ROLE_SWTCH,
    ROLE_USER,
    SPECIAL,
    SWITCH_IN,
    SWITCH_OUT,
    SWTCH_ENTRY,
    SWTCH_EXIT,
    TASK,
    UNKNOWN,
)
from kprof.capture.model import CaptureInfo
from kprof.errors import UsageError
from kprof.names import Modifier, NameEntry, NameFile

TAGS = 1 << 16
_ROLES = {
    Modifier.SWITCH_OUT: ROLE_OUT,
    Modifier.SWITCH_IN: ROLE_IN,
    Modifier.SWTCH: ROLE_SWTCH,
    Modifier.IDLE: ROLE_IDLE,
    Modifier.USER: ROLE_USER,
}
_ENTRIES = {
    Modifier.SWITCH_OUT: SWITCH_OUT,
    Modifier.SWITCH_IN: SWITCH_IN,
    Modifier.SWTCH: SWTCH_ENTRY,
    Modifier.IDLE: GUARDED,
    Modifier.USER: GUARDED,
}


class TagTable(NamedTuple):
    """What every tag means.

    Attributes
    ----------
    ops
        Shape (65536,) int32: the op of each tag, see `kprof.analysis.replay.codes`.
    functions
        The functions by their number in the ops; in the name file's order.
    inlines
        The inline triggers by their number in the ops.
    role
        Shape (max(1, functions),) int64: the ROLE bits of the functions.
    task_names
        By the tag of a task mark: what the task is called.
    """

    ops: NDArray[np.int32]
    functions: tuple[NameEntry, ...]
    inlines: tuple[NameEntry, ...]
    role: NDArray[np.int64]
    task_names: dict[int, str]

    @property
    def switching(self) -> bool:
        """Can there be context switches?"""
        return bool(self.task_names) or bool((self.role & (ROLE_OUT | ROLE_IN | ROLE_SWTCH)).any())

    @classmethod
    def of(cls, names: NameFile, info: CaptureInfo | None = None) -> TagTable:
        """The table of a name file; entries of value 0 fire nothing and have no number.

        `info` is of a capture that may have task marks of its own.

        Raises
        ------
        UsageError
            The capture's task marks are tags that the name file has for something else.
        """
        ops = np.full(TAGS, SPECIAL + UNKNOWN, np.int32)
        functions: list[NameEntry] = []
        inlines: list[NameEntry] = []
        roles: list[int] = []
        task_names: dict[int, str] = {}
        for entry in names.entries:
            value, modifier = entry.value, entry.modifier
            if not value:
                continue
            if modifier is Modifier.INLINE:
                ops[value] = SPECIAL + KINDS * len(inlines) + INLINE
                inlines.append(entry)
            elif modifier is Modifier.TASKS:
                _mark_tasks(ops, task_names, entry.name, value, entry.count)
            else:
                number = len(functions)
                functions.append(entry)
                roles.append(_ROLES.get(modifier, 0))
                kind = _ENTRIES.get(modifier)
                ops[value] = number if kind is None else SPECIAL + KINDS * number + kind
                ops[value + 1] = -1 - number
                if modifier is Modifier.SWTCH:
                    ops[value + 1] = SPECIAL + KINDS * number + SWTCH_EXIT
        marks = None if info is None else info.task_marks
        if info is not None and marks is not None:
            used = ops[marks.first : marks.first + marks.count] != SPECIAL + UNKNOWN
            if used.any():
                tag = marks.first + int(np.argmax(used))
                raise UsageError(
                    f"{info.source}: tag {tag} is a task mark by the capture and "
                    f"{names.by_tag[tag].name} by the name file; expected the tags "
                    f"{marks.first} to {marks.first + marks.count - 1} to be free"
                )
            _mark_tasks(ops, task_names, marks.name, marks.first, marks.count)
            named = {marks.first + n: name for n, name in info.task_names.items()}
            task_names.update({tag: name for tag, name in named.items() if tag in task_names})
        for tag, name in names.task_names.items():
            if tag in task_names:
                task_names[tag] = name
        role = np.array(roles or [0], np.int64)
        return cls(ops, tuple(functions), tuple(inlines), role, task_names)


def _mark_tasks(
    ops: NDArray[np.int32], names: dict[int, str], name: str, first: int, count: int
) -> None:
    tags = np.arange(first, first + count)
    ops[tags] = SPECIAL + KINDS * tags + TASK
    names.update({tag: f"{name} {tag - first}" for tag in tags.tolist()})
