"""What the values about workspaces may be, by the names of their fields. They are a part of the table of all rules."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import text_rules
from holdfast.core.rules.limits import LONGEST_PATH, MAX_INT
from holdfast.core.rules.number_rules import Whole
from holdfast.core.rules.rule import Rule
from holdfast.core.rules.text_rules import END, Text
from holdfast.core.rules.value_rules import LABEL, MOMENT, TEXT

LONGEST_TTL_S = 10 * 365 * 86_400
WORKSPACE_NAME = Text(
    "a name as hosts have it: 1 to 63 small letters, digits and -, neither - first nor last",
    63,
    rf"^[a-z0-9]([a-z0-9-]*[a-z0-9])?{END}",
)

SHORTEST_TTL_S = 60


def check_ttl(what: str, seconds: int) -> int:
    """A TTL in seconds: 0 is none, and a short one is refused."""
    if seconds != 0 and seconds < SHORTEST_TTL_S:
        raise InvalidInput(f"{what} {seconds} s is not valid: give at least {SHORTEST_TTL_S} s, or 0 for none")
    return seconds


WORKSPACE_RULES: Mapping[str, Rule] = {
    "NewWorkspace.name": WORKSPACE_NAME,
    "NewWorkspace.command": TEXT,
    "NewWorkspace.description": TEXT,
    "WorkspaceEdits.name": WORKSPACE_NAME,
    "WorkspaceEdits.command": TEXT,
    "WorkspaceEdits.description": TEXT,
    "memo": TEXT,
    "workspace_ids": LABEL,
    "image_ref": LABEL,
    "standby_ttl_seconds": Whole(0, LONGEST_TTL_S),
    "archive_ttl_seconds": Whole(0, LONGEST_TTL_S),
    "below": Whole(1, MAX_INT),
    "seen": Rule("a list of what was seen of workspaces"),
    "SeenWorkspace.id": LABEL,
    "op_id": LABEL,
    "volume": LABEL,
    "archive_key": text_rules.label(LONGEST_PATH),
    "restore_marker": text_rules.label(LONGEST_PATH),
    "Observation.message": TEXT,
    "commit_home.path": text_rules.label(LONGEST_PATH),
    "port": Whole(1, 65_535),
    "InstanceContext.started_at": MOMENT,
}
