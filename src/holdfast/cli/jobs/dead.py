"""`holdfast dead`: jobs that failed for good, by what they failed of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import dead_letter_client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import CursorOption, LimitOption, PriorityOption, ReasonOption, YesOption
from holdfast.cli.frame.output import RED, Coloured, Output
from holdfast.cli.frame.progress import ProgressBar
from holdfast.cli.frame.words import Argument, Option
from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import MOST_PER_PAGE
from holdfast.core.settings.rule_table import RULES

if TYPE_CHECKING:
    from holdfast.cli.frame.dead_client import DeadLetterClient
    from holdfast.core.jobs.stored_job import Job
    from holdfast.core.messages.dead_letters import Closing, DeadLetterJobs, DeadLetterPage, DeadLetters, Letter

WhichArgument = Annotated[
    list[str] | None,
    Argument("[FINGERPRINT]...", help="Which, as `holdfast dead ls` shows them.", complete=completion.fingerprints),
]
AllOption = Annotated[bool, Option("--all", help="Every dead letter there is.")]


def list_(
    poison: Annotated[bool, Option("--poison", help="Only jobs that are parked as poison pills.")] = False,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
) -> Output:
    """List what failed for good, by what it failed of.

    What was seen last comes first. <*> stands for what differs between the messages of a line.

    \b
    Examples:
      holdfast dead ls
      holdfast dead --poison
    """
    page = dead_letter_client().dead_letters(limit=limit, cursor=cursor, poison=poison)
    if not page.letters:
        what = "is parked as a poison pill" if poison else "has failed for good"
        return Output(page, lambda: say(f"no dead letters: nothing {what} that nobody has dealt with"))
    return Output(page, lambda: _show_page(page, limit))


def _show_page(page: DeadLetterPage, limit: int) -> None:
    head = ["fingerprint", "jobs", "last", "first", "code", "what"]
    output.show_table(head, [_line(letters) for letters in page.letters], right=("jobs",))
    output.say_more(page.cursor, f"{limit} that were seen last", limit)


def show(
    which: Annotated[
        str,
        Argument(
            "FINGERPRINT|JOB", help="A fingerprint, or the number or id of a job.", complete=completion.fingerprints
        ),
    ],
    limit: LimitOption = 20,
    cursor: CursorOption = None,
) -> Output:
    """Show the dead letters of a fingerprint with their jobs, or what became of the letter of one job.

    \b
    Examples:
      holdfast dead show fad9955e83115
      holdfast dead show 42
    """
    hf = dead_letter_client()
    if not RULES["fingerprint"].allows(which):
        # By its number, so that the error names that.
        letter = hf.dead_letter(hf.job(which))
        return Output(letter, lambda: _show_letter(hf, letter))
    page = hf.dead_letters_of(which, limit=limit, cursor=cursor)
    return Output(page, lambda: _show_jobs(page, limit))


def _show_jobs(page: DeadLetterJobs, limit: int) -> None:
    _show_letters(page.letters)
    output.put()
    output.show_table(["job", "what", "queue", "failed", "tries", "message"], [_row(job) for job in page.jobs])
    output.say_more(page.cursor, f"newest {limit}", limit)


def retry(
    which: WhichArgument = None,
    everything: AllOption = False,
    priority: PriorityOption = None,
    yes: YesOption = False,
) -> Output:
    """Run all jobs of a fingerprint again, as new ones.

    What goes well is gone from the list; what fails again is a new letter. Jobs of an older generation of their subject
    do not run again.

    \b
    Examples:
      holdfast dead retry fad9955e83115
      holdfast dead retry --all --yes
    """
    hf = dead_letter_client()
    chosen = _chosen(hf, which, everything)
    done = _each(chosen, "Run again", lambda one: hf.retry_dead_letters(one, priority=priority), yes=yes)
    jobs, outdated = sum(one.jobs for one in done.values()), sum(one.outdated for one in done.values())
    late = f", {outdated} left out because a newer generation of their subject exists" if outdated else ""
    return Output(done, f"{jobs} enqueued again{late}" if done else "nothing to run again")


def discard(
    which: WhichArgument = None,
    everything: AllOption = False,
    reason: ReasonOption = None,
    yes: YesOption = False,
) -> Output:
    """Take all dead letters of a fingerprint from the list.

    The jobs and their runs stay as they are, with who did it and why.

    \b
    Examples:
      holdfast dead discard fad9955e83115 --reason "that server is gone for good"
    """
    hf = dead_letter_client()
    chosen = _chosen(hf, which, everything)
    done = _each(
        chosen, "Discard the dead letters of", lambda one: hf.discard_dead_letters(one, reason=reason), yes=yes
    )
    jobs = sum(one.jobs for one in done.values())
    return Output(done, f"{jobs} discarded" if done else "nothing to discard")


dead = group_of(
    "dead",
    "Look at jobs that failed for good, and deal with all of one kind at once.",
    {"ls": list_, "show": show, "retry": retry, "discard": discard},
    usual="ls",
)


def _chosen(hf: DeadLetterClient, which: list[str] | None, everything: bool) -> dict[str, int]:
    """How many jobs each chosen fingerprint has. All are found before the first one is changed."""
    if bool(which) == everything:
        raise InvalidInput(
            "name fingerprints, as `holdfast dead ls` shows them, or say --all" + (", not both" * everything)
        )
    if which:
        return {one: hf.dead_letters_of(one, limit=1).letters.jobs for one in which}
    found: dict[str, int] = {}
    cursor = None
    while True:
        page = hf.dead_letters(limit=MOST_PER_PAGE, cursor=cursor)
        found |= {letters.fingerprint: letters.jobs for letters in page.letters}
        cursor = page.cursor
        if cursor is None:
            return found


def _each(chosen: dict[str, int], what: str, act: Callable[[str], Closing], *, yes: bool) -> dict[str, Closing]:
    """Act on one fingerprint after the other. Those that were dealt with meanwhile are left out."""
    from holdfast.cli.frame.confirm import confirm
    from holdfast.core.errors import NotFound

    confirm(what, sum(chosen.values()), yes=yes)
    done: dict[str, Closing] = {}
    with ProgressBar("dealing with them") as shown:
        for number, fingerprint in enumerate(chosen, 1):
            try:
                done[fingerprint] = act(fingerprint)
            except NotFound:
                continue
            shown.at(number, len(chosen))
    return done


def _line(letters: DeadLetters) -> list[str]:
    from holdfast.observe.redact import redacted_text

    seen = (times.ago(letters.last_seen), times.ago(letters.first_seen))
    return [letters.fingerprint, str(letters.jobs), *seen, _code(letters), redacted_text(letters.pattern)]


def _code(letters: DeadLetters) -> str:
    return Coloured(f"{letters.code} (poison)", RED) if letters.is_poison else letters.code


def _show_letters(letters: DeadLetters) -> None:
    from holdfast.observe.redact import redacted_text

    example = letters.example
    output.show_fields(
        [
            ("fingerprint", letters.fingerprint),
            ("jobs", str(letters.jobs)),
            ("kind", letters.kind),
            ("code", _code(letters)),
            ("pattern", redacted_text(letters.pattern)),
            ("first seen", times.when(letters.first_seen)),
            ("last seen", times.when(letters.last_seen)),
            ("example", f"job {example.number}, {example.task}: {redacted_text(example.message)}"),
        ]
    )


def _row(job: Job) -> list[str]:
    from holdfast.cli.frame.jobs_shown import detail, what
    from holdfast.observe.redact import redacted_text

    failed = times.ago(getattr(job.state, "at", None))
    return [str(job.number), what(job), job.queue, failed, str(job.attempts), redacted_text(detail(job))]


def _show_letter(hf: DeadLetterClient, letter: Letter) -> None:
    from holdfast.cli.frame.jobs_shown import numbered
    from holdfast.core.jobs.trigger import words

    again = letter.retried_as and f"job {numbered(letter.retried_as, hf)}"
    output.show_fields(
        [
            ("job", str(letter.number)),
            ("fingerprint", letter.fingerprint),
            ("failed", times.when(letter.failed_at)),
            ("dealt with", f"{letter.closed_as} {times.when(letter.closed_at)}" if letter.closed_as else "not yet"),
            ("by", numbered(words(letter.closed_by), hf)),
            ("reason", letter.reason),
            ("runs again as", again),
        ]
    )
