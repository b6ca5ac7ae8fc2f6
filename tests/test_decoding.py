"""Structs are read by many threads, also for the first time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import holdfast

SOURCE = Path(holdfast.__file__).parent
# Every round has new structs, and threads that read them at once. Without a lock it crashes after a few of them.
FIRST_READS = """
import sys, threading, types
from holdfast.decoding import convert, decode, new_decoder
STRUCTS = '''
from __future__ import annotations
from msgspec import Struct
class Inner(Struct, frozen=True):
    a: int = 0
    b: str | None = None
class Outer(Struct, frozen=True):
    text: str = ""
    inner: Inner | None = None
    more: Inner = Inner()
'''
sys.setswitchinterval(1e-6)
for number in range(300):
    module = sys.modules["structs"] = types.ModuleType("structs")
    exec(STRUCTS, vars(module))
    outer, document = module.Outer, '{"text": "x", "inner": {"a": 1}}'
    reads = [
        lambda: decode(document, outer),
        lambda: new_decoder(outer).decode(document),
        lambda: convert({"text": "x", "inner": {"a": 1}}, outer),
        lambda: decode(f"[{document}]", list[outer])[0],
    ]
    together, found = threading.Barrier(len(reads)), []
    def read(one):
        together.wait()
        found.append(one())
    threads = [threading.Thread(target=read, args=[one]) for one in reads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(one.text, one.inner.a, one.more.b) for one in found] == [("x", 1, None)] * len(reads), found
"""
# A thread is in the middle of a first read when another one forks.
FORK = """
import os, sys, threading, time
from holdfast.decoding import decode
import msgspec

class Slow:
    def __class_getitem__(cls, kind):
        reading.set()
        time.sleep(0.3)
        return kind

class Inner(msgspec.Struct):
    a: "Slow[int]" = 0

class Outer(msgspec.Struct):
    inner: Inner

reading = threading.Event()
document = '{"inner": {"a": 1}}'
threading.Thread(target=decode, args=[document, Outer]).start()
reading.wait()
child = os.fork()
if child == 0:
    os._exit(decode(document, Outer).inner.a)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
# What plain values are read into needs no lock, nor what core reads, which is made at its import.
PLAIN = r"(dict\[str|list\[str\]|tuple\[str|str\)|keys\))"


def test_threads_may_read_a_struct_for_the_first_time_together() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_READS], capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_waits_until_a_struct_is_ready() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_nobody_reads_structs_otherwise() -> None:
    elsewhere = re.compile(rf"json\.decode\(.*type=(?!{PLAIN})|json\.Decoder\((?!Any|RetryPolicy)")
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        for line in path.read_text().splitlines()
        if elsewhere.search(line) and path != SOURCE / "decoding.py"
    ]
    assert found == []
