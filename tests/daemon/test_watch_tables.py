"""The `[[watch]]` tables of the settings: what they mean, and how a mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.daemon.settings.settings_file import load, load_watches


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "holdfast.toml"


def test_a_table_is_a_watch_seen_from_the_folder_of_the_file(file: Path) -> None:
    file.write_text(
        '[[watch]]\npath = "src"\ntask = "index"\nglobs = ["*.py"]\ndebounce = "100ms"\npayload = { file = "{path}" }\n'
        '[[watch]]\nname = "commits"\npath = "/repo"\nkind = "git"\n'
    )
    load(file)
    src, commits = load_watches(file)
    assert (src.name, src.path, src.globs, src.debounce_ms) == ("src", str(file.parent / "src"), ["*.py"], 100)
    assert src.payload == '{"file":"{path}"}'
    assert (commits.name, commits.kind, commits.task) == ("commits", "git", None)


def test_without_a_file_or_tables_nothing_is_watched(file: Path) -> None:
    file.write_text("")
    assert load_watches(None) == load_watches(file) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[watch]\npath = 'x'", "write one \\[\\[watch\\]\\] for each"),
        ("[[watch]]\ntask = 't'", "\\[\\[watch\\]\\] 1: path is missing"),
        ("[[watch]]\npath = 'x'\nglob = ['*']", "glob is not known: did you mean globs\\?"),
        ("[[watch]]\npath = 'x'\nglobs = '*'", "globs = '\\*' is not valid: use a list of texts"),
        ("[[watch]]\npath = 'x'\ndebounce = 'soon'", "debounce = 'soon' is not valid: use 0 s to 100 years"),
        ("[[watch]]\npath = 'x'\nkind = 'tree'", "use one of 'folder', 'git'"),
        ("[[watch]]\npath = 'x'\nsubject = '{nobody}'", "1: subject '{nobody}' names 'nobody'"),
        ("[[watch]]\npath = 'x'\n[[watch]]\npath = 'x'", "two \\[\\[watch\\]\\] are called 'x'"),
        ("[[watch]]\npath = 'x'\npayload = 'x'", "in a table such as"),
    ],
)
def test_a_mistake_is_named_with_its_place(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    with pytest.raises(InvalidInput, match=says):
        load(file)
