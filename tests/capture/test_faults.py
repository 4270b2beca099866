"""Writers of files when the k-th write, fsync or rename fails or kills the process, for all k."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults import MODES, run_with_faults


@pytest.mark.parametrize(
    ("writer", "least"), [("text", 4), ("container", 6), ("parts", 6), ("raw", 4), ("banks", 20)]
)
def test_the_old_file_or_the_complete_new_one(tmp_path: Path, writer: str, least: int) -> None:
    tried = run_with_faults(tmp_path, "tests.capture.fault_writes", writer)
    assert tried >= least * len(MODES)
