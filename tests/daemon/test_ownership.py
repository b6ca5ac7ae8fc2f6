"""`up` does not start what somebody else could change: real files, links and folders."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.core.errors import HoldfastError
from holdfast.daemon import ownership
from holdfast.daemon.ownership import exposures, refuse_exposed
from holdfast.runtime.exposed_paths import OVERFLOW_UID
from holdfast.wire.home import Home

STRANGER = 54_321
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose every folder is closed to others."""
    tmp_path.chmod(0o700)
    home = Home(tmp_path / "above" / "home")
    home.create()
    home.settings.write_text("")
    home.settings.chmod(0o644)
    return home


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A file with code."""
    (tmp_path / "code").mkdir(mode=0o755)
    app = tmp_path / "code" / "tasks.py"
    app.write_text("")
    return app


def told(home: Home, *apps: str) -> list[str]:
    return [found.path for found in exposures(home, home.settings, apps)]


def test_what_a_usual_umask_makes_passes(home: Home, app: Path) -> None:
    assert told(home, f"{app}:hf") == []
    for path in (home.folder, app.parent):
        path.chmod(0o755)
    app.chmod(0o644)
    assert told(home, f"{app}:hf") == []


@pytest.mark.parametrize("of", ["home", "above", "settings", "app", "folder of the app"])
def test_what_everybody_can_write_is_refused(home: Home, app: Path, of: str) -> None:
    path = {
        "home": home.folder,
        "above": home.folder.parent,
        "settings": home.settings,
        "app": app,
        "folder of the app": app.parent,
    }[of]
    path.chmod(0o777)
    with pytest.raises(HoldfastError, match=f"{path} can be written by everybody.*chmod go-w {path}"):
        refuse_exposed(home, home.settings, [f"{app}:hf"])
    assert path in map(Path, told(home, f"{app}:hf"))


@AS_ROOT
@pytest.mark.parametrize("of", ["home", "above", "settings", "app"])
def test_what_belongs_to_somebody_else_is_refused(home: Home, app: Path, of: str) -> None:
    path = {"home": home.folder, "above": home.folder.parent, "settings": home.settings, "app": app}[of]
    os.chown(path, STRANGER, -1)
    with pytest.raises(HoldfastError, match=f"{path} belongs to uid {STRANGER}.*chown .*chmod go-w {path}"):
        refuse_exposed(home, home.settings, [str(app)])


def test_a_group_with_other_members_is_refused_and_a_private_one_passes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.folder.chmod(0o770)
    me, gid = pwd.getpwuid(os.geteuid()), home.folder.stat().st_gid
    alone = pwd.struct_passwd(("me", "x", me.pw_uid, gid, "", "/", "/bin/sh"))
    somebody = pwd.struct_passwd(("somebody", "x", STRANGER, STRANGER, "", "/", "/bin/sh"))
    housemate = pwd.struct_passwd(("housemate", "x", STRANGER, gid, "", "/", "/bin/sh"))

    def members(users: list[pwd.struct_passwd], listed: list[str]) -> list[str]:
        monkeypatch.setattr(pwd, "getpwall", lambda: users)
        monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group(("ours", "x", gid, listed)))
        return told(home)

    assert members([alone, somebody], []) == []
    assert members([alone, somebody], ["me"]) == []
    assert members([alone, somebody], ["me", "somebody"]) == [str(home.folder)]
    assert members([alone, housemate], []) == [str(home.folder)]
    home.folder.chmod(0o750)
    assert members([alone, housemate], []) == []


def test_a_sticky_folder_above_passes(home: Home) -> None:
    home.folder.parent.chmod(0o1777)
    assert told(home) == []


def test_folders_above_a_closed_one_count(home: Home, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert told(home) == [str(tmp_path)]


@AS_ROOT
def test_a_folder_far_above_of_somebody_else_is_refused(home: Home, tmp_path: Path) -> None:
    os.chown(tmp_path, STRANGER, -1)
    assert told(home) == [str(tmp_path)]


def test_in_a_container_without_root_its_folders_pass() -> None:
    """There `/` is shown as a folder of nobody. The program becomes another user first, if it can."""
    program = f"""
import ctypes, os, sys
from pathlib import Path
from holdfast.daemon.ownership import exposures
from holdfast.wire.home import Home

NEW_USERS, SET_DUMPABLE = 0x10000000, 4
if os.geteuid() == 0:
    os.setuid({STRANGER})
user, libc = os.geteuid(), ctypes.CDLL(None)
libc.prctl(SET_DUMPABLE, 1)
if libc.unshare(NEW_USERS) != 0:
    sys.exit(77)
Path("/proc/self/uid_map").write_text(f"{{user}} {{user}} 1")
print(os.lstat("/").st_uid, [found.path for found in exposures(Home(Path("/no/such/home")))])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("this system makes no user namespaces for everybody")
    assert done.stdout.strip() == f"{OVERFLOW_UID.read_text().strip()} []", done.stderr


@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=["open", "sticky"])
def test_a_folder_of_pythonpath_to_which_others_may_add_is_refused(
    home: Home, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    folders = [tmp_path / "closed", tmp_path / "open", tmp_path / "open" / "not there"]
    for folder in folders[:2]:
        folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))
    assert told(home, f"{app}:hf") == []
    folders[1].chmod(mode)
    assert told(home, f"{app}:hf") == [str(folders[1])]
    assert told(home) == []


