"""What stands over the lists for a moment: a notice, and the choice of columns."""

from __future__ import annotations

from rich.markup import escape
from textual.app import ComposeResult
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Static

_STYLE = """
{name} {{ align: center middle; }}
{name} Static {{ width: auto; max-width: 100%; max-height: 100%; padding: 0 2; }}
{name} Static {{ background: ansi_blue; color: ansi_bright_white; }}
"""

KEYS = """\
R  functions                     Up Down j k  move
G  call graph                    PgUp PgDn    move a page
T  every call, as in the trace   Home End     first, last
g  the function's own graph      z            its line to the middle
d  its distribution              Enter        fold, unfold; of a function: its worst call
w  its worst call                c e          fold, unfold the children
r  the function in the table     C E          fold, unfold all below
s  sort by the next column       n p          next, previous sibling
f  choose columns                u            the caller
I  the capture                   l            the callee of the most time
O  its source in an editor       [ ]          a range begins, ends at this call
/  search                        \\            the whole run again
> N  < P  next, previous match   y            copy the line
?  these keys                    q            quit"""
SMALL_KEYS = """\
R G T  table, graph, calls
g d w  graph, distribution, worst
s f    sort, columns   / search
[ ] \\  range, whole   y copy
Enter c e C E  fold   q quit"""


class Notice(ModalScreen[None]):
    """Text over the rest until a key is pressed."""

    DEFAULT_CSS = _STYLE.format(name="Notice")

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield Static(escape(self._text))

    def on_key(self) -> None:
        self.dismiss()


class ColumnChoice(ModalScreen[tuple[str, ...]]):
    """Which columns are shown: a digit turns one on or off, any other key ends the choice."""

    DEFAULT_CSS = _STYLE.format(name="ColumnChoice")

    def __init__(self, every: tuple[str, ...], shown: tuple[str, ...]) -> None:
        super().__init__()
        self._every, self._shown = every, set(shown)

    def compose(self) -> ComposeResult:
        yield Static(self._text(), markup=False)

    def on_key(self, event: Key) -> None:
        event.stop()
        place = int(event.key) - 1 if event.key.isdigit() else -1
        if not 0 <= place < len(self._every):
            self.dismiss(tuple(name for name in self._every if name in self._shown))
            return
        self._shown ^= {self._every[place]}
        self.query_one(Static).update(self._text())

    def _text(self) -> str:
        rows = (
            f"{number} [{'x' if name in self._shown else ' '}] {name}"
            for number, name in enumerate(self._every, 1)
        )
        return "\n".join(["Columns", *rows, "Enter: done"])
