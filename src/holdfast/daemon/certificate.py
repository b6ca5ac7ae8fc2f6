"""The certificate of the daemon. A renewed one is used without a restart."""

from __future__ import annotations

import logging
import os
import ssl

log = logging.getLogger("holdfast.daemon")


class Certificate:
    """A pair of PEM files, and the TLS context that is made of them."""

    def __init__(self, certificate: str, key: str) -> None:
        self._files = (certificate, key)
        self._seen = self._stamp()
        self._context = server_context(*self._files)

    def current(self) -> ssl.SSLContext:
        """The context for the next connection. New files that do not fit together change nothing."""
        seen = self._stamp()
        if seen != self._seen:
            self._seen = seen
            try:
                self._context = server_context(*self._files)
            except OSError as error:
                extra = {"event": "certificate_refused"}
                log.warning("the new certificate cannot be used (%s); the one from before stays", error, extra=extra)
            else:
                log.info("the new certificate is used from now on", extra={"event": "certificate_renewed"})
        return self._context

    def _stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in self._files)


def server_context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS with this certificate. OSError says why it cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # Otherwise the system would ask for the password of a key on the terminal.
    context.load_cert_chain(certificate, key, password=lambda: "")
    return context


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
