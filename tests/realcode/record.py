#!/usr/bin/env python3
"""Stand in for a compiler: note the command line in a log, then be the compiler.

Found under the compiler's own name in a folder at the front of ``PATH``. One JSON line a call in
the file that ``REALCODE_LOG`` names: ``{"cwd": ..., "argv": [...]}``.
"""

import fcntl
import json
import os
import sys
from pathlib import Path

here = Path(sys.argv[0]).resolve().parent
name = Path(sys.argv[0]).name
if log := os.environ.get("REALCODE_LOG"):
    line = json.dumps({"cwd": str(Path.cwd()), "argv": [name, *sys.argv[1:]]}) + "\n"
    with Path(log).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(line)
os.environ["PATH"] = os.pathsep.join(
    folder for folder in os.environ["PATH"].split(os.pathsep) if Path(folder).resolve() != here
)
os.execvp(name, [name, *sys.argv[1:]])
