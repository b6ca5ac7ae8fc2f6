"""The rules that many fields share, by the name of what they are for."""

from __future__ import annotations

from holdfast.core.rules import text_rules
from holdfast.core.rules.limits import (
    LONGEST_ATTRIBUTE,
    LONGEST_GLOB,
    LONGEST_REASON,
    LONGEST_VALUE,
    LONGEST_VARIABLE,
    LONGEST_VARIABLE_VALUE,
    LONGEST_WINDOW,
    MAX_INT,
    MAX_NAME,
    MAX_PAYLOAD,
    MAX_PRIORITY,
    MAX_SUBJECT,
    MOST_ATTRIBUTES,
    MOST_GLOBS,
    MOST_STARTS,
    MOST_VARIABLES,
)
from holdfast.core.rules.number_rules import Counts, Moment, Number, Period, Whole
from holdfast.core.rules.rule import Flag, Rule
from holdfast.core.rules.text_rules import END, NAME_PATTERN, NamedTexts, Text
from holdfast.core.rules.timing import LONGEST
from holdfast.core.rules.tokens import KINDS, MOST_TOKENS

FLAG = Flag("true or false")
JOBS = Rule("a list of jobs")
JOBS.is_secret = True  # Their payloads may be.
NAME = Text(f"1 to {MAX_NAME} letters, digits and _ . : / -", MAX_NAME, f"^{NAME_PATTERN}{END}")
LABEL = text_rules.label()
SUBJECT = text_rules.label(MAX_SUBJECT)
REASON = text_rules.label(LONGEST_REASON)
IGNORE = text_rules.label(LONGEST_GLOB, most=MOST_GLOBS)
WHOLE = Whole(-MAX_INT - 1, MAX_INT, "a whole number of 64 bits")
PRIORITY = Whole(-MAX_PRIORITY, MAX_PRIORITY)
# Nanoseconds since the epoch fit, and there is always room for the next one.
GENERATION = Whole(0, 2**62)
MOMENT = Moment()
DURATION = Period(0, LONGEST)
SPAN = Period(1, LONGEST)
PATTERN = Text(
    "the name of an event, or the beginning of one with * behind",
    MAX_NAME + 1,
    # What has no * behind may be no longer than a name.
    rf"^(({NAME_PATTERN})?\*|(?=.{{1,{MAX_NAME}}}$){NAME_PATTERN}){END}",
)
ATTRIBUTE = Text(f"1 to {LONGEST_ATTRIBUTE} letters, digits and _ . : / -", LONGEST_ATTRIBUTE, f"^{NAME_PATTERN}{END}")
ATTRIBUTES = NamedTexts(ATTRIBUTE, text_rules.line(LONGEST_VALUE), most=MOST_ATTRIBUTES)
VARIABLE = Text(f"1 to {LONGEST_VARIABLE} characters without = and NUL", LONGEST_VARIABLE, r"^[^=\x00]+" + END)
VARIABLES = NamedTexts(
    VARIABLE,
    Text(f"at most {LONGEST_VARIABLE_VALUE} whole characters, no NUL", LONGEST_VARIABLE_VALUE, r"^[^\x00]*" + END, 0),
    most=MOST_VARIABLES,
    is_secret=True,
)
RETRIES = Whole(0, 1_000_000)
FACTOR = Number(1, 1_000_000)
TOKEN_COUNT = Whole(0, MOST_TOKENS)
TOKENS = Counts(KINDS, TOKEN_COUNT)
CONCURRENCY = Whole(0, 1_000_000)
STARTS = Whole(1, MOST_STARTS, f"1 to {MOST_STARTS} starts")
WINDOW = Period(1, LONGEST_WINDOW, "a window of ")
LONGEST_TEXT = 100_000
TEXT = Text(f"at most {LONGEST_TEXT} characters, none of them NUL", LONGEST_TEXT, r"^[^\x00]*$", 0)
DOCUMENT = Text(f"JSON of at most {MAX_PAYLOAD} bytes", MAX_PAYLOAD, r"^[^\x00]*$", 0)
