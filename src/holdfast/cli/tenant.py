"""`holdfast tenant` and `holdfast activity`: who shares a queue, and how much each one's word counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.completion import queues, tenants
from holdfast.cli.failing import say
from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import put, show_json, show_table
from holdfast.cli.queues import warn_of_new_queues
from holdfast.cli.times import length, seconds, when
from holdfast.cli.words import Argument, Option, group_of
from holdfast.core.errors import InvalidInput
from holdfast.core.fairness import ACTIVE_MS, ACTIVE_WEIGHT, BACKGROUND_WEIGHT, FADING_MS, MOST_WEIGHT, RECENT_WEIGHT
from holdfast.core.subject import DEFAULT_TENANT

if TYPE_CHECKING:
    from holdfast.client.remote import Client
    from holdfast.store.scripts.tenants import TenantView

MOST_PER_PAGE = 1_000
HEAD = ("queue", "tenant", "weight", "now", "share", "started", "waits", "active")

TenantArgument = Annotated[
    str, Argument("TENANT", help="The name of a tenant, as in the first two parts of a subject.", complete=tenants)
]
QueueOption = Annotated[
    str | None, Option("--queue", "-q", metavar="QUEUE", help="Only in this queue.", complete=queues)
]


def list_(queue: QueueOption = None, home: HomeOption = None, json: JsonOption = False) -> None:
    """List who shares queues, with weights and shares.

    The share is what a tenant may have of a queue while those wait that wait now. A queue that nobody shares has
    no lines here. Tenants that have a weight and no job yet stand last.

    \b
    Examples:
      holdfast tenant ls
      holdfast tenant ls --queue builds
    """
    found = client(home).tenants(queue)
    if json:
        show_json(found)
    elif not found:
        say("no tenants: nobody shares a queue" if queue is None else f"no tenants: nobody shares queue {queue}")
    else:
        show_table(HEAD, [_row(one) for one in found], right=("weight", "now", "share", "started"))


def weight(
    tenant: TenantArgument,
    weight: Annotated[
        int | None, Argument("[WEIGHT]", help="How much its word counts; 10 where nothing is set.")
    ] = None,
    clear: Annotated[bool, Option("--clear", help="Set it back to what it is where nothing is set.")] = False,
    queue: QueueOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
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
    hf = client(home)
    warn_of_new_tenant(hf, tenant)
    if queue is not None:
        warn_of_new_queues(hf, [queue])
    hf.set_weight(tenant, weight, queue=queue)
    if json:
        show_json([one for one in hf.tenants(queue) if one.tenant == tenant])
    else:
        where = "in every queue" if queue is None else f"in queue {queue}"
        usual = f"the usual weight of {BACKGROUND_WEIGHT}" if queue is None else "the weight that it has elsewhere"
        put(f"tenant {tenant} has {usual if clear else f'the weight {weight}'} {where}")


def activity(
    tenant: TenantArgument,
    lasting: Annotated[
        str | None, Option("--for", metavar="TIME", help=f"How long; {length(ACTIVE_MS)} if not said.")
    ] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> None:
    """Say that somebody works with a tenant right now.

    Its jobs come sooner for a while, and less and less after that. An editor or a shell that does this now and then
    has its own work go before what runs in the background.

    \b
    Examples:
      holdfast activity acme::shop
      holdfast activity acme::shop --for 10m
    """
    given = seconds("for", lasting)
    hf = client(home)
    warn_of_new_tenant(hf, tenant)
    until = hf.report_activity(tenant, lasting=ACTIVE_MS / 1000 if given is None else given)
    if json:
        show_json({"tenant": tenant, "active_until": until})
    else:
        put(
            f"tenant {tenant} has at least the weight {ACTIVE_WEIGHT} until {when(until)}, "
            f"sinks to {RECENT_WEIGHT} within {length(FADING_MS)}, and back within a day"
        )


tenant = group_of(
    "tenant",
    f"Who shares a queue, and how much each one's word counts.\n\nA weight is a number from 1 to {MOST_WEIGHT}.",
    {"ls": list_, "weight": weight},
    usual="ls",
)


def warn_of_new_tenant(hf: Client, tenant: str) -> None:
    """Say that nobody knows the tenant so far: it may come later, or be misspelt."""
    found = hf.tenants()
    # Where there are very many, those at rest are forgotten.
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
        when(one.active_until) if one.weight_now > one.weight else "",
    ]
