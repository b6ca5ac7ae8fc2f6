"""Which endpoint a request is for. A part of the path may be anything, a slash too if it is written as %2F."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias
from urllib.parse import unquote

from holdfast.api.answers import Answer, Stream, problem
from holdfast.api.incoming import Incoming, Scope
from holdfast.wire.call import ApiCall, name_of

Endpoint: TypeAlias = Callable[[Incoming], Awaitable[Answer | Stream]]

_ANY = "{}"
_REST = "{:path}"


class Route:
    """An endpoint, under the name by which it is measured.

    `call` is None if there is no such call. Every caller that is let in is told so.
    """

    __slots__ = ("call", "endpoint", "is_long", "is_quiet", "name", "names")

    def __init__(self, call: ApiCall | None, endpoint: Endpoint, names: tuple[str, ...] = ()) -> None:
        self.call = call
        self.name = name_of(call)
        self.endpoint = endpoint
        self.names = names
        self.is_long = call is not None and call.is_long
        self.is_quiet = call is not None and call.is_quiet


class _Node:
    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.routes: dict[str, Route] = {}


class Router:
    """All routes. Those without a variable part are found by their path, the others part by part."""

    def __init__(self) -> None:
        self._exact: dict[str, dict[str, Route]] = {}
        self._root = _Node()

    def add(self, call: ApiCall, endpoint: Endpoint) -> None:
        """Route requests for the path of a call, such as `/v1/jobs/{job_id}`, to an endpoint."""
        node, names = self._root, []
        for part in call.path.split("/")[1:]:
            key = part
            if part.startswith("{"):
                names.append(part.strip("{}").partition(":")[0])
                key = _REST if part.endswith(":path}") else _ANY
            node = node.children.setdefault(key, _Node())
        node.routes[call.method] = Route(call, endpoint, tuple(names))
        if not names:
            self._exact[call.path] = node.routes

    def find(self, scope: Scope) -> tuple[Route, dict[str, str]]:
        """The route of a request, and the variables in its path."""
        method = scope["method"]
        routes = self._exact.get(scope["path"])
        values: list[str] = []
        if routes is None:
            parts = (scope.get("raw_path") or b"").decode("latin-1").split("/")[1:]
            routes, values = _follow(self._root, parts)
        if not routes:
            return _NO_ROUTE, {}
        route = routes.get(method) or (routes.get("GET") if method == "HEAD" else None)
        if route is None:
            return _no_method(routes), {}
        return route, dict(zip(route.names, values, strict=True))


def _follow(node: _Node, parts: list[str]) -> tuple[dict[str, Route] | None, list[str]]:
    values: list[str] = []
    for number, part in enumerate(parts):
        child = node.children.get(part)
        if child is None and (child := node.children.get(_ANY)) is not None:
            values.append(unquote(part))
        elif child is None and (child := node.children.get(_REST)) is not None:
            values.append("/".join(unquote(rest) for rest in parts[number:]))
            return child.routes, values
        if child is None:
            return None, []
        node = child
    return node.routes, values


async def _nowhere(incoming: Incoming) -> Answer:
    return problem(404, "ERR_NO_ROUTE", f"there is no {incoming.path}; see /openapi.json")


_NO_ROUTE = Route(None, _nowhere)


def _no_method(routes: dict[str, Route]) -> Route:
    allowed = ", ".join(sorted(routes))

    async def refuse(incoming: Incoming) -> Answer:
        said = f"{incoming.path} takes {allowed}, not {incoming.method}; see /openapi.json"
        return problem(405, "ERR_NO_METHOD", said, ((b"allow", allowed.encode()),))

    return Route(None, refuse)
