"""`holdfast tenant` and `holdfast activity`: who shares a queue, and how much each one's word counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument, Option
from holdfast.cli.queues.queues import warn_of_new_queues
from holdfast.core.errors import InvalidInput
from holdfast.core.gates.fairness import (
    ACTIVE_MS,
    ACTIVE_WEIGHT,
    BACKGROUND_WEIGHT,
    FADING_MS,
    MOST_WEIGHT,
    RECENT_WEIGHT,
)
from holdfast.core.rules.limits import MOST_PER_PAGE
from holdfast.core.values.subject import DEFAULT_TENANT

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.core.messages.queues import TenantView

HEAD = ("queue", "tenant", "weight", "now", "share", "started", "waits", "active")

TenantArgument = Annotated[
    str,
    Argument(
        "TENANT", help="The name of a tenant, as in the first two parts of a subject.", complete=completion.tenants
    ),
]
QueueOption = Annotated[
    str | None, Option("--queue", "-q", metavar="QUEUE", help="Only in this queue.", complete=completion.queues)
]


def list_(queue: QueueOption = None) -> Output:
    """List who shares queues, with weights and shares.

    The share is the part of the queue's starts that the tenant gets while the tenants that wait now still wait. A
    queue that nobody shares has no lines here. Tenants that have a weight and no job yet stand last.

    \b
    Examples:
      holdfast tenant ls
      holdfast tenant ls --queue builds
    """
    found = client().tenants(queue)
    none = f"no tenants: nobody shares {'a queue' if queue is None else f'queue {queue}'}"
    return output.listed(found, HEAD, map(_row, found), right=("weight", "now", "share", "started"), none=[none])


def weight(
    tenant: TenantArgument,
    weight: Annotated[
        int | None, Argument("[WEIGHT]", field="weight", help="How much its word counts; 10 where nothing is set.")
    ] = None,
    clear: Annotated[bool, Option("--clear", help="Set it back to what it is where nothing is set.")] = False,
    queue: QueueOption = None,
) -> Output:
    """Set how much a tenant's word counts.

    Against a tenant of weight 10, one of weight 100 starts ten jobs for each of its own, as long as both have some.

    \b
    Examples:
      holdfast tenant weight acme::shop 50
      holdfast tenant weight acme::shop 50 --queue builds
      holdfast tenant weight acme::shop --clear
    """
    if (weight is None) != clear:
        raise InvalidInput("give either a weight or --clear" + (", not both" if clear else ""))
    hf = client()
    warn_of_new_tenant(hf, tenant)
    if queue is not None:
        warn_of_new_queues(hf, [queue])
    hf.set_weight(tenant, weight, queue=queue)
    where = "in every queue" if queue is None else f"in queue {queue}"
    usual = f"the usual weight of {BACKGROUND_WEIGHT}" if queue is None else "the weight that it has elsewhere"
    return Output(
        lambda: [one for one in hf.tenants(queue) if one.tenant == tenant],
        f"tenant {tenant} has {usual if clear else f'the weight {weight}'} {where}",
    )


def activity(
    tenant: TenantArgument,
    lasting: Annotated[
        str | None, Option("--for", metavar="TIME", help=f"How long; {times.length(ACTIVE_MS)} if not said.")
    ] = None,
) -> Output:
    """Say that somebody works with a tenant right now.

    Its jobs come sooner for a while, and less and less after that. An editor or a shell that does this now and then
    has its own work go before what runs in the background.

    \b
    Examples:
      holdfast activity acme::shop
      holdfast activity acme::shop --for 10m
    """
    given = times.seconds("for", lasting)
    hf = client()
    warn_of_new_tenant(hf, tenant)
    until = hf.report_activity(tenant, lasting=ACTIVE_MS / 1000 if given is None else given)
    return Output(
        {"tenant": tenant, "active_until": until},
        f"tenant {tenant} has at least the weight {ACTIVE_WEIGHT} until {times.when(until)}, "
        f"sinks to {RECENT_WEIGHT} within {times.length(FADING_MS)}, and back within a day",
    )


tenant = group_of(
    "tenant",
    f"Who shares a queue, and how much each one's word counts.\n\nA weight is a number from 1 to {MOST_WEIGHT}.",
    {"ls": list_, "weight": weight},
    usual="ls",
)


def warn_of_new_tenant(hf: Client, tenant: str) -> None:
    """Warn of a tenant that is not known: it may come later, or be misspelt."""
    found = hf.tenants()
    # If there are very many, those at rest are not stored.
    if tenant != DEFAULT_TENANT and len(found) < MOST_PER_PAGE and all(one.tenant != tenant for one in found):
        say(f"holdfast: tenant {tenant!r} is new: no job of it is known so far")


def _row(one: TenantView) -> list[str]:
    return [
        one.queue or "(every)",
        one.tenant,
        str(one.weight),
        f"{one.weight_now:.3g}",
        f"{one.share:.0%}" if one.is_waiting else "",
        str(one.starts),
        "yes" if one.is_waiting else "",
        times.when(one.active_until) if one.weight_now > one.weight else "",
    ]
