"""What holds for every test: it runs alike on any machine, and whether make started it or not.

`kprof cc` looks at how deep make is; hypothesis times its examples, and a busy
machine is slow. No test starts a compile server but those that are about it. Signals that a
background job was started to ignore (`nohup`, a script's ``&``) end programs as usual.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings

for name in ("MAKELEVEL", "MAKEFLAGS", "MFLAGS"):
    os.environ.pop(name, None)
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

os.environ["KPROF_SERVER"] = ""

for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
