"""The benchmark hides nobody: a peer that cannot take part is reported, and a partial run keeps what it did not do."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from bench import raw
from bench.__main__ import with_tables
from bench.against import compared, figures
from bench.peers.comparing import Outcome, report
from bench.peers.environments import Unavailable
from bench.peers.roster import HOLDFAST, PEERS
from bench.peers.running import Figures, run
from bench.table import Place, Table
from bench.turns import HERE, Side, compare
from bench.watching import saves
from holdfast import Holdfast, StateName
from holdfast.wire.home import HOME
from tests.daemon.house import short_folder


def test_a_peer_that_cannot_take_part_is_named_with_the_reason() -> None:
    measured = Outcome(HOLDFAST, rounds=[Figures(drain=1.0, mixed=2.0, enqueues=[0.1, 0.2], pickups=[0.3, 0.4])])
    text = report([measured, Outcome(PEERS[0], trouble="could not be installed: no network")], load=0.0).markdown()
    assert f"{PEERS[0].name} was not measured: could not be installed: no network" in text
    assert "10,000 /s" in text


def test_a_driver_that_does_not_start_says_why(tmp_path: Path) -> None:
    entry = replace(HOLDFAST, driver="nobody", store="file")
    with pytest.raises(Unavailable, match=r"No module named bench\.peers\.contestants\.nobody"):
        run(entry, Place(tmp_path, ""))


def test_a_partial_run_leaves_every_section_in_its_place() -> None:
    old = "# Benchmarks\n\n\n## Drain\n\nold drain\n\n\n## Claim\n\nold claim\n"
    claim, pickup = "\n## Claim\n\nnew claim\n", "\n## Pickup\n\nnew pickup\n"
    assert with_tables(old, [pickup, claim]) == ["\n## Drain\n\nold drain\n", claim, pickup]


def test_a_saved_file_is_timed_until_its_job_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME, "")
    with short_folder() as folder:
        assert all(seconds > 0 for seconds in saves(Place(folder, ""), 2, 3))


def test_the_raw_loop_writes_what_holdfast_writes_today(tmp_path: Path) -> None:
    raw.full_life(str(tmp_path / "raw.db"), 4, 2)
    assert Holdfast(tmp_path / "raw.db").counts()["default"][StateName.DONE] == 4


def test_two_versions_are_compared_by_the_first_figure_of_each_row() -> None:
    table = Table("Enqueue", "Acknowledged.", [("one", "p50 0.50 ms, p95 0.52 ms", ""), ("many", "20,000 /s", "8 ×")])
    found = figures(table.markdown())
    assert found == {("Enqueue", "one"): (0.5, "ms"), ("Enqueue", "many"): (20_000, "/s")}
    assert compared("one", [(1.0, "ms")], [found["Enqueue", "one"]])[-1] == "2.00 ×"
    assert compared("many", [(10_000, "/s")], [found["Enqueue", "many"]])[-1] == "2.00 ×"


def test_two_versions_take_turns(postgres_url: str) -> None:
    with Side(HERE, "pickup", postgres_url) as before, Side(HERE, "pickup", postgres_url) as now:
        table = compare("pickup", [before, now], turns=2)
    assert [row[0] for row in table.rows] == ["SQLite", "PostgreSQL"]
    assert all(float(ratio.removesuffix(" ×")) > 0 for row in table.rows for ratio in row[3:])


def test_a_version_that_cannot_be_measured_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=f"the measurement in {tmp_path} ended early"):
        Side(tmp_path, "pickup", "")
    assert "No module named 'bench'" in capfd.readouterr().err
