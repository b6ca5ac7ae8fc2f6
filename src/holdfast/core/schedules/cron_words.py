"""What a cron expression says, in words that hold at every hour of the day."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronsim import CronSim

# Where each field stands, its first value, and how many it has. Days begin anew whenever a month or a week ends.
_FIELDS = {"seconds": (0, 0, 60), "minutes": (1, 0, 60), "hours": (2, 0, 24), "months": (4, 1, 12)}


def in_words(fields: CronSim) -> str:
    """The expression as a person would say it.

    `*/45` is not every 45 minutes, since each hour begins anew: a step that does not divide its field is said by the
    values that it names.
    """
    from cronsim.explain import Expression

    parts = list(fields.parts)
    for name, (place, first, count) in _FIELDS.items():
        named: set[int] = getattr(fields, name)
        _, is_step, step = parts[place].partition("/")
        if is_step and step.isdigit() and count % int(step) and named == set(range(first, first + count, int(step))):
            parts[place] = ",".join(map(str, sorted(named)))
    return Expression(parts).explain()
