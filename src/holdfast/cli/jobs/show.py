"""`holdfast show`: one job with everything that is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from holdfast.cli.frame import jobs_shown, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import JobArgument
from holdfast.cli.frame.options_shown import option_lines
from holdfast.cli.frame.output import DIM, YELLOW, Coloured, Fields, Output
from holdfast.cli.frame.words import Option
from holdfast.core.errors import NotFound
from holdfast.core.job import Done, Failed, ScheduleType
from holdfast.core.jobs.run import Run
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.conditions import Condition, ConditionKind

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.messages.jobs import Retried
    from holdfast.core.messages.watches import ChangedFiles


class JobReport(Struct, frozen=True):
    """All that is known of a job."""

    job: Job
    runs: list[Run]
    conditions: list[Condition]
    retries: list[Retried]


def show(
    job: JobArgument,
    files: Annotated[bool, Option("--files", help="Only the files that a job of a watch is about.")] = False,
) -> Output:
    """Show one job with its runs.

    What looks secret in its payload and its variables is hidden, but not with --json.

    \b
    Examples:
      holdfast show 42
      holdfast show 42 --json
      holdfast show 42 --files
    """
    hf = client()
    handle = hf.job(job)
    if files:
        changed = handle.changed_files()
        return Output(changed, lambda: _show_files(changed))
    found = JobReport(handle.job, handle.runs, handle.conditions(), handle.retries())
    return Output(found, lambda: _show(hf, job, found))


def _show(hf: Client, asked: str, found: JobReport) -> None:
    job, runs = found.job, found.runs
    if asked.isdigit() and int(asked) != job.number:
        output.put(f"job {asked} was continued by a retry:")
    output.show_fields(_fields(hf, job, runs, found.retries))
    if found.conditions:
        output.put()
        output.show_table(["condition", "", "came true"], [_condition(hf, condition) for condition in found.conditions])
    if runs:
        output.put()
        output.show_table(
            ["run", "status", "started", "took", "triggered by", "error"],
            [_row(hf, run, number) for number, run in enumerate(runs, 1)],
        )
        if isinstance(job.state, Failed) and runs[-1].traceback:
            from holdfast.observe.redact import redacted_text

            output.put()
            for line in redacted_text(runs[-1].traceback).splitlines():
                output.put(Coloured(line, DIM))


def _show_files(found: ChangedFiles) -> None:
    for file in found:
        output.put(f"{file.change:8}  {file.path}")
    if found.truncated:
        say(f"holdfast: these are the first {len(found)} of {found.total}; the others were not kept")
    elif not found.files:
        say("no files: only jobs that a watch of a folder made are about some")


def _fields(hf: Client, job: Job, runs: list[Run], retries: list[Retried]) -> Fields:
    from holdfast.observe.redact import redacted_json, redacted_text

    state = output.state_text(job.state.name)
    said = jobs_shown.numbered(jobs_shown.detail(job), hf)
    done = job.state.result_summary if isinstance(job.state, Done) else None
    return [
        ("job", f"{job.number} ({job.id})"),
        ("state", Coloured(f"{state}  {redacted_text(said)}" if said else str(state), state.colour)),
        ("task", job.task),
        ("command", jobs_shown.what(job) if jobs_shown.what(job) != job.task else None),
        ("payload", redacted_json(job.payload) if job.payload not in (None, "{}") else None),
        *option_lines(job),
        ("starts", _STARTS[job.schedule_type]),
        ("created", times.when(job.created_at)),
        ("progress", jobs_shown.progress(job)),
        ("result", redacted_json(done) if done and done != "null" else None),
        ("ran on", ", ".join(dict.fromkeys(run.node for run in runs if run.node)) or None),
        ("retry of", (old := job.retried_from or job.retry_of) and f"job {jobs_shown.numbered(old, hf)}"),
        ("retried as", jobs_shown.retried_as(retries)),
        ("child of", job.parent_job_id and f"job {jobs_shown.numbered(job.parent_job_id, hf)}"),
        ("trigger", jobs_shown.triggered(job.trigger, hf)),
        ("template", _template(runs[-1].template_id if runs else job.template_id)),
        ("log", job.log_path),
        ("artifacts", _artifacts(runs)),
        ("in folder", job.artifact_path),
    ]


_STARTS = {
    ScheduleType.IMMEDIATE: "at once",
    ScheduleType.AFTER: "after a delay",
    ScheduleType.AT: "at a moment",
    ScheduleType.CONDITION: "on a condition",
}


def _template(template_id: str | None) -> str | None:
    """The name of the template of the last run. Its id, if it is not known any more."""
    if template_id is None:
        return None
    from holdfast.cli.frame.schedule_client import ScheduleClient

    try:
        return ScheduleClient().template(template_id).name
    except NotFound:
        return template_id


def _artifacts(runs: list[Run]) -> str | None:
    import msgspec

    named = [run.artifacts for run in runs if run.artifacts]
    if not named:
        return None
    items = msgspec.json.decode(named[-1])
    listed = ", ".join(f"{item['name']} ({item['size']} bytes)" for item in items)
    return f"{listed}, and more" if any(item.get("more") for item in items) else listed


def _condition(hf: Client, condition: Condition) -> list[str]:
    match condition.kind:
        case ConditionKind.TIME:
            what = times.local(condition.at)
        case ConditionKind.EVENT:
            wanted = "".join(f" {name}={value}" for name, value in sorted(condition.attributes.items()))
            what = f"{condition.event}{wanted}"
        case ConditionKind.IDLE | ConditionKind.CHARGING:
            what = "the machine"
        case _:
            what = f"job {jobs_shown.numbered(condition.job_id or '', hf)}"
    if not condition.is_met:
        return [condition.kind, what, Coloured("not yet", YELLOW)]
    by = f"by event {condition.event_name or ''} {condition.event_id}" if condition.event_id else ""
    return [condition.kind, what, f"{times.local(condition.met_at) or 'yes'} {by}".rstrip()]


def _row(hf: Client, run: Run, number: int) -> list[str]:
    from holdfast.observe.redact import redacted_text

    error = run.error or (f"exit code {run.exit_code}" if run.exit_code else "")
    took = times.length(run.duration_ms)
    status = output.state_text(run.status or "RUNNING")
    return [
        str(number),
        status,
        times.local(run.started_at),
        took,
        jobs_shown.triggered(run.trigger, hf),
        redacted_text(error),
    ]
