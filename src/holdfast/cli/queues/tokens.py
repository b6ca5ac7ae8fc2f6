"""`holdfast tokens`: what each machine has of cores, graphics cards and heavy input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Option
from holdfast.core.rules.tokens import KINDS, MOST_TOKENS

if TYPE_CHECKING:
    from holdfast.core.messages.machines import NodeTokens

HEAD = ("machine", *KINDS, "runs", "others pass for", "set by")
SET_BY = {"default": "itself", "settings": "holdfast.toml", "hand": "hand"}


def list_() -> Output:
    """List what each machine has, and what runs use of it.

    \b
    Examples:
      holdfast tokens
      holdfast tokens ls --json
    """
    found = client().tokens()
    return output.listed(found, HEAD, map(_row, found), right=(*KINDS, "runs"))


def set_(
    cpu: Annotated[int | None, Option(metavar="N", field="cpu", help="How many cores jobs may use.")] = None,
    gpu: Annotated[int | None, Option(metavar="N", field="gpu", help="How many graphics cards.")] = None,
    io: Annotated[
        int | None, Option(metavar="N", field="io", help="How many tokens for heavy input and output.")
    ] = None,
    timeout: Annotated[
        str | None, Option(metavar="TIME", help="How long a job that does not fit lets smaller ones pass.")
    ] = None,
    node: Annotated[
        str | None, Option(metavar="MACHINE", field="node", help="Which machine; by default the daemon's.")
    ] = None,
) -> Output:
    """Set what a machine has from now on.

    What is not named stays. What runs goes on, even if that is more. What stands in holdfast.toml counts again when
    the daemon starts.

    \b
    Examples:
      holdfast tokens set --cpu 6
      holdfast tokens set --io 4 --timeout 2m
    """
    hf = client()
    found = hf.set_tokens(
        cpu=cpu, gpu=gpu, io=io, timeout=times.seconds("timeout", timeout), node=node or hf.daemon().node
    )
    return Output(
        found, f"machine {found.node} has {found.capacity}; smaller jobs pass for {times.length(found.timeout_ms)}"
    )


tokens = group_of(
    "tokens",
    "What each machine has of cores, graphics cards and heavy input and output.\n\n"
    f"Jobs that need some of it start only while it is there. Each is a number from 0 to {MOST_TOKENS}.",
    {"ls": list_, "set": set_},
    usual="ls",
)


def _row(one: NodeTokens) -> list[str]:
    use = [f"{getattr(one.in_use, kind)} of {getattr(one.capacity, kind)}" for kind in KINDS]
    return [one.node, *use, str(one.runs), times.length(one.timeout_ms) or "", SET_BY[one.set_by]]
