"""`holdfast doctor`: is everything as it should be?"""

from __future__ import annotations

from msgspec import Struct

from holdfast.cli.failing import FAILED, Ended
from holdfast.cli.options import HomeOption, JsonOption, choose
from holdfast.cli.output import YELLOW, Coloured, mark, put, show_json
from holdfast.cli.progress import Progress


class Finding(Struct, frozen=True):
    """One thing that was looked at. `is_well` is None where it is worth a look, but not wrong."""

    check: str
    is_well: bool | None
    said: str


def doctor(home: HomeOption = None, json: JsonOption = False) -> None:
    """Examine the daemon, the database and this machine.

    The exit code is 1 if something is wrong.

    \b
    Examples:
      holdfast doctor
    """
    from holdfast.cli.examining import examine
    from holdfast.wire.home import find_home

    choose(home)
    with Progress("examining"):
        findings = examine(find_home())
    is_well = all(finding.is_well is not False for finding in findings)
    if json:
        show_json({"is_well": is_well, "findings": findings})
    else:
        for finding in findings:
            sign = Coloured("!", YELLOW) if finding.is_well is None else mark(finding.is_well)
            put(sign, f" {finding.check:12} {finding.said}")
    if not is_well:
        raise Ended(FAILED)
