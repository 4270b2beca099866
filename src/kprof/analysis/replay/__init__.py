"""The replay: events in order -> calls. The one place that knows what events mean.

The modules that hold its rules are written in the part of Python that runs on plain lists and,
unchanged, compiled by numba on arrays (`compiled`): flat integer columns (`columns`) instead of
objects, constants (`codes`) instead of enums. `engine` takes the events one at a time, `nested` the
plain ones, `frames` has the stacks, `orphans` what was not seen entering, `contexts` who runs and
who waits, `switching` which task a switch resumes (by `lookahead`, `candidates`, `habits` and
`mixups`). `machine` feeds them a capture block by block.

An event is a time (ticks since the first event) and an *op*, made from its tag by `tags`. A call's
net time is its elapsed time less that of the calls inside it, so only the exit of a call costs
arithmetic: ``state[CHILD_SUM]`` is the elapsed time of what the running call has called so far.

Contexts. Each has a stack of its own in the column of frames; its lowest frame, the *ground*,
stands for what runs below the calls that were seen entering. One context runs. A switch puts it
away as it is (`contexts.park`) and takes another one up; what its calls were switched out is one
sum of the context, so a switch costs little whatever the depth. Which task runs next is known from
the kernel's task marks; else `switching` reads ahead to the next switch, and decides by

1. the exits at the base of the slice, which must close the task's open calls from the top;
2. the calls at the base, which its top call must be able to make (`knowledge`), or else
3. which that function was seen to make before, where the task was beyond doubt.

What several tasks explain equally well is counted as ambiguous and given to the one that was
suspended longest, unless the third says plainly otherwise. Where none explains a slice, an
ambiguous switch before may have mixed up two tasks: if exchanging the upper parts of their stacks
explains it, that is done. Else the context has not been seen before.

The frames of a resumed context are marked one at a time, the highest first (`MARK` on its
function), so that the fast path of an exit never has to ask whether the call began in an earlier
slice.

Orphans, calls whose exit alone is seen: with detail a look ahead finds the exits at the base of a
slice that close nothing, and puts their calls (*ghosts*) under what runs there.
"""
