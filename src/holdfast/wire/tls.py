"""The certificates that a client of a daemon trusts. Imported late: most clients use the socket."""

from __future__ import annotations

import ssl


def client_context(ca: str | None) -> ssl.SSLContext:
    """TLS that trusts the certificates of a file, or of the system. Made for each connection, as the file may change.

    An OSError names the file if it cannot be used.
    """
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:
        said = error.strerror or error
        raise OSError(error.errno, f"the file of trusted certificates {ca} cannot be used: {said}") from error
