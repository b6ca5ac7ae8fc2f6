"""What the documentation says about the code is what the code says: pages made from it, diagrams, examples, links."""

import doctest
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from markdown_it import MarkdownIt

import holdfast
import holdfast.testing
from holdfast import Holdfast
from holdfast.cli.app import WHERE
from holdfast.daemon.settings.settings import Settings, described
from holdfast.store.scripts.machines.machines import EVENTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def test_the_reference_is_what_the_generator_writes() -> None:
    command = [sys.executable, str(DOCS / "generate_reference.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"run `python docs/generate_reference.py`\n{run.stdout}{run.stderr}"


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == version


def test_the_page_of_the_gates_has_exactly_the_gates_that_exist(tmp_path: Path) -> None:
    hf = Holdfast(tmp_path / "gates.db")
    gates = [gate.gate for gate in hf.enqueue("any").why().gates]
    page = (DOCS / "concepts" / "gates.md").read_text()
    assert re.findall(r"^\| `([a-z' ]+)` \|", page, re.MULTILINE) == gates
    explained = (DOCS / "how-to" / "why-is-my-job-not-running.md").read_text()
    assert ", ".join(re.findall(r"^## (.+)$", explained, re.MULTILINE)).split(", ") == gates


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_that_the_page_names_exists(page: Path) -> None:
    named = re.findall(r"(?:^|[`$(&|;] ?)holdfast ([a-z]+)", page.read_text(), re.MULTILINE)
    assert set(named) <= {*WHERE, "is"}  # "holdfast is up" is what one says


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_setting_that_the_page_names_exists(page: Path) -> None:
    sections = {field.name: set(described(field.type)) for field in msgspec.structs.fields(Settings)}
    named = re.findall(rf"`({'|'.join(sections)})\.(\w+)`", page.read_text())
    unknown = [f"{section}.{name}" for section, name in named if name not in sections[section]]
    assert set(unknown) <= {"daemon.log", "daemon.err", "daemon.lock", *EVENTS}  # files of the home folder, and events


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_metric_that_the_page_names_exists(page: Path) -> None:
    known = (DOCS / "reference" / "metrics.md").read_text()
    named = re.findall(r"`(holdfast_[a-z_]+_(?:total|ms|bytes|depth|looping|open|usage))`", page.read_text())
    assert [name for name in named if f"`{name}`" not in known] == []


def public_examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules: list[ModuleType] = [holdfast, holdfast.testing]
    named = [(module, name) for module in modules for name in module.__all__]
    found = [test for module, name in named for test in finder.find(getattr(module, name), name)]
    found += finder.find(holdfast.testing, "holdfast.testing")
    unique = {(test.name, test.docstring): test for test in found if test.examples}
    return list(unique.values())


@pytest.mark.parametrize("example", public_examples(), ids=lambda example: example.name)
def test_the_example_of_the_docstring_runs(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_the_page_leads_somewhere(page: Path) -> None:
    tokens = MarkdownIt("commonmark").parse(page.read_text())
    links = [
        str(child.attrs["href"]) for token in tokens for child in token.children or () if child.type == "link_open"
    ]
    missing = [link for link in links if "://" not in link and not (page.parent / link.partition("#")[0]).exists()]
    assert missing == []


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    todo = [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        todo += [(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#:]+)", page.read_text())]
    assert set(DOCS.rglob("*.md")) <= reached
