"""The pages of the reference about the daemon: its settings, its metrics, its log. Used by generate_reference.py."""

import inspect
from collections.abc import Iterator

import msgspec
from prometheus_client import Counter
from reference_format import table

from holdfast.cli.frame.typed import word_name
from holdfast.core.settings import watch_settings
from holdfast.core.settings.queue_settings import SETTINGS
from holdfast.daemon.settings.queue_tables import KEYS as QUEUE_KEYS
from holdfast.daemon.settings.sample import written
from holdfast.daemon.settings.settings import Settings, described
from holdfast.daemon.settings.watch_tables import KEYS, MEANING
from holdfast.observe.metrics import PREFIX, Metrics
from holdfast.observe.sla import PROMISES

VARIABLES = {
    "HOLDFAST_HOME": "The daemon's home folder, where `--home` is not given.",
    "HOLDFAST_CONFIG": "The file with the settings, where `--config` is not given.",
    "HOLDFAST_WEBHOOK_ALLOW": (
        "Programs without a daemon: hosts, addresses and networks that webhooks may be sent to, separated by commas."
    ),
    "HOLDFAST_PRESSURE": (
        "`off`: a daemon or a program never rests, whatever its machine is like; what is simulated still counts. "
        "`on` is the default; a daemon refuses anything else."
    ),
    "HOLDFAST_STORE": (
        "The database, where `--store` is not given; it stands above `daemon.store`. A password in it is not seen in a "
        "list of processes."
    ),
    "HOLDFAST_TOKEN": "The token for a daemon that is reached over TCP, unless it is that of the home folder.",
    "HOLDFAST_CA": "A PEM file with the certificates to trust at a daemon's `https://` address.",
}
LOG_FIELDS = {
    "level": "`DEBUG`, `INFO`, `WARNING` or `ERROR`.",
    "ts": "When, in UTC.",
    "trace_id": "The trace of the call or the run that the line belongs to, or null.",
    "component": "The part that speaks: `daemon`, `api`, `store`, `recovery`, `canary`, `sla`, `supervisor`, `worker`, "
    "`task`, …",
    "event": "A stable word for what happened, such as `sla_breach` or `worker_ended`.",
    "message": "The same for a person.",
    "job_id, …": "Whatever else belongs to the event: `job_id`, `run_id`, `queue`, `reason`.",
    "exception": "`type`, `message` and `traceback`, where there was one.",
}


def toml() -> list[str]:
    """Every setting of `holdfast.toml`, section by section."""
    parts = [
        "## `holdfast.toml`",
        "A daemon reads it from its home folder, or from the file that `--config` names. `holdfast up --print-config` "
        "prints one with everything in it. An unknown key or a wrong value is an error that names it. Options of "
        "`holdfast up` stand above the file.",
    ]
    for section in msgspec.structs.fields(Settings):
        rows = []
        for name, says in described(section.type).items():
            default = getattr(section.default, name)
            shown = "" if default is None else f"`{written(says, default)}`"
            rows.append((f"`{name}`", shown, says.kind.allowed, says.text))
        parts += [
            f"### `[{section.name}]`",
            inspect.cleandoc(section.type.__doc__ or ""),
            table(("setting", "default", "may be", "meaning"), rows),
        ]
    parts += [
        "### `[queues.NAME]`",
        "What is set for a queue, one table for each; see [Set up queues](../how-to/queues.md). At the start of the "
        "daemon, what a table names stands above what was set by hand before; what it does not name, or no longer "
        "names, stays.",
        table(
            ("setting", "example", "may be", "meaning"),
            [(f"`{name}`", f"`{says.example}`", says.kind.allowed, says.text) for name, says in QUEUE_KEYS.items()],
        ),
        "### `[[watch]]`",
        f"{MEANING} See [Watch folders and repositories](../how-to/watch-folders.md).",
        table(
            ("setting", "such as", "may be", "meaning"),
            [(f"`{key}`", f"`{says.example}`", says.kind.allowed, says.text) for key, says in KEYS.items()],
        ),
        "## Environment variables",
        table(("variable", "meaning"), [(f"`{name}`", text) for name, text in VARIABLES.items()]),
    ]
    return parts


def queue_settings() -> Iterator[tuple[str, ...]]:
    """Every setting of a queue, and what it is called where."""
    for setting in SETTINGS.values():
        cleared = SETTINGS[setting.cleared_with] if setting.cleared_with else setting
        names = (setting.name, word_name(setting.name, setting.word), setting.key.name)
        fields = ", ".join(f"`{field}`" for field in setting.fields)
        yield *(f"`{name}`" for name in names), fields, f"`{cleared.cleared_as}`", setting.help


def settings_of_watches() -> Iterator[tuple[str, ...]]:
    """Every setting of a watch, and what it is called where."""
    for setting in watch_settings.SETTINGS.values():
        names = (setting.name, word_name(setting.name, setting.word), setting.key.name, setting.wire)
        yield *(f"`{name}`" for name in names), setting.help


def metrics() -> str:
    """What the daemon tells about itself."""
    found = Metrics()
    # Those of the registry in the order in which they were made; how a process fares is told by the library.
    own = [metric for name, metric in vars(found).items() if name.startswith("_") and hasattr(metric, "_documentation")]
    own += list(found._jobs_ended.values())
    rows = sorted(
        (
            f"`{metric._name}{'_total' if isinstance(metric, Counter) else ''}`",
            metric._type,
            ", ".join(f"`{label}`" for label in metric._labelnames),
            metric._documentation,
        )
        for metric in own
    )
    promised = [
        (f"`{promise.name}`", promise.measure.value, f"{promise.limit_ms:g} ms", f"`sla.{promise.name}`")
        for promise in PROMISES
    ]
    parts = [
        "# Metrics and logs",
        "## Metrics",
        "`GET /metrics` answers in the text format of Prometheus; with `observe.otlp` set, the same is sent to a "
        "collector. Counters begin anew when the daemon starts. They count what this daemon did: a program that "
        "works on the same database by itself counts for itself.",
        table(("metric", "kind", "labels", "meaning"), rows),
        "Each histogram that ends in `_ms` is there in seconds too, and ends in `_seconds` then.",
        f"Besides, `{PREFIX}_process_…` say how the daemon's process fares: memory, processor time, open files.",
        "## Promised latencies",
        "Measured all the time over the last five minutes. One that is not kept is a line in the log (`sla_breach`) "
        f"and a count in `{PREFIX}_sla_breaches_total`; nothing else happens.",
        table(("promise", "figure", "at most", "set by"), promised),
        "## Log",
        "On a terminal the daemon logs for a person, elsewhere one JSON object in each line. Values under keys that "
        "look secret (`password`, `token`, `api_key`, …) are shown as `***`.",
        table(("field", "meaning"), [(f"`{name}`", text) for name, text in LOG_FIELDS.items()]),
        "## Traces",
        "A call may carry a W3C `traceparent`; without one the daemon begins a trace. The answer returns it, the jobs "
        "that the call enqueues belong to it, and so do their runs: code finds it as the current span of "
        "OpenTelemetry, programs find it in `TRACEPARENT`. With `observe.otlp` set, calls, jobs and runs are sent as "
        "spans.",
    ]
    return "\n\n".join(parts) + "\n"
