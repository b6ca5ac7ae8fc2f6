"""`holdfast db`: look after the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import confirm, output
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import FAILED
from holdfast.cli.frame.options import ConfigOption, YesOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.progress import ProgressBar
from holdfast.cli.frame.words import Argument, Option

if TYPE_CHECKING:
    from holdfast.core.messages.maintenance import Violation
    from holdfast.daemon.database import HomeDatabase

DAMAGE = "database"  # stands for the findings of the database itself, among the invariants
MOST_ROWS = 5


def path(config: ConfigOption = None) -> Output:
    """Print where the database is.

    \b
    Examples:
      holdfast db path
    """
    found = _database(config)
    name = found.name if found.is_postgres else found.path
    return Output({"path": name, "is_postgres": found.is_postgres}, name)


def backup(
    file: Annotated[Path, Argument("FILE", help="Where the copy goes.")],
    force: Annotated[bool, Option("--force", "-f", help="Replace the file if it exists.")] = False,
    config: ConfigOption = None,
) -> Output:
    """Copy the database to a file, while the daemon runs or not.

    The copy is checked before it gets its name. Logs and artifacts of jobs are not part of it: they are files in the
    home folder.

    \b
    Examples:
      holdfast db backup /backups/holdfast-$(date +%F).db
    """
    from holdfast.core.errors import InvalidInput

    found = _database(config)
    source = found.path
    if file.exists() and not file.is_dir() and not force:
        raise InvalidInput(f"{file} exists already; choose another name, or replace it with --force")
    with ProgressBar(f"copying {source}") as shown:
        written = found.back_up(file, shown.at)
    return Output({"file": str(file.absolute()), "bytes": written}, f"{file}: {output.size(written)}, checked")


def restore(
    file: Annotated[Path, Argument("FILE", help="A file that `holdfast db backup` made.")],
    yes: YesOption = False,
    config: ConfigOption = None,
) -> Output:
    """Put a backup in the place of the database.

    The daemon must be down; the old file is kept beside it. Jobs that ran between the backup and now are as they were
    at the backup, so they may run again.

    \b
    Examples:
      holdfast down && holdfast db restore /backups/holdfast.db && holdfast up -d
    """
    found = _database(config)
    confirm.agree(f"Put {file} in the place of {found.path}?", yes=yes)
    with ProgressBar(f"restoring {found.path}") as shown:
        aside = found.restore(file, shown.at)
    kept = "" if aside is None else f"; what was there is now {aside}"
    return Output(
        {"path": found.path, "aside": None if aside is None else str(aside)},
        f"{found.path} was restored from {file}{kept}",
    )


def check(config: ConfigOption = None) -> Output:
    """Check that the database is whole.

    Looks at the file, and for rows that must never be.

    \b
    Examples:
      holdfast db check
    """
    with ProgressBar("checking the database"):
        found = _database(config)
        # A running daemon checks it itself.
        violations = client().doctor() if found.status is not None else found.check()
    return Output(violations, lambda: tell(violations, found.name), code=FAILED if violations else 0)


def tell(violations: list[Violation], name: str) -> None:
    """Print what was found."""
    import msgspec

    if not violations:
        output.put(output.mark(True), f" {name}: whole, and every invariant holds")
    damage = [violation for violation in violations if violation.invariant == DAMAGE]
    for row in [row for violation in damage for row in violation.rows][:MOST_ROWS]:
        output.put(output.mark(False), f" {name} is damaged: {row['message']}")
    for violation in violations:
        if violation not in damage:
            output.put(output.mark(False), f" {violation.invariant}: {len(violation.rows)} rows")
            for row in violation.rows[:MOST_ROWS]:
                output.put(f"    {msgspec.json.encode(row).decode()}")
    if damage:
        output.put("restore it from a backup: holdfast down && holdfast db restore FILE")
    elif violations:
        output.put("this should never happen: please report it, with a copy made by holdfast db backup")


def migrate(config: ConfigOption = None) -> Output:
    """Bring the database to the schema of this program.

    The daemon does it too, when it starts. A copy of the file as it was stays beside it.

    \b
    Examples:
      holdfast db migrate
    """
    found = _database(config)
    before = found.versions()
    if before.has != before.newest:
        with ProgressBar(f"migrating {found.path}"):
            found.migrate()
    copy = f"{found.path}.before-migration-from-{before.has:03d}" if 0 < before.has != before.newest else None
    lines = [f"{found.path} went from schema {before.has:03d} to {before.newest:03d}"]
    if before.has == before.newest:
        lines = [f"{found.path} has schema {before.has:03d}, which is the newest"]
    if copy is not None:
        lines.append(f"as it was before: {copy}")
    return Output({"from": before.has, "to": before.newest, "copy": copy}, lines)


def compact(config: ConfigOption = None) -> Output:
    """Give the disk back what the database does not need any more.

    While a daemon runs, only its write-ahead log is emptied: the file itself can be made small when nobody uses it.

    \b
    Examples:
      holdfast db compact
      holdfast down && holdfast db compact && holdfast up -d
    """
    found = _database(config)
    with ProgressBar(f"compacting {found.path}"):
        done = found.compact()
    before, after = done.before, done.after
    lines = [f"{found.path}: {output.size(before.file + before.wal)} before, {output.size(after.file + after.wal)} now"]
    if not done.is_whole and after.free:
        lines.append(
            f"{output.size(after.free)} of the file are free for new jobs; to give them back to the disk: "
            "holdfast down && holdfast db compact"
        )
    return Output(done, lines)


def _database(config: Path | None) -> HomeDatabase:
    from holdfast.daemon.database import HomeDatabase
    from holdfast.wire.home import find_home

    return HomeDatabase(find_home(), config)


db = group_of(
    "db",
    "Back up, restore, check, migrate and compact the database.",
    {"path": path, "backup": backup, "restore": restore, "check": check, "migrate": migrate, "compact": compact},
)
