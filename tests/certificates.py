"""Certificates that tests make for themselves."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

OPENSSL = shutil.which("openssl")


def make_certificate(folder: Path, name: str = "localhost") -> Path:
    """Make `cert.pem`, which vouches for itself, and `key.pem` in a folder; over those that are there. The folder."""
    if OPENSSL is None:
        pytest.skip("there is no openssl to make a certificate with")
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    words += ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    words += ["-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([OPENSSL, *words], cwd=folder, check=True, capture_output=True)
    return folder
