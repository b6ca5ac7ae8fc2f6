"""Finds a new setting of a watch from outside: run with a copy of the package that has the setting `brushes`."""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from holdfast import Holdfast, InvalidInput
from holdfast.api.description import describe
from holdfast.daemon.settings.sample import sample
from holdfast.store.scripts.watches.watches import watches_of_node
from holdfast.wire.calls import CALLS

hf = Holdfast(Path(sys.argv[1]) / "work.db")
found: dict[str, object] = {}


def refusal(**settings: object) -> str:
    """What is said of settings that do not fit."""
    try:
        hf.add_watch("/no/wall", replace=True, **settings)
    except InvalidInput as error:
        return str(error)
    raise AssertionError(f"{settings} was taken")


found["usual"] = hf.add_watch("/no/roof").brushes
found["set"] = hf.add_watch("/no/wall", brushes=("wide", "soft")).brushes
found["told anew"] = hf.add_watch("/no/wall", brushes=["flat"], replace=True).brushes
found["awaited"] = asyncio.run(hf.aadd_watch("/no/wall", brushes=["fan"], replace=True)).brushes
engine = hf._access.engine
found["at work"] = next(row.told.brushes for row in engine.query(watches_of_node, engine.node) if row.name == "wall")
found["refused"] = refusal(brushes=[""])
found["used"] = refusal(brushes=["broom"])

schemas = describe(CALLS)["components"]["schemas"]
found["shapes"] = sorted(name for name, shape in schemas.items() if "brushes" in shape.get("properties", {}))
rule = schemas["NewWatch"]["properties"]["brushes"]
found["rule"] = [rule.get("maxItems"), rule["items"].get("maxLength")]
found["sample"] = "brushes = [" in sample()
hf.close()
print(json.dumps(found))
