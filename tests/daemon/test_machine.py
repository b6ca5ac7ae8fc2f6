"""A real daemon and jobs that wait until its machine is idle or charging."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import StateName
from holdfast.core.jobs.requests import COMMAND, NewJob
from holdfast.store.engine import new_uuid
from holdfast.store.scripts.jobs.enqueue import enqueue
from tests.chaos.processes import PATIENCE_S
from tests.cli.shell import Shell
from tests.daemon.house import House, inhabited

SETTINGS = """
[queues.index]
class = "heavy"

[pressure]
battery = 20
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home on a machine that is simulated."""
    with inhabited(tmp_path_factory.mktemp("side"), SETTINGS) as house:
        yield house


def test_a_job_waits_for_an_idle_machine_and_says_so_until_it_is_simulated(shared: House) -> None:
    sh, hf = Shell(shared.home), shared.client()
    [machine] = hf.machines()
    assert sh.ok("status", "--json").json["machines"][0]["node"] == machine.node
    sh.ok("simulate", "idle=off", "charging=on")
    job_id = new_uuid()
    new = NewJob(id=job_id, task=COMMAND, payload='{"argv": ["true"]}', wait_for_idle=True, require_charging=True)
    hf._access.write(enqueue, [new], hf._access.now())
    job = hf.job(job_id)
    assert "in use (simulated)" in sh.ok("why", job_id).out
    assert "in use (simulated)" in sh.ok("status").out
    assert job.state is StateName.QUEUED
    sh.ok("simulate", "idle", "battery=15", "discharging")
    assert "discharging, 15 % (simulated)" in sh.ok("why", job_id).out
    assert job.state is StateName.QUEUED
    sh.ok("simulate", "idle=on", "charging=on")
    assert job.result(PATIENCE_S) == {"exit_code": 0}
    assert "charging  yes" in sh.ok("simulate").out
    assert "write-ahead log has grown to 286 MiB" in sh.ok("simulate", "wal=300MB").out
    assert "simulated" not in sh.ok("simulate", "off").out


def test_words_that_cannot_be_simulated_are_refused(house: House) -> None:
    sh = Shell(house.home)
    for words, named in (
        (["fan=95"], "fan=95"),
        (["battery=101"], "battery 101 is not valid: use a whole number of percent, from 0 to 100"),
        (["cpu=5MiB"], "cpu '5MiB' is not valid"),
        (["wal=5MX"], "wal '5MX' is not valid: use 0, or 1MiB to 1TiB"),
        (["wal=300"], '"300MiB" for 300 MiB'),
        (["battery=15%"], "from 0 to 100: battery=15, without a unit"),
        (["heat=-1"], "heat '-1' is not valid: use a whole number of °C"),
        (["throttling=95"], "throttling=95"),
        (["idle=on", "idle=off"], "twice"),
    ):
        said = sh("simulate", *words)
        assert said.code == 2
        assert named in said.err
    assert "wal=300MiB" in sh("simulate", "fan").err


def test_a_simulation_outlives_its_daemon_and_settings_are_heeded(house: House) -> None:
    house.settings("[machine]\nidle_after = 60\nidle_load = 0.5\nprobe_every = 1\n")
    daemon = house.up()
    node = house.client().machines()[0].node
    status, machine = house.ask("PUT", f"/v1/machines/{node}/simulation", {"simulation": {"battery": 15}})
    assert (status, machine["charging"]) == (200, "discharging, 15 % (simulated)")
    daemon.kill()
    daemon = house.up()
    assert house.ask("GET", "/v1/machines")[1][0]["charging"] == "discharging, 15 % (simulated)"
    assert house.ask("PUT", "/v1/machines/nowhere/simulation", {"simulation": None})[0] == 404
    assert house.ask("PUT", f"/v1/machines/{node}/simulation", {"simulation": {"cpu": 101}})[0] == 400
    house.down(daemon)


def test_a_daemon_that_is_ready_has_set_the_tokens_of_its_settings(house: House) -> None:
    house.settings('[tokens]\ncpu = 9\ntimeout = "2s"\n')
    daemon = house.up()
    assert house.ask("GET", "/readyz")[0] == 200
    [found] = house.ask("GET", "/v1/tokens")[1]
    assert (found["capacity"]["cpu"], found["timeout_ms"], found["set_by"]) == (9, 2_000, "settings")
    assert house.ask("PUT", "/v1/tokens", {"gpu": 3})[1]["capacity"] == {"cpu": 9, "gpu": 3, "io": 2}
    assert house.ask("PUT", "/v1/tokens", {"gpu": -1})[0] == 400
    assert house.ask("PUT", "/v1/tokens", {"node": "nowhere", "gpu": 1})[0] == 404
    house.down(daemon)


def test_a_heavy_queue_rests_while_the_battery_is_low_and_goes_on_in_its_order(shared: House) -> None:
    sh, hf = Shell(shared.home), shared.client()
    assert "pressure" not in sh.ok("simulate", "battery=25", "charging").out
    assert "heavy queues rest" in sh.ok("simulate", "battery=15", "discharging").out
    held = hf.command("true", queue="index")
    assert hf.command("true").result(PATIENCE_S) == {"exit_code": 0}
    assert "it runs on battery with 15 % left (simulated)" in sh.ok("why", held.id).out
    assert "heavy queues rest" in sh.ok("status").out
    assert held.state is StateName.QUEUED
    metrics = shared.ask("GET", "/metrics")[1].decode().splitlines()
    levels = [line.rsplit(" ", 1)[1] for line in metrics if line.startswith("holdfast_pressure{") and "battery" in line]
    assert levels == ["1.0"]
    sh.ok("simulate", "off")
    assert held.result(PATIENCE_S) == {"exit_code": 0}
