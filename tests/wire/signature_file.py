"""Writes down the signatures of all scripts that have a call: `python -m tests.wire.signature_file`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from holdfast.core.declared.option_fields import WITH_FILTERS
from holdfast.core.declared.options import FILTERS
from holdfast.store.engine import is_urgent
from holdfast.store.script_names import full_name
from holdfast.wire import signatures
from holdfast.wire.calls import CALLS, ApiCall

FILE = Path(signatures.__file__)
HEAD = '''"""The signatures of all scripts that have a call. Written by `python -m tests.wire.signature_file`.

A program that asks a daemon reads them here instead of importing the scripts.
"""

# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from holdfast.wire.signature import Signature

SIGNATURES: dict[str, Signature] = {
'''


def text() -> str:
    """What the file has to say."""
    lines = (f'    "{full_name(call.script)}": {_signature(call)},\n' for call in CALLS)
    return HEAD + "".join(sorted(lines)) + "}\n"


def _signature(call: ApiCall) -> str:
    _, *names = inspect.signature(call.function).parameters
    has_filters = call.function in WITH_FILTERS
    if has_filters:
        names = names[: -len(FILTERS)]
    returns = _named(get_type_hints(call.function)["return"])
    urgent = ", is_urgent=True" if is_urgent(call.script) else ""
    filters = ", has_filters=True" if has_filters else ""
    return f'Signature("{" ".join(names)}", "{returns}"{urgent}{filters})'


def _named(kind: Any) -> str:
    if kind is type(None):
        return "None"
    if get_origin(kind) is list:
        [of] = get_args(kind)
        return f"list[{_named(of)}]"
    assert isinstance(kind, type), f"{kind} is neither a class nor a list of one; teach this file and kind_of about it"
    assert not kind.__module__.startswith("holdfast.store"), f"{kind} is an answer, so it belongs to holdfast.core"
    return f"{kind.__module__}.{kind.__qualname__}"


if __name__ == "__main__":
    FILE.write_text(text())
