"""`holdfast db`: look after the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.asking import agree
from holdfast.cli.failing import FAILED, Ended
from holdfast.cli.options import ConfigOption, HomeOption, JsonOption, YesOption, choose, client
from holdfast.cli.output import mark, put, show_json, size
from holdfast.cli.progress import Progress
from holdfast.cli.words import Argument, Option, group_of

if TYPE_CHECKING:
    from holdfast.daemon.database import HomeDatabase
    from holdfast.store.scripts.doctor import Violation

DAMAGE = "database"  # what the database itself says is wrong with it, among the invariants
MOST_ROWS = 5


def path(home: HomeOption = None, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Print where the database is.

    \b
    Examples:
      holdfast db path
    """
    found = _database(home, config)
    name = found.name if found.is_postgres else found.path
    show_json({"path": name, "is_postgres": found.is_postgres}) if json else put(name)


def backup(
    file: Annotated[Path, Argument("FILE", help="Where the copy goes.")],
    force: Annotated[bool, Option("--force", "-f", help="Replace the file if it exists.")] = False,
    home: HomeOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Copy the database to a file, while the daemon runs or not.

    The copy is checked before it gets its name. Logs and artifacts of jobs are not part of it: they are files in the
    home folder.

    \b
    Examples:
      holdfast db backup /backups/holdfast-$(date +%F).db
    """
    from holdfast.core.errors import InvalidInput

    found = _database(home, config)
    source = found.path
    if file.exists() and not file.is_dir() and not force:
        raise InvalidInput(f"{file} exists already; choose another name, or replace it with --force")
    with Progress(f"copying {source}") as shown:
        written = found.back_up(file, shown.at)
    show_json({"file": str(file.absolute()), "bytes": written}) if json else put(f"{file}: {size(written)}, checked")


def restore(
    file: Annotated[Path, Argument("FILE", help="A file that `holdfast db backup` made.")],
    yes: YesOption = False,
    home: HomeOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Put a backup in the place of the database.

    The daemon must be down; the old file is kept beside it. Jobs that ran between the backup and now are as they were
    at the backup, so they may run again.

    \b
    Examples:
      holdfast down && holdfast db restore /backups/holdfast.db && holdfast up -d
    """
    found = _database(home, config)
    agree(f"Put {file} in the place of {found.path}?", yes=yes)
    with Progress(f"restoring {found.path}") as shown:
        aside = found.restore(file, shown.at)
    if json:
        show_json({"path": found.path, "aside": None if aside is None else str(aside)})
    else:
        kept = "" if aside is None else f"; what was there is now {aside}"
        put(f"{found.path} was restored from {file}{kept}")


def check(home: HomeOption = None, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Check that the database is whole.

    Looks at the file, and for rows that must never be.

    \b
    Examples:
      holdfast db check
    """
    with Progress("checking the database"):
        found = _database(home, config)
        # A daemon that runs looks by itself.
        violations = client(home).doctor() if found.status is not None else found.check()
    if json:
        show_json(violations)
    else:
        tell(violations, found.name)
    if violations:
        raise Ended(FAILED)


def tell(violations: list[Violation], name: str) -> None:
    """What was found, for a person."""
    import msgspec

    if not violations:
        put(mark(True), f" {name}: whole, and every invariant holds")
    damage = [violation for violation in violations if violation.invariant == DAMAGE]
    for row in [row for violation in damage for row in violation.rows][:MOST_ROWS]:
        put(mark(False), f" {name} is damaged: {row['message']}")
    for violation in violations:
        if violation not in damage:
            put(mark(False), f" {violation.invariant}: {len(violation.rows)} rows")
            for row in violation.rows[:MOST_ROWS]:
                put(f"    {msgspec.json.encode(row).decode()}")
    if damage:
        put("restore it from a backup: holdfast down && holdfast db restore FILE")
    elif violations:
        put("this should never happen: please report it, with a copy made by holdfast db backup")


def migrate(home: HomeOption = None, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Bring the database to the schema of this program.

    The daemon does it too, when it starts. A copy of the file as it was stays beside it.

    \b
    Examples:
      holdfast db migrate
    """
    found = _database(home, config)
    before = found.versions()
    if before.has != before.newest:
        with Progress(f"migrating {found.path}"):
            found.migrate()
    copy = f"{found.path}.before-migration-from-{before.has:03d}" if 0 < before.has != before.newest else None
    if json:
        show_json({"from": before.has, "to": before.newest, "copy": copy})
    elif before.has == before.newest:
        put(f"{found.path} has schema {before.has:03d}, which is the newest")
    else:
        put(f"{found.path} went from schema {before.has:03d} to {before.newest:03d}")
        if copy is not None:
            put(f"as it was before: {copy}")


def compact(home: HomeOption = None, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Give the disk back what the database does not need any more.

    While a daemon runs, only its write-ahead log is emptied: the file itself can be made small when nobody uses it.

    \b
    Examples:
      holdfast db compact
      holdfast down && holdfast db compact && holdfast up -d
    """
    found = _database(home, config)
    with Progress(f"compacting {found.path}"):
        done = found.compact()
    if json:
        show_json(done)
        return
    before, after = done.before, done.after
    put(f"{found.path}: {size(before.file + before.wal)} before, {size(after.file + after.wal)} now")
    if not done.is_whole and after.free:
        put(
            f"{size(after.free)} of the file are free for new jobs; to give them back to the disk: "
            "holdfast down && holdfast db compact"
        )


def _database(home: Path | None, config: Path | None) -> HomeDatabase:
    from holdfast.daemon.database import HomeDatabase
    from holdfast.wire.home import find_home

    choose(home)
    return HomeDatabase(find_home(), config)


db = group_of(
    "db",
    "Back up, restore, check, migrate and compact the database.",
    {"path": path, "backup": backup, "restore": restore, "check": check, "migrate": migrate, "compact": compact},
)
