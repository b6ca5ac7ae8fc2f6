"""A new option of a job is one declaration, one migration and its one use; all else is made from them.

So is a new setting of a queue or a watch. The package is copied, the three of each are added to the copy, and all are
found from outside.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.store.migrate import migrations
from holdfast.store.statements import Dialect
from holdfast.wire.home import HOME
from tests.store.migration_files import rendered

DECLARATION = """
    colour: Annotated[
        str | None,
        JobOption(
            kind=LABEL,
            help="What it is painted with.",
            said=FOR_EVERY_JOB | SaidIn.WATCH | SaidIn.QUEUE,
            word=Word(metavar="COLOUR", help="What to paint it with."),
            filters=True,
            told_to_worker=True,
        ),
    ]
    surface: Annotated[
        Execution | None,
        JobOption(
            kind=EXECUTION,  # It is stored otherwise than it is sent.
            help="What it is painted on.",
            default="in_process",
            word=Word(metavar="SURFACE", help="What to paint."),
            filters=True,
        ),
    ]
"""
OPTION_OF_JOBS = """
    colour: Annotated[str | None, of_jobs("colour", '"red"')]
"""
SETTING = """
    coats: Annotated[
        int | None,
        Setting(
            kind=setting_kinds.number(Whole(1, 9)),
            help="How often its jobs are painted.",
            default=1,
            label="coats of paint:",
            key=Key(example="2"),
            word=Word(metavar="N", help="How often to paint its jobs."),
        ),
    ]
"""
SETTING_OF_WATCH = """
    brushes: Annotated[
        Iterable[str],
        Setting(
            kind=setting_kinds.texts(IGNORE),
            help="What its jobs paint with.",
            default=[],
            key=Key(example='["wide"]'),
            word=Word(names=("--brush",), metavar="BRUSH", help="What to paint with. Repeatable."),
        ),
    ]
"""
MIGRATION = """
ALTER TABLE jobs ADD COLUMN colour @key;
ALTER TABLE jobs ADD COLUMN surface TEXT;
ALTER TABLE queues ADD COLUMN colour @key;
ALTER TABLE watches ADD COLUMN colour @key;
ALTER TABLE queues ADD COLUMN coats @integer NOT NULL DEFAULT 1;
ALTER TABLE watches ADD COLUMN brushes TEXT NOT NULL DEFAULT '[]';
"""
USE = """
        if job.colour == "invisible":
            raise InvalidInput("colour 'invisible' cannot be seen; take another one")
"""
USE_OF_SETTING = """
    if settings.coats == 9:
        raise InvalidInput("9 coats never dry; take fewer")
"""
USE_OF_SETTING_OF_WATCH = """
    if "broom" in watch.brushes:
        raise InvalidInput("a broom is no brush; take another one")
