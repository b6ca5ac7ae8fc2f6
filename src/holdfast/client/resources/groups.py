"""Groups and chains: make and find them.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.client.resources.calls import Call, GroupPlan, Step, plan_chain, plan_group
from holdfast.client.resources.group_handle import GroupHandle
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared import option_kinds
from holdfast.core.declared.option_kinds import HasId
from holdfast.core.job import Millis
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.settings import rule_table
from holdfast.core.values.group import GroupMode, OnFailure
from holdfast.store.script_names import group_jobs, groups

if TYPE_CHECKING:
    from holdfast.tasks.schema import PayloadSchema


class Groups:
    """The part of `Holdfast` that makes and finds groups."""

    _access: StoreAccess

    def group(
        self, *calls: Call[Any], name: str | None = None, mode: str = "parallel", on_failure: str = "stop"
    ) -> GroupHandle:
        """Store a group and all its jobs in one transaction: `hf.group(resize.call(path="a.png"), …)`.

        The jobs run side by side, or one after the other with `mode="sequential"`. Then `on_failure` says what happens
        after one that fails: `"stop"`, `"continue"` or `"skip"`. At most 10 000 at once.
        """
        how, rule, group_id = _mode(mode), _rule(on_failure), self._access.new_id()
        return self._store(name, rule, group_id, plan_group(*self._origin, calls, how, group_id))

    async def agroup(
        self, *calls: Call[Any], name: str | None = None, mode: str = "parallel", on_failure: str = "stop"
    ) -> GroupHandle:
        """The awaitable twin of `group`."""
        how, rule, group_id = _mode(mode), _rule(on_failure), self._access.new_id()
        return await self._astore(name, rule, group_id, plan_group(*self._origin, calls, how, group_id))

    def chain(self, *steps: Step, name: str | None = None, on_failure: str = "stop") -> GroupHandle:
        """Store jobs that run one after the other: `hf.chain(fetch.call(url=…), parse.call(page=PREVIOUS))`.

        A list is a step of several jobs that run side by side: `hf.chain(a, [b, c], d)` runs d when b and c are done.
        With `on_failure="stop"` a job that fails cancels those behind it, with `"continue"` they run all the same, and
        with `"skip"` the next one alone is left out.
        """
        rule, group_id = _rule(on_failure), self._access.new_id()
        return self._store(name, rule, group_id, plan_chain(*self._origin, steps, rule, group_id))

    async def achain(self, *steps: Step, name: str | None = None, on_failure: str = "stop") -> GroupHandle:
        """The awaitable twin of `chain`."""
        rule, group_id = _rule(on_failure), self._access.new_id()
        return await self._astore(name, rule, group_id, plan_chain(*self._origin, steps, rule, group_id))

    def create_group(self, name: str | None = None, *, mode: str = "parallel", on_failure: str = "stop") -> GroupHandle:
        """An empty group that jobs join by `task.options(group=…)`; a sequential one runs them one after the other."""
        return self._group_handle(self._access.write(*self._new_group(self._access.now(), name, mode, on_failure)))

    async def acreate_group(
        self, name: str | None = None, *, mode: str = "parallel", on_failure: str = "stop"
    ) -> GroupHandle:
        """The awaitable twin of `create_group`."""
        return self._group_handle(
            await self._access.awrite(*self._new_group(await self._access.anow(), name, mode, on_failure))
        )

    def find_group(self, ref: HasId | str) -> GroupHandle:
        """A group by its id or its name; of several with one name, the newest."""
        return self._group_handle(self._access.read(groups.head_of_group, option_kinds.id_of(ref)).group.id)

    async def afind_group(self, ref: HasId | str) -> GroupHandle:
        """The awaitable twin of `find_group`."""
        return self._group_handle((await self._access.aread(groups.head_of_group, option_kinds.id_of(ref))).group.id)

    @property
    def _origin(self) -> tuple[Any, Callable[[], str]]:
        return self._access.engine, self._access.new_id

    def _store(self, name: str | None, rule: OnFailure, group_id: str, plan: GroupPlan) -> GroupHandle:
        access = self._access
        access.patience.ask(lambda: access.write(*self._storing(access.now(), name, rule, group_id, plan)))
        self._access.enqueued()
        return self._group_handle(group_id)

    async def _astore(self, name: str | None, rule: OnFailure, group_id: str, plan: GroupPlan) -> GroupHandle:
        access = self._access

        async def store() -> str:
            return await access.awrite(*self._storing(await access.anow(), name, rule, group_id, plan))

        await access.patience.aask(store)
        await self._access.aenqueued()
        return self._group_handle(group_id)

    def _storing(
        self, now: Millis, name: str | None, rule: OnFailure, group_id: str, plan: GroupPlan
    ) -> tuple[Any, ...]:
        from holdfast.tasks.isolation import refuse_while_loading

        refuse_while_loading("enqueuing a group")
        return (group_jobs.enqueue_group, group_id, _name(name), plan.mode, rule, plan.jobs, now)

    def _new_group(self, now: Millis, name: str | None, mode: str, on_failure: str) -> tuple[Any, ...]:
        settings = (_name(name), _mode(mode), _rule(on_failure))
        return (groups.create_group, self._access.new_id(), *settings, now)

    def _group_handle(self, group_id: str) -> GroupHandle:
        return GroupHandle(self._access, group_id, self._schema_of)

    def _schema_of(self, task: str) -> PayloadSchema | None:
        """How the payload and result of a task are read, if it is known here."""
        return None


def _name(name: str | None) -> str | None:
    return None if name is None else rule_table.check("create_group.name", name, "name")


def _mode(mode: str) -> GroupMode:
    return GroupMode(ChoiceRule(GroupMode).check("mode", mode))


def _rule(on_failure: str) -> OnFailure:
    return OnFailure(ChoiceRule(OnFailure).check("on_failure", on_failure))
