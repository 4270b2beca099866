"""Many captures: a farm of boards, months of runs. Nothing below imports this package.

Statistics merge exactly in any order (`kprof.analysis.statistics`). So a capture is measured where
a worker is (`measure`), the workers are processes of this machine (`pool`) or of a cluster
(`cluster`), and what they found is merged as it comes.
"""
