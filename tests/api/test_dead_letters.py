"""Dead letters over HTTP."""

from __future__ import annotations

import json

from tests.api.acts import ask, open_worker
from tests.api.caller import Caller


def fail_some(caller: Caller, *messages: str) -> str:
    """Jobs that fail with these messages; the fingerprint of the last one."""
    request = open_worker(caller, "default")
    for message in messages:
        caller.enqueue()
        [run] = caller.post("/v1/exchange", ask(request)).json["claimed"]
        failure = {"kind": "permanent", "code": "ERR_X", "message": message}
        outcome = {"type": "Broke", "failure": failure}
        report = {"run_id": run["run_id"], "job_id": run["job_id"], "duration_ms": 1, "outcome": outcome}
        assert caller.post("/v1/reports", {"reports": [report]}).json[0]["state"] == "FAILED"
    return str(caller.get("/v1/dead-letters").json["letters"][0]["fingerprint"])


def test_letters_are_listed_retried_and_discarded(caller: Caller) -> None:
    fingerprint = fail_some(caller, "line 1", "line 2", "line 3")
    path = f"/v1/dead-letters/{fingerprint}"
    page = caller.get(f"{path}?limit=2").json
    assert (page["letters"]["jobs"], page["letters"]["pattern"], len(page["jobs"])) == (3, "line <*>", 2)
    again = caller.post(f"{path}/retry", {"limit": 1}).json
    assert again == {"jobs": 1, "outdated": 0, "more": True, "upto": 3}
    gone = caller.post(f"{path}/discard", {"reason": "known", "upto": again["upto"]}).json
    assert (gone["jobs"], gone["more"]) == (2, False)
    letter = caller.get("/v1/jobs/2/letter").json
    assert (letter["closed_as"], letter["reason"]) == ("discarded", "known")
    assert json.loads(letter["closed_by"])["kind"] == "call"
    assert caller.get("/v1/dead-letters").json == {"letters": [], "cursor": None}


def test_what_is_not_there_and_what_cannot_be_is_told(caller: Caller) -> None:
    for action in ("retry", "discard"):
        assert caller.post(f"/v1/dead-letters/f0123456789ab/{action}").code == "ERR_NOT_FOUND"
    assert caller.get("/v1/dead-letters/f0123456789ab").code == "ERR_NOT_FOUND"
    assert caller.get("/v1/dead-letters/nonsense").status == 400
    assert caller.get("/v1/dead-letters?cursor=nonsense").status == 400
    caller.enqueue()
    assert caller.get("/v1/jobs/1/letter").code == "ERR_NOT_FOUND"
