"""However deep and many the folders are that a job makes: its artifacts are listed, and its files go away with it."""

from __future__ import annotations

import errno
import os
import resource
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.core.errors import NotFound
from holdfast.core.messages.runs import Artifact
from holdfast.store import files as files_module
from holdfast.store.files import LONGEST_ARTIFACT, MOST_LISTED, JobFiles
from tests.daemon.house import House, short_folder

JOB = "deep"
DEEP = 1_200
# With names of 200 bytes the path of the deepest folder is longer than any path may be.
LONG = "n" * 200
NEST = f"""
import os
for level in range({DEEP}):
    open(f"{{level}}.txt", "w").close()
    os.mkdir("d")
    os.chdir("d")
"""
NOBODY = 65_534
MOST_MEMORY = 8 << 20


@pytest.fixture
def files() -> Iterator[JobFiles]:
    """What a test leaves is removed at its end, as `shutil` could not."""
    with short_folder() as folder:
        made = JobFiles(folder / "files")
        yield made
        for job_id in made.jobs():
            made.forget(job_id)


def nest(top: Path, levels: int, name: str = "d", in_each: Callable[[int], object] = lambda folder: None) -> None:
    """Folders in each other, as deep as no path may be long."""
    folder = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        in_each(folder)
        os.mkdir(name, dir_fd=folder)
        inner = os.open(name, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    in_each(folder)
    os.close(folder)


def touch(name: str) -> Callable[[int], None]:
    return lambda folder: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=folder))


