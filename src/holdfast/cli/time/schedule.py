"""`holdfast schedule`: jobs that are made by the clock."""

from __future__ import annotations

from typing import Annotated, Any

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import schedule_client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.options import ReasonOption, RenameOption, YesOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import Anyway
from holdfast.cli.time import template_options
from holdfast.cli.time.template_options import CommandWords, NameWord, OfSchedule, PayloadWord, TaskWord, WaitWord
from holdfast.core.errors import InvalidInput
from holdfast.core.rules.pairs import OF_TEMPLATES

ScheduleArgument = Annotated[
    str, Argument("SCHEDULE", help="A schedule's name or id.", complete=completion.named_schedules)
]
CronWord = Annotated[
    str | None,
    Option(
        "--cron",
        metavar="CRON",
        field="cron",
        help="When: minute, hour, day, month, weekday and, if wanted, second; or @daily.",
    ),
]
ZoneWord = Annotated[
    str | None,
    Option(
        "--tz",
        metavar="ZONE",
        field="timezone",
        help="The time zone, such as Europe/Berlin; UTC at first.",
        complete=completion.time_zones,
    ),
]
TemplateWord = Annotated[
    str | None,
    Option("--template", metavar="NAME", help="The template to make jobs from.", complete=completion.named_templates),
]
MisfireWord = Annotated[
    str | None, Option("--misfire", metavar="WORD", help="Ticks that nobody was there for: latest, skip or all.")
]
OverlapWord = Annotated[
    str | None,
    Option("--overlap", metavar="WORD", help="A tick while an earlier job runs or waits: skip, allow or supersede."),
]
JitterWord = Annotated[
    str | None, Option("--jitter", metavar="TIME", help="Let each job come up to this much later: 90s, 5m.")
]


def add(
    name: NameWord,
    command: CommandWords = None,
    cron: CronWord = None,
    tz: ZoneWord = None,
    template: TemplateWord = None,
    task: TaskWord = None,
    payload: PayloadWord = None,
    misfire: MisfireWord = None,
    overlap: OverlapWord = None,
    jitter: JitterWord = None,
    anyway: Anyway = False,
    **options: OfSchedule,
) -> Output:
    """Make jobs by the clock.

    They are made from a template, or of a task or a command, for which a template of the same name is made.

    \b
    Examples:
      holdfast schedule add nightly --cron "30 2 * * *" --tz Europe/Berlin --template clean
      holdfast schedule add hourly --cron "0 * * * *" --task index --payload '{"path": "/srv"}' --jitter 5m
      holdfast schedule add usage --cron "0 7 * * MON" --queue night -- sh -c 'du -s /home > usage.txt'
    """
    from holdfast.cli.time.schedule_shown import shown_schedule

    if cron is None:
        raise InvalidInput('say when, such as --cron "30 2 * * *" for half past two every night')
    called, arguments = template_options.what_to_run(task, payload, command)
    if (called is None) == (template is None):
        raise InvalidInput("say what its jobs are, by one of these: --template NAME, --task TASK, a command behind --")
    hf = schedule_client()
    timing = {"tz": tz, **_ticks(misfire, overlap), "jitter": times.seconds("jitter", jitter, "jitter_ms")}
    with job_options.known_tasks():
        made = hf.create_schedule(
            name,
            cron=cron,
            template=template,
            task=called,
            payload=arguments,
            must_exist=not anyway,
            **{word: value for word, value in timing.items() if value is not None},
            **job_options.read_options(
                hf, options, elsewhere=() if template is None else OF_TEMPLATES, template=template
            ),
        )
    return shown_schedule(made)


def _ticks(misfire: str | None, overlap: str | None) -> dict[str, Any]:
    """What happens to ticks that nobody was there for, and to those while an earlier job runs."""
    from holdfast.client.resources.schedule_handle import one_of
    from holdfast.core.schedules.schedule import Misfire, Overlap

    return {
        "misfire": None if misfire is None else one_of("--misfire", misfire, Misfire),
        "overlap": None if overlap is None else one_of("--overlap", overlap, Overlap),
    }


def list_() -> Output:
    """List the schedules.

    \b
    Examples:
      holdfast schedule ls
    """
    from holdfast.cli.time.schedule_shown import skipped, status

    found = schedule_client().schedules()
    rows = (
        [
            one.name,
            status(one),
            one.words,
            times.ago(one.next_fire),
            times.ago(one.last_triggered_at),
            str(one.fires),
            skipped(one),
        ]
        for one in found
    )
    head = ["name", "status", "when", "next", "last", "fired", "skipped"]
    return output.listed(found, head, rows, right=("fired", "skipped"))


