"""Webhooks behind a daemon: its settings decide where they may lead, and no death loses a delivery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.chaos.processes import kill, until
from tests.cli.shell import Shell
from tests.daemon.house import House, inhabited
from tests.workers.receiver import LOOPBACK, answering, hanging, receiving

ALLOWED = f'[webhooks]\nallow = ["{LOOPBACK}"]\ntimeout = "60s"\n'
SYSTEM = "system"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose webhooks may lead to this machine. Each test removes those that it has added."""
    with inhabited(tmp_path_factory.mktemp("side"), ALLOWED) as house:
        yield house


def test_a_delivery_whose_worker_is_killed_is_delivered_again(shared: House) -> None:
    with receiving(hanging, answering(204)) as receiver:
        hf = shared.client()
        secret = hf.add_webhook(receiver.url, on="job.run.*", name="ci").secret
        assert secret is not None
        job = hf.command("true")
        first = receiver.next()
        kill(shared.worker(SYSTEM))
        second = receiver.next()
        assert first.event["attributes"]["job_id"] == job.id
        assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
        assert (first.event["attempt"], second.event["attempt"]) == (1, 2)
        assert second.is_signed_with(secret)
        until(lambda: hf.deliveries("ci").deliveries[0].state == "DONE", "the delivery is done")
        hf.remove_webhook("ci")


def test_a_receiver_that_hangs_keeps_nobody_else_waiting(shared: House) -> None:
    with receiving(hanging) as slow, receiving(answering(204)) as quick:
        hf = shared.client()
        hf.add_webhook(slow.url, on="news", name="slow")
        for _ in range(100):
            hf.emit("news")
        slow.next()
        hf.add_webhook(quick.url, on="more", name="quick")
        for _ in range(20):
            hf.emit("more")
        for _ in range(20):
            quick.next()
        until(lambda: {one.state for one in hf.deliveries("quick").deliveries} == {"DONE"}, "all have been delivered")
        assert len(slow.requests) <= 8
        for name in ("slow", "quick"):
            hf.remove_webhook(name)


@pytest.mark.long
def test_a_delivery_outlives_its_daemon(house: House) -> None:
    house.settings(ALLOWED)
    daemon = house.up()
    with receiving(hanging, answering(204)) as receiver:
        house.client().add_webhook(receiver.url, on="job.run.*", name="ci")
        house.client().command("true")
        first = receiver.next()
        kill(house.worker(SYSTEM))
        daemon.kill()
        house.up()
        second = receiver.next()
        assert first.headers["holdfast-delivery"] == second.headers["holdfast-delivery"]


def test_the_settings_decide_what_a_webhook_may_be_created_for(house: House) -> None:
    house.up()
    new = {"id": str(uuid4()), "url": "http://127.0.0.1:1/", "patterns": ["x"]}
    status, problem = house.ask("POST", "/v1/webhooks", {"webhook": new})
    assert (status, problem["code"]) == (400, "ERR_INVALID_INPUT")
    assert "allow it in the settings" in problem["detail"]
    status, made = house.ask("POST", "/v1/webhooks", {"webhook": new | {"url": "https://hooks.example/"}})
    assert (status, made["secret"][:6]) == (201, "whsec_")
    status, problem = house.ask("PUT", "/v1/webhooks/hooks.example", {"changes": {"url": "http://localhost/"}})
    assert status == 400
    status, shown = house.ask("GET", "/v1/webhooks/hooks.example")
    assert (status, "secret" in shown, shown["url"]) == (200, False, "https://hooks.example/")
    assert house.ask("GET", "/v1/runs/nowhere/webhook")[0] == 404
    assert house.ask("DELETE", "/v1/webhooks/hooks.example")[0] == 200
    assert house.ask("GET", "/v1/webhooks") == (200, [])


def test_the_command_line_keeps_webhooks(shared: House, tmp_path: Path) -> None:
    sh = Shell(shared.home)
    key = tmp_path / "key"
    key.write_text("a-secret-of-ours\n")
    with receiving(answering(500)) as receiver:
        said = sh.ok("webhook", "add", receiver.url, "--on", "job.failed", "--name", "ci", "--secret-file", key)
        assert said.out == "webhook ci is told about job.failed\n"
        tried = sh("webhook", "test", "ci")
        assert (tried.code, "it answered 500" in tried.out, "; it is tried again in " in tried.out) == (1, True, True)
        assert receiver.next().is_signed_with("a-secret-of-ours")
        assert "it answered 500" in sh.ok("webhook", "deliveries", "ci").out
        receiver.behave(answering(204))
        assert sh.ok("webhook", "test", "ci").out == "DONE\n"
        listed = sh.ok("webhook", "deliveries", "ci", "--json").json["deliveries"]
        done = next(delivery["id"] for delivery in listed if delivery["state"] == "DONE")
        assert sh.ok("webhook", "redeliver", "ci", done).out == "1 sent again\n"
        sh.ok("webhook", "edit", "ci", "--on", "build.*", "--timeout", "5s")
        assert sh.ok("emit", "build.mine").out.endswith(": no job waited for it, 1 webhook is told\n")
        assert sh.ok("webhook", "ls", "--json").json[0]["patterns"] == ["build.*"]
        assert "not shown again: whsec_" in sh.ok("webhook", "add", receiver.url, "--on", "x").out
        sh.ok("webhook", "pause", "ci", "--reason", "moving")
        assert "off: moving" in sh.ok("webhook", "show", "ci").out
        sh.ok("webhook", "resume", "ci")
        assert sh("webhook", "rm", "ci").code == 2
        sh.ok("webhook", "rm", "ci", "--yes")
        assert sh("webhook", "show", "ci").code == 1
        unread = sh("webhook", "add", receiver.url, "--on", "x", "--secret-file", tmp_path / "none")
        assert unread.err.endswith("none cannot be read: No such file or directory\n")
        assert sh("webhook", "add", "https://hooks.example/").code == 2
        assert sh("webhook", "add", "nonsense", "--on", "x").code == 2
