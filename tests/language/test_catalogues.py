"""Every sentence that the package may say is in the catalogues."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_no_sentence_is_missing_and_all_are_compiled() -> None:
    script = ROOT / "scripts" / "update_catalogues.py"
    found = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
