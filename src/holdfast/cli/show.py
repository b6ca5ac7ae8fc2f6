"""`holdfast show`: one job with everything that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.failing import say
from holdfast.cli.jobs_shown import detail, numbered, progress, retried_as, triggered, what
from holdfast.cli.options import HomeOption, JobArgument, JsonOption, client
from holdfast.cli.output import DIM, YELLOW, Coloured, put, show_fields, show_json, show_table, state_text
from holdfast.cli.times import length, local, when
from holdfast.cli.words import Option
from holdfast.core.job import Done, Failed, Job
from holdfast.core.run import Run
from holdfast.store.scripts.conditions import Condition, ConditionKind

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.store.scripts.changed_files import ChangedFiles
    from holdfast.store.scripts.retry import Retried


def show(
    job: JobArgument,
    files: Annotated[bool, Option("--files", help="Only the files that a job of a watch is about.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Show one job with its runs.

    What looks secret in its payload is hidden, but not with --json.

    \b
    Examples:
      holdfast show 42
      holdfast show 42 --json
      holdfast show 42 --files
    """
    hf = client(home)
    handle = hf.job(job)
    if files:
        _show_files(handle.changed_files(), json)
        return
    found, runs = handle.job, handle.runs
    if json:
        show_json({"job": found, "runs": runs, "conditions": handle.conditions(), "retries": handle.retries()})
        return
    if job.isdigit() and int(job) != found.number:
        put(f"job {job} was continued by a retry:")
    show_fields(_fields(hf, found, runs, handle.retries()))
    waited = handle.conditions()
    if waited:
        put()
        show_table(["condition", "", "came true"], [_condition(hf, condition) for condition in waited])
    if runs:
        put()
        show_table(
            ["run", "status", "started", "took", "triggered by", "error"],
            [_row(hf, run, number) for number, run in enumerate(runs, 1)],
        )
        if isinstance(found.state, Failed) and runs[-1].traceback:
            from holdfast.observe.redact import redacted_text

            put()
            for line in redacted_text(runs[-1].traceback).splitlines():
                put(Coloured(line, DIM))


def _show_files(found: ChangedFiles, json: bool) -> None:
    if json:
        show_json(found)
        return
    for file in found:
        put(f"{file.change:8}  {file.path}")
    if found.truncated:
        say(f"holdfast: these are the first {len(found)} of {found.total}; the others were not kept")
    elif not found.files:
        say("no files: only jobs that a watch of a folder made are about some")


def _fields(hf: Client, job: Job, runs: list[Run], retries: list[Retried]) -> list[tuple[str, str | None]]:
    from holdfast.observe.redact import redacted_json, redacted_text

    state = state_text(job.state.name)
    said = numbered(detail(job), hf)
    done = job.state.result_summary if isinstance(job.state, Done) else None
    policy = job.policy
    used = min(job.tries.transient, policy.retries)  # The last failure, too, is a try that failed.
    return [
        ("job", f"{job.number} ({job.id})"),
        ("state", Coloured(f"{state}  {redacted_text(said)}" if said else str(state), state.colour)),
        ("task", job.task),
        ("command", what(job) if what(job) != job.task else None),
        ("payload", redacted_json(job.payload) if job.payload not in (None, "{}") else None),
        ("queue", job.queue),
        ("priority", str(job.priority) if job.priority else None),
        ("created", when(job.created_at)),
        ("progress", progress(job)),
        ("result", redacted_json(done) if done and done != "null" else None),
        ("subject", job.subject and f"{job.subject}, generation {job.generation}"),
        ("tag", job.tag),
        ("group", job.group_id),
        ("tenant", job.tenant if job.tenant != "default" else None),
        ("tokens", str(job.tokens) if job.tokens else None),
        ("machine", f"{job.node} alone" if job.node else None),
        ("ran on", ", ".join(dict.fromkeys(run.node for run in runs if run.node)) or None),
        ("retries", f"{policy.retries} at most, {used} used" if policy.retries else None),
        ("timeout", length(job.timeout_ms)),
        ("ttl", length(job.ttl_ms)),
        ("deadline", when(job.deadline)),
        ("retry of", (old := job.retried_from or job.retry_of) and f"job {numbered(old, hf)}"),
        ("retried as", retried_as(retries)),
        ("child of", job.parent_job_id and f"job {numbered(job.parent_job_id, hf)}"),
        ("trigger", triggered(job.trigger, hf)),
        ("artifacts", _artifacts(runs)),
        ("trace", job.trace_id),
    ]


def _artifacts(runs: list[Run]) -> str | None:
    import msgspec

    named = [run.artifacts for run in runs if run.artifacts]
    if not named:
        return None
    return ", ".join(f"{item['name']} ({item['size']} bytes)" for item in msgspec.json.decode(named[-1]))


def _condition(hf: Client, condition: Condition) -> list[str]:
    match condition.kind:
        case ConditionKind.TIME:
            what = local(condition.at)
        case ConditionKind.EVENT:
            wanted = "".join(f" {name}={value}" for name, value in sorted(condition.attributes.items()))
            what = f"{condition.event}{wanted}"
        case ConditionKind.IDLE | ConditionKind.CHARGING:
            what = "the machine"
        case _:
            what = f"job {numbered(condition.job_id or '', hf)}"
    if not condition.is_met:
        return [condition.kind, what, Coloured("not yet", YELLOW)]
    by = f"by event {condition.event_name or ''} {condition.event_id}" if condition.event_id else ""
    return [condition.kind, what, f"{local(condition.met_at) or 'yes'} {by}".rstrip()]


def _row(hf: Client, run: Run, number: int) -> list[str]:
    from holdfast.observe.redact import redacted_text

    error = run.error or (f"exit code {run.exit_code}" if run.exit_code else "")
    took = length(run.duration_ms)
    status = state_text(run.status or "RUNNING")
    return [str(number), status, local(run.started_at), took, triggered(run.trigger, hf), redacted_text(error)]
