"""`holdfast webhook`: receivers that are told about events over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import named_webhooks
from holdfast.cli.failing import speak_up
from holdfast.cli.options import HomeOption, JsonOption, YesOption, choose
from holdfast.cli.output import GREEN, YELLOW, Coloured, put, show_fields, show_json, show_table, state_text
from holdfast.cli.times import ago, length, seconds, when
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.cli.webhook_client import WebhookClient
    from holdfast.store.scripts.deliveries import DeliveryView
    from holdfast.store.scripts.webhook_rows import Webhook

HookArgument = Annotated[str, Argument("WEBHOOK", help="A webhook's name or id.", complete=named_webhooks)]
OnOption = Annotated[
    list[str] | None,
    Option("--on", metavar="EVENT", help="Events by name, or by the beginning of one and *. Repeatable."),
]
SecretOption = Annotated[
    Path | None, Option("--secret-file", metavar="FILE", help="A file with the secret to sign with.")
]
TimeoutOption = Annotated[str | None, Option("--timeout", metavar="TIME", help="How long one delivery may take.")]


def add(
    url: Annotated[str, Argument("URL", help="Where to send them: http:// or https://.")],
    on: OnOption = None,
    name: Annotated[str | None, Option(metavar="NAME", help="A name for it; by default its host.")] = None,
    secret_file: SecretOption = None,
    timeout: TimeoutOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Tell a receiver about events.

    The secret that its deliveries are signed with is shown this one time, unless it comes from a file.

    \b
    Examples:
      holdfast webhook add https://ci.example/done --on job.run.failed
      holdfast webhook add https://ci.example/all --on 'job.*' --on 'schedule.*' --name all --secret-file key.txt
    """
    if not on:
        raise InvalidInput("say which events it is about, such as --on job.run.failed or --on 'job.*'")
    secret = _read(secret_file)
    made = _client(home).add_webhook(url, on=on, name=name, secret=secret, timeout=seconds("timeout", timeout))
    if json:
        show_json(made)
        return
    put(f"webhook {made.webhook.name} is told about {', '.join(made.webhook.patterns)}")
    if secret is None:
        put(f"its secret, which is not shown again: {made.secret}")


def list_(home: HomeOption = None, json: JsonOption = False) -> None:
    """List the webhooks.

    \b
    Examples:
      holdfast webhook ls
    """
    found = _client(home).webhooks()
    if json:
        show_json(found)
        return
    rows = [[hook.name, _status(hook), ", ".join(hook.patterns), hook.url, ago(hook.created_at)] for hook in found]
    show_table(["name", "status", "events", "url", "created"], rows)