"""
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as somebody has changed it who wanted a new option and new settings."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "holdfast"
    shutil.copytree(Path(holdfast.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    _insert(
        package / "core" / "declared" / "options.py", "    queue: Annotated[", DECLARATION.lstrip("\n"), before=True
    )
    number = migrations(Dialect.SQLITE)[-1].version + 1
    for dialect in Dialect:
        file = package / "store" / "migrations" / f"{number:03}_colours.{dialect}.sql"
        file.write_text(rendered(MIGRATION, dialect))
    enqueue = package / "store" / "scripts" / "jobs" / "enqueue.py"
    _insert(enqueue, "        job = self._tasks.resolve(job)\n", USE.lstrip("\n"), before=False)
    _insert(
        enqueue,
        "from holdfast.core.values.group import",
        "from holdfast.core.errors import InvalidInput\n",
        before=True,
    )
    settings = (SETTING + OPTION_OF_JOBS.lstrip("\n")).lstrip("\n")
    _insert(package / "core" / "settings" / "queue_settings.py", "    clear: str |", settings, before=True)
    queues = package / "store" / "scripts" / "queues" / "queues.py"
    _insert(queues, "    settings = _laid_over(before, changes)\n", USE_OF_SETTING.lstrip("\n"), before=False)
    _insert(queues, "from holdfast.core.job import", "from holdfast.core.errors import InvalidInput\n", before=True)
    settings = (SETTING_OF_WATCH + OPTION_OF_JOBS.lstrip("\n")).lstrip("\n")
    _insert(package / "core" / "settings" / "watch_settings.py", "    gitignore: Annot", settings, before=True)
    new_watch = package / "core" / "watching" / "new_watch.py"
    _insert(new_watch, "    refuse_reserved(", USE_OF_SETTING_OF_WATCH.lstrip("\n"), before=True)
    return folder


def _insert(file: Path, place: str, text: str, *, before: bool) -> None:
    code = file.read_text()
    assert code.count(place) == 1, f"{file} has changed: {place!r} stands {code.count(place)} times in it"
    file.write_text(code.replace(place, text + place if before else place + text))


def _python(copy: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        env={**os.environ, "PYTHONPATH": str(copy), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_programs_and_http_have_it(copy: Path, tmp_path: Path) -> None:
    found = json.loads(_python(copy, str(PROGRAMS / "colours.py"), str(tmp_path)))
    assert found == {
        "task": "blue",
        "call": "pink",
        "by name": "grey",
        "template": "gold",
        "override": "lime",
        "schedule": "teal",
        "queue": ["olive", "olive"],
        "watch": ["navy", "navy"],
        "chain": ["red", "red"],
        "requeue": [2, "green"],
        "by hand": "green",
        "in group": ["black", None],
        "filter": ["requeued", "requeued"],
        "bulk": 2,
        "stored otherwise": ["in_process", "subprocess", ["subprocess"]],
        "older row": "in_process",
        "told": ["blue"],
        "refused": "colour '' is not valid: use 1 to 200 characters without control characters",
        "used": "colour 'invisible' cannot be seen; take another one",
        "shapes": [
            "Claimed",
            "Job",
            "JobFilter",
            "JobOptions",
            "NewJob",
            "NewWatch",
            "Overrides",
            "Queue",
            "QueueChanges",
            "QueueStats",
            "ScheduleOptions",
            "TaskOptions",
            "Watch",
        ],
        "rule": 200,
        "query": True,
    }


def test_no_other_file_has_to_be_written_anew(copy: Path) -> None:
    """The signatures are those of the copy, and the declarations agree."""
    root = Path(__file__).parents[2]
    files = [root / "tests" / "wire" / "test_signature_file.py", *root.glob("tests/core/test_*_settings.py")]
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "pythonpath=", *map(str, files))
    told = _python(copy, *words, PYTHONPATH=os.pathsep.join([str(copy), str(root)]))
    assert "passed" in told


def test_programs_and_http_have_the_setting(copy: Path, tmp_path: Path) -> None:
    found = json.loads(_python(copy, str(PROGRAMS / "coats.py"), str(tmp_path)))
    assert found == {
        "usual": 1,
        "set": 3,
        "kept": [3, 5],
        "awaited": 4,
        "cleared": 1,
        "in stats": 1,
        "refused": "coats 0 is not valid: use a whole number from 1 to 9",
        "used": "9 coats never dry; take fewer",
        "both": "coats is to be set to 2 and to be cleared; say one of them",
        "shapes": ["Queue", "QueueChanges", "QueueStats"],
        "rule": [1, 9],
        "can be cleared": True,
        "sample": True,
    }


def test_programs_and_http_have_the_setting_of_a_watch(copy: Path, tmp_path: Path) -> None:
    found = json.loads(_python(copy, str(PROGRAMS / "brushes.py"), str(tmp_path)))
    assert found == {
        "usual": [],
        "set": ["wide", "soft"],
        "told anew": ["flat"],
        "awaited": ["fan"],
        "at work": ["fan"],
        "refused": "brushes '' is not valid: use 1 to 1000 characters without control characters",
        "used": "a broom is no brush; take another one",
        "shapes": ["NewWatch", "Watch"],
        "rule": [1000, 1000],
        "sample": True,
    }


@pytest.fixture(scope="module")
def home(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The home of a daemon that runs the copy."""
    home = str(tmp_path_factory.mktemp("h"))
    text = "[queues.mail]\ncoats = 3\n[[watch]]\nname = 'wall'\npath = 'no/wall'\nbrushes = ['wide']\n"
    (Path(home) / "holdfast.toml").write_text(text)
    _python(copy, "-m", "holdfast.cli", "up", "--detach", **{HOME: home})
    yield home
    _python(copy, "-m", "holdfast.cli", "down", **{HOME: home})


