"""Queues as the settings of a daemon say, and what that means for those who use it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import InvalidInput, QueueFull, StateName
from holdfast.daemon.settings.settings_file import load, load_queues
from tests.daemon.house import House, inhabited

SETTINGS = """
[queues.mail]
rate = "2/3s"
max_length = 3
class = "heavy"
breaker = 3
breaker_for = "1m"

[queues."web/index"]
retry = { retries = 5, initial = "1s", factor = 3 }
timeout = "10m"
limit = 2
overflow = "shed"
"""
LIMITED = """
[queues.mail]
rate = "2/2s"
max_length = 2

[queues.post]
max_length = 2
"""


def test_tables_of_the_file_say_what_is_set(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text(SETTINGS)
    load(file)
    mail, index = load_queues(file).values()
    assert (mail.rate_limit, mail.rate_window_ms, mail.max_length, mail.queue_class) == (2, 3_000, 3, "heavy")
    assert (mail.breaker, mail.breaker_for_ms) == (3, 60_000)
    assert index.retry is not None
    assert (index.retry.retries, index.retry.initial_ms, index.retry.factor) == (5, 1_000, 3.0)
    assert (index.timeout_ms, index.concurrency, index.overflow) == (600_000, 2, "shed")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[queues.mail]\nrate = "often"', "queues.mail.rate = 'often' is not valid: use a number of starts"),
        ("[queues.mail]\nlimits = 3", "queues.mail.limits is not known: did you mean limit?"),
        ("[queues.mail]\nmax_length = -1", "queues.mail.max_length = -1 is not valid"),
        ("[queues.mail]\nbreaker_for = 0", "queues.mail.breaker_for = 0 is not valid: use 1 ms to 366 days"),
        ("[queues.mail]\ntimeout = 0", "queues.mail.timeout = 0 is not valid: use 1 ms to 100 years"),
        ("[queues.mail]\nretry = { initial = 3 }", "queues.mail.retry"),
        ('[queues.mail]\npreset = "fast"', "use one of 'cleanup', 'indexing'"),
        ('[queues.mail]\noverflow = "drop"', "use one of 'reject', 'shed'"),
        ('[queues."no good"]\nlimit = 1', "'no good'"),
        ("[queues]\nmail = 3", "write one [queues.NAME] for each"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_its_value(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        load(file)
    assert said in str(refused.value)


def test_the_file_stands_above_what_was_set_by_hand_for_what_it_names(house: House) -> None:
    house.settings(SETTINGS)
    daemon = house.up()
    client = house.client()
    client.set_queue("mail", max_length=50, limit=7)
    client.set_queue("other", limit=1)
    house.down(daemon)
    house.up()
    mail, other, index = house.client().queues()
    assert (mail.name, mail.max_length, mail.concurrency, str(mail.rate)) == ("mail", 3, 7, "2/3s")
    assert (other.name, other.concurrency, index.name, index.timeout_ms) == ("other", 1, "web/index", 600_000)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose settings limit two queues."""
    with inhabited(tmp_path_factory.mktemp("side"), LIMITED) as house:
        yield house


def test_a_full_queue_with_a_rate_takes_in_all_of_a_patient_program(shared: House) -> None:
    client = shared.client(wait_for_room=60)
    handles = [client.command("true", queue="mail") for _ in range(6)]
    assert {handle.wait(timeout=60) for handle in handles} == {StateName.DONE}
    starts = sorted(handle.runs[0].started_at for handle in handles)
    assert all(later - earlier >= 2_000 for earlier, later in zip(starts, starts[2:], strict=False))


def test_an_impatient_program_is_refused_and_those_who_made_room_are_counted(shared: House) -> None:
    client = shared.client(wait_for_room=0)
    client.pause("post")
    handles = [client.command("true", queue="post") for _ in range(2)]
    with pytest.raises(QueueFull, match="queue 'post' is full"):
        client.command("true", queue="post", priority=1)
    client.set_queue("post", overflow="shed")
    client.command("true", queue="post", priority=1)
    assert [handle.state for handle in handles] == [StateName.QUEUED, StateName.CANCELLED]
    shared.await_metrics('holdfast_jobs_shed_total{queue="post"} 1.0')
