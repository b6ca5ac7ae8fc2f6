"""From an HTTP request to the arguments of a script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, get_origin

import msgspec

from holdfast.api.incoming import Incoming
from holdfast.core.errors import InvalidInput
from holdfast.core.job import JobId
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules import limits
from holdfast.core.rules.limits import MAX_PAYLOAD
from holdfast.core.rules.number_rules import Counts
from holdfast.core.rules.rule import TEXTS, ChoiceRule, Rule
from holdfast.core.rules.text_rules import NamedTexts
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES
from holdfast.core.tasks.task import Overrides
from holdfast.decoding import convert
from holdfast.store.engine import Engine
from holdfast.store.scripts.reading import read_jobs
from holdfast.wire.call import ApiCall
from holdfast.wire.expected_values import are_texts_at, fields_at, words_at
from holdfast.wire.preparation import check_trigger

MAX_BODY = 16 * MAX_PAYLOAD

_AT = re.compile(r" - at (?:`key` in )?`\$([^`]*)`$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_FIELDS = re.compile(r"\.(\w+)")
_NO_FLAG = re.compile(r"Expected `bool(?: \| null)?`, got")
_NO_SUCH_VALUE = re.compile(
    r"Expected `\w+` (?:matching|of length|[<>])|Expected `(?:str|int|float|int \| str|str \| int)(?: \| null)?`, got|"
    r"Invalid enum"
)
_NO_SUCH_COUNT = re.compile(r"Expected `array` of length")
_NO_LIST = re.compile(r"Expected `array(?: \| null)?`, got")
_NO_OBJECT = re.compile(r"Expected `object(?: \| null)?`, got|Object contains unknown field")
_UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)


async def read_request(call: ApiCall, incoming: Incoming, engine: Engine, max_body: int = MAX_BODY) -> msgspec.Struct:
    """The checked request. InvalidInput says what does not fit."""
    if call.is_all_body:
        wanted: msgspec.Struct = _from_body(call, await incoming.body(max_body))
    else:
        values = _converted(call, call.path_part, incoming.params)
        values |= _converted(call, call.query_part, _query(call, incoming))
        if call.has_body:
            values |= msgspec.structs.asdict(_from_body(call, await incoming.body(max_body)))
        wanted = call.request(**values)
        for name in call.job_refs:
            setattr(wanted, name, await job_id_of(getattr(wanted, name), engine))
    check_trigger(wanted)
    if call.prepare is not None:
        call.prepare(wanted)
    overrides = getattr(wanted, "overrides", None)
    if isinstance(overrides, Overrides):
        await resolve_dependencies([overrides], engine)
    return wanted


async def resolve_dependencies(jobs: Sequence[NewJob | Overrides], engine: Engine) -> None:
    """Replace the numbers of jobs to wait for by their ids."""
    for job in jobs:
        for dependency in job.after or ():
            if not _is_id(dependency.job_id):
                msgspec.structs.force_setattr(dependency, "job_id", await job_id_of(dependency.job_id, engine))


async def job_id_of(ref: str | int, engine: Engine) -> JobId:
    """The id of a job that may be named by its number."""
    return ref if _is_id(ref) else (await engine.read(read_jobs.find_job, ref)).id  # type: ignore[return-value]


def _is_id(ref: str | int) -> bool:
    return isinstance(ref, str) and not (ref.isascii() and ref.isdigit())


def _from_body(call: ApiCall, body: bytes) -> Any:
    try:
        return call.body_decoder.decode(body or b"{}")
    except _UNREADABLE as error:
        raise _does_not_fit(call, call.request if call.is_all_body else call.body_part, error, body) from None


def _converted(call: ApiCall, kind: type[msgspec.Struct], values: dict[str, Any]) -> dict[str, Any]:
    if not values and not kind.__struct_fields__:
        return {}
    try:
        return msgspec.structs.asdict(convert(values, kind, strict=False))
    except _UNREADABLE as error:
        raise _does_not_fit(call, kind, error, values) from None


def _query(call: ApiCall, incoming: Incoming) -> dict[str, Any]:
    """The query by name. A name that is given twice is refused, unless it is a list."""
    values: dict[str, Any] = {}
    several = {field.name for field in msgspec.structs.fields(call.query_part) if _is_list(field.type)}
    for name, value in incoming.query():
        if name in several:
            values.setdefault(name, []).append(value)
        elif name in values:
            raise InvalidInput(f"{limits.shown(name)} stands twice in the query of {call.name}")
        else:
            values[name] = value
    return values


def _is_list(kind: Any) -> bool:
    return get_origin(getattr(kind, "__origin__", kind)) in (list, tuple)


def _does_not_fit(
    call: ApiCall, kind: type[msgspec.Struct], error: Exception, given: bytes | dict[str, Any]
) -> InvalidInput:
    if isinstance(error, RecursionError):
        return InvalidInput(f"the request does not fit {call.name}: it is nested too deeply")
    said = str(error)
    found = _AT.search(said)
    place = "" if found is None else found[1].removesuffix("[...]")  # The rule for an object names what is wrong in it.
    rule = _rule(call, kind, said, place)
    if rule is None:
        where = f" at {place.lstrip('.')}" if found is not None else ""
        allowed = _allowed(kind, said, place)
        return InvalidInput(f"the request does not fit {call.name}: {_AT.sub('', said)}{where}{allowed}")
    try:
        document = given if isinstance(given, dict) else msgspec.json.decode(given)
    except _UNREADABLE as worse:
        # What comes after the first mistake was not read yet.
        return _does_not_fit(call, kind, worse, {})
    says = rule.counts if _NO_SUCH_COUNT.match(said) else TEXTS if _NO_LIST.match(said) else None
    return rule.refusal(place.lstrip("."), _at(document, place), says)


def _allowed(kind: type[msgspec.Struct], said: str, place: str) -> str:
    """What is allowed in place of an unknown field or word."""
    if said.startswith("Object contains unknown field"):
        names = fields_at(kind, place)
        return f"; allowed are {', '.join(names)}" if names else ""
    return ""


def _rule(call: ApiCall, kind: type[msgspec.Struct], said: str, where: str) -> Rule | None:
    """The rule that a value does not fit. None if the mistake is of another kind."""
    fields = _FIELDS.findall(where)
    if not fields:
        return None
    if _NO_FLAG.match(said):
        return FLAG
    # The place does not tell which shape the field is in. It only matters if a shape has a rule of its own.
    own = (RULES.get(f"{owner}.{fields[-1]}") for owner in _named(call))
    rule = next((rule for rule in own if rule is not None), None) or rule_table.rule_of(call.name, fields[-1])
    if said.startswith("Invalid enum value") and not isinstance(rule, ChoiceRule):
        rule = ChoiceRule(words_at(kind, where))
    if _NO_OBJECT.match(said):
        return rule if isinstance(rule, NamedTexts | Counts) else _object_at(kind, said, where)
    if _NO_LIST.match(said):
        return rule if are_texts_at(kind, where) else None
    return rule if _NO_SUCH_VALUE.match(said) else None


def _object_at(kind: type[msgspec.Struct], said: str, where: str) -> Rule | None:
    """The rule for an object in a field, by its shape. None if it is in a list, or has an unknown field."""
    names = fields_at(kind, where)
    is_field = not where.endswith("]") and said.startswith("Expected")
    return Rule(f"an object with {', '.join(names)}") if names and is_field else None


def _named(call: ApiCall) -> set[str]:
    """The call and every shape in its request."""
    _, shapes = msgspec.json.schema_components([call.request])
    return {call.name, *(name.rpartition(".")[2] for name in shapes)}


def _at(value: Any, where: str) -> Any:
    for name, number in _STEP.findall(where):
        try:
            value = value[name] if name else value[int(number)]
        except (KeyError, IndexError, TypeError):
            return None
    return value
