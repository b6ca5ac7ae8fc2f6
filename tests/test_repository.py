"""House rules that no tool checks: what may stand in the repository, and what must be in the wheel."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK_FILES = {
    "Pipfile.lock",
    "package-lock.json",
    "pdm.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
}
TARGETS = ["up", "down", "tour", "test", "quick", "check", "bench", "test-long", "clean"]
EXTRAS = {"dev", "postgres", "demo"}


@cache
def repository_files() -> list[Path]:
    """What is tracked, or will be with the next commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]


def test_no_lock_file_names_a_host() -> None:
    locks = [path for path in repository_files() if path.name in LOCK_FILES]
    assert [path for path in locks if re.search(r"https?://|file://", path.read_text())] == []


def test_no_file_names_the_folder_of_this_checkout() -> None:
    checkout = re.compile(rb"(?<![\w.-])" + re.escape(os.fsencode(ROOT)) + rb"(?![\w-])")
    assert [path for path in repository_files() if checkout.search(path.read_bytes())] == []


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def test_constraints_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_every_dependency_is_pinned() -> None:
    wanted = declared_requirements()
    reached: set[tuple[str, str]] = set()
    unpinned: set[str] = set()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        if name not in pins() or not requirement.specifier.contains(pins()[name], prereleases=True):
            unpinned.add(str(requirement))
            continue
        for extra in requirement.extras | {""}:
            if (name, extra) not in reached:
                reached.add((name, extra))
                wanted += [needed for needed in requirements_of(name) if applies(needed, extra)]
    assert unpinned == set()


def declared_requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() >= EXTRAS
    lines = project["dependencies"] + [line for extra in EXTRAS for line in extras[extra]]
    requirements = [Requirement(line) for line in lines]
    return [requirement for requirement in requirements if requirement.name != project["name"]]


def requirements_of(name: str) -> list[Requirement]:
    return [Requirement(line) for line in requires(name) or []]


def applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def test_the_wheel_holds_every_sql_file_and_the_type_marker(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    [wheel] = tmp_path.glob("*.whl")
    shipped = set(ZipFile(wheel).namelist())
    source = ROOT / "src"
    expected = {str(path.relative_to(source)) for path in source.rglob("*.sql")} | {"holdfast/py.typed"}
    assert expected <= shipped


@pytest.mark.parametrize("target", TARGETS)
def test_the_makefile_has_the_target(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_pipeline_does_what_a_person_does() -> None:
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert run.read_text().splitlines()[-1] == "make test"


def test_a_class_name_exists_once_also_without_its_underscore() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_every_folder_of_the_package_is_small_and_has_a_line_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    files = [path for path in repository_files() if path.is_relative_to(ROOT / "src" / "holdfast")]
    folders: defaultdict[Path, int] = defaultdict(int)
    for path in files:
        folders[path.parent] += path.suffix == ".py"
    assert {str(folder): count for folder, count in folders.items() if count > 25} == {}
    named = [folder.relative_to(ROOT) for folder, count in folders.items() if count > 1 and folder.name != "holdfast"]
    assert [str(folder) for folder in named if f"`{folder}`" not in text] == []
    assert list((ROOT / "src" / "holdfast" / "store" / "sql").glob("*.sql")) == []
