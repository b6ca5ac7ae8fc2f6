"""The grammar of code fences that test_code_blocks relies on."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.docs.code_blocks import BadBlock, Part, chains_to_run
from tests.docs.scripts import SEPARATOR, fits, is_python, python_script, shell_script


def page(text: str) -> str:
    return dedent(text).lstrip("\n").replace("'''", "```")


def test_a_block_knows_its_code_and_where_it_stands() -> None:
    [chain] = chains_to_run(
        page("""
        # Title

        '''python
        print(1)
        '''
        """)
    )
    assert chain.parts == [Part(4, "python", "print(1)\n")]
    assert chain.needs == set()


def test_a_block_within_a_list_loses_its_indentation() -> None:
    [chain] = chains_to_run(
        page("""
        1. Do this:

           '''bash
           echo hello
           '''
        """)
    )
    assert chain.parts == [Part(4, "bash", "echo hello\n")]


def test_blocks_that_are_only_shown_are_left_out() -> None:
    assert chains_to_run("```sql\nSELECT\n```\n```mermaid\ngraph\n```\n```text\nfree\n```\n") == []


def test_a_continued_block_belongs_to_the_one_before_it() -> None:
    [chain] = chains_to_run(
        page("""
        '''python postgres
        x = 1
        '''
        Then:
        '''python continue
        print(x)
        '''
        """)
    )
    assert chain.parts == [Part(2, "python", "x = 1\n"), Part(6, "python", "print(x)\n")]
    assert chain.needs == {"postgres"}


def test_blocks_share_nothing_unless_they_say_so() -> None:
    first, second = chains_to_run("```python\nx = 1\n```\n```python\ny = 2\n```\n")
    assert [first.parts, second.parts] == [[Part(2, "python", "x = 1\n")], [Part(5, "python", "y = 2\n")]]


def test_output_belongs_to_the_block_right_before_it() -> None:
    [chain] = chains_to_run("```python\nprint(1)\n```\n\n```text output\n1\n```\n")
    assert chain.parts[0].output == "1\n"


def test_a_block_can_need_a_daemon() -> None:
    [chain] = chains_to_run("```bash daemon\nholdfast ls\n```\n")
    assert chain.needs == {"daemon"}


def test_a_block_can_be_saved_for_those_that_follow() -> None:
    [chain] = chains_to_run("```python file=tasks.py\nx = 1\n```\n```bash continue\npython tasks.py\n```\n")
    assert chain.parts[0].file == "tasks.py"
    assert not is_python(chain)


def test_answers_in_a_console_session_are_not_typed() -> None:
    [chain] = chains_to_run("```console\n$ echo one \\\n>   two\none two\n$ true\n```\n")
    assert chain.parts[0].code == "echo one \\\n  two\ntrue"


def test_a_console_without_prompts_is_typed_as_it_stands() -> None:
    [chain] = chains_to_run("```console\necho one\n```\n")
    assert chain.parts[0].code == "echo one\n"


@pytest.mark.parametrize(
    "command", ["make up", "make test", "pip install 'holdfast[postgres]'", "$ make up", "systemctl --user start x"]
)
def test_some_commands_may_go_unrun_for_a_reason(command: str) -> None:
    assert chains_to_run(f"```console norun: starts the demo\n# Look:\n{command}\n```\n") == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```\nx\n```\n", "line 2: a fence needs a language"),
        ("```py\nx\n```\n", "unknown language 'py'"),
        ("```python later\nx\n```\n", "python does not know later"),
        ("```sql postgres\nx\n```\n", "sql does not know postgres"),
        ("```python file=../x.py\nx\n```\n", "a block is saved under one name"),
        ("```python file=x.py\nx\n```\n", "what is saved here is used by no block"),
        ("```python file=x.py\nx\n```\n```text output\nx\n```\n", "a block that is saved prints nothing"),
        ("```bash norun\nmake up\n```\n", "norun needs a reason"),
        ("```bash norun:\nmake up\n```\n", "norun needs a reason"),
        ("```bash norun: slow\nmake up\nrm -r x\n```\n", "norun is not for 'rm -r x'"),
        ("```bash norun: slow\nmake test-long\n```\n", "norun is not for 'make test-long'"),
        ("```python norun: slow\nx\n```\n", "norun is for shell blocks"),
        ("```python continue\nx\n```\n", "no block before this one"),
        ("```text output\nx\n```\n", "output must directly follow"),
        ("```python\nx\n```\nand\n```text output\nx\n```\n", "output must directly follow"),
        (
            "```python\nx\n```\n```text output\nx\n```\n```text output\nx\n```\n",
            "output must directly follow",
        ),
        ("Code:\n\n    x = 1\n", "line 3: indented code is not run"),
    ],
)
def test_anything_else_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(BadBlock, match=complaint):
        chains_to_run(text)


def test_a_script_keeps_the_lines_of_its_page_and_marks_where_a_part_begins() -> None:
    script = python_script([Part(3, "python", "print('first')\n"), Part(7, "python", "print('second')\n")])
    assert script.splitlines()[2] == "print('first')"
    assert script.splitlines()[6] == "print('second')"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == f"first\n{SEPARATOR}second\n"


def test_a_shell_finds_the_files_and_variables_of_the_parts_before(tmp_path: Path) -> None:
    parts = [
        Part(2, "toml", "a = 1\n", file="a.toml"),
        Part(5, "bash", "x=$(cat a.toml)"),
        Part(8, "python", "print('python')\n"),
        Part(11, "bash", 'echo "$x"\n'),
    ]
    command = ["bash", "-e", "-c", shell_script(parts)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.split(SEPARATOR) == ["", "", "python\n", "a = 1\n"]


@pytest.mark.parametrize(
    ("expected", "printed", "is_right"),
    [
        ("one\n", "one\n", True),
        ("one\n", "two\n", False),
        ("one\n", "one\ntwo\n", False),
        ("up since …, well\n", "up since 12:30, well\n", True),
        ("up since …\n", "up since 12:30\nnot well\n", False),
        ("first\n…\nlast\n", "first\n2\n3\nlast\n", True),
        ("first\n…\nlast\n", "first\n2\n3\n", False),
        ("JOB  STATE\n7    DONE\n", "JOB     STATE   \n7       DONE\n", True),
        ("a b\n", "a  b\n", False),
    ],
)
def test_a_page_may_leave_out_what_differs_from_time_to_time(expected: str, printed: str, is_right: bool) -> None:
    assert fits(expected, printed) is is_right
