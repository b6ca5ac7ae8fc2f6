"""`holdfast template`: requests that are kept by name, to make jobs from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import schedule_client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.options_shown import options_text
from holdfast.cli.frame.output import GREEN, GREY, Coloured, Fields, Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.jobs import job_options
from holdfast.cli.jobs.job_options import Anyway
from holdfast.cli.time import template_options
from holdfast.cli.time.template_options import (
    CommandWords,
    NameWord,
    OfTemplate,
    OneJob,
    PayloadWord,
    TaskWord,
    WaitWord,
)
from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.rules.pairs import OF_TEMPLATES

if TYPE_CHECKING:
    from holdfast.core.messages.templates import Template

TemplateArgument = Annotated[
    str, Argument("TEMPLATE", help="A template's name or id.", complete=completion.named_templates)
]

HEAD = ("name", "status", "what", "queue", "options", "changed")


def add(
    name: NameWord,
    command: CommandWords = None,
    task: TaskWord = None,
    payload: PayloadWord = None,
    anyway: Anyway = False,
    **options: OfTemplate,
) -> Output:
    """Keep a request by name, to make jobs from.

    What is not said is as the task declares when a job is made.

    \b
    Examples:
      holdfast template add clean --task clean_up --payload '{"days": 30}' --queue night --retries 3
      holdfast template add usage -- sh -c 'du -s /home > usage.txt'
    """

    called, arguments = template_options.what_to_run(task, payload, command)
    if called is None:
        raise InvalidInput("say what its jobs run: --task TASK, or a command behind --")
    hf = schedule_client()
    if any(known.name == name for known in hf.templates()):
        raise Conflict(f"there is a template {name!r} already; change it: holdfast template edit {name}")
    with job_options.known_tasks():
        made = hf.create_template(
            name, called, arguments, must_exist=not anyway, **job_options.read_options(hf, options)
        )
    return Output(made, f"template {made.name}; to make a job of it: holdfast template run {made.name}")


def list_(everything: Annotated[bool, Option("--all", "-a", help="Those that were archived too.")] = False) -> Output:
    """List the templates.

    \b
    Examples:
      holdfast template ls
    """

    found = schedule_client().templates(archived=everything)
    return output.listed(found, HEAD, map(_row, found))


def show(template: TemplateArgument) -> Output:
    """Show a template.

    What looks secret in its payload is hidden, but not with --json.

    \b
    Examples:
      holdfast template show clean
    """

    found = schedule_client().template(template)
    return output.described(found, _fields(found))


def edit(
    template: TemplateArgument,
    task: TaskWord = None,
    payload: PayloadWord = None,
    anyway: Anyway = False,
    **options: OfTemplate,
) -> Output:
    """Change a template. Jobs that exist keep what they have.

    \b
    Examples:
      holdfast template edit clean --payload '{"days": 7}' --priority 5
    """

    hf = schedule_client()
    said = job_options.read_options(hf, options, elsewhere=OF_TEMPLATES, template=template)
    with job_options.known_tasks():
        changed = hf.edit_template(
            template, task=task, payload=template_options.read_payload(payload), must_exist=not anyway, **said
        )
    return output.described(changed, _fields(changed))


def archive(template: TemplateArgument) -> Output:
    """Make no more jobs from a template. Its schedules stand still, with this as the reason.

    \b
    Examples:
      holdfast template archive clean
    """

    gone = schedule_client().archive_template(template)
    return Output(gone, f"template {gone.name} is archived")


def run(
    template: TemplateArgument,
    payload: Annotated[
        str | None, Argument("[JSON]", help="Arguments that are laid over the template's; - reads standard input.")
    ] = None,
    wait: WaitWord = False,
    *,
    json: bool,
    **options: OneJob,
) -> Output:
    """Make a job from a template, and print its number.

    \b
    Examples:
      holdfast template run clean
      holdfast template run clean '{"days": 1}' --priority 9 --wait
    """

    hf = schedule_client()
    said = job_options.read_options(hf, options, elsewhere=OF_TEMPLATES, template=template)
    return template_options.made_job(
        hf.enqueue_template(template, template_options.read_payload(payload), **said), wait=wait, json=json
    )


template = group_of(
    "template",
    "Requests that are kept by name, to make jobs from.",
    {"add": add, "ls": list_, "show": show, "edit": edit, "archive": archive, "run": run},
)


def _fields(template: Template) -> Fields:
    from holdfast.observe.redact import redacted_json

    return [
        ("template", template.id),
        ("name", template.name),
        ("status", _status(template)),
        ("what", _what(template)),
        ("payload", redacted_json(template.payload) if template.payload != "{}" else None),
        ("queue", template.queue),
        ("options", options_text(template.options)),
        ("created", times.when(template.created_at)),
        ("changed", times.when(template.updated_at)),
        ("archived", times.when(template.archived_at)),
    ]


def _row(one: Template) -> list[str]:
    return [one.name, _status(one), _what(one), one.queue or "", options_text(one.options), times.ago(one.updated_at)]


def _status(template: Template) -> Coloured:
    return Coloured("in use", GREEN) if template.archived_at is None else Coloured("archived", GREY)


def _what(template: Template) -> str:
    from holdfast.cli.frame.jobs_shown import what_runs

    return what_runs(template.task, template.payload)
