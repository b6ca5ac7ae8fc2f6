"""`holdfast dead`: jobs that failed for good, by what they failed of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import fingerprints
from holdfast.cli.failing import say, speak_up
from holdfast.cli.options import HomeOption, JsonOption, YesOption, choose
from holdfast.cli.output import RED, Coloured, is_terminal, put, show_fields, show_json, show_table
from holdfast.cli.progress import Progress
from holdfast.cli.times import ago, when
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.cli.dead_client import DeadLetterClient
    from holdfast.core.job import Job
    from holdfast.store.scripts.dead_letters import Closing, DeadLetters
    from holdfast.store.scripts.letters import Letter

MOST = 1_000

LimitOption = Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=MOST, help="How many.")]
CursorOption = Annotated[
    str | None, Option("--cursor", metavar="CURSOR", help="Go on where a page ended; --json prints its cursor.")
]
WhichArgument = Annotated[
    list[str] | None,
    Argument("[FINGERPRINT]...", help="Which, as `holdfast dead ls` shows them.", complete=fingerprints),
]
AllOption = Annotated[bool, Option("--all", help="Every dead letter there is.")]


def list_(
    poison: Annotated[bool, Option("--poison", help="Only jobs that are parked as poison pills.")] = False,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """List what failed for good, by what it failed of.

    What was seen last comes first. <*> stands for what differs between the messages of a line.

    \b
    Examples:
      holdfast dead ls
      holdfast dead --poison
    """
    page = _client(home).dead_letters(limit=limit, cursor=cursor, poison=poison)
    if json:
        show_json(page)
    elif not page.letters:
        what = "is parked as a poison pill" if poison else "has failed for good"
        say(f"no dead letters: nothing {what} that nobody has dealt with")
    else:
        head = ["fingerprint", "jobs", "last", "first", "code", "what"]
        show_table(head, [_line(letters) for letters in page.letters], right=("jobs",))
        if page.cursor is not None and is_terminal():
            say(f"these are the {limit} that were seen last; for more: -n {min(limit * 5, MOST)}")


def show(
    which: Annotated[
        str, Argument("FINGERPRINT|JOB", help="A fingerprint, or the number or id of a job.", complete=fingerprints)
    ],
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Show the dead letters of a fingerprint with their jobs, or what became of the letter of one job.

    \b
    Examples:
      holdfast dead show fad9955e83115
      holdfast dead show 42
    """
    hf = _client(home)
    if not _is_fingerprint(which):
        # Who has none is told so by the number.
        letter = hf.dead_letter(hf.job(which))
        show_json(letter) if json else _show_letter(hf, letter)
        return
    page = hf.dead_letters_of(which, limit=limit, cursor=cursor)
    if json:
        show_json(page)
        return
    _show_letters(page.letters)
    put()
    show_table(["job", "what", "queue", "failed", "tries", "message"], [_row(job) for job in page.jobs])
    if page.cursor is not None and is_terminal():
        say(f"these are the newest {limit}; for more: -n {min(limit * 5, MOST)}")


