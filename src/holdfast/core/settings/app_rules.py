"""What the values about apps may be, by the names of their fields. They are a part of the table of all rules."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.rules import text_rules
from holdfast.core.rules.limits import LONGEST_PATH, MAX_INT
from holdfast.core.rules.number_rules import Whole
from holdfast.core.rules.rule import ChoiceRule, Rule, several
from holdfast.core.rules.value_rules import DOCUMENT, LABEL, MOMENT, NAME, PATTERN, TEXT

MOST_CALLS = (1 << 32) - 1  # of a session
MOST_LISTENED = 10_000  # patterns of the apps of a process

APP_RULES: Mapping[str, Rule] = {
    "app_key": NAME,
    "app_keys": NAME,
    "class": LABEL,
    "class_name": LABEL,
    "begin_app.patterns": several(PATTERN, most=MOST_LISTENED),
    "listen_app.patterns": several(PATTERN, most=MOST_LISTENED),
    "events_after.patterns": several(PATTERN, most=MOST_LISTENED),
    "instance_index": Whole(0, 1_000),
    "number": Whole(0, MAX_INT),
    # What apps have registered, and the calls of it.
    "NewListener.name": LABEL,
    "listener": LABEL,
    "job_name": LABEL,
    "handler_method": LABEL,
    "topic": PATTERN,
    "predicate_description": TEXT,
    "source_location": text_rules.label(LONGEST_PATH),
    "registration_source": TEXT,
    "trigger_type": ChoiceRule(("after", "at", "interval", "cron")),
    "trigger_value": TEXT,
    "args_json": DOCUMENT,
    "kwargs_json": DOCUMENT,
    "retired_listeners": LABEL,
    "retired_timers": LABEL,
    "counter": Whole(0, MOST_CALLS),
    "rows_dropped": Whole(0, MAX_INT),
    "batch": Whole(1, MAX_INT),
    "listener_id": Whole(1, MAX_INT),
    "timer_id": Whole(1, MAX_INT),
    "since": MOMENT,
    "event_name": PATTERN,
    "event_number": Whole(0, MAX_INT),
    "error_type": TEXT,
    "error_message": TEXT,
    "error_traceback": TEXT,
}
