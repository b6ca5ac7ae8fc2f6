"""A renewed certificate is shown to the next caller, without a restart."""

from __future__ import annotations

import logging
import socket
import ssl
from pathlib import Path

import pytest

from tests.api.running import PATIENCE_S, running_api
from tests.certificates import make_certificate


def trusts(certificate: Path, port: int | None) -> bool:
    """Whether a new caller who trusts only this certificate gets through."""
    assert port is not None
    context = ssl.create_default_context(cafile=str(certificate))
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as raw:
        try:
            with context.wrap_socket(raw, server_hostname="localhost"):
                return True
        except ssl.SSLCertVerificationError:
            return False


def test_a_renewed_certificate_is_taken_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    certificate, key = make_certificate(tmp_path) / "cert.pem", tmp_path / "key.pem"
    before, renewed = tmp_path / "before.pem", tmp_path / "renewed.pem"
    before.write_bytes(certificate.read_bytes())
    with running_api(port=0, tls_cert=str(certificate), tls_key=str(key)) as api:
        assert trusts(before, api.port)

        make_certificate(tmp_path)
        renewed.write_bytes(certificate.read_bytes())
        assert trusts(renewed, api.port)
        assert not trusts(before, api.port)

        with caplog.at_level(logging.WARNING, "holdfast.daemon"):
            certificate.write_text("half of a fi")
            assert trusts(renewed, api.port)
            assert trusts(renewed, api.port)
        [said] = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
        assert "the one from before stays" in said
        certificate.unlink()
        assert trusts(renewed, api.port)
