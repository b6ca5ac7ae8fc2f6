"""A real daemon and jobs that wait until its machine is idle or charging."""

from __future__ import annotations

from holdfast import StateName
from holdfast.core.requests import COMMAND, NewJob
from holdfast.store.engine import new_uuid
from holdfast.store.scripts.enqueue import enqueue
from tests.chaos.processes import PATIENCE_S
from tests.cli.shell import Shell
from tests.daemon.house import House


def test_a_job_waits_for_an_idle_machine_and_says_so_until_it_is_simulated(house: House) -> None:
    daemon = house.up()
    sh, hf = Shell(house.home), house.client()
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
    assert "simulated" not in sh.ok("simulate", "off").out
    house.down(daemon)


def test_words_that_cannot_be_simulated_are_refused(house: House) -> None:
    sh = Shell(house.home)
    for words, named in ((["cpu=95"], "cpu=95"), (["battery=101"], "battery=101"), (["idle=on", "idle=off"], "twice")):
        said = sh("simulate", *words)
        assert said.code == 2
        assert named in said.err
    said = sh("simulate")
    assert said.code == 2
    assert "idle=on" in said.err


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
    assert house.ask("PUT", f"/v1/machines/{node}/simulation", {"simulation": {"cpu": 95}})[0] == 400
    house.down(daemon)
