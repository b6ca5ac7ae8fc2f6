"""Calls about who may call."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import users
from holdfast.wire.call import ApiCall, never

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.ADMIN, "users", "POST", "/v1/users", users.add_user, status=201, is_repeatable=never),
    ApiCall(Role.READ, "users", "GET", "/v1/users", users.list_users),
    ApiCall(Role.ADMIN, "users", "POST", "/v1/users/{name}/revoke", users.revoke_user),
    ApiCall(Role.ADMIN, "users", "POST", "/v1/users/{name}/rotate", users.rotate_token, is_repeatable=never),
)
