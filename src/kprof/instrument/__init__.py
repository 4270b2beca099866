"""C text in, C text with triggers out.

Finding: `shadow` blanks what is not code; `plain_heads`, `heads` and `functions` find function
definitions, `branches` takes source text through its ``#if`` alternatives. Reading: `tokens`,
`dialect` and `feed` are the way to pycparser, `tree` what its trees say, `reading` remembers it;
`declarations` is what stands between functions, `facts` who can call whom. Writing: `strategy`
says where triggers go, in the words of a `targets` template, as `edits`.

Source mode: `source` (text to text), `verify` (held against a `preprocess`or), `syntax`, `batch`
(files), `job` (the command). Compiler mode: `driver` (the command line of a compiler), `unit` and
`planting` (text to text), `compiling` (the processes). `header` makes ``PROFILE(name)``.
"""
