"""Reads `holdfast.toml`. What does not fit is refused with its place, its value and what is allowed."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.watching.new_watch import NewWatch
from holdfast.core.webhooks import addresses
from holdfast.daemon.settings import queue_tables, watch_tables
from holdfast.daemon.settings.settings import Settings, described
from holdfast.wire.home import Home

CONFIG = "HOLDFAST_CONFIG"
STORE = "HOLDFAST_STORE"


def find_file(home: Home, chosen: Path | None = None) -> Path | None:
    """The file with the settings: the one that was chosen, or the one in the home folder, if there is one."""
    named = chosen or os.environ.get(CONFIG)
    if named:
        return Path(named).absolute()
    return home.settings if home.settings.exists() else None


def load(file: Path | None = None, options: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a file, if there is one, and above them the options of a command, such as `{"api.port": 80}`.

    `HOLDFAST_STORE` comes between the two, so that a password is seen neither in the file nor in a list of processes.
    InvalidInput names what is wrong, where it is, and what is allowed. An option that is None was not given.
    """
    folder = Path.cwd() if file is None else file.parent.absolute()
    given = {} if file is None else _read(file)
    watch_tables.watches_of(given.pop("watch", []), file, folder)
    queue_tables.queues_of(given.pop("queues", {}), file)
    _refuse_unknown(given, [*_kinds(Settings), "queues", "watch"], f"{file}: [", "]", "the sections are")
    sections: dict[str, Any] = {}
    for name, kind in _kinds(Settings).items():
        values = given.get(name, {})
        if not isinstance(values, dict):
            raise InvalidInput(
                f"{file}: {name} = {limits.shown(values)} is not valid: [{name}] is a section with settings"
            )
        read = {key: _value(kind, f"{file}: {name}.", key, value, name) for key, value in values.items()}
        sections[name] = kind(**_rooted(read, folder))
    from_environment = {"daemon.store": os.environ.get(STORE) or None}
    return check(_with_options(_with_options(Settings(**sections), from_environment), options or {}))


def load_watches(file: Path | None) -> list[NewWatch]:
    """The watches of a file."""
    if file is None:
        return []
    return watch_tables.watches_of(_read(file).get("watch", []), file, file.parent.absolute())


def load_queues(file: Path | None) -> dict[str, QueueChanges]:
    """What a file sets for queues."""
    return {} if file is None else queue_tables.queues_of(_read(file).get("queues", {}), file)


def check(settings: Settings) -> Settings:
    """Refuse settings that do not go together."""
    api = settings.api
    if (api.tls_cert is None) != (api.tls_key is None):
        raise InvalidInput("api.tls_cert and api.tls_key go together: set both, or neither")
    for name, path in (("tls_cert", api.tls_cert), ("tls_key", api.tls_key)):
        if path is not None and not os.access(path, os.R_OK):
            raise InvalidInput(f"api.{name} = {limits.shown(path)} cannot be read; give the path of a PEM file")
    if api.tls_cert is not None and api.tls_key is not None:
        _check_certificate(api.tls_cert, api.tls_key)
    if not addresses.is_loopback(api.host):
        if not api.allow_remote:
            raise InvalidInput(
                f"api.host = {limits.shown(api.host)} can be reached from other machines: set "
                'api.allow_remote = true if that is what you want, or use "127.0.0.1"'
            )
        if api.tls_cert is None and not api.behind_proxy:
            raise InvalidInput(
                f"api.host = {limits.shown(api.host)} would send the token over the network for all to read: "
                "set api.tls_cert and api.tls_key, or api.behind_proxy = true if a proxy in front brings TLS"
            )
    if settings.runs.log_segment > settings.runs.log_bytes:
        raise InvalidInput(
            f"runs.log_segment = {settings.runs.log_segment} is more than runs.log_bytes = {settings.runs.log_bytes}: "
            "a part cannot be larger than the whole"
        )
    return settings


def _check_certificate(certificate: str, key: str) -> None:
    from holdfast.daemon.certificate import server_context  # Imported late: most daemons use no TLS.

    try:
        server_context(certificate, key)
    except OSError as error:
        raise InvalidInput(
            f"api.tls_cert = {limits.shown(certificate)} and api.tls_key = {limits.shown(key)} cannot be used "
            f"({error}): give a certificate and its key as PEM files, the key without a password"
        ) from None


def _kinds(kind: type[Struct]) -> dict[str, type[Struct]]:
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"the settings {file} cannot be read ({error.strerror})") from None
    except RecursionError:
        raise InvalidInput(f"the settings {file} cannot be read: they are nested too deeply") from None
    except ValueError as error:
        raise InvalidInput(f"the settings {file} are not TOML: {error}") from None


def _with_options(settings: Settings, options: Mapping[str, Any]) -> Settings:
    for name, value in options.items():
        if value is None:
            continue
        section, _, key = name.partition(".")
        old = getattr(settings, section)
        new = msgspec.structs.replace(old, **{key: _value(type(old), "--", key, value, section)})
        settings = msgspec.structs.replace(settings, **{section: new})
    return settings


def _value(kind: type[Struct], where: str, key: str, value: Any, section: str) -> Any:
    known = described(kind)
    _refuse_unknown([key], known, where, "", f"[{section}] has")
    return known[key].kind.read(f"{where}{key} =", value)


def _refuse_unknown(given: Iterable[str], known: Iterable[str], before: str, after: str, those: str) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {close[0]}? " if close else ""
            raise InvalidInput(f"{before}{name}{after} is not known: {hint}{those} {', '.join(names)}")


def _rooted(values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Paths in a file are relative to its folder."""
    for key in ("tls_cert", "tls_key", "folder"):
        if key in values:
            values[key] = str(folder / Path(values[key]).expanduser())
    if "archive" in values and "://" not in values["archive"]:
        values["archive"] = str(folder / Path(values["archive"]).expanduser())
    if "apps" in values:
        values["apps"] = tuple(
            str(folder / app) if app.partition(":")[0].endswith(".py") else app for app in values["apps"]
        )
    if "store" in values and "://" not in values["store"]:
        values["store"] = str(folder / values["store"])
    return values
