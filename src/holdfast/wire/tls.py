"""Whom a client of a daemon trusts. Imported late: most clients use the socket, and ssl is slow to load."""

from __future__ import annotations

import ssl


def client_context(ca: str | None) -> ssl.SSLContext:
    """TLS that trusts the certificates of a file, or the system's. Made for each connection: the file may be renewed.

    An OSError names the file if it cannot be used.
    """
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        said = error.strerror or error
        raise OSError(error.errno, f"the file of trusted certificates {ca} cannot be used: {said}") from error
