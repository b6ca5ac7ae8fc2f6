"""Watches over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.api.caller import Caller, new_id


def rule(**fields: Any) -> dict[str, Any]:
    return {"watch": {"id": new_id(), "name": "src", "path": "/no/such/folder", "task": "index"} | fields}


def test_a_watch_lives_by_its_name(caller: Caller) -> None:
    made = caller.post("/v1/watches", rule(payload={"file": "{path}"}, globs=["*.py"]))
    assert (made.status, made.json["payload"], made.json["globs"]) == (201, '{"file": "{path}"}', ["*.py"])
    assert caller.get("/v1/watches").json == [made.json]
    assert caller.get(f"/v1/watches/{made.json['id']}").json == made.json
    assert caller.post("/v1/watches/src/pause").json["enabled"] is False
    assert caller.post("/v1/watches/src/resume").json["enabled"] is True
    assert caller.post("/v1/watches", rule()).status == 409
    assert caller.post("/v1/watches", rule(task="other") | {"replace": True}).json["task"] == "other"
    assert caller.send("DELETE", "/v1/watches/src", None, {}).status == 200
    assert caller.get("/v1/watches/src").code == "ERR_NOT_FOUND"


def test_a_rule_that_does_not_fit_is_refused_with_the_reason(caller: Caller) -> None:
    for fields, says in (
        ({"path": "src"}, "an absolute path"),
        ({"path": "/a/../b"}, ". and .."),
        ({"kind": "tree"}, "kind"),
        ({"globs": ["../x"]}, "glob"),
        ({"payload": [1]}, "JSON object"),
        ({"subject": "{nobody}"}, "nobody"),
        ({"max_jobs": 0}, "max_jobs"),
    ):
        answer = caller.post("/v1/watches", rule(**fields))
        assert answer.status in (400, 422), answer
        assert says in answer.json["detail"], answer.json


def test_what_can_never_be_watched_on_this_machine_is_refused(caller: Caller, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for fields, says in (
        ({"path": f"{tmp_path}/file"}, "it is not a folder"),
        ({"path": str(tmp_path), "kind": "git"}, "is not a git repository"),
    ):
        answer = caller.post("/v1/watches", rule(**fields))
        assert (answer.status, says in answer.json["detail"]) == (400, True), answer