def show(webhook: HookArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Show a webhook.

    \b
    Examples:
      holdfast webhook show ci.example
    """
    _show(_client(home).webhook(webhook), json)


def edit(
    webhook: HookArgument,
    url: Annotated[str | None, Option(metavar="URL", help="Where to send them from now on.")] = None,
    on: OnOption = None,
    name: Annotated[str | None, Option(metavar="NAME", help="Another name.")] = None,
    secret_file: SecretOption = None,
    timeout: TimeoutOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Change a webhook.

    After a new secret, deliveries carry the signature of the old one too, for a day.

    \b
    Examples:
      holdfast webhook edit ci.example --on job.failed --secret-file new-key.txt
    """
    limit = seconds("timeout", timeout)
    changed = _client(home).edit_webhook(webhook, url=url, on=on, name=name, secret=_read(secret_file), timeout=limit)
    _show(changed, json)


def remove(webhook: HookArgument, yes: YesOption = False, home: HomeOption = None, json: JsonOption = False) -> None:
    """Delete a webhook with the list of its deliveries.

    \b
    Examples:
      holdfast webhook rm ci.example
    """
    from holdfast.cli.asking import agree

    hf = _client(home)
    found = hf.webhook(webhook)
    agree(f"Delete webhook {found.name} with the list of its deliveries?", yes=yes)
    gone = hf.remove_webhook(found.id)
    show_json(gone) if json else put(f"webhook {gone.name} is deleted")


def pause(
    webhook: HookArgument,
    reason: Annotated[str | None, Option(metavar="TEXT", help="Why, for those who ask.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Send nothing to a webhook.

    Events that come meanwhile pass it by. What is on its way fails, and can be redelivered.

    \b
    Examples:
      holdfast webhook pause ci.example --reason "the receiver is being moved"
    """
    paused = _client(home).pause_webhook(webhook, reason)
    show_json(paused) if json else put(f"{paused.name} is paused; to go on: holdfast webhook resume {paused.name}")


def resume(webhook: HookArgument, home: HomeOption = None, json: JsonOption = False) -> None:
    """Send events to a webhook again.

    \b
    Examples:
      holdfast webhook resume ci.example
    """
    resumed = _client(home).resume_webhook(webhook)
    show_json(resumed) if json else put(f"webhook {resumed.name} goes on")


def try_out(
    webhook: HookArgument,
    timeout: Annotated[str, Option(metavar="TIME", help="How long to wait for the first try.")] = "30s",
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Send an event webhook.test to a webhook, and say how it went.

    \b
    Examples:
      holdfast webhook test ci.example
    """
    from holdfast.cli.failing import Ended

    hf = _client(home)
    sent = hf.test_webhook(webhook)
    after = _first_try(hf, webhook, sent, seconds("timeout", timeout) or 0)
    if json:
        show_json(after)
    else:
        put(state_text(after.state), f"  {_outcome(after)}".rstrip())
    if after.state != "DONE":
        raise Ended(1)


def deliveries(
    webhook: HookArgument,
    failed: Annotated[bool, Option("--failed", help="Only those that failed for good.")] = False,
    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=1000, help="How many.")] = 20,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List what was sent to a webhook, newest first.

    \b
    Examples:
      holdfast webhook deliveries ci.example --failed
    """
    page = _client(home).deliveries(webhook, failed=failed, limit=limit)
    if json:
        show_json(page)
        return
    head = ["delivery", "event", "job", "state", "tries", "sent", "detail"]
    show_table(head, [_row(view) for view in page.deliveries], right=("job", "tries"))


def redeliver(
    webhook: HookArgument,
    delivery: Annotated[str | None, Argument("[DELIVERY]", help="The id of one; by default all that failed.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Send a delivery again, or all that failed for good.

    \b
    Examples:
      holdfast webhook redeliver ci.example
    """
    sent = _client(home).redeliver(webhook, delivery)
    show_json(sent) if json else put(f"{len(sent)} sent again")


webhook = group_of(
    "webhook",
    "Tell receivers about events over HTTP.",
    {
        "add": add,
        "ls": list_,
        "show": show,
        "edit": edit,
        "rm": remove,
        "pause": pause,
        "resume": resume,
        "test": try_out,
        "deliveries": deliveries,
        "redeliver": redeliver,
    },
)


def _client(home: Path | None) -> WebhookClient:
    from holdfast.cli.webhook_client import WebhookClient

    choose(home)
    speak_up()
    return WebhookClient()


def _read(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise InvalidInput(f"--secret-file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"--secret-file {file} cannot be read: it is not text") from None


def _show(hook: Webhook, json: bool) -> None:
    if json:
        show_json(hook)
        return
    show_fields(
        [
            ("webhook", hook.id),
            ("name", hook.name),
            ("status", _status(hook)),
            ("url", hook.url),
            ("events", ", ".join(hook.patterns)),
            ("time-out", length(hook.timeout_ms) or None),
            ("old secret signs until", None if hook.rotating_until is None else when(hook.rotating_until)),
            ("created", when(hook.created_at)),
        ]
    )


def _status(hook: Webhook) -> Coloured:
    return Coloured("on", GREEN) if hook.is_enabled else Coloured(f"off: {hook.disabled_reason}", YELLOW)


def _row(view: DeliveryView) -> list[str]:
    said = view.error or ""
    if view.state == "SCHEDULED" and view.scheduled_at is not None:
        said = f"again {ago(view.scheduled_at)}: {said}"
    tries, sent = str(view.attempts), ago(view.created_at)
    return [view.id, view.event_name, str(view.job_number), state_text(view.state), tries, sent, said]


def _outcome(view: DeliveryView) -> str:
    """How the first try went, and what follows."""
    said = view.error or ""
    if view.state == "SCHEDULED" and view.scheduled_at is not None:
        return f"{said}; it is tried again {ago(view.scheduled_at)}"
    return said or ("" if view.finished_at is not None else "it has not been tried yet")


def _first_try(hf: WebhookClient, ref: str, sent: DeliveryView, patience_s: float) -> DeliveryView:
    """The delivery once it was tried, or as it is when the time is over."""
    import time

    end = time.monotonic() + patience_s
    while True:
        recent = hf.deliveries(ref, limit=1_000).deliveries
        view = next((view for view in recent if view.id == sent.id), sent)
        if view.finished_at is not None or view.error is not None or time.monotonic() >= end:
            return view
        time.sleep(0.05)
