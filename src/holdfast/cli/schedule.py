"""`holdfast schedule`: jobs that are made by the clock."""

from __future__ import annotations

from typing import Annotated, Unpack

from holdfast.cli.completion import named_schedules, named_templates, time_zones
from holdfast.cli.job_options import Anyway, known_tasks
from holdfast.cli.options import HomeOption, JsonOption, YesOption
from holdfast.cli.output import put, show_json, show_table
from holdfast.cli.template_options import (
    CommandWords,
    JobWords,
    PayloadWord,
    TaskWord,
    WaitWord,
    read_payload,
    sdk_options,
    tell_job,
    what_to_run,
)
from holdfast.cli.times import ago, seconds
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.errors import InvalidInput

ScheduleArgument = Annotated[str, Argument("SCHEDULE", help="A schedule's name or id.", complete=named_schedules)]
CronWord = Annotated[
    str | None,
    Option("--cron", metavar="CRON", help="When: minute, hour, day, month, weekday and, if wanted, second; or @daily."),
]
ZoneWord = Annotated[
    str | None,
    Option("--tz", metavar="ZONE", help="The time zone, such as Europe/Berlin; UTC at first.", complete=time_zones),
]
TemplateWord = Annotated[
    str | None, Option("--template", metavar="NAME", help="The template to make jobs from.", complete=named_templates)
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
    name: Annotated[str, Argument("NAME", help="What to call it.")],
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
    home: HomeOption = None,
    json: JsonOption = False,
    **options: Unpack[JobWords],
) -> None:
    """Make jobs by the clock.

    They are made from a template, or of a task or a command, for which a template of the same name is made.

    \b
    Examples:
      holdfast schedule add nightly --cron "30 2 * * *" --tz Europe/Berlin --template clean
      holdfast schedule add hourly --cron "0 * * * *" --task index --payload '{"path": "/srv"}' --jitter 5m
      holdfast schedule add usage --cron "0 7 * * MON" --queue night -- sh -c 'du -s /home > usage.txt'
    """
    from holdfast.cli.schedule_client import schedule_client
    from holdfast.cli.schedule_shown import show_schedule

    if cron is None:
        raise InvalidInput('say when, such as --cron "30 2 * * *" for half past two every night')
    called, arguments = what_to_run(task, payload, command)
    if (called is None) == (template is None):
        raise InvalidInput("say what its jobs are, by one of these: --template NAME, --task TASK, a command behind --")
    hf = schedule_client(home)
    timing = {"tz": tz, "misfire": misfire, "overlap": overlap, "jitter": seconds("jitter", jitter)}
    with known_tasks():
        made = hf.create_schedule(
            name,
            cron=cron,
            template=template,
            task=called,
            payload=arguments,
            must_exist=not anyway,
            **{word: value for word, value in timing.items() if value is not None},  # type: ignore[arg-type]
            **sdk_options(hf, options),
        )
    show_schedule(made, json)


def list_(home: HomeOption = None, json: JsonOption = False) -> None:
    """List the schedules.

    \b
    Examples:
      holdfast schedule ls
    """
    from holdfast.cli.schedule_client import schedule_client
    from holdfast.cli.schedule_shown import skipped, status

    found = schedule_client(home).schedules()
    if json:
        show_json(found)
        return
    rows = [
        [one.name, status(one), one.words, ago(one.next_fire), ago(one.last_triggered_at), str(one.fires), skipped(one)]
        for one in found
    ]
    show_table(["name", "status", "when", "next", "last", "fired", "skipped"], rows, right=("fired", "skipped"))


