"""HTTP: routes made from the table of calls, who may call, streams, problem details, the description."""

import sys

if "uvicorn" not in sys.modules and "watchfiles" not in sys.modules:
    # uvicorn would load it at once, for reloading code that changed. Here only who watches something needs it.
    sys.modules["watchfiles"] = None  # type: ignore[assignment]
    try:
        import uvicorn as uvicorn
    finally:
        del sys.modules["watchfiles"]