def retry(
    which: WhichArgument = None,
    everything: AllOption = False,
    priority: Annotated[int | None, Option("--priority", "-p", metavar="N", help="Another priority.")] = None,
    yes: YesOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Run all jobs of a fingerprint again, as new ones.

    What goes well is gone from the list; what fails again is a new letter. Jobs of an older generation of their subject
    do not run again.

    \b
    Examples:
      holdfast dead retry fad9955e83115
      holdfast dead retry --all --yes
    """
    hf = _client(home)
    chosen = _chosen(hf, which, everything)
    done = _each(chosen, "Run again", lambda one: hf.retry_dead_letters(one, priority=priority), yes=yes)
    if json:
        show_json(done)
        return
    jobs, outdated = sum(one.jobs for one in done.values()), sum(one.outdated for one in done.values())
    late = f", {outdated} left out because a newer generation of their subject exists" if outdated else ""
    put(f"{jobs} enqueued again{late}" if done else "nothing to run again")


def discard(
    which: WhichArgument = None,
    everything: AllOption = False,
    reason: Annotated[str | None, Option("--reason", metavar="TEXT", help="Why, for those who ask.")] = None,
    yes: YesOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Take all dead letters of a fingerprint from the list.

    The jobs and their runs stay as they are, with who did it and why.

    \b
    Examples:
      holdfast dead discard fad9955e83115 --reason "that server is gone for good"
    """
    hf = _client(home)
    chosen = _chosen(hf, which, everything)
    done = _each(
        chosen, "Discard the dead letters of", lambda one: hf.discard_dead_letters(one, reason=reason), yes=yes
    )
    if json:
        show_json(done)
    else:
        put(f"{sum(one.jobs for one in done.values())} discarded" if done else "nothing to discard")


dead = group_of(
    "dead",
    "Look at jobs that failed for good, and deal with all of one kind at once.",
    {"ls": list_, "show": show, "retry": retry, "discard": discard},
    usual="ls",
)


def _client(home: Path | None) -> DeadLetterClient:
    from holdfast.cli.dead_client import DeadLetterClient

    choose(home)
    speak_up()
    return DeadLetterClient()


def _is_fingerprint(text: str) -> bool:
    return len(text) == 13 and text.startswith("f")


def _chosen(hf: DeadLetterClient, which: list[str] | None, everything: bool) -> dict[str, int]:
    """How many jobs each chosen fingerprint has. All of them are looked for before the first one is changed."""
    if bool(which) == everything:
        raise InvalidInput(
            "name fingerprints, as `holdfast dead ls` shows them, or say --all" + (", not both" * everything)
        )
    if which:
        return {one: hf.dead_letters_of(one, limit=1).letters.jobs for one in which}
    found: dict[str, int] = {}
    cursor = None
    while True:
        page = hf.dead_letters(limit=MOST, cursor=cursor)
        found |= {letters.fingerprint: letters.jobs for letters in page.letters}
        cursor = page.cursor
        if cursor is None:
            return found


def _each(chosen: dict[str, int], what: str, act: Callable[[str], Closing], *, yes: bool) -> dict[str, Closing]:
    """Do it to one fingerprint after the other; what somebody else has dealt with meanwhile is left out."""
    from holdfast.cli.asking import confirm
    from holdfast.core.errors import NotFound

    confirm(what, sum(chosen.values()), yes=yes)
    done: dict[str, Closing] = {}
    with Progress("dealing with them") as shown:
        for number, fingerprint in enumerate(chosen, 1):
            try:
                done[fingerprint] = act(fingerprint)
            except NotFound:
                continue
            shown.at(number, len(chosen))
    return done


def _line(letters: DeadLetters) -> list[str]:
    from holdfast.observe.redact import redacted_text

    seen = (ago(letters.last_seen), ago(letters.first_seen))
    return [letters.fingerprint, str(letters.jobs), *seen, _code(letters), redacted_text(letters.pattern)]


def _code(letters: DeadLetters) -> str:
    return Coloured(f"{letters.code} (poison)", RED) if letters.is_poison else letters.code


def _show_letters(letters: DeadLetters) -> None:
    from holdfast.observe.redact import redacted_text

    example = letters.example
    show_fields(
        [
            ("fingerprint", letters.fingerprint),
            ("jobs", str(letters.jobs)),
            ("kind", letters.kind),
            ("code", _code(letters)),
            ("pattern", redacted_text(letters.pattern)),
            ("first seen", when(letters.first_seen)),
            ("last seen", when(letters.last_seen)),
            ("example", f"job {example.number}, {example.task}: {redacted_text(example.message)}"),
        ]
    )


def _row(job: Job) -> list[str]:
    from holdfast.cli.jobs_shown import detail, what
    from holdfast.observe.redact import redacted_text

    failed = ago(getattr(job.state, "at", None))
    return [str(job.number), what(job), job.queue, failed, str(job.attempts), redacted_text(detail(job))]


def _show_letter(hf: DeadLetterClient, letter: Letter) -> None:
    from holdfast.cli.jobs_shown import numbered
    from holdfast.core.trigger import words

    again = letter.retried_as and f"job {numbered(letter.retried_as, hf)}"
    show_fields(
        [
            ("job", str(letter.number)),
            ("fingerprint", letter.fingerprint),
            ("failed", when(letter.failed_at)),
            ("dealt with", f"{letter.closed_as} {when(letter.closed_at)}" if letter.closed_as else "not yet"),
            ("by", numbered(words(letter.closed_by), hf)),
            ("reason", letter.reason),
            ("runs again as", again),
        ]
    )