def show(schedule: ScheduleArgument) -> Output:
    """Show a schedule: its next ticks, those it skipped and why, and its newest jobs.

    \b
    Examples:
      holdfast schedule show nightly
    """
    from holdfast.cli.time.schedule_shown import shown_schedule

    return shown_schedule(schedule_client().schedule(schedule))


def edit(
    schedule: ScheduleArgument,
    name: RenameOption = None,
    cron: CronWord = None,
    tz: ZoneWord = None,
    template: TemplateWord = None,
    payload: PayloadWord = None,
    misfire: MisfireWord = None,
    overlap: OverlapWord = None,
    jitter: JitterWord = None,
    **options: OfSchedule,
) -> Output:
    """Change a schedule. Jobs that exist keep what they have.

    Another time or time zone counts from now on.

    \b
    Examples:
      holdfast schedule edit nightly --cron "0 3 * * *" --overlap supersede
    """
    from holdfast.cli.time.schedule_shown import shown_schedule

    hf = schedule_client()
    handle = hf.schedule(schedule)
    handle.edit(
        name=name,
        cron=cron,
        tz=tz,
        template=template,
        payload=template_options.read_payload(payload),
        **_ticks(misfire, overlap),
        jitter=times.seconds("jitter", jitter, "jitter_ms"),
        **job_options.read_options(hf, options, elsewhere=OF_TEMPLATES),
    )
    return shown_schedule(handle)


def pause(schedule: ScheduleArgument, reason: ReasonOption = None) -> Output:
    """Let a schedule fire no more until it is resumed. No tick is missed meanwhile.

    \b
    Examples:
      holdfast schedule pause nightly --reason "the archive is being moved"
    """

    paused = schedule_client().schedule(schedule).pause(reason)
    return Output(paused, f"{paused.name} is paused; to go on: holdfast schedule resume {paused.name}")


def resume(schedule: ScheduleArgument) -> Output:
    """Let a schedule fire again, from its next tick on.

    \b
    Examples:
      holdfast schedule resume nightly
    """
    from holdfast.cli.time.schedule_shown import in_zone

    resumed = schedule_client().schedule(schedule).resume()
    return Output(resumed, f"{resumed.name} goes on; next: {in_zone(resumed, resumed.next_fire)}")


def remove(schedule: ScheduleArgument, yes: YesOption = False) -> Output:
    """Delete a schedule. The jobs that it made stay.

    \b
    Examples:
      holdfast schedule rm nightly
    """
    from holdfast.cli.frame.confirm import agree

    handle = schedule_client().schedule(schedule)
    agree(f"Delete schedule {handle.name}?", yes=yes)
    gone = handle.view()
    handle.delete()
    return Output(gone, f"schedule {gone.name} is deleted")


def run(schedule: ScheduleArgument, wait: WaitWord = False, *, json: bool) -> Output:
    """Make a job of a schedule now, paused or not, and print its number.

    \b
    Examples:
      holdfast schedule run nightly --wait
    """

    return template_options.made_job(schedule_client().schedule(schedule).run_now(), wait=wait, json=json)


def next_(
    schedule: Annotated[
        str | None, Argument("[SCHEDULE]", help="A schedule's name or id.", complete=completion.named_schedules)
    ] = None,
    cron: CronWord = None,
    tz: ZoneWord = None,
    count: Annotated[int, Option("--count", "-n", metavar="N", field="count", help="How many.")] = 5,
) -> Output:
    """Show when a schedule fires next, or what a cron expression means.

    \b
    Examples:
      holdfast schedule next nightly -n 10
      holdfast schedule next --cron "30 2 * * SUN#1" --tz Europe/Berlin
    """
    from holdfast.cli.time.schedule_shown import shown_expression, shown_ticks

    if (schedule is None) == (cron is None):
        raise InvalidInput('say which: the name of a schedule, or --cron "30 2 * * *"')
    if cron is not None:
        return shown_expression(cron, tz or "UTC", count)
    if tz is not None:
        raise InvalidInput("a schedule has its own time zone: --tz goes with --cron")

    handle = schedule_client().schedule(schedule or "")
    return shown_ticks(handle.view().words, handle.preview(count))


schedule = group_of(
    "schedule",
    "Make jobs by the clock.",
    {
        "add": add,
        "ls": list_,
        "show": show,
        "edit": edit,
        "pause": pause,
        "resume": resume,
        "rm": remove,
        "run": run,
        "next": next_,
    },
)
