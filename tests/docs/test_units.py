"""The units for systemd that the guide shows are units that systemd understands."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "run-a-daemon.md"
UNITS = re.findall(r"^```ini\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
LEAST_EXPOSURE = 25  # of 100, as `systemd-analyze security` counts


def systemd_analyze(*words: str | Path) -> str:
    """What systemd says about a unit."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("there is no systemd-analyze to ask")
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stderr


def saved(folder: Path, unit: str) -> Path:
    """A unit as a file; the program that it starts is one that is there."""
    file = folder / "holdfast.service"
    file.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", unit, flags=re.M))
    return file


@pytest.mark.parametrize("unit", UNITS, ids=["user", "machine"])
def test_systemd_understands_every_line(tmp_path: Path, unit: str) -> None:
    assert systemd_analyze("verify", saved(tmp_path, unit)) == ""


def test_the_unit_of_the_machine_leaves_little_to_attack(tmp_path: Path) -> None:
    systemd_analyze("security", "--offline=yes", f"--threshold={LEAST_EXPOSURE}", saved(tmp_path, UNITS[1]))
