"""Settings that cannot be are refused with one sentence that names the file; no daemon starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.errors import HoldfastError
from holdfast.daemon.settings.settings_file import load, load_queues, load_watches
from tests.hostile.corpus import SETTINGS


def read_all(file: Path) -> None:
    load(file)
    load_watches(file)
    load_queues(file)


@pytest.mark.parametrize("name", SETTINGS)
def test_bad_settings_are_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_bytes(SETTINGS[name])
    with pytest.raises(HoldfastError) as refusal:
        read_all(file)
    said = str(refusal.value)
    assert len(said) < 2_000
    assert said.isprintable()


def test_the_command_line_says_it_without_a_traceback(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "holdfast.toml").write_bytes(SETTINGS["deep"])
    command = [sys.executable, "-m", "holdfast.cli", "up", "--home", str(home)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode != 0
    assert "holdfast.toml" in run.stderr
    assert "Traceback" not in run.stderr
