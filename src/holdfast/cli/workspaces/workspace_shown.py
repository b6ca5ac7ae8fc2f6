"""Workspaces as people see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.frame import output, times
from holdfast.cli.frame.output import CYAN, DIM, GREEN, GREY, RED, YELLOW, Coloured, Fields
from holdfast.cli.workspaces import inside
from holdfast.core.jobs import trigger
from holdfast.core.workspaces.states import Operation, Phase

if TYPE_CHECKING:
    from holdfast.core.messages.workspaces import WorkspaceChange, WorkspaceView
    from holdfast.core.workspaces.sleeping import Sleep

HEAD = ("workspace", "phase", "desired", "since", "address", "node", "detail")
CHANGES_HEAD = ("at", "from", "to", "why", "by")
COLOURS = {
    Phase.RUNNING: GREEN,
    Phase.STANDBY: YELLOW,
    Phase.ARCHIVED: GREY,
    Phase.PENDING: CYAN,
    Phase.ERROR: RED,
    Phase.DELETED: GREY,
}
STATUSES = {True: Coloured("yes", GREEN), False: Coloured("no", YELLOW), None: Coloured("unknown", DIM)}
LAST_LINES = 10


def row(view: WorkspaceView) -> list[str]:
    """A line of the list."""
    return [
        view.name,
        Coloured(view.phase, COLOURS[view.phase]),
        view.desired_state,
        times.ago(view.phase_changed_at),
        view.address or "",
        view.node_name,
        _detail(view),
    ]


def line(view: WorkspaceView) -> str:
    """One line about it."""
    where = "" if view.address is None else f" at {view.address}"
    doing = f"; next: {_steps(view)}" if view.steps else ""
    rest = "" if view.sleep is None else f"; {_sleep(view.sleep)}"
    return f"workspace {view.name} is {view.phase}{where}{doing}{rest}"


def show(view: WorkspaceView) -> None:
    """All about it that helps a person."""
    output.show_fields(_fields(view))
    if view.conditions:
        output.put()
        rows = [
            [str(name), STATUSES[one.status], str(one.reason), times.ago(one.last_transition_time), one.message]
            for name, one in view.conditions.items()
        ]
        output.show_table(("condition", "status", "reason", "since", "message"), rows)
    if view.phase is Phase.ERROR and (last := inside.last_lines(view.id, LAST_LINES)):
        output.put()
        output.put("the end of its log:")
        output.put_lines(last)


def change_row(change: WorkspaceChange) -> list[str]:
    """A line of the list of changes."""
    return [
        times.when(change.at),
        change.from_state or "",
        change.to_state,
        change.why,
        trigger.words(change.trigger, times.local),
    ]


def _steps(view: WorkspaceView) -> str:
    """The operations that lead to what it shall be, in words."""
    return f"{', then '.join(view.steps)}, until it is {view.desired_state}"


def _sleep(sleep: Sleep) -> str:
    return f"{sleep.desired} {times.ago(sleep.at)} if nobody uses it"


def _detail(view: WorkspaceView) -> str:
    if view.operation is not Operation.NONE:
        return f"{view.operation}: job {view.op_job_number}"
    if view.phase is Phase.ERROR:
        return f"{view.error_reason or view.phase}; see: holdfast workspace show {view.name}"
    return _failures(view) or ""


def _failures(view: WorkspaceView) -> str | None:
    return f"{view.error_count} failed in a row" if view.error_count else None


def _fields(view: WorkspaceView) -> Fields:
    operation = None
    if view.operation is not Operation.NONE:
        operation = f"{view.operation}, job {view.op_job_number}, since {times.when(view.op_started_at)}"
    return [
        ("workspace", view.name),
        ("about", view.description),
        ("phase", Coloured(f"{view.phase}, since {times.when(view.phase_changed_at)}", COLOURS[view.phase])),
        ("shall be", view.desired_state),
        ("operation", operation),
        ("next", _steps(view) if view.steps else "nothing"),
        ("rests", None if view.sleep is None else _sleep(view.sleep)),
        ("error", view.error_reason),
        ("failures", _failures(view)),
        ("address", view.address),
        ("pid", None if view.instance_ctx is None else str(view.instance_ctx.pid)),
        ("home", view.home),
        ("archive", view.archive_key),
        ("command", " ".join(view.command)),
        ("owner", view.owner),
        ("node", view.node_name),
        ("id", view.id),
    ]
