"""C text in, C text with triggers out.

`shadow` blanks what is not code, `heads` and `functions` find the functions, `branches` takes
source text through its ``#if`` alternatives, `strategy` writes triggers as `edits`, in the words of
a target (`targets`). `source` is the source mode, `driver` and `compiling` the compiler mode.
"""
