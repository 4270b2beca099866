"""The list of lines: draws only those in sight, so that a million calls scroll as ten do."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kprof.tui.views import View


class Lines(ScrollView, can_focus=True, inherit_bindings=False):
    """A view's lines with a cursor.

    The keys of the scroll view are not inherited: they would scroll and leave the cursor behind.
    """

    DEFAULT_CSS = "Lines { height: 1fr; width: 1fr; overflow: hidden scroll; scrollbar-size: 0 0; }"

    class Chosen(Message):
        """The line under the cursor was clicked again."""

    class Moved(Message):
        """The cursor is on another line, or there are other lines."""

    def __init__(self, view: View, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.view = view
        self.cursor = 0
        self._centred = False
        self._drawn = (-1, -1)  # the cursor and the first line, as they are on the screen

    def on_mount(self) -> None:
        self.changed()

    def on_resize(self, event: Resize) -> None:
        del event
        self.changed()

    def changed(self) -> None:
        """The view has other lines now."""
        self.virtual_size = Size(self.size.width, len(self.view))
        self._drawn = (-1, -1)
        self.go(self.cursor, center=self._centred)

    def go(self, line: int, *, center: bool = False) -> None:
        """Put the cursor on a line and bring it into sight.

        A line in the middle stays there when the size becomes known or changes.
        """
        self._centred = center
        self.cursor = max(0, min(line, len(self.view) - 1))
        height = self.size.height
        if height:
            if center:
                self.scroll_to(y=max(0, self.cursor - height // 2), animate=False, force=True)
            else:
                region = Region(0, self.cursor, 1, 1)
                self.scroll_to_region(region, animate=False, force=True)
        was, first = self._drawn
        self._drawn = (self.cursor, self.scroll_offset.y)
        if was >= 0 and first == self.scroll_offset.y:
            self.refresh_lines(was)
            self.refresh_lines(self.cursor)
        else:
            self.refresh()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        line = y + self.scroll_offset.y
        width = self.size.width
        if line >= len(self.view):
            return Strip.blank(width, self.rich_style)
        text = self.view.line(line, width)
        text.truncate(width)
        if line == self.cursor:
            plain = text.plain.ljust(width)
            return Strip([Segment(plain, Style(reverse=True))]).adjust_cell_length(width)
        segments = list(text.render(self.app.console, end=""))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def on_click(self, event: Click) -> None:
        line = event.y + self.scroll_offset.y
        if line == self.cursor:
            self.post_message(self.Chosen())
        self.go(line)
