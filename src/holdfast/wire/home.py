"""The home folder of a daemon, and how a program finds the daemon."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import InvalidInput, StoreUnavailable
from holdfast.core.rules import limits
from holdfast.private_files import make_private_folder
from holdfast.store.locks import is_held_by, is_locked

HOME = "HOLDFAST_HOME"
TOKEN = "HOLDFAST_TOKEN"
CA = "HOLDFAST_CA"
LOOKS_S = 0.5  # Another process that tests a lock holds it for a moment. A daemon holds it for longer.
LONGEST_SOCKET = 103 if sys.platform == "darwin" else 107


class Home:
    """The folder with the files of one daemon."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.folder / "meta.db"

    @property
    def settings(self) -> Path:
        """The file with the daemon's settings."""
        return self.folder / "holdfast.toml"

    @property
    def socket(self) -> Path:
        """The unix socket that the daemon listens on."""
        return self.folder / "holdfast.sock"

    @property
    def token(self) -> Path:
        """The file with the bearer token for TCP."""
        return self.folder / "token"

    @property
    def lock(self) -> Path:
        """The lock that a daemon holds for as long as it runs."""
        return self.folder / "daemon.lock"

    @property
    def hello(self) -> Path:
        """The file with the `Hello` of the daemon, so that programs need not ask for it."""
        return self.folder / "hello.json"

    @property
    def log(self) -> Path:
        """The log of a daemon in the background."""
        return self.folder / "logs" / "daemon.log"

    def instance_log(self, workspace_id: str) -> Path:
        """What the program of a workspace prints."""
        return self.log.parent / "workspaces" / f"{workspace_id}.log"

    @property
    def printed(self) -> Path:
        """What is printed and not logged in the background, such as the traceback of a process that crashes."""
        return self.log.with_suffix(".err")

    @property
    def jobs(self) -> Path:
        """The logs and artifacts of the jobs."""
        return self.folder / "jobs"

    @property
    def is_lived_in(self) -> bool:
        """Whether a daemon runs here, or another program holds its lock."""
        return bool(is_locked(str(self.lock)))

    def daemon_pid(self) -> int | None:
        """The pid of the daemon that runs here. None if there is none, or if it has only just begun."""
        if not self.is_lived_in:
            return None
        try:
            pid = int(self.lock.read_text())
        except (OSError, ValueError):
            pid = self._listening_pid()
        # The pid may be of a dead daemon, and belong to another process by now.
        return pid if is_held_by(str(self.lock), pid) else None

    def _listening_pid(self) -> int:
        """The pid of the process that listens on the socket, for when a full disk had no room for the file. 0: none."""
        import socket
        import struct

        if not hasattr(socket, "SO_PEERCRED"):
            return 0
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
            caller.settimeout(LOOKS_S)
            caller.connect(str(self.socket))
            told = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", told)[0])
        return 0

    def create(self) -> None:
        """Make what is missing. No other user can read it."""
        length = len(os.fsencode(self.socket))
        if length > LONGEST_SOCKET:
            raise InvalidInput(
                f"the home folder {self.folder} has too long a name: its socket would have {length} bytes, the system "
                f"takes {LONGEST_SOCKET}; choose a shorter one with --home"
            )
        try:
            for folder in (self.folder, self.log.parent, self.jobs):
                make_private_folder(folder)
            # A machine that went down at a bad moment may have left an empty file, which would let everyone in.
            if not self.token.exists() or not self.token.read_bytes().strip():
                self._make_token()
        except OSError as error:
            raise StoreUnavailable(
                f"the home folder {self.folder} cannot be used ({error.strerror}); choose another with --home"
            ) from error

    def _make_token(self) -> None:
        """Make the token. The file is complete before it gets its name, so that no reader finds a part of it."""
        import secrets

        fresh = self.token.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
        fresh.replace(self.token)


class Address(Struct, frozen=True):
    """Where a daemon answers: its unix socket, or a host and port with a token.

    Without a token, that of the home folder is sent if its daemon answers there (`wire/peer.py`). `ca` is a file with
    the certificates to trust there instead of the system's.
    """

    socket: str | None = None
    host: str = "localhost"
    port: int = 0
    token: str | None = None
    is_tls: bool = False
    prefix: str = ""
    lock: str | None = None
    ca: str | None = None

    def __str__(self) -> str:
        scheme = "https" if self.is_tls else "http"
        return self.socket or f"{scheme}://{self.host}:{self.port}{self.prefix}"


def find_home(chosen: str | Path | None = None) -> Home:
    """The home that was chosen, that the environment names, or the default of the platform."""
    folder = chosen or os.environ.get(HOME)
    path = Path(folder).expanduser() if folder else _default()
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is not a folder; choose a folder for the daemon's home")
    return Home(path.absolute())


def find_daemon(url: str | None = None, ca: str | Path | None = None, token: str | None = None) -> Address:
    """The daemon at a URL, or that of the home folder."""
    if token is not None and url is None:
        raise InvalidInput("token= is for a daemon at an http:// or https:// address; the socket needs none")
    if ca is not None and (url is None or not url.startswith("https://")):
        raise InvalidInput("ca= is for a daemon at an https:// address; others show no certificate")
    if url is None:
        home = find_home()
        return Address(socket=str(home.socket), lock=str(home.lock))
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError as error:
        raise InvalidInput(f"{limits.shown(url)} is not the address of a daemon: {error}") from None
    if not parts.hostname or parts.username or parts.query or parts.fragment:
        raise InvalidInput(f"{limits.shown(url)} is not the address of a daemon: write http://HOST:PORT")
    is_tls = parts.scheme == "https"
    if not is_tls:
        _refuse_in_the_clear(url, parts.hostname)
    trusted = _trusted(ca) if is_tls else None
    if token is not None:
        check_token(token)
    token = token or os.environ.get(TOKEN) or None
    prefix = parts.path.rstrip("/")
    return Address(host=parts.hostname, port=port, token=token, is_tls=is_tls, prefix=prefix, ca=trusted)


def _refuse_in_the_clear(url: str, host: str) -> None:
    from holdfast.core.webhooks.addresses import is_loopback

    if not is_loopback(host):
        raise InvalidInput(
            f"{limits.shown(url)} would send the token over the network for all to read: use https://, or "
            "http:// with an address of this machine, such as 127.0.0.1"
        )


def _trusted(ca: str | Path | None) -> str | None:
    """The file with the certificates to trust, if one is named. It must be there when the program starts."""
    chosen = ca if ca is not None else os.environ.get(CA)
    if not chosen:
        return None
    from holdfast.wire.tls import client_context

    try:
        path = str(Path(chosen).expanduser().absolute())
        client_context(path)
    except (OSError, TypeError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{said}; give a PEM file with certificates as ca= or {CA}") from None
    return path


def check_token(token: object) -> None:
    """Refuse what cannot be a token. The message does not show it."""
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise InvalidInput(
            "token= is no token: give the text that `holdfast access add` has shown, or that of the home"
        )


def _default() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "holdfast"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "holdfast"
