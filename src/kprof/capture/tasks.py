"""Task marks that a capture declares itself: which thread ran when, from its writer.

The metadata of the capture file say so (`docs/capture.md`)::

    "task_marks": {"name": "thread", "first": 65280, "count": 256}
    "task_names": {"0": "main", "1": "worker-3"}

An event with the tag ``first + n`` says that task ``n`` runs from here on, as the events of the
entry ``thread/65280@256`` of a name file do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TASK_MARKS, TASK_NAMES = "task_marks", "task_names"


@dataclass(frozen=True)
class TaskMarks:
    """A range of tags that are task marks.

    Attributes
    ----------
    name
        What the tasks are called: "thread".
    first
        The tag of task 0, 1..65535.
    count
        How many tasks there can be; `first` + `count` is at most 65536.
    """

    name: str
    first: int
    count: int

    @property
    def tags(self) -> range:
        """The tags of all tasks."""
        return range(self.first, self.first + self.count)


def declared_tasks(
    metadata: Mapping[str, Any], source: str
) -> tuple[TaskMarks | None, Mapping[int, str], tuple[str, ...]]:
    """The task marks and the tasks' names in a capture's metadata, and warnings.

    What does not have the documented form is left out with a warning that names `source`.
    """
    found = metadata.get(TASK_MARKS)
    if found is None:
        return None, {}, ()
    marks = _marks(found)
    if marks is None:
        sentence = (
            f"{source}: its {TASK_MARKS} are no name, first tag and count of tags up to 65535; "
            "they are left out, and its threads are taken as one"
        )
        return None, {}, (sentence,)
    named = metadata.get(TASK_NAMES, {})
    names = {str(number): number for number in range(marks.count)}
    if not isinstance(named, dict) or not all(
        key in names and isinstance(name, str) for key, name in named.items()
    ):
        sentence = f"{source}: its {TASK_NAMES} are no names by the tasks' numbers; left out"
        return marks, {}, (sentence,)
    return marks, {names[key]: name for key, name in named.items()}, ()


def _marks(found: object) -> TaskMarks | None:
    if not isinstance(found, dict):
        return None
    name, first, count = (found.get(key) for key in ("name", "first", "count"))
    if not (isinstance(name, str) and name and type(first) is int and type(count) is int):
        return None
    if first < 1 or count < 1 or first + count > 1 << 16:
        return None
    return TaskMarks(name, first, count)
