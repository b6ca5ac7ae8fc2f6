"""`holdfast template`: requests that are kept by name, to make jobs from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

from holdfast.cli.completion import named_templates
from holdfast.cli.job_options import Anyway, known_tasks
from holdfast.cli.options import HomeOption, JsonOption
from holdfast.cli.output import GREEN, GREY, Coloured, put, show_fields, show_json, show_table
from holdfast.cli.template_options import (
    CommandWords,
    JobWords,
    OneJobWords,
    PayloadWord,
    TaskWord,
    WaitWord,
    read_payload,
    sdk_options,
    tell_job,
    what_to_run,
)
from holdfast.cli.times import ago, length, when
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.errors import Conflict, InvalidInput

if TYPE_CHECKING:
    from holdfast.core.task import JobOptions
    from holdfast.store.scripts.templates import Template

TemplateArgument = Annotated[str, Argument("TEMPLATE", help="A template's name or id.", complete=named_templates)]


def add(
    name: Annotated[str, Argument("NAME", help="What to call it.")],
    command: CommandWords = None,
    task: TaskWord = None,
    payload: PayloadWord = None,
    anyway: Anyway = False,
    home: HomeOption = None,
    json: JsonOption = False,
    **options: Unpack[JobWords],
) -> None:
    """Keep a request by name, to make jobs from.

    What is not said is as the task declares when a job is made.

    \b
    Examples:
      holdfast template add clean --task clean_up --payload '{"days": 30}' --queue night --retries 3
      holdfast template add usage -- sh -c 'du -s /home > usage.txt'
    """
    from holdfast.cli.schedule_client import schedule_client

    called, arguments = what_to_run(task, payload, command)
    if called is None:
        raise InvalidInput("say what its jobs run: --task TASK, or a command behind --")
    hf = schedule_client(home)
    if any(known.name == name for known in hf.templates()):
        raise Conflict(f"there is a template {name!r} already; change it: holdfast template edit {name}")
    with known_tasks():
        made = hf.create_template(name, called, arguments, must_exist=not anyway, **sdk_options(hf, options))
    show_json(made) if json else put(f"template {made.name}; to make a job of it: holdfast template run {made.name}")


def list_(
    everything: Annotated[bool, Option("--all", "-a", help="Those that were archived too.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List the templates.

    \b
    Examples:
      holdfast template ls
    """
    from holdfast.cli.schedule_client import schedule_client

    found = schedule_client(home).templates(archived=everything)
    if json:
        show_json(found)
        return
    rows = [
        [one.name, _status(one), _what(one), one.queue or "", options_text(one.options), ago(one.updated_at)]
        for one in found
    ]
    show_table(["name", "status", "what", "queue", "options", "changed"], rows)


def show(template: TemplateArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show a template.

    What looks secret in its payload is hidden, but not with --json.

    \b
    Examples:
      holdfast template show clean
    """
    from holdfast.cli.schedule_client import schedule_client

    _show(schedule_client(home).template(template), json)


def edit(
    template: TemplateArgument,
    task: TaskWord = None,
    payload: PayloadWord = None,
    anyway: Anyway = False,
    home: HomeOption = None,
    json: JsonOption = False,
    **options: Unpack[JobWords],
) -> None:
    """Change a template. Jobs that exist keep what they have.

    \b
    Examples:
      holdfast template edit clean --payload '{"days": 7}' --priority 5
    """
    from holdfast.cli.schedule_client import schedule_client

    hf = schedule_client(home)
    said = sdk_options(hf, options)
    with known_tasks():
        changed = hf.edit_template(template, task=task, payload=read_payload(payload), must_exist=not anyway, **said)
    _show(changed, json)


def archive(template: TemplateArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Make no more jobs from a template. Its schedules stand still, with this as the reason.

    \b
    Examples:
      holdfast template archive clean
    """
    from holdfast.cli.schedule_client import schedule_client

    gone = schedule_client(home).archive_template(template)
    show_json(gone) if json else put(f"template {gone.name} is archived")


def run(
    template: TemplateArgument,
    payload: Annotated[
        str | None, Argument("[JSON]", help="Arguments that are laid over the template's; - reads standard input.")
    ] = None,
    key: Annotated[str | None, Option(metavar="KEY", help="An idempotency key: the same one twice is one job.")] = None,
    wait: WaitWord = False,
    home: HomeOption = None,
    json: JsonOption = False,
    **options: Unpack[OneJobWords],
) -> None:
    """Make a job from a template, and print its number.

    \b
    Examples:
      holdfast template run clean
      holdfast template run clean '{"days": 1}' --priority 9 --wait
    """
    from holdfast.cli.schedule_client import schedule_client

    hf = schedule_client(home)
    said = sdk_options(hf, options) | ({} if key is None else {"idempotency_key": key})
    tell_job(hf.enqueue_template(template, read_payload(payload), **said), wait=wait, json=json)


template = group_of(
    "template",
    "Requests that are kept by name, to make jobs from.",
    {"add": add, "ls": list_, "show": show, "edit": edit, "archive": archive, "run": run},
)


def _show(template: Template, json: bool) -> None:
    from holdfast.observe.redact import redacted_json

    if json:
        show_json(template)
        return
    show_fields(
        [
            ("template", template.id),
            ("name", template.name),
            ("status", _status(template)),
            ("what", _what(template)),
            ("payload", redacted_json(template.payload) if template.payload != "{}" else None),
            ("queue", template.queue),
            ("options", options_text(template.options)),
            ("created", when(template.created_at)),
            ("changed", when(template.updated_at)),
            ("archived", when(template.archived_at)),
        ]
    )


def _status(template: Template) -> Coloured:
    return Coloured("in use", GREEN) if template.archived_at is None else Coloured("archived", GREY)


def _what(template: Template) -> str:
    from holdfast.cli.jobs_shown import what_runs

    return what_runs(template.task, template.payload)


def options_text(options: JobOptions, without: str | None = None) -> str:
    """The options that were given, in one line; `without` one of them."""
    import msgspec

    given = msgspec.structs.asdict(options)
    shown = {name: value for name, value in given.items() if value is not None and name != without}
    policy = shown.pop("policy", None)
    words = [f"retries {policy.retries}"] if policy is not None else []
    for name, value in shown.items():
        plain = name.removesuffix("_ms").replace("_", " ")
        if name.endswith("_ms"):
            words.append(f"{plain} {length(value)}")
        elif isinstance(value, dict):
            words += [f"{key}={text}" for key, text in value.items()]
        else:
            words.append(plain if value is True else f"{plain} {value}")
    return ", ".join(words)
