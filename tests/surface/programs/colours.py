"""Finds a new option from outside: run with a copy of the package that has the option `colour`."""

# mypy: ignore-errors

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

from holdfast import Holdfast, InvalidInput, Permanent, Retry
from holdfast.api.description import describe
from holdfast.core.job import TERMINAL
from holdfast.core.jobs.requests import ClaimRequest, QueueSlots
from holdfast.core.messages.sessions import NewSession
from holdfast.core.settings.watch_settings import options_of_jobs
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.testing import ManualClock
from holdfast.wire.calls import CALLS

folder = Path(sys.argv[1])
clock = ManualClock()
hf = Holdfast(folder / "work.db", clock=clock)
found: dict[str, object] = {}


@hf.task(colour="blue")
def plain() -> None: ...


@hf.task(colour="red", retry=Retry(1, mode="chain", initial=1))
def chained() -> None:
    raise RuntimeError("not this time")


@hf.task(colour="green", retry=Retry(1, initial=1))
def requeued() -> None:
    raise RuntimeError("not this time")


@hf.task
def failing() -> None:
    raise Permanent("never")


def run() -> None:
    """Let everything run that is ready or becomes ready."""
    while hf.drain() or any(job.state.name not in TERMINAL for job in hf.jobs(limit=100).jobs):
        clock.advance(10)


found["task"] = plain.enqueue().job.colour
found["call"] = plain.options(colour="pink").enqueue().job.colour
found["by name"] = hf.enqueue("plain", {}, colour="grey").job.colour
hf.create_template("kept", "plain", colour="gold")
found["template"] = hf.enqueue_template("kept").job.colour
found["override"] = hf.enqueue_template("kept", colour="lime").job.colour
hf.create_schedule("ticking", cron="* * * * *", template="kept", colour="teal")
found["schedule"] = hf.schedule("ticking").run_now().job.colour
hf.schedule("ticking").pause()

link, same = chained.enqueue(), requeued.enqueue()
run()
found["chain"] = [job.colour for job in hf.jobs(task="chained").jobs]
found["requeue"] = [len(same.runs), same.job.colour]
found["by hand"] = same.retry().job.colour
group = hf.group(failing.options(colour="black").call(), failing.call())
run()
found["in group"] = [handle.job.colour for handle in group.retry()]
run()

found["filter"] = sorted(job.task for job in hf.jobs(colour="green").jobs)
found["bulk"] = hf.bulk("retry", colour="green", dry_run=True).jobs
hf.set_queue("painted", colour="olive")
found["queue"] = [hf.queue("painted").colour, failing.options(queue="painted").enqueue().job.colour]
watch = hf.add_watch("/no/fence", task="paint", colour="navy")
found["watch"] = [watch.colour, options_of_jobs(watch)["colour"]]

usual, outside = plain.enqueue(), plain.options(surface="subprocess").enqueue()
listed = [job.surface for job in hf.jobs(surface="subprocess").jobs]
found["stored otherwise"] = [usual.job.surface, outside.job.surface, listed]
with sqlite3.connect(folder / "work.db") as database:
    database.execute("UPDATE jobs SET surface = NULL WHERE id = ?", (usual.id,))
database.close()
found["older row"] = usual.job.surface
plain.options(queue="claimed").enqueue()
hf._access.write(open_session, NewSession("s", "embedded", "node", "boot", 1, None), None, hf._access.now())
request = ClaimRequest(session_id="s", slots=1, queues=(QueueSlots("claimed", 1),), tasks=("plain",))
found["told"] = [run.colour for run in hf._access.write(claim, request, hf._access.now())]
try:
    plain.options(colour="").enqueue()
except InvalidInput as error:
    found["refused"] = str(error)
try:
    plain.options(colour="invisible").enqueue()
except InvalidInput as error:
    found["used"] = str(error)

description = describe(CALLS)
schemas = description["components"]["schemas"]
found["shapes"] = sorted(
    name for name, shape in schemas.items() if "colour" in shape.get("properties", {}) and not name.startswith("Given")
)
found["rule"] = schemas["NewJob"]["properties"]["colour"]["anyOf"][0].get("maxLength")
found["query"] = "colour" in [parameter["name"] for parameter in description["paths"]["/v1/jobs"]["get"]["parameters"]]
hf.close()
print(json.dumps(found))
