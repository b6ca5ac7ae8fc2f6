"""What a backend can do. All of it may be done twice: the second time changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from holdfast.core.job import RunId
from holdfast.core.messages.workspaces import InstanceContext


class HomeNames(Struct, frozen=True):
    """What the folders of a workspace are called: all begin with `key`, and `volume` is the one that counts."""

    key: str
    volume: str | None


class SeenHome(Struct, frozen=True):
    """What was seen of the homes of a workspace. `leftovers`: there are others than the one that counts."""

    volume: bool
    leftovers: bool


class StartOrder(Struct, frozen=True, kw_only=True):
    """What a try to start an instance is to run, and where. `{port}` in the command stands for a free port."""

    workspace_id: str
    name: str
    run_id: RunId
    command: tuple[str, ...]
    env: Mapping[str, str]
    home: str

    def __repr__(self) -> str:
        return f"<StartOrder of {self.name}>"  # Its variables belong in no log.


class Instances(Protocol):
    """Programs of workspaces."""

    def observe(self, known: Mapping[str, InstanceContext]) -> dict[str, bool]:
        """Whether these instances run, by workspace. One that is left out is not known."""

    def watch(self, known: Mapping[str, InstanceContext], wake: Callable[[], None]) -> None:
        """Call `wake` when one of these ends, if that can be known, and no longer for others. Needs an event loop."""

    def used(self, ports: Mapping[str, int]) -> set[str]:
        """The workspaces to whose ports somebody is connected, or was within the last minute or so."""

    def began_in_another_boot(self, instance: InstanceContext) -> bool:
        """Whether the machine of an instance was started anew since."""

    def start(
        self,
        order: StartOrder,
        note: Callable[[InstanceContext, int | None], None],
        check: Callable[[], None],
    ) -> None:
        """Start an instance, and return when it runs. `note` stores it before the program begins.

        `check` raises if this is to stop. If anything goes wrong, what has begun is ended.
        """

    def stop(self, instance: InstanceContext, check: Callable[[], None]) -> None:
        """End an instance, and return when nothing of it is left."""

    def forget(self, workspace_id: str) -> None:
        """Remove what it has printed."""


class Homes(Protocol):
    """Homes of workspaces."""

    def observe(self, homes: Mapping[str, HomeNames]) -> dict[str, SeenHome]:
        """What is there of these homes, by workspace. One that is left out is not known."""

    def create(self, names: HomeNames, run_id: RunId, *, is_first: bool) -> tuple[str, str]:
        """Make a new, empty home, and return its name and its path. It is on the disk then.

        `is_first`: no workspace of this machine has a home, so there need be no folder for all homes yet.
        """

    def path(self, volume: str) -> str:
        """Where a home is."""

    def discard(self, volume: str) -> None:
        """Remove one home, as far as that can be done."""

    def delete(self, names: HomeNames, check: Callable[[], None]) -> None:
        """Remove all homes of a workspace."""


class BackendFailed(Exception):
    """A backend could not do what it was asked to. Another try may help."""


class HomesMissing(BackendFailed):
    """The folder of all homes is not there, or not the one that it was: perhaps a disk is not mounted."""


class CommandRefused(Exception):
    """The program of a workspace can never start as it was given."""
