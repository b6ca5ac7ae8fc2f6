"""HTTP: routes made from the table of calls, access, streams, problem details, the description."""

import sys

if "uvicorn" not in sys.modules and "watchfiles" not in sys.modules:
    # uvicorn would import it, to reload changed code. Here only the watcher needs it.
    sys.modules["watchfiles"] = None  # type: ignore[assignment]
    try:
        import uvicorn as uvicorn
    finally:
        del sys.modules["watchfiles"]
