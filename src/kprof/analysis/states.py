"""The numbers of the replay: kinds of ops, flags of rows, places in its state."""

from __future__ import annotations

# Kinds of special events, ``(op - SPECIAL) & 7``.
SPECIAL = 1 << 20
INLINE = 0
UNKNOWN = 1
SWITCH_OUT = 2
SWITCH_IN = 3
SWTCH_ENTRY = 4
SWTCH_EXIT = 5

# Flags of a row.
RESUMED = 1  # ended in a later slice of its context than it began in
UNWOUND = 2  # closed by the exit of a call below it
OPEN = 4  # still open at the end of the capture
ORPHAN = 8  # its entry was not seen; counted from the switch in, or the start
INNER = 16  # inside a call of the same function: no part of the function's elapsed time
MARK_INLINE = 32  # not a call: an inline trigger
MARK_OUT = 64  # not a call: the switch out
MARK_IN = 128  # not a call: the switch in

# Places in `state`.
SP = 0
CHILD = 1
MODE = 2
CONTEXT = 3
BASE = 4  # frames up to this one were restored at the last switch in
SLICE_TIME = 5
QUEUED = 6
SYSTEM_TOP = 7  # node of the system context's stack, -1 while it runs or has none
SYSTEM_SP = 8
SYSTEM_CHILD = 9
SYSTEM_WHEN = 10
FREE = 11
USED = 12
CONTEXTS = 13
SWITCHES = 14
IDLE = 15
UNATTRIBUTED = 16
PENDING = 17  # a switch that happens when the running switch function leaves
FIRST = 18  # what the context that ran first turned out to be
PENDING_SP = 19  # the frame of that function
PENDING_SLOT = 20  # and the task that it switches to
STATE_SIZE = 21

TASK = 0
SYSTEM = 1
UNDECIDED = 2  # before the first switch: what runs may be a task or the system

SWITCHING_OUT = 1
SWITCHING_IN = 2

MARK = 1 << 24
WINDOW = 1 << 20
QUEUE_SIZE = 4096
NEED_MORE = -2
UNWIND_LOOK = 64
