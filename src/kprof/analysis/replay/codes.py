"""The numbers that the replay works with: kinds of ops, and the fields of its flat columns.

A frame, a context, a row is a few neighbouring integers of one column: field F of the frame at `sp`
is ``frames[sp + F]``.
"""

from __future__ import annotations

# Ops: below 0 the exit of function -1 - op; below SPECIAL the entry of function op; from SPECIAL on
# ``SPECIAL + KINDS * number + kind``.
SPECIAL = 1 << 20
KINDS = 16
INLINE = 0
UNKNOWN = 1
GUARDED = 2  # the entry of a function whose own time is idle or user time
SWITCH_OUT = 3
SWITCH_IN = 4
SWTCH_ENTRY = 5
SWTCH_EXIT = 6
TASK = 7  # a task mark

# Roles of a function.
ROLE_OUT = 1
ROLE_IN = 2
ROLE_SWTCH = 4
ROLE_SWITCHES = 7
ROLE_IDLE = 8
ROLE_USER = 16
ROLE_LONE = 32  # a switch function without an exit trigger
ROLE_NEVER = 64  # it does not return
ROLE_SETJMP = 128
ROLE_FAR = 256  # a switch function that each task which is switched to leaves itself

# A frame.
FN = 0  # the function, with MARK where its exit needs a closer look, GHOST of an orphan
TIME = 1  # when it was entered
CHILD = 2  # elapsed time of what the call below it had called before
AWAY_AT = 3  # what its context had been switched out in all when it was entered
PLACE = 4  # the event of its entry
CALL = 5  # its number in the order of entries
PATH = 6  # its call path
FRAME = 8

MARK = 1 << 24
GHOST = 1 << 25

# A context.
C_ID = 0
C_BASE = 1  # its lowest frame, which stands for what runs below all calls that were seen
C_END = 2  # the end of its part of the frames
C_SP = 3
C_CHILD = 4
C_WHEN = 5  # when it was suspended
C_AWAY = 6  # how long it has been switched out in all
C_TASK = 7  # the tag of its task mark, or -1
C_NEXT = 8  # the one suspended after it
C_PREVIOUS = 9
C_SLICES = 10
C_CUT = 11  # after an ambiguous switch: the frame up to which its stack is beyond doubt; else -1
C_TOP = 12  # the functions of its three top calls, TOP_BITS each; -1: not so many
CONTEXT = 13
TOP_BITS = 20
TOP_MASK = (1 << TOP_BITS) - 1

# A row; the narrow one of totals ends before KIND.
R_FN = 0
R_ELAPSED = 1
R_NET = 2
R_AWAY = 3
R_FLAGS = 4
NARROW = 5
R_KIND = 5
R_ENTRY = 6
R_LEAVE = 7
R_PATH = 8
R_PARENT = 9
R_DEPTH = 10
R_CONTEXT = 11
R_PART = 12
R_CALL = 13
R_TIME = 14
WIDE = 15

# Kinds of rows.
ENTER = 0
LEAVE = 1
MARK_INLINE = 2
MARK_OUT = 3
MARK_IN = 4

# Flags of a call.
RESUMED = 1  # ended in a later slice of its context than it began in
UNWOUND = 2  # closed by the exit of a call below it
OPEN = 4  # still open at the end of the capture
ORPHAN = 8  # its entry was not seen; counted from the switch in, or the start
INNER = 16  # inside a call of the same function: no part of the function's elapsed time
LOST = 32  # an orphan that was expected and did not come: no call, only the end of its place
STRAY = 64  # of a piece: what it depends on is further left; see `pieces`
BEGUN = 128  # of a piece: no call, but the entry of one directly above what is further left

# The state.
SP = 0
CHILD_SUM = 1  # elapsed time of what the running call has called so far
MODE = 2
SLOT = 3  # the running context
GROUND = 4  # its lowest frame
FLOOR = 5  # its highest frame that is no call seen entering
LIMIT = 6  # its highest frame that may be used
LOW = 7  # frames up to this one were restored at the last switch in
SLICE_TIME = 8
SLICE_PLACE = 9
PART_TIME = 10
PART_CHILD = 11
OLDEST = 12  # of the suspended contexts
NEWEST = 13
QUEUED = 14
FREE = 15  # the first slot that can be used again
SLOTS = 16  # slots in use or free
TOP = 17  # frames in use
SIZE = 18  # frames that there are
NEXT_ID = 19
SWITCHES = 20
AMBIGUOUS = 21
RESTARTS = 22  # calls that showed that a longjmp had ended others
IDLE = 23
USER = 24
UNATTRIBUTED = 25
PENDING = 26  # a switch that happens when the running switch function leaves
PENDING_SP = 27
PENDING_SLOT = 28
WATCH = 29  # entries are compared with what is known of calls
KNOWS = 30  # what can call what is known
JUMPS = 31  # some function is known to call setjmp
MARKS = 32  # the kernel fires task marks
LAST = 33  # the context that ran before the last task mark, until it is looked at
NUMBER = 34  # calls so far
PATHS = 35
PATH_MASK = 36
SEEN_MASK = 37
SEEN = 38
GHOSTS_DUE = 39  # the running context's stack is empty: look for orphans
DEEPEST = 40
FIRST_LOOK = 41  # the first slice has not been read yet
IN_TURN = 42  # tasks that were resumed beyond doubt as the one suspended longest, and others
OUT_OF_TURN = 43
NEW_AT = 44  # switches when a context was last seen for the first time
ENDING = 45  # a context is taken up only to end its calls
PART_PLACE = 46  # the event when the last call from before the slice ended, or it began
DETAIL = 47  # rows are wide, and calls have paths
PIECE = 48  # a piece of a capture is replayed: what is below its lowest frame is not known
STATE_SIZE = 49

TASK_MODE = 0
SYSTEM_MODE = 1

SWITCHING_OUT = 1
SWITCHING_IN = 2

NONE = -1
NEED_MORE = -2
WINDOW = 1 << 18  # events that are looked ahead
MOST_CONTEXTS = 4096
REGION = 32 * FRAME  # frames of a new context
MOST_GHOSTS = 96
MOST_ITEMS = 64  # calls and exits at the base of a slice that are compared with a stack
LEARNING = 256  # slices in which a context's calls are remembered
ANY = 0xFFFFF  # any function, among what was seen
LIKELY = 20.0  # so much likelier than the one suspended longest must a task be to be taken
CERTAIN = 1000.0  # and so much likelier than every other not to be ambiguous
