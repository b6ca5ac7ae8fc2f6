"""Whom a client gives its token: the socket, this machine, and a daemon whose certificate it trusts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, InvalidInput, NoDaemon
from holdfast.wire import peer
from holdfast.wire.home import CA, TOKEN, find_daemon
from tests.api.running import RunningApi, running_api
from tests.certificates import make_certificate


@pytest.mark.parametrize(
    "url",
    [
        "http://daemon.example:8787",
        "http://10.0.0.1",
        "http://0.0.0.0:80",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "http://127.1",
        "http://[2001:db8::1]:80/prefix",
    ],
)
def test_a_plain_address_elsewhere_is_refused_before_the_token_is_read(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unreadable(dict[str, str]):
        def get(self, name: Any, *default: Any) -> Any:
            assert name != TOKEN, "the token was read"
            return super().get(name, *default)

    monkeypatch.setattr(os, "environ", Unreadable(os.environ))
    with pytest.raises(InvalidInput, match="for all to read: use https://"):
        Holdfast(url)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://LOCALHOST", "http://127.0.0.1:80", "http://[::1]:80"])
def test_this_machine_gets_the_token_without_tls(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "secret")
    assert find_daemon(url).token == "secret"


def test_over_tls_the_token_goes_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN, "secret")
    assert find_daemon("https://daemon.example").token == "secret"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return make_certificate(tmp_path) / "cert.pem"


@pytest.fixture
def api(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningApi]:
    """An API with a certificate that no system trusts."""
    key = certificate.with_name("key.pem")
    with running_api(port=0, tls_cert=str(certificate), tls_key=str(key)) as api:
        monkeypatch.setenv(TOKEN, api.token)
        monkeypatch.delenv(CA, raising=False)
        yield api


def url_of(api: RunningApi) -> str:
    return f"https://localhost:{api.port}"


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(api: RunningApi) -> None:
    with pytest.raises(NoDaemon, match=r"cannot be trusted \(self-signed certificate\); name the one to trust"):
        Holdfast(url_of(api)).counts()


def test_a_certificate_can_be_named(api: RunningApi, certificate: Path) -> None:
    assert Holdfast(url_of(api), ca=certificate).counts() == {}
    assert Holdfast(url_of(api), ca=str(certificate)).counts() == {}


def test_the_environment_can_name_it(api: RunningApi, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CA, str(certificate))
    assert Holdfast(url_of(api)).counts() == {}


def test_what_is_named_stands_above_the_environment(
    api: RunningApi, certificate: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_certificate(tmp_path_factory.mktemp("other")) / "cert.pem"
    monkeypatch.setenv(CA, str(other))
    assert Holdfast(url_of(api), ca=certificate).counts() == {}
    with pytest.raises(NoDaemon, match="cannot be trusted"):
        Holdfast(url_of(api)).counts()


def test_a_renewed_certificate_is_taken_up_without_a_restart(
    api: RunningApi, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hf = Holdfast(url_of(api), ca=certificate)
    assert hf.counts() == {}
    make_certificate(certificate.parent)  # The daemon shows it, and the client trusts it.
    hf._access.engine.close()  # The connection from before would do as well as ever.
    assert hf.counts() == {}
    monkeypatch.setattr(peer, "PATIENCE_S", 0.0)
    certificate.unlink()
    hf._access.engine.close()
    with pytest.raises(NoDaemon, match=r"the file of trusted certificates .*cert.pem cannot be used: No such file"):
        hf.counts()


def test_jobs_run_over_tls(api: RunningApi, certificate: Path) -> None:
    hf = Holdfast(url_of(api), ca=certificate)

    @hf.task
    def double(x: int) -> int:
        return 2 * x

    with hf:
        assert double.enqueue(x=21).result(timeout=30) == 42


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
def test_a_file_without_certificates_is_refused_at_once(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"ca\.pem cannot be used: .*; give a PEM file with certificates"):
        Holdfast("https://daemon.example", ca=str(file))


@pytest.mark.parametrize("where", [None, "http://localhost:1", "work.db", "postgresql://localhost/work"])
def test_where_no_certificate_is_shown_none_is_named(where: str | None, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="ca= is for a daemon at an https:// address"):
        Holdfast(where, ca=tmp_path / "ca.pem")


def test_a_client_of_the_socket_does_not_wait_for_tls() -> None:
    program = "import sys; from holdfast.client.remote import Client; Client(); print('ssl' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "False\n"
