"""Webhooks in the store: who is told about what, as which job, and who learns the secret."""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

import msgspec
import pytest

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Claimed
from holdfast.core.jobs.settle import Completed
from holdfast.core.messages.webhooks import CreatedWebhook, DeliveryView, NewWebhook, Outgoing, WebhookChanges
from holdfast.core.values.group import Dependency
from holdfast.core.webhooks.webhook import ROTATION_MS, WEBHOOK, WEBHOOK_QUEUE
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.maintenance.retention import forget_old
from holdfast.store.scripts.webhooks import deliveries, webhooks
from holdfast.store.scripts.webhooks.webhook_rows import find_row
from tests.store.acts import (
    FAILED,
    FAILED_FOR_GOOD,
    FAILURE,
    NOW,
    claim_one,
    claim_some,
    end,
    job,
    let_time_pass,
    put_and_end,
    put_one,
    select,
    state,
    write,
)

SECRET = "a-secret-of-ours"
URL = "https://hooks.example/in"


def create(engine: Engine, *patterns: str, name: str | None = "ci", **options: Any) -> CreatedWebhook:
    made = NewWebhook(**{"id": f"w-{name}", "url": URL, "patterns": patterns, "name": name, "secret": SECRET} | options)
    return write(engine, webhooks.put_webhook, made, NOW)


def happen(engine: Engine, name: str, now: Millis = NOW, **attributes: str) -> str:
    """Emit an event, and let it reach who waits for it."""
    event_id = f"e-{name}-{now}-{len(select(engine, 'SELECT id FROM events'))}"
    write(engine, emit, event_id, name, attributes, now)
    let_time_pass(engine, now)
    return event_id


def sent(engine: Engine, ref: str = "ci", *, failed: bool = False) -> list[DeliveryView]:
    return engine.query(deliveries.list_deliveries, ref, failed).deliveries


def claim_delivery(engine: Engine, now: Millis = NOW) -> Claimed:
    return claim_one(engine, now=now, queues=(WEBHOOK_QUEUE,), tasks=(WEBHOOK,))


def signers(request: Outgoing, *secrets: str) -> list[str]:
    """Which of the secrets have signed a request, by a computation of our own."""
    signed = f"{request.headers['Holdfast-Timestamp']}.{request.body}".encode()
    given = request.headers["Holdfast-Signature"].split(",")
    return [
        secret for secret in secrets if "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() in given
    ]


def test_an_event_becomes_one_job_for_each_webhook_that_is_told_about_it(engine: Engine) -> None:
    create(engine, "git:*", name="all")
    create(engine, "git:commit", "other", name="one")
    create(engine, "git:push", name="none")
    event_id = happen(engine, "git:commit", branch="main")
    assert [len(sent(engine, name)) for name in ("all", "one", "none")] == [1, 1, 0]
    [delivery] = sent(engine, "one")
    assert (delivery.event_id, delivery.event_name, delivery.state) == (event_id, "git:commit", "QUEUED")
    payload = msgspec.json.decode(claim_delivery(engine).payload)
    assert (payload["event_id"], payload["attributes"], payload["key"]) == (event_id, {"branch": "main"}, event_id)


def test_two_patterns_that_match_are_one_delivery(engine: Engine) -> None:
    create(engine, "git:*", "git:commit", "*")
    happen(engine, "git:commit")
    assert len(sent(engine)) == 1


def test_the_end_of_a_run_is_told_with_the_run_as_its_key_and_the_delivery_itself_is_not_told(engine: Engine) -> None:
    create(engine, "*")
    put_and_end(engine, "j1")
    for _ in range(3):
        let_time_pass(engine, NOW)
    told = {delivery.event_name for delivery in sent(engine)}
    assert told == {"job.run.completed", "job.done"}
    keys = set()
    for run in claim_some(engine, queues=(WEBHOOK_QUEUE,), tasks=(WEBHOOK,)):
        payload = msgspec.json.decode(run.payload)
        keys.add((payload["event_name"], payload["key"] == payload["attributes"].get("run_id")))
        end(engine, run, Completed("{}"))
    assert keys == {("job.run.completed", True), ("job.done", False)}
    for _ in range(3):
        let_time_pass(engine, NOW)
    assert {delivery.state for delivery in sent(engine)} == {"DONE"}
    assert len(sent(engine)) == 2


