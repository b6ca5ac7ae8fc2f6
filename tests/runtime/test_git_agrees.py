"""What is ignored is what git ignores: the same files of rules and the same paths, asked of `git check-ignore`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from holdfast.runtime.planner.ignoring import Ignoring

pytestmark = pytest.mark.processes

# Every folder is tried with its own file of rules, and holds all of these; those with a slash behind are folders.
PATHS = (
    "a", "b", "ba", "abc", "a.py", "a.pyc", "A", "a b", "a ", "a\\", "a*", "a?", "[a]", "a]", "]", "[", "!a", "#a",
    "-", "^", "é", "日本", "0", "9", "_", "a\tb", "a-c", "aXb", "a\r", "x.log", "**",
    "d/", "d/a", "d/b", "d/ab", "d/d/", "d/d/a", "d/d/d/", "d/d/d/a", "d/d/d/a.py", "d/e/", "d/e/a", "d/e/x.log",
    "e/", "e/a", "e/d/", "e/d/a", "e/d/b", "ab/", "foo/", "foo/bar/", "foo/bar/baz", "foobar/", "foobar/bar",
    "foobar/x/", "foobar/x/bar", "foo/bar.py", "build/", "build/a", "src/", "src/build/", "src/build/a", "src/a.py",
    "doc/", "doc/frotz/", "doc/frotz/a", "[d]/", "[d]/a", "a-d/", "a-d/b", "d e/", "d e/a",
    "__pycache__/", "__pycache__/a.pyc", ".env", ".env.local", ".env.example", ".env.x.local", "node_modules/", "Bin/",
    "node_modules/x/", "node_modules/x/index.js", "bin/", "bin/x", "Debug-x/", ".idea/", ".idea/a/", "docs/_build/",
    ".idea/a/workspace.xml", "docs/", "docs/_build/x", "dist/", "dist/x.tar.gz", "pip-log.txt", "src/node_modules/",
    "a.py.class", "a$py.class", "x.egg-info/", "{a,b}", "(a)", "+a", "a|b", "a.py$", "^a.py", "a.{py,js}", "x.o",
)  # fmt: skip

# What manuals, people and templates write, and what only an enemy does.
CORPUS = Path(__file__).with_name("gitignore_corpus.txt").read_text("utf-8").splitlines()

SEVERAL = [
    ["*", "!a"], ["*", "!*/"], ["*", "!*/", "!*.py"], ["/*", "!/d"], ["/*", "!/d", "/d/*", "!/d/d"], ["d/", "!d/a"],
    ["d/*", "!d/a"], ["d/**", "!d/**/"], ["a", "!a", "a"], ["!a", "*a"], ["*.py", "!a.py", "a*"], ["d", "!d/"],
    ["d/", "!d"], ["# only this", "", "a", "   ", "!b"], ["a\r", "b\r"], ["\ufeffa"], ["a\x00b"], ["e", "!e/d", "d"],
    ["!d/d/", "d/d", "!d/d/d"], ["*", "!foo/", "!foo/bar/"], ["a   "], ["a\t"], ["\ta"], ["a\\ "], ["a\\  "],
    ["a\\\\ "], [".env.*", "!.env.example"], ["node_modules", "!node_modules/x"], ["*.py", "!src/*.py"],
    ["[Bb]in/", "!bin/"],
]  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True, env=environment())
    return root


def environment() -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LC_ALL": "C.UTF-8",
    }


def plant(folder: Path) -> None:
    for path in PATHS:
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()


def differences(repository: Path, tried: Sequence[Sequence[str]]) -> list[tuple[Sequence[str], str, bool]]:
    """Where git says otherwise: the rules, the path, and whether git ignores it."""
    asked: dict[str, tuple[Sequence[str], str]] = {}
    for number, rules in enumerate(tried):
        folder = repository / f"{number:03}"
        if not folder.exists():
            plant(folder)
        (folder / ".gitignore").write_bytes("".join(f"{rule}\n" for rule in rules).encode("utf-8", "surrogateescape"))
        asked |= {f"{folder.name}/{path.rstrip('/')}": (rules, path) for path in PATHS}
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=repository,
        env=environment(),
        input=b"".join(os.fsencode(path) + b"\0" for path in asked),
        stdout=subprocess.PIPE,
    )
    assert done.returncode in (0, 1)
    by_git = set(os.fsdecode(done.stdout).split("\0")[:-1])
    ignoring = Ignoring(str(repository), (), True)
    return [
        (rules, path, full in by_git)
        for full, (rules, path) in asked.items()
        if ignoring.ignores_path(full, path.endswith("/")) != (full in by_git)
    ]


def test_a_corpus_means_what_it_means_to_git(repository: Path) -> None:
    assert differences(repository, [[rule] for rule in CORPUS]) == []


def test_rules_that_take_back_mean_what_they_mean_to_git(repository: Path) -> None:
    assert differences(repository, SEVERAL) == []


RULE = st.lists(
    st.sampled_from(
        ["a", "b", "d", "e", "*", "**", "/", "/**/", "**/", "?", "[", "]", "!", "^", "-", "\\", " ", "[a-c]"]
    )
    | st.sampled_from(
        ["[!a]", "[:alpha:]", "[[:digit:]]", "foo", "bar", ".py", "#", "é", ":", "c", "[^d]", "[]", "[\\]]"]
    ),
    min_size=1,
    max_size=8,
).map("".join)


@seed(20_260_715)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(st.lists(st.lists(RULE, min_size=1, max_size=3), min_size=30, max_size=30))
def test_generated_rules_mean_what_they_mean_to_git(repository: Path, tried: list[list[str]]) -> None:
    assert differences(repository, tried) == []
