"""Schedules of a daemon: those in the code of its workers, and each tick once, whatever happens to the daemon."""

from __future__ import annotations

from holdfast import Holdfast, Job
from holdfast.store.scripts.schedules.declaring import NO_LONGER
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House

SECOND = 1_000


def jobs(client: Holdfast) -> list[Job]:
    """Those that the schedule made, oldest first."""
    return list(reversed(client.schedule("often").jobs(limit=1_000).jobs))


def await_jobs(client: Holdfast, more_than: int) -> int:
    """Until there are more than so many; how many there are."""
    until(lambda: client.schedules() and len(jobs(client)) > more_than, "the schedule fires")
    return len(jobs(client))


def assert_each_tick_fired_once(client: Holdfast) -> None:
    fired = [job.fire_time or 0 for job in jobs(client)]
    # What a long absence leaves out is counted; all others have come, one after the other.
    skipped = sum(skip.ticks for skip in client.schedule("often").view().skips)
    assert len(set(fired)) == len(fired) == (fired[-1] - fired[0]) // SECOND + 1 - skipped


def test_the_code_of_a_worker_fires_until_it_no_longer_asks_for_it_and_when_it_asks_again(house: House) -> None:
    daemon, client = house.up(app="scheduled"), house.client()
    count = await_jobs(client, 0)
    assert client.job(jobs(client)[0].id).result(PATIENCE_S) == "tick"
    [schedule] = client.schedules()
    house.down(daemon)
    daemon = house.up(app="scheduled", env={"HOLDFAST_TEST_NO_CRON": "1"})
    until(lambda: client.schedule("often").view().disabled_reason == NO_LONGER, "it is disabled")
    house.down(daemon)
    house.up(app="scheduled")
    await_jobs(client, max(count, len(jobs(client))))
    [again] = client.schedules()
    assert (again.id, again.created_at, again.enabled) == (schedule.id, schedule.created_at, True)


def test_a_tick_fires_once_though_the_daemon_is_stopped_and_killed(house: House) -> None:
    client, count = house.client(), 0
    for end in (House.down, lambda _, daemon: daemon.kill()):
        daemon = house.up(app="scheduled")
        count = await_jobs(client, count)
        end(house, daemon)
    house.up(app="scheduled")
    await_jobs(client, count)
    assert_each_tick_fired_once(client)
