"""Finds a new setting of a queue from outside: run with a copy of the package that has the setting `coats`."""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from holdfast import Holdfast, InvalidInput
from holdfast.api.description import describe
from holdfast.daemon.settings.sample import sample
from holdfast.wire.calls import CALLS

hf = Holdfast(Path(sys.argv[1]) / "work.db")
found: dict[str, object] = {}


def refusal(**settings: object) -> str:
    """What is said of settings that do not fit."""
    try:
        hf.set_queue("mail", **settings)
    except InvalidInput as error:
        return str(error)
    raise AssertionError(f"{settings} was taken")


found["usual"] = hf.queue("mail").coats
found["set"] = hf.set_queue("mail", coats=3).coats
kept = hf.set_queue("mail", limit=5)
found["kept"] = [kept.coats, kept.concurrency]
found["awaited"] = asyncio.run(hf.aset_queue("mail", coats=4)).coats
found["cleared"] = hf.set_queue("mail", clear="coats").coats
[line] = hf.stats().queues
found["in stats"] = line.coats
found["refused"] = refusal(coats=0)
found["used"] = refusal(coats=9)
found["both"] = refusal(coats=2, clear="coats")

schemas = describe(CALLS)["components"]["schemas"]
found["shapes"] = sorted(name for name, shape in schemas.items() if "coats" in shape.get("properties", {}))
rule = schemas["QueueChanges"]["properties"]["coats"]["anyOf"][0]
found["rule"] = [rule.get("minimum"), rule.get("maximum")]
found["can be cleared"] = "coats" in schemas["QueueSetting"]["enum"]
found["sample"] = "coats = 2" in sample()
hf.close()
print(json.dumps(found))
