"""`holdfast doctor`: is everything as it should be?"""

from __future__ import annotations

from msgspec import Struct

from holdfast.cli.frame import output
from holdfast.cli.frame.failures import FAILED
from holdfast.cli.frame.output import YELLOW, Coloured, Output
from holdfast.cli.frame.progress import ProgressBar


class Finding(Struct, frozen=True):
    """One thing that was checked. `is_well` is None if it is worth a look, but not wrong."""

    check: str
    is_well: bool | None
    said: str


def doctor() -> Output:
    """Examine the daemon, the database and this machine.

    The exit code is 1 if something is wrong.

    \b
    Examples:
      holdfast doctor
    """
    from holdfast.cli.daemon.doctor_checks import examine
    from holdfast.wire.home import find_home

    with ProgressBar("examining"):
        findings = examine(find_home())
    is_well = all(finding.is_well is not False for finding in findings)
    found = {"is_well": is_well, "findings": findings}
    return Output(found, lambda: _show(findings), code=0 if is_well else FAILED)


def _show(findings: list[Finding]) -> None:
    for finding in findings:
        sign = Coloured("!", YELLOW) if finding.is_well is None else output.mark(finding.is_well)
        output.put(sign, f" {finding.check:12} {finding.said}")
