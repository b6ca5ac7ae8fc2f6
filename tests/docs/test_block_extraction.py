"""The grammar of code fences that test_code_blocks relies on."""

import subprocess
import sys
from textwrap import dedent

import pytest

from tests.docs.code_blocks import BadBlock, Part, blocks_to_run
from tests.docs.test_code_blocks import SEPARATOR, as_script


def page(text: str) -> str:
    return dedent(text).lstrip("\n").replace("'''", "```")


def test_a_block_knows_its_code_and_where_it_stands() -> None:
    [block] = blocks_to_run(
        page("""
        # Title

        '''python
        print(1)
        '''
        """)
    )
    assert block.info.language == "python"
    assert block.parts == (Part(4, "print(1)\n"),)
    assert block.output is None


def test_a_block_within_a_list_loses_its_indentation() -> None:
    [block] = blocks_to_run(
        page("""
        1. Do this:

           '''bash
           echo hello
           '''
        """)
    )
    assert block.parts == (Part(4, "echo hello\n"),)


def test_blocks_that_are_only_shown_are_left_out() -> None:
    assert blocks_to_run("```sql\nSELECT\n```\n```mermaid\ngraph\n```\n```text\nfree\n```\n") == []


def test_a_continued_block_carries_what_it_continues() -> None:
    first, second = blocks_to_run(
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
    assert first.parts == (Part(2, "x = 1\n"),)
    assert second.parts == (Part(2, "x = 1\n"), Part(6, "print(x)\n"))
    assert second.postgres


def test_blocks_share_nothing_unless_they_say_so() -> None:
    _, second = blocks_to_run("```python\nx = 1\n```\n```python\ny = 2\n```\n")
    assert second.parts == (Part(5, "y = 2\n"),)


def test_output_belongs_to_the_block_right_before_it() -> None:
    [block] = blocks_to_run("```python\nprint(1)\n```\n\n```text output\n1\n```\n")
    assert block.output == "1\n"


def test_answers_in_a_console_session_are_not_typed() -> None:
    [block] = blocks_to_run("```console\n$ echo one \\\n>   two\none two\n$ true\n```\n")
    assert block.parts[0].code == "echo one \\\n  two\ntrue"


def test_a_console_without_prompts_is_typed_as_it_stands() -> None:
    [block] = blocks_to_run("```console\necho one\n```\n")
    assert block.parts[0].code == "echo one\n"


@pytest.mark.parametrize("command", ["make up", "make test", "pip install 'holdfast[postgres]'", "$ make up"])
def test_some_commands_may_go_unrun_for_a_reason(command: str) -> None:
    assert blocks_to_run(f"```console norun: starts the demo\n# Look:\n{command}\n```\n") == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```\nx\n```\n", "line 2: a fence needs a language"),
        ("```py\nx\n```\n", "unknown language 'py'"),
        ("```python later\nx\n```\n", "python does not know later"),
        ("```sql postgres\nx\n```\n", "sql does not know postgres"),
        ("```bash norun\nmake up\n```\n", "norun needs a reason"),
        ("```bash norun:\nmake up\n```\n", "norun needs a reason"),
        ("```bash norun: slow\nmake up\nrm -r x\n```\n", "norun is not for 'rm -r x'"),
        ("```bash norun: slow\nmake test-long\n```\n", "norun is not for 'make test-long'"),
        ("```python norun: slow\nx\n```\n", "norun is for shell blocks"),
        ("```python continue\nx\n```\n", "no python block before this one"),
        ("```bash\nx\n```\n```python continue\nx\n```\n", "no python block before this one"),
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
        blocks_to_run(text)


def test_a_script_keeps_the_lines_of_its_page_and_marks_where_the_last_part_begins() -> None:
    script = as_script((Part(3, "print('first')\n"), Part(7, "print('second')\n")))
    assert script.splitlines()[2] == "print('first')"
    assert script.splitlines()[6] == "print('second')"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == f"first\n{SEPARATOR}second\n"
