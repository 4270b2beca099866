"""The report as one HTML page: see `kprof.report.html.page` and ``docs/html.md``."""