def test_the_command_line_has_it(copy: Path, home: str) -> None:
    def holdfast(*words: str) -> str:
        return _python(copy, "-m", "holdfast.cli", *words, **{HOME: home})

    painted = holdfast("run", "--colour", "red", "--", "true").strip()
    holdfast("run", "--", "true")
    outside = holdfast("run", "--surface", "subprocess", "--", "true").strip()
    assert holdfast("ls", "--quiet", "--surface", "subprocess").split() == [outside]
    assert "What to paint it with." in holdfast("run", "--help")
    assert holdfast("ls", "--quiet", "--colour", "red").split() == [painted]
    [line] = [line for line in holdfast("show", painted).splitlines() if line.startswith("colour")]
    assert line.split() == ["colour", "red"]
    holdfast("template", "add", "kept", "--colour", "gold", "--", "true")
    kept = holdfast("template", "run", "kept").strip()
    assert json.loads(holdfast("show", kept, "--json"))["job"]["colour"] == "gold"


def test_files_and_the_command_line_have_the_setting(copy: Path, home: str) -> None:
    def holdfast(*words: str) -> str:
        return _python(copy, "-m", "holdfast.cli", "queue", *words, **{HOME: home})

    assert holdfast("mail").splitlines()[-1] == "coats of paint: 3"
    assert "How often to paint its jobs." in holdfast("--help")
    [changed] = json.loads(holdfast("mail", "--coats", "4", "--json"))
    assert changed["coats"] == 4
    assert "coats of paint" not in holdfast("mail", "--clear", "coats")


def test_files_and_the_command_line_have_the_setting_of_a_watch(copy: Path, home: str) -> None:
    def holdfast(*words: str) -> str:
        return _python(copy, "-m", "holdfast.cli", "watch", *words, **{HOME: home})

    def shown(name: str) -> list[list[str]]:
        return [line.split() for line in holdfast("show", name).splitlines() if line.startswith("brushes")]

    assert shown("wall") == [["brushes", "wide"]]
    assert "What to paint with. Repeatable." in holdfast("add", "--help")
    holdfast("add", "/no/door", "--brush", "flat", "--brush", "fan")
    assert shown("door") == [["brushes", "flat,", "fan"]]
    holdfast("add", "/no/door", "--replace")
    assert shown("door") == []


def test_the_reference_has_it(copy: Path) -> None:
    documents = Path(__file__).parents[2] / "docs"
    program = (
        f"import sys; sys.path.insert(0, {str(documents)!r}); import generate_reference; "
        "print([text for name, text in generate_reference.pages().items() if name.stem == 'settings'][0])"
    )
    page = _python(copy, "-c", program)
    places = "call, task, template, schedule, watch, queue"
    assert f"| `colour` |  | `--colour` | `colour` | {places} | always | yes | What it is painted with. |" in page
    assert "| `coats` | `--coats` | `coats` | `coats` | `coats` | How often its jobs are painted. |" in page
    assert "| `brushes` | `--brush` | `brushes` | `brushes` | What its jobs paint with. |" in page
