"""Calls about machines and their tokens."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import machines, nodes, probed_machines, reorder, tokens
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "machines", "GET", "/v1/machines", machines.list_machines),
    ApiCall(Role.ADMIN, "machines", "PUT", "/v1/machines/{node}/simulation", probed_machines.simulate),
    ApiCall(Role.READ, "machines", "GET", "/v1/nodes", nodes.list_nodes),
    ApiCall(Role.OPERATE, "machines", "POST", "/v1/nodes/{node}/move-jobs", reorder.move_ties),
    ApiCall(Role.READ, "machines", "GET", "/v1/tokens", tokens.list_tokens),
    ApiCall(Role.ADMIN, "machines", "PUT", "/v1/tokens", tokens.set_tokens, opens_gates=True),
)
