"""`holdfast webhook`: receivers that are told about events over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import webhook_client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import FAILED
from holdfast.cli.frame.options import LimitOption, ReasonOption, RenameOption, YesOption
from holdfast.cli.frame.output import GREEN, YELLOW, Coloured, Fields, Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.core.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.cli.frame.webhook_client import WebhookClient
    from holdfast.core.messages.webhooks import DeliveryView, Webhook

HookArgument = Annotated[str, Argument("WEBHOOK", help="A webhook's name or id.", complete=completion.named_webhooks)]
OnOption = Annotated[
    list[str] | None,
    Option(
        "--on", metavar="EVENT", field="patterns", help="Events by name, or by the beginning of one and *. Repeatable."
    ),
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
) -> Output:
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
    made = webhook_client().add_webhook(
        url, on=on, name=name, secret=secret, timeout=times.seconds("timeout", timeout, "NewWebhook.timeout_ms")
    )
    lines = [f"webhook {made.webhook.name} is told about {', '.join(made.webhook.patterns)}"]
    if secret is None:
        lines.append(f"its secret, which is not shown again: {made.secret}")
    return Output(made, lines)


def list_() -> Output:
    """List the webhooks.

    \b
    Examples:
      holdfast webhook ls
    """
    found = webhook_client().webhooks()
    rows = (
        [hook.name, _status(hook), ", ".join(hook.patterns), hook.url, times.ago(hook.created_at)] for hook in found
    )
    return output.listed(found, ["name", "status", "events", "url", "created"], rows)


def show(webhook: HookArgument) -> Output:
    """Show a webhook.

    \b
    Examples:
      holdfast webhook show ci.example
    """
    found = webhook_client().webhook(webhook)
    return output.described(found, _fields(found))


def edit(
    webhook: HookArgument,
    url: Annotated[str | None, Option(metavar="URL", help="Where to send them from now on.")] = None,
    on: OnOption = None,
    name: RenameOption = None,
    secret_file: SecretOption = None,
    timeout: TimeoutOption = None,
) -> Output:
    """Change a webhook.

    After a new secret, deliveries carry the signature of the old one too, for a day.

    \b
    Examples:
      holdfast webhook edit ci.example --on job.failed --secret-file new-key.txt
    """
    limit = times.seconds("timeout", timeout, "NewWebhook.timeout_ms")
    changed = webhook_client().edit_webhook(
        webhook, url=url, on=on, name=name, secret=_read(secret_file), timeout=limit
    )
    return output.described(changed, _fields(changed))


def remove(webhook: HookArgument, yes: YesOption = False) -> Output:
    """Delete a webhook with the list of its deliveries.

    \b
    Examples:
      holdfast webhook rm ci.example
    """
    from holdfast.cli.frame.confirm import agree

    hf = webhook_client()
    found = hf.webhook(webhook)
    agree(f"Delete webhook {found.name} with the list of its deliveries?", yes=yes)
    gone = hf.remove_webhook(found.id)
    return Output(gone, f"webhook {gone.name} is deleted")


def pause(webhook: HookArgument, reason: ReasonOption = None) -> Output:
    """Send nothing to a webhook.

    Events that come meanwhile pass it by. What is on its way fails, and can be redelivered.

    \b
    Examples:
      holdfast webhook pause ci.example --reason "the receiver is being moved"
    """
    paused = webhook_client().pause_webhook(webhook, reason)
    return Output(paused, f"{paused.name} is paused; to go on: holdfast webhook resume {paused.name}")


def resume(webhook: HookArgument) -> Output:
    """Send events to a webhook again.

    \b
    Examples:
      holdfast webhook resume ci.example
    """
    resumed = webhook_client().resume_webhook(webhook)
    return Output(resumed, f"webhook {resumed.name} goes on")


def try_out(
    webhook: HookArgument,
    timeout: Annotated[str, Option(metavar="TIME", help="How long to wait for the first try.")] = "30s",
) -> Output:
    """Send an event webhook.test to a webhook, and say how it went.

    \b
    Examples:
      holdfast webhook test ci.example
    """
    hf = webhook_client()
    sent = hf.test_webhook(webhook)
    after = _first_try(hf, webhook, sent, times.seconds("timeout", timeout) or 0)
    code = 0 if after.state == "DONE" else FAILED
    return Output(after, lambda: output.put(output.state_text(after.state), f"  {_outcome(after)}".rstrip()), code=code)


def deliveries(
    webhook: HookArgument,
    failed: Annotated[bool, Option("--failed", help="Only those that failed for good.")] = False,
    limit: LimitOption = 20,
) -> Output:
    """List what was sent to a webhook, newest first.

    \b
    Examples:
      holdfast webhook deliveries ci.example --failed
    """
    page = webhook_client().deliveries(webhook, failed=failed, limit=limit)
    head = ["delivery", "event", "job", "state", "tries", "sent", "detail"]
    return output.listed(page, head, map(_row, page.deliveries), right=("job", "tries"))


def redeliver(
    webhook: HookArgument,
    delivery: Annotated[str | None, Argument("[DELIVERY]", help="The id of one; by default all that failed.")] = None,
) -> Output:
    """Send a delivery again, or all that failed for good.

    \b
    Examples:
      holdfast webhook redeliver ci.example
    """
    sent = webhook_client().redeliver(webhook, delivery)
    return Output(sent, f"{len(sent)} sent again")


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


def _read(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise InvalidInput(f"--secret-file {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"--secret-file {file} cannot be read: it is not text") from None


def _fields(hook: Webhook) -> Fields:
    return [
        ("webhook", hook.id),
        ("name", hook.name),
        ("status", _status(hook)),
        ("url", hook.url),
        ("events", ", ".join(hook.patterns)),
        ("time-out", times.length(hook.timeout_ms) or None),
        ("old secret signs until", None if hook.rotating_until is None else times.when(hook.rotating_until)),
        ("created", times.when(hook.created_at)),
    ]


def _status(hook: Webhook) -> Coloured:
    return Coloured("on", GREEN) if hook.is_enabled else Coloured(f"off: {hook.disabled_reason}", YELLOW)


def _row(view: DeliveryView) -> list[str]:
    said = view.error or ""
    if view.state == "SCHEDULED" and view.scheduled_at is not None:
        said = f"again {times.ago(view.scheduled_at)}: {said}"
    tries, sent = str(view.attempts), times.ago(view.created_at)
    return [view.id, view.event_name, str(view.job_number), output.state_text(view.state), tries, sent, said]


def _outcome(view: DeliveryView) -> str:
    """How the first try went, and what comes next."""
    said = view.error or ""
    if view.state == "SCHEDULED" and view.scheduled_at is not None:
        return f"{said}; it is tried again {times.ago(view.scheduled_at)}"
    return said or ("" if view.finished_at is not None else "it has not been tried yet")


def _first_try(hf: WebhookClient, ref: str, sent: DeliveryView, patience_s: float) -> DeliveryView:
    """The delivery after its first try, or as it is when the time is over."""
    import time

    end = time.monotonic() + patience_s
    while True:
        recent = hf.deliveries(ref, limit=1_000).deliveries
        view = next((view for view in recent if view.id == sent.id), sent)
        if view.finished_at is not None or view.error is not None or time.monotonic() >= end:
            return view
        time.sleep(0.05)