@contextmanager
def few_descriptors() -> Iterator[None]:
    """Hardly more than are open now: one for each level would be too many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/dev/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def without_privileges(*paths: Path) -> Iterator[None]:
    """As a user whom the modes of files bind; these paths are this user's."""
    if os.geteuid() != 0:
        yield
        return
    for path in paths:
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def peak_of(work: Callable[[], object]) -> int:
    """How many bytes of memory it takes at most."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_artifacts_are_listed_down_to_where_names_are_too_long(files: JobFiles) -> None:
    nest(files.make(files.artifacts_of(JOB)), DEEP, in_each=touch("x"))
    with few_descriptors():
        found = files.artifacts(JOB)
    depths = range(LONGEST_ARTIFACT // 2)
    assert [artifact.name for artifact in found] == sorted("d/" * depth + "x" for depth in depths)
    assert [artifact.more for artifact in found] == [False] * (len(found) - 1) + [True]
    for artifact in found:
        files.open_artifact(JOB, artifact.name).close()


def test_folders_with_long_names_are_listed_and_removed_too(files: JobFiles) -> None:
    nest(files.make(files.artifacts_of(JOB)), 100, LONG, touch("x"))
    assert files.artifacts(JOB)[-1] == Artifact("x", 0, more=True)
    assert files.forget(JOB)
    assert files.jobs() == []


def test_many_branches_are_a_bounded_number_of_steps(files: JobFiles) -> None:
    def branch(folder: int) -> None:
        for name in "abc":
            os.mkdir(name, dir_fd=folder)
            touch(f"{name}/x")(folder)

    nest(files.make(files.artifacts_of(JOB)), 450, in_each=branch)
    found = files.artifacts(JOB)
    assert len(found) <= MOST_LISTED
    assert [artifact.more for artifact in found] == [False] * (len(found) - 1) + [True]


def test_the_first_thousand_by_name_are_listed_and_the_last_says_that_there_are_more(files: JobFiles) -> None:
    folder = files.make(files.artifacts_of(JOB))
    names = [f"{number % 7}/{number:05}" for number in range(MOST_LISTED)]
    for name in names:
        files.artifact(JOB, name).touch()
    assert files.artifacts(JOB) == [Artifact(name, 0) for name in sorted(names)]
    (folder / "z").touch()
    (folder / "0/0").touch()
    first = sorted([*names, "0/0"])[:MOST_LISTED]
    assert files.artifacts(JOB) == [*(Artifact(name, 0) for name in first[:-1]), Artifact(first[-1], 0, more=True)]


def test_very_many_files_take_little_memory(files: JobFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files.make(files.artifacts_of(JOB))
    for number in range(20_000):
        (folder / f"{'n' * 200}{number}").touch()
    assert peak_of(lambda: files.artifacts(JOB)) < MOST_MEMORY
    monkeypatch.setattr(files_module, "MOST_STEPS", 10)
    found = files.artifacts(JOB)
    assert [artifact.more for artifact in found] == [False] * 9 + [True]
    assert peak_of(lambda: files.forget(JOB)) < MOST_MEMORY
    assert files.jobs() == []


def test_a_deep_folder_is_removed_with_few_descriptors_and_little_memory(files: JobFiles) -> None:
    nest(files.make(files.artifacts_of(JOB)), 10 * DEEP, in_each=touch("x"))
    with few_descriptors():
        assert peak_of(lambda: files.forget(JOB)) < MOST_MEMORY
    assert os.listdir(files.folder) == []


def test_a_chain_is_not_walked_through_a_link(files: JobFiles, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "kept.txt").write_text("kept")
    folder = files.make(files.artifacts_of(JOB))
    nest(folder, 3, in_each=lambda inner: os.symlink(tmp_path / "inside", "link", dir_fd=inner))
    (folder / "loop").symlink_to(".")
    (folder / "x").touch()
    assert files.artifacts(JOB) == [Artifact("x", 0)]
    with pytest.raises(NotFound):
        files.open_artifact(JOB, "link/kept.txt")
    assert files.forget(JOB)
    assert (tmp_path / "inside" / "kept.txt").read_text() == "kept"


@pytest.mark.parametrize("kind", ["link", "file", "pipe"])
def test_what_stands_in_the_place_of_the_folder_goes_alone(files: JobFiles, tmp_path: Path, kind: str) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    files.make(files.folder)
    match kind:
        case "link":
            files.of_job(JOB).symlink_to(tmp_path)
        case "file":
            files.of_job(JOB).touch()
        case "pipe":
            os.mkfifo(files.of_job(JOB))
    assert files.forget(JOB)
    assert os.listdir(files.folder) == []
    assert (tmp_path / "kept.txt").read_text() == "kept"


def test_a_folder_that_nobody_may_read_is_left_out_of_the_list_and_removed(files: JobFiles) -> None:
    folder = files.make(files.artifacts_of(JOB))
    with without_privileges(files.folder.parent, files.folder, files.of_job(JOB), folder):
        for mode in (0o000, 0o400, 0o500):
            inner = folder / f"{mode:o}" / "inner"
            inner.mkdir(parents=True)
            (inner / "x").touch()
            inner.chmod(mode)
            inner.parent.chmod(mode)
        (folder / "seen").touch()
        assert [artifact.name for artifact in files.artifacts(JOB)] == ["500/inner/x", "seen"]
        folder.chmod(0o000)
        files.of_job(JOB).chmod(0o000)
        assert files.artifacts(JOB) == []
        assert files.forget(JOB)
    assert os.listdir(files.folder) == []


def test_what_cannot_be_removed_is_told_and_the_rest_goes(files: JobFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/1", "a/stuck", "b/2", "3"):
        files.artifact(JOB, name).touch()
    os.utime(files.of_job(JOB), (1, 1))
    fail_for(monkeypatch, "stuck")
    with pytest.raises(PermissionError) as error:
        files.forget(JOB)
    assert error.value.filename == "stuck"
    left = [name for _, _, names in os.walk(files.folder) for name in names]
    assert left == ["stuck"]
    # It counts as old still, so that the next sweep tries again.
    assert files.changed_at(JOB) == 1_000
    monkeypatch.undo()
    assert files.forget(JOB)
    assert os.listdir(files.folder) == []


def test_a_removal_ends_when_it_should_and_goes_on_later(files: JobFiles) -> None:
    nest(files.make(files.artifacts_of(JOB)), 50)
    answers = iter([False] * 10)
    assert not files.forget(JOB, lambda: next(answers, True))
    assert files.jobs() == [JOB]
    assert files.forget(JOB)
    assert files.jobs() == []


def fail_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the file of this name stay, as that of another user in another user's folder does."""
    unlink = os.unlink

    def fail(path: str, *, dir_fd: int | None = None) -> None:
        if path == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", fail)


def test_a_job_with_a_deep_folder_ends_well_and_its_files_go(house: House) -> None:
    house.settings("[daemon]\nkeep = 0\n")
    daemon = house.up()
    hf = house.client()
    job = hf.command("sh", "-c", f"cd $HOLDFAST_ARTIFACTS && exec {sys.executable} -c '{NEST}'")
    assert job.wait(60).name == "DONE"
    status, listed = house.ask("GET", f"/v1/jobs/{job.id}/artifacts")
    assert status == 200
    assert len(listed) > 400
    assert listed[0] == {"name": "0.txt", "size": 0}
    assert listed[-1]["more"]
    assert job.artifacts()[-1].more
    assert said_by(house, "show", str(job.number)).count(", and more") == 1
    job_folder = house.home.jobs / job.id
    assert job_folder.is_dir()
    for chore in ("retention", "files"):
        [doing] = hf.maintain(chore)
        assert doing.result(60)["removed"] >= 1
    assert not job_folder.exists()
    assert house.ask("GET", "/v1/counts")[0] == 200
    house.down(daemon)


def said_by(house: House, *words: str) -> str:
    """What a command of the command line says."""
    command = house.run(*words)
    command.end_well()
    return command.said()
