"""Webhooks of a program without a daemon: real jobs, a real receiver, a clock that is moved by hand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from holdfast import Conflict, Holdfast, InvalidInput, NotFound, verify_webhook
from holdfast.core.messages.webhooks import DeliveryView
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import WEBHOOK
from holdfast.runtime.clock import ManualClock
from holdfast.workers.builtin.webhook import Deliverer
from tests.client.acts import WAIT
from tests.workers.receiver import LOOPBACK, Receiver, answering, hanging, receiving, saying

Make = Callable[..., Holdfast]
SECRET = "a-secret-of-ours"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def hf(make_holdfast: Make, clock: ManualClock) -> Holdfast:
    """A Holdfast with a task, which may send to loopback."""
    hf = make_holdfast(clock=clock, webhook_allow=[LOOPBACK])

    @hf.task
    def work(well: bool = True) -> int:
        if not well:
            raise ValueError("as asked for")
        return 1

    return hf


def add(hf: Holdfast, url: str, on: str = "x", *, timeout: float = WAIT, **options: Any) -> str:
    """A webhook `ci`, whose receiver has time enough even where the machine is busy; its secret."""
    secret = hf.add_webhook(url, on=on, name="ci", timeout=timeout, **options).secret
    assert secret is not None
    return secret


def failed(hf: Holdfast) -> DeliveryView:
    [delivery] = hf.deliveries("ci", failed=True).deliveries
    return delivery


def waiting(hf: Holdfast) -> DeliveryView:
    [delivery] = hf.deliveries("ci").deliveries
    assert delivery.state == "SCHEDULED"
    return delivery


def test_a_receiver_gets_the_data_of_an_event(hf: Holdfast, receiver: Receiver) -> None:
    add(hf, receiver.url, "order:*")
    hf.emit("order:paid", order=7, data={"items": [1.5, None]})
    hf.emit("order:sent", order=7)
    hf.drain()
    assert {request.event["type"]: request.event["data"] for request in receiver.requests} == {
        "order:paid": {"items": [1.5, None]},
        "order:sent": None,
    }


def test_the_end_of_a_run_reaches_the_receiver_signed_and_with_the_run_as_its_key(
    hf: Holdfast, receiver: Receiver
) -> None:
    secret = add(hf, receiver.url, "job.run.failed")
    hf.enqueue("work", {"well": True})
    job = hf.enqueue("work", {"well": False})
    hf.drain()
    [request] = receiver.requests
    [run] = job.runs
    assert request.line == "POST /hook?team=a HTTP/1.1"
    assert (request.event["type"], request.event["attempt"]) == ("job.run.failed", 1)
    assert (request.event["attributes"]["job_id"], request.event["attributes"]["run_id"]) == (job.id, run.id)
    assert request.headers["idempotency-key"] == run.id
    assert request.headers["holdfast-event"] == "job.run.failed"
    assert request.headers["holdfast-delivery"] == request.event["delivery"] == hf.deliveries("ci").deliveries[0].id
    assert request.is_signed_with(secret)
    assert not request.is_signed_with(SECRET)
    now = int(request.headers["holdfast-timestamp"])
    assert verify_webhook(secret, request.headers, request.body, now=now) == request.event


def test_a_failure_is_tried_again_after_5_15_and_45_seconds_with_one_key_and_a_new_signature(
    hf: Holdfast, receiver: Receiver, clock: ManualClock
) -> None:
    receiver.behave(answering(500), answering(404), answering(503), answering(200))
    add(hf, receiver.url, secret=SECRET)
    hf.test_webhook("ci")
    hf.drain()
    for seconds in (5, 15, 45):
        before = len(receiver.requests)
        # Within the ±10 % by which retries are spread.
        clock.advance(seconds * 0.89)
        hf.drain()
        assert len(receiver.requests) == before
        clock.advance(seconds * 0.22)
        hf.drain()
        assert len(receiver.requests) == before + 1
    [delivery] = hf.deliveries("ci").deliveries
    assert (delivery.state, delivery.attempts) == ("DONE", 4)
    assert len({request.headers["idempotency-key"] for request in receiver.requests}) == 1
    assert len({request.headers["holdfast-timestamp"] for request in receiver.requests}) == 4
    assert all(request.is_signed_with(SECRET) for request in receiver.requests)
    assert [request.event["attempt"] for request in receiver.requests] == [1, 2, 3, 4]


def test_what_fails_for_good_is_listed_with_the_answer_and_can_be_sent_again(
    hf: Holdfast, receiver: Receiver, clock: ManualClock
) -> None:
    receiver.behave(answering(500, body=b"the disk is full"))
    add(hf, receiver.url)
    hf.test_webhook("ci")
    for seconds in (0, 6, 17, 50):
        clock.advance(seconds)
        hf.drain()
    delivery = failed(hf)
    assert (delivery.error_code, delivery.error) == ("ERR_WEBHOOK_STATUS", "it answered 500 Said")
    assert "the disk is full" in hf.job(delivery.job_id).tail()
    receiver.behave(answering(200))
    assert len(hf.redeliver("ci")) == 1
    hf.drain()
    [again] = hf.deliveries("ci").deliveries
    assert (again.id, again.state) == (delivery.id, "DONE")
    keys = {request.headers["idempotency-key"] for request in receiver.requests}
    assert (len(keys), len(receiver.requests)) == (1, 5)


def test_410_gone_disables_the_webhook_until_somebody_resumes_it(hf: Holdfast, receiver: Receiver) -> None:
    receiver.behave(answering(410))
    add(hf, receiver.url, "job.*")
    hf.test_webhook("ci")
    hf.drain()
    assert failed(hf).error_code == "ERR_WEBHOOK_GONE"
    assert (hf.webhook("ci").is_enabled, hf.webhook("ci").disabled_reason) == (False, "its receiver answered 410 Gone")
    hf.enqueue("work")
    hf.drain()
    assert len(receiver.requests) == 1
    with pytest.raises(Conflict, match="resume it first"):
        hf.test_webhook("ci")
    receiver.behave(answering(200))
    hf.resume_webhook("ci")
    hf.redeliver("ci")
    hf.drain()
    assert hf.deliveries("ci").deliveries[0].state == "DONE"


@pytest.mark.parametrize(
    ("status", "said", "seconds"),
    [
        (429, "120", 120),
        (503, "120", 120),
        (429, "1", 5),
        (503, "999999999999999", 3_600),
        (429, "Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
        (429, "Thu, 01 Jan 1970 00:00:00 GMT", 5),
        (429, "soon", 5),
        (500, "120", 5),
    ],
)
def test_a_receiver_that_asks_for_patience_gets_it_for_up_to_an_hour(
    hf: Holdfast, receiver: Receiver, clock: ManualClock, status: int, said: str, seconds: int
) -> None:
    receiver.behave(answering(status, f"Retry-After: {said}"))
    add(hf, receiver.url)
    hf.test_webhook("ci")
    hf.drain()
    wait = (waiting(hf).scheduled_at or 0) - clock.now()
    assert 0.9 * seconds * 1000 <= wait <= 1.1 * seconds * 1000


def test_a_redirect_is_a_failure_that_says_so(hf: Holdfast, receiver: Receiver) -> None:
    with receiving() as elsewhere:
        receiver.behave(answering(302, f"Location: {elsewhere.url}"))
        add(hf, receiver.url)
        hf.test_webhook("ci")
        hf.drain()
        assert elsewhere.requests == []
    assert "redirects are not followed" in (waiting(hf).error or "")


def test_a_receiver_that_hangs_or_lies_is_tried_again(hf: Holdfast, receiver: Receiver) -> None:
    add(hf, receiver.url, timeout=0.3)
    for behaviour, error in ((hanging, "no answer within 0.3 s"), (saying(b"nonsense\r\n\r\n"), "is not HTTP")):
        receiver.behave(behaviour)
        hf.test_webhook("ci")
        hf.drain()
        newest = max(hf.deliveries("ci").deliveries, key=lambda delivery: delivery.job_number)
        assert (newest.state, error in (newest.error or "")) == ("SCHEDULED", True)
        hf.edit_webhook("ci", timeout=WAIT)


def allow(hf: Holdfast, resolve: Callable[[str, int], list[str]], *words: str) -> None:
    """Deliver with names that mean what the test says."""
    access = hf._access
    hf._built_in[WEBHOOK] = Deliverer(access.engine, access.clock, AddressPolicy.of(words), resolve=resolve).spec


def test_a_name_that_leads_inside_is_refused_when_it_is_delivered(hf: Holdfast, receiver: Receiver) -> None:
    allow(hf, lambda host, port: ["127.0.0.1"])
    add(hf, f"http://hooks.example:{receiver.port}/")
    hf.test_webhook("ci")
    hf.drain()
    assert receiver.requests == []
    assert "leads to 127.0.0.1, which is loopback; nothing was sent" in (waiting(hf).error or "")


def test_an_allowed_host_is_called_by_its_name(hf: Holdfast, receiver: Receiver) -> None:
    allow(hf, lambda host, port: ["127.0.0.1"], "hooks.example")
    add(hf, f"http://hooks.example:{receiver.port}/")
    hf.test_webhook("ci")
    hf.drain()
    assert receiver.next().headers["host"] == f"hooks.example:{receiver.port}"


def test_an_address_that_is_not_allowed_is_refused_at_once(
    make_holdfast: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOLDFAST_WEBHOOK_ALLOW", raising=False)
    hf = make_holdfast()
    for url in ("http://127.0.0.1/", "http://localhost:8080/", "http://169.254.169.254/latest/meta-data"):
        with pytest.raises(InvalidInput, match="HOLDFAST_WEBHOOK_ALLOW"):
            hf.add_webhook(url, on="x")
    assert hf.webhooks() == []
    monkeypatch.setenv("HOLDFAST_WEBHOOK_ALLOW", "intranet.example, 127.0.0.0/8")
    assert make_holdfast().add_webhook("http://127.0.0.1/", on="x").webhook.name == "127.0.0.1"


def test_the_secret_is_in_the_first_answer_and_nowhere_else(
    hf: Holdfast, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.behave(answering(500))
    secret = add(hf, receiver.url, "*")
    hf.enqueue("work")
    hf.drain()
    jobs = [(job, hf.job(job.id).runs, hf.job(job.id).tail()) for job in hf.jobs().jobs]
    told = repr([hf.webhook("ci"), hf.webhooks(), hf.deliveries("ci"), jobs, hf.redeliver("ci")])
    assert receiver.requests
    assert secret not in told + caplog.text + str([request.headers for request in receiver.requests])


def test_during_a_rotation_both_secrets_sign(hf: Holdfast, receiver: Receiver) -> None:
    add(hf, receiver.url, secret=SECRET)
    hf.edit_webhook("ci", secret="another-secret-x")
    hf.test_webhook("ci")
    hf.drain()
    request = receiver.next()
    assert request.is_signed_with(SECRET)
    assert request.is_signed_with("another-secret-x")


def test_a_program_that_runs_delivers_beside_its_jobs(make_holdfast: Make, receiver: Receiver) -> None:
    hf = make_holdfast(webhook_allow=[LOOPBACK], concurrency={"*": 2})

    @hf.task
    def work() -> None: ...

    add(hf, receiver.url, "job.done")
    with hf:
        job = work.enqueue()
        assert receiver.next().event["attributes"]["job_id"] == job.id


def test_a_delivery_that_hangs_does_not_hold_up_the_stop_of_its_program(
    make_holdfast: Make, receiver: Receiver
) -> None:
    receiver.behave(hanging)
    hf = make_holdfast(webhook_allow=[LOOPBACK])
    add(hf, receiver.url, timeout=300)
    with hf:
        hf.test_webhook("ci")
        receiver.next()
        hf.stop(short=0, grace=WAIT)
    [delivery] = hf.deliveries("ci").deliveries
    assert delivery.state == "QUEUED"


def test_the_twins_do_the_same(hf: Holdfast, receiver: Receiver) -> None:
    import asyncio

    async def act() -> list[Any]:
        made = await hf.aadd_webhook(receiver.url, on=["a", "b*"], name="ci")
        await hf.aedit_webhook("ci", on="x", timeout=3)
        await hf.apause_webhook("ci", "for a while")
        assert (await hf.awebhook("ci")).disabled_reason == "for a while"
        await hf.aresume_webhook("ci")
        sent = await hf.atest_webhook(made.webhook.id)
        await hf.adrain()
        page = await hf.adeliveries("ci")
        assert [delivery.id for delivery in page.deliveries] == [sent.id]
        assert (await hf.aredeliver("ci", sent.id))[0].id == sent.id
        assert [hook.patterns for hook in await hf.awebhooks()] == [("x",)]
        await hf.aremove_webhook("ci")
        return await hf.awebhooks()

    assert asyncio.run(act()) == []
    with pytest.raises(NotFound, match="there is no webhook 'ci'"):
        hf.webhook("ci")


@pytest.mark.parametrize(
    "options",
    [
        {"on": ()},
        {"on": "a*b"},
        {"on": "x", "name": "with space"},
        {"on": "x", "secret": "short"},
        {"on": "x", "timeout": 0},
        {"on": "x", "timeout": 301},
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(hf: Holdfast, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        hf.add_webhook("https://hooks.example/", **options)
    assert hf.webhooks() == []


def test_a_receiver_refuses_what_is_not_signed_as_it_should_be() -> None:
    import hashlib
    import hmac

    body = b'{"type":"x"}'
    signature = "v1=" + hmac.new(SECRET.encode(), b"1000." + body, hashlib.sha256).hexdigest()
    headers = {"holdfast-timestamp": "1000", "HOLDFAST-SIGNATURE": f"v1=00,{signature}"}
    assert verify_webhook(SECRET, headers, body, now=1_300) == {"type": "x"}
    for other, moment, what in (
        (headers, 1_301, "300 s are allowed"),
        (headers, 699, "300 s are allowed"),
        (headers | {"holdfast-timestamp": "1001"}, 1_000, "not signed with this secret"),
        (headers | {"holdfast-timestamp": "now"}, 1_000, "not a moment"),
        ({}, 1_000, "is missing"),
    ):
        with pytest.raises(InvalidInput, match=what):
            verify_webhook(SECRET, other, body, now=moment)
    with pytest.raises(InvalidInput, match="not signed with this secret"):
        verify_webhook(SECRET, headers, body + b" ", now=1_000)


def test_a_receiver_without_a_proper_secret_or_body_trusts_nothing() -> None:
    import hashlib
    import hmac

    signature = "v1=" + hmac.new(b"", b"1000.{}", hashlib.sha256).hexdigest()
    headers = {"Holdfast-Timestamp": "1000", "Holdfast-Signature": signature}
    unreadable = headers | {"Holdfast-Signature": "v1=\udc80"}  # as some servers hand on what is no text
    cases: list[tuple[Any, dict[str, str], Any, str]] = [
        ("", headers, b"{}", "secret is not valid"),
        (None, headers, b"{}", "secret is not valid"),
        (SECRET, headers, "{}", "give the bytes"),
        (SECRET, unreadable, b"{}", "not signed with this secret"),
    ]
    for secret, given, body, what in cases:
        with pytest.raises(InvalidInput, match=what):
            verify_webhook(secret, given, body, now=1_000)