def test_a_failed_delivery_is_tried_again_after_about_5_15_and_45_seconds_and_then_listed(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    now, waits = NOW, []
    for _ in range(3):
        run = claim_delivery(engine, now)
        end(engine, run, FAILED, now)
        [delivery] = sent(engine)
        assert (delivery.state, delivery.error) == ("SCHEDULED", FAILURE.message)
        waits.append((delivery.scheduled_at or 0) - now)
        now = delivery.scheduled_at or 0
        let_time_pass(engine, now)
    assert [0.9 <= wait / expected <= 1.1 for wait, expected in zip(waits, (5_000, 15_000, 45_000), strict=True)] == [
        True
    ] * 3
    assert sent(engine, failed=True) == []
    end(engine, claim_delivery(engine, now), FAILED, now)
    [delivery] = sent(engine, failed=True)
    assert (delivery.state, delivery.attempts, delivery.error_code) == ("FAILED", 4, FAILURE.code)


def test_what_failed_is_sent_again_as_the_same_delivery(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    happen(engine, "x")
    [second, first] = sent(engine)
    for _ in range(2):
        end(engine, claim_delivery(engine), FAILED_FOR_GOOD)
    assert len(sent(engine, failed=True)) == 2
    [again] = write(engine, deliveries.redeliver, "ci", NOW, first.id)
    assert (again.id, again.state, again.attempts) == (first.id, "QUEUED", 0)
    assert again.job_id != first.job_id
    with pytest.raises(Conflict, match="still on its way"):
        write(engine, deliveries.redeliver, "ci", NOW, first.id)
    assert [view.id for view in write(engine, deliveries.redeliver, "ci", NOW)] == [second.id]
    assert sent(engine, failed=True) == []
    assert msgspec.json.decode(claim_delivery(engine).payload)["delivery_id"] == first.id


def test_a_list_of_deliveries_goes_on_behind_its_cursor(engine: Engine) -> None:
    create(engine, "x")
    events = [happen(engine, "x", NOW + moment) for moment in range(5)]
    seen, cursor = [], None
    while True:
        page = engine.query(deliveries.list_deliveries, "ci", False, 2, cursor)
        seen += [view.event_id for view in page.deliveries]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == events[::-1]
    with pytest.raises(NotFound, match="has no delivery"):
        engine.query(deliveries.list_deliveries, "ci", False, 2, "nowhere")


def test_a_paused_webhook_is_told_nothing_and_its_open_deliveries_are_given_no_request(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    write(engine, webhooks.pause_webhook, "ci", NOW)
    happen(engine, "x")
    assert len(sent(engine)) == 1
    run = claim_delivery(engine)
    with pytest.raises(Conflict, match="disabled"):
        engine.query(webhooks.request_of_run, run.run_id, NOW)
    end(engine, run)
    for refused in (deliveries.redeliver, deliveries.send_test):
        with pytest.raises(Conflict, match="resume it first"):
            write(engine, refused, "ci", NOW)
    assert write(engine, webhooks.resume_webhook, "ci", NOW).disabled_reason is None
    happen(engine, "x")
    assert len(sent(engine)) == 2


def test_the_open_run_of_a_delivery_is_given_the_signed_request_and_nobody_the_secret(engine: Engine) -> None:
    assert create(engine, "x").secret == SECRET
    happen(engine, "x")
    run = claim_delivery(engine)
    request = engine.query(webhooks.request_of_run, run.run_id, NOW)
    assert (request.url, signers(request, SECRET, "another-secret-x")) == (URL, [SECRET])
    told = [request, engine.query(webhooks.find_webhook, "ci"), sent(engine), run, job(engine, run.job_id)]
    assert SECRET not in msgspec.json.encode(told).decode()
    end(engine, run)
    with pytest.raises(NotFound, match="not the open run of a delivery"):
        engine.query(webhooks.request_of_run, run.run_id, NOW)


def test_after_a_new_secret_both_sign_for_a_day(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    changed = write(engine, webhooks.edit_webhook, "ci", WebhookChanges(secret="another-secret-x"), NOW)
    assert changed.rotating_until == NOW + ROTATION_MS
    run = claim_delivery(engine)
    both = engine.query(webhooks.request_of_run, run.run_id, NOW + ROTATION_MS - 1)
    assert signers(both, SECRET, "another-secret-x") == [SECRET, "another-secret-x"]
    later = engine.query(webhooks.request_of_run, run.run_id, NOW + ROTATION_MS)
    assert signers(later, SECRET, "another-secret-x") == ["another-secret-x"]


def test_changed_patterns_count_from_then_on(engine: Engine) -> None:
    create(engine, "x")
    write(engine, webhooks.edit_webhook, "ci", WebhookChanges(patterns=("y",), url="https://other.example/"), NOW)
    happen(engine, "x")
    happen(engine, "y")
    assert [delivery.event_name for delivery in sent(engine)] == ["y"]
    assert engine.query(webhooks.request_of_run, claim_delivery(engine).run_id, NOW).url == "https://other.example/"


def test_a_deleted_webhook_takes_its_deliveries_with_it(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    [delivery] = sent(engine)
    write(engine, webhooks.delete_webhook, "ci", NOW)
    assert state(engine, delivery.job_id) == "CANCELLED"
    assert select(engine, "SELECT * FROM webhook_deliveries") == []
    assert select(engine, "SELECT * FROM event_patterns WHERE owner <> ''") == []
    with pytest.raises(NotFound, match="there is no webhook 'ci'"):
        sent(engine)


def test_what_its_deletion_cancels_is_not_stored_for_it(engine: Engine) -> None:
    create(engine, "*")
    happen(engine, "x")
    [delivery] = sent(engine)
    put_one(engine, "after it", after=(Dependency(delivery.job_id),))
    write(engine, webhooks.delete_webhook, "ci", NOW)
    assert state(engine, "after it") == "CANCELLED"
    assert select(engine, "SELECT name FROM events") == [{"name": "x"}]


def test_a_delivery_is_forgotten_with_its_job(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    end(engine, claim_delivery(engine))
    assert len(sent(engine)) == 1
    write(engine, forget_old, NOW + 1)
    assert sent(engine) == []


def test_a_receiver_that_is_gone_disables_its_webhook(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    run = claim_delivery(engine)
    write(engine, webhooks.note_gone, run.run_id, NOW)
    gone = engine.query(webhooks.find_webhook, "ci")
    assert (gone.is_enabled, gone.disabled_reason) == (False, "its receiver answered 410 Gone")


def test_a_receiver_that_is_gone_says_nothing_about_the_one_that_came_instead(engine: Engine) -> None:
    create(engine, "x")
    happen(engine, "x")
    run = claim_delivery(engine)
    write(engine, webhooks.edit_webhook, "ci", WebhookChanges(url="https://other.example/"), NOW)
    assert write(engine, webhooks.note_gone, run.run_id, NOW, URL).is_enabled
    assert not write(engine, webhooks.note_gone, run.run_id, NOW, "https://other.example/").is_enabled


def test_what_holds_a_secret_does_not_show_it(engine: Engine) -> None:
    made = create(engine, "x")
    asked = NewWebhook(id="w", url=URL, patterns=("x",), secret=SECRET)
    row = engine.query(find_row, "ci")
    assert row.secret == SECRET
    assert SECRET not in repr([made, asked, row, WebhookChanges(secret=SECRET)])


def test_a_test_goes_to_one_webhook_alone(engine: Engine) -> None:
    create(engine, "*", name="one")
    create(engine, "*", name="other")
    view = write(engine, deliveries.send_test, "one", NOW)
    let_time_pass(engine, NOW)
    assert (view.event_name, sent(engine, "other")) == ("webhook.test", [])


def test_a_name_belongs_to_one_webhook_and_without_one_the_host_gives_it(engine: Engine) -> None:
    create(engine, "x")
    with pytest.raises(Conflict, match="'ci' already"):
        create(engine, "x", id="w2")
    names = [create(engine, "x", id=f"n{number}", name=None).webhook.name for number in range(3)]
    assert names == ["hooks.example", "hooks.example-2", "hooks.example-3"]
    with pytest.raises(Conflict, match="'ci' already"):
        write(engine, webhooks.edit_webhook, "hooks.example", WebhookChanges(name="ci"), NOW)
    assert [hook.name for hook in engine.query(webhooks.list_webhooks)] == ["ci", *names]


def test_a_repeat_finds_what_the_first_call_stored_and_learns_no_secret_that_it_does_not_know(engine: Engine) -> None:
    made = NewWebhook(id="w1", url=URL, patterns=("x",))
    first = write(engine, webhooks.put_webhook, made, NOW)
    assert first.secret
    assert first.secret.startswith("whsec_")
    with pytest.raises(Conflict, match="if this is a repeat, say so"):
        write(engine, webhooks.put_webhook, made, NOW)
    assert write(engine, webhooks.put_webhook, made, NOW, repeated=True) == CreatedWebhook(first.webhook, None)
    same = msgspec.structs.replace(made, secret=first.secret)
    assert write(engine, webhooks.put_webhook, same, NOW, repeated=True) == first


@pytest.mark.parametrize(
    "options", [{"url": "ftp://x"}, {"patterns": ()}, {"patterns": ("a*b",)}, {"secret": "short"}], ids=str
)
def test_what_does_not_fit_is_refused(engine: Engine, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        create(engine, "x", **options)
    assert engine.query(webhooks.list_webhooks) == []