def show(schedule: ScheduleArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show a schedule: its next ticks, those it skipped and why, and its newest jobs.

    \b
    Examples:
      holdfast schedule show nightly
    """
    from holdfast.cli.schedule_client import schedule_client
    from holdfast.cli.schedule_shown import show_schedule

    show_schedule(schedule_client(home).schedule(schedule), json)


def edit(
    schedule: ScheduleArgument,
    name: Annotated[str | None, Option(metavar="NAME", help="Another name.")] = None,
    cron: CronWord = None,
    tz: ZoneWord = None,
    template: TemplateWord = None,
    payload: PayloadWord = None,
    misfire: MisfireWord = None,
    overlap: OverlapWord = None,
    jitter: JitterWord = None,
    home: HomeOption = None,
    json: JsonOption = False,
    **options: Unpack[JobWords],
) -> None:
    """Change a schedule. Jobs that exist keep what they have.

    Another time or time zone counts from now on.

    \b
    Examples:
      holdfast schedule edit nightly --cron "0 3 * * *" --overlap supersede
    """
    from holdfast.cli.schedule_client import schedule_client
    from holdfast.cli.schedule_shown import show_schedule

    hf = schedule_client(home)
    handle = hf.schedule(schedule)
    handle.edit(
        name=name,
        cron=cron,
        tz=tz,
        template=template,
        payload=read_payload(payload),
        misfire=misfire,
        overlap=overlap,
        jitter=seconds("jitter", jitter),
        **sdk_options(hf, options),
    )
    show_schedule(handle, json)


def pause(
    schedule: ScheduleArgument,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Why, for those who ask.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Let a schedule fire no more until it is resumed. No tick is missed meanwhile.

    \b
    Examples:
      holdfast schedule pause nightly --reason "the archive is being moved"
    """
    from holdfast.cli.schedule_client import schedule_client

    paused = schedule_client(home).schedule(schedule).pause(reason)
    show_json(paused) if json else put(f"{paused.name} is paused; to go on: holdfast schedule resume {paused.name}")


def resume(schedule: ScheduleArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Let a schedule fire again, from its next tick on.

    \b
    Examples:
      holdfast schedule resume nightly
    """
    from holdfast.cli.schedule_client import schedule_client
    from holdfast.cli.schedule_shown import in_zone

    resumed = schedule_client(home).schedule(schedule).resume()
    show_json(resumed) if json else put(f"{resumed.name} goes on; next: {in_zone(resumed, resumed.next_fire)}")


def remove(
    schedule: ScheduleArgument, yes: YesOption = False, home: HomeOption = None, json: JsonOption = False
) -> None:
    """Delete a schedule. The jobs that it made stay.

    \b
    Examples:
      holdfast schedule rm nightly
    """
    from holdfast.cli.asking import agree
    from holdfast.cli.schedule_client import schedule_client

    handle = schedule_client(home).schedule(schedule)
    agree(f"Delete schedule {handle.name}?", yes=yes)
    gone = handle.view()
    handle.delete()
    show_json(gone) if json else put(f"schedule {gone.name} is deleted")


def run(schedule: ScheduleArgument, wait: WaitWord = False, home: HomeOption = None, json: JsonOption = False) -> None:
    """Make a job of a schedule now, paused or not, and print its number.

    \b
    Examples:
      holdfast schedule run nightly --wait
    """
    from holdfast.cli.schedule_client import schedule_client

    tell_job(schedule_client(home).schedule(schedule).run_now(), wait=wait, json=json)


def next_(
    schedule: Annotated[
        str | None, Argument("[SCHEDULE]", help="A schedule's name or id.", complete=named_schedules)
    ] = None,
    cron: CronWord = None,
    tz: ZoneWord = None,
    count: Annotated[int, Option("--count", "-n", metavar="N", min=1, max=100, help="How many.")] = 5,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Show when a schedule fires next, or what a cron expression means.

    \b
    Examples:
      holdfast schedule next nightly -n 10
      holdfast schedule next --cron "30 2 * * SUN#1" --tz Europe/Berlin
    """
    from holdfast.cli.schedule_shown import show_expression, show_next

    if (schedule is None) == (cron is None):
        raise InvalidInput('say which: the name of a schedule, or --cron "30 2 * * *"')
    if cron is not None:
        show_expression(cron, tz or "UTC", count, json)
        return
    if tz is not None:
        raise InvalidInput("a schedule has its own time zone: --tz goes with --cron")
    from holdfast.cli.schedule_client import schedule_client

    handle = schedule_client(home).schedule(schedule or "")
    show_next(handle.view().words, handle.preview(count), json)


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
