"""The completions of the shell: quick, and silent if anything fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PATIENCE_S = 0.5
MOST = 50


def jobs(incomplete: str) -> list[tuple[str, str]]:
    """The newest jobs by number."""
    found = _ask("POST", "/v1/jobs/search", {"wanted": {"without_system": True}, "limit": MOST})
    return [
        (str(job["number"]), f"{job['state']['name']} {job['task']}")
        for job in _dicts(found, "jobs")
        if str(job["number"]).startswith(incomplete)
    ]


def queues(incomplete: str) -> list[str]:
    """The queues that have jobs or settings."""
    counted = {str(count["queue"]) for count in _dicts(_ask("GET", "/v1/counts"))}
    known = {str(queue["name"]) for queue in _dicts(_ask("GET", "/v1/queues"))}
    return [name for name in sorted(counted | known) if name.startswith(incomplete)]


def tenants(incomplete: str) -> list[str]:
    """The tenants that share queues."""
    found = _dicts(_ask("GET", "/v1/tenants"))
    return sorted({str(one["tenant"]) for one in found if str(one["tenant"]).startswith(incomplete)})


def tasks(incomplete: str) -> list[tuple[str, str]]:
    """The tasks that workers have declared, with what they are about, and those of the newest jobs."""
    found = _ask("POST", "/v1/jobs/search", {"wanted": {"without_system": True}, "limit": MOST})
    names = {str(job["task"]): "" for job in _dicts(found, "jobs")}
    for known in _dicts(_ask("GET", "/v1/tasks")):
        names[str(known["name"])] = str(known["versions"][0]["doc"] or "")
    return [(name, doc) for name, doc in sorted(names.items()) if name.startswith(incomplete)]


def named_groups(incomplete: str) -> list[str]:
    """The names of the newest groups, or their ids where they have none."""
    found = _dicts(_ask("GET", f"/v1/groups?limit={MOST}"), "groups")
    names = [str(group.get("name") or group.get("id")) for group in found]
    return sorted({name for name in names if name.startswith(incomplete)})


def named_schedules(incomplete: str) -> list[tuple[str, str]]:
    """The names of the schedules, and what their expressions mean."""
    found = _dicts(_ask("GET", "/v1/schedules"))
    return [(str(one["name"]), str(one["words"])) for one in found if str(one["name"]).startswith(incomplete)]


def named_workspaces(incomplete: str) -> list[tuple[str, str]]:
    """The names of the workspaces, and their phases."""
    found = _dicts(_ask("GET", "/v1/workspaces"))
    return [(str(one["name"]), str(one["phase"])) for one in found if str(one["name"]).startswith(incomplete)]


def named_templates(incomplete: str) -> list[str]:
    """The names of the templates that are in use."""
    return _names("/v1/templates", incomplete)


def time_zones(incomplete: str) -> list[str]:
    """The time zones that this machine knows."""
    from zoneinfo import available_timezones

    return sorted(name for name in available_timezones() if name.lower().startswith(incomplete.lower()))


def named_webhooks(incomplete: str) -> list[str]:
    """The names of the webhooks."""
    return _names("/v1/webhooks", incomplete)


def named_apps(incomplete: str) -> list[str]:
    """The keys of the apps."""
    keys = [str(one["app_key"]) for one in _dicts(_ask("GET", "/v1/apps"))]
    return [key for key in keys if key.startswith(incomplete)]


def named_watches(incomplete: str) -> list[str]:
    """The names of the watches."""
    return _names("/v1/watches", incomplete)


def fingerprints(incomplete: str) -> list[tuple[str, str]]:
    """The fingerprints of dead letters, with what they have in common."""
    found = _dicts(_ask("GET", f"/v1/dead-letters?limit={MOST}"), "letters")
    return [
        (str(letters["fingerprint"]), f"{letters['jobs']} × {letters['pattern']}")
        for letters in found
        if str(letters["fingerprint"]).startswith(incomplete)
    ]


def states(incomplete: str) -> list[str]:
    """The nine states."""
    from holdfast.core.job import StateName

    return [str(name) for name in StateName if name.startswith(incomplete.upper())]


def _names(path: str, incomplete: str) -> list[str]:
    names = [str(one["name"]) for one in _dicts(_ask("GET", path))]
    return [name for name in names if name.startswith(incomplete)]


def _ask(method: str, path: str, body: object = None) -> Any:
    try:
        import msgspec

        from holdfast.wire.home import find_daemon
        from holdfast.wire.peer import Peer
        from holdfast.wire.transport import Transport

        address = msgspec.structs.replace(find_daemon(), lock=None)
        content = None if body is None else msgspec.json.encode(body)
        return msgspec.json.decode(Transport(Peer(address)).call(method, path, content, timeout=PATIENCE_S))
    except Exception:
        return None


def _dicts(found: Any, key: str | None = None) -> Iterator[dict[str, Any]]:
    items = found.get(key) if key and isinstance(found, dict) else found
    return (item for item in items if isinstance(item, dict)) if isinstance(items, list) else iter(())