def test_an_empty_name_in_pythonpath_is_the_present_folder(
    home: Home, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o1777)
    monkeypatch.chdir(tmp_path / "open")
    monkeypatch.setenv("PYTHONPATH", "")
    assert told(home, f"{app}:hf") == []
    monkeypatch.setenv("PYTHONPATH", f"{app.parent}{os.pathsep}")
    assert told(home, f"{app}:hf") == [str(tmp_path / "open")]


@pytest.mark.parametrize("open_folder", ["shop", "shop/jobs", "shop/models", "shop/models/__pycache__"])
def test_every_folder_of_the_package_counts(
    home: Home, app: Path, monkeypatch: pytest.MonkeyPatch, open_folder: str
) -> None:
    for folder in ("shop/jobs", "shop/models/__pycache__", "shop/no-package"):
        (app.parent / folder).mkdir(parents=True)
    (app.parent / "shop" / "jobs" / "tasks.py").write_text("")
    (app.parent / "shop" / "no-package").chmod(0o777)
    monkeypatch.chdir(app.parent)
    assert told(home, "shop.jobs.tasks:hf") == []
    (app.parent / open_folder).chmod(0o1777)
    assert told(home, "shop.jobs.tasks:hf") == [str(app.parent / open_folder)]


def test_a_package_may_have_folders_as_deep_as_a_path_may_be(
    home: Home, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = app.parent / "shop"
    package.mkdir()
    (package / "tasks.py").write_text("")
    monkeypatch.chdir(package)
    for _ in range(1_500):
        Path("d").mkdir()
        os.chdir("d")
    os.chdir(app.parent)
    assert told(home, "shop.tasks:hf") == []
    package.chmod(0o777)
    assert told(home, "shop.tasks:hf") == [str(package)]
    subprocess.run(["rm", "-r", str(package)], check=True)  # deeper than shutil goes


def test_a_package_with_too_many_folders_is_refused(home: Home, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        (app.parent / "shop" / f"n{number}").mkdir(parents=True)
    (app.parent / "shop" / "tasks.py").write_text("")
    monkeypatch.chdir(app.parent)
    monkeypatch.setattr(ownership, "MOST_FOLDERS", 5)
    with pytest.raises(HoldfastError, match="package 'shop' has more than 5 folders"):
        refuse_exposed(home, home.settings, ["shop.tasks:hf"])


def test_a_module_in_a_present_folder_to_which_others_may_add_is_not_looked_for(
    home: Home, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app.parent / "mine.py").write_text("")
    (app.parent / "mine.py").chmod(0o666)
    monkeypatch.chdir(app.parent)
    assert told(home, "mine:hf") == [str(app.parent / "mine.py")]
    app.parent.chmod(0o1777)
    assert told(home, "mine:hf") == []


def test_a_link_in_a_folder_that_others_write_is_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    link = tmp_path / "open" / "link"
    link.symlink_to(home.folder)
    assert told(Home(link)) == [str(tmp_path / "open")]
    assert told(Home(link.parent / ".." / "above" / "home")) == []


@AS_ROOT
def test_a_link_of_somebody_else_is_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    link = tmp_path / "shared" / "link"
    link.symlink_to(home.folder)
    assert told(Home(link)) == []
    os.chown(link, STRANGER, -1, follow_symlinks=False)
    assert told(Home(link)) == [str(link)]


def test_what_a_link_leads_to_is_looked_at_too(home: Home, app: Path, tmp_path: Path) -> None:
    home.settings.unlink()
    (app.parent / "mine.toml").write_text("")
    home.settings.symlink_to(app.parent / "mine.toml")
    assert told(home) == []
    app.parent.chmod(0o777)
    assert told(home) == [str(app.parent)]


def test_links_in_a_circle_are_an_error_and_no_loop(home: Home) -> None:
    home.settings.unlink()
    home.settings.symlink_to(home.settings)
    with pytest.raises(HoldfastError, match="cannot be examined"):
        refuse_exposed(home, home.settings)


def test_the_file_of_a_module_is_found_without_running_it(
    home: Home, app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = app.parent / "shop" / "jobs"
    package.mkdir(parents=True)
    for file in (package.parent / "__init__.py", package / "__init__.py", package / "tasks.py"):
        file.write_text("raise SystemExit('it was run')")
    monkeypatch.chdir(app.parent)
    assert told(home, "shop.jobs.tasks:hf") == []
    (package / "tasks.py").chmod(0o666)
    assert told(home, "shop.jobs.tasks:hf") == [str(package / "tasks.py")]
    assert told(home, "shop.nothing:hf", "no_such_package:hf", "sys:hf") == []
    assert "shop" not in sys.modules


def test_a_home_that_is_not_there_yet_is_judged_by_where_it_would_be(home: Home) -> None:
    new = Home(home.folder.parent / "not" / "yet")
    assert list(exposures(new)) == []
    home.folder.parent.chmod(0o777)
    assert [found.path for found in exposures(new)] == [str(home.folder.parent)]


def test_folders_that_are_made_for_the_home_are_closed_whatever_the_umask_says(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "b")
    before = os.umask(0)
    try:
        home.create()
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (home.folder, home.folder.parent)} == {0o700}
