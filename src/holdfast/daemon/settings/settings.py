"""What can be set for a daemon, each with its meaning and its default. `settings_file` reads them from a file."""

from __future__ import annotations

from typing import Annotated, Literal, get_type_hints

from msgspec import Struct

from holdfast.core.values.watch import DEBOUNCE_MS, MAX_WAIT_MS, RECONCILE_S
from holdfast.core.webhooks.webhook import TIMEOUT_MS
from holdfast.core.workspaces.workspace import WorkspaceLimits
from holdfast.daemon.settings import kinds
from holdfast.daemon.settings.kinds import FLAG, HOSTS, SLOTS, TEXT, URL, WORDS, Says
from holdfast.daemon.settings.machine_settings import MachineSettings, PressureSettings, TokenSettings

LONGEST_KEPT_S = 100 * 365 * 86_400.0
_MOMENTS = kinds.duration(0, 3_600)
_PROMISE = kinds.duration(0.001, 3_600)


class DaemonSettings(Struct, frozen=True, kw_only=True):
    """The database, the workers, and how the daemon stops."""

    store: Annotated[
        str | None,
        Says(
            "The database: a `postgresql://` URL, or the path of a SQLite file. By default the file `meta.db` in the "
            "home folder.",
            TEXT,
            '"postgresql://localhost/work"',
        ),
    ] = None
    schema: Annotated[
        str,
        Says("PostgreSQL only: the schema that holds the tables.", kinds.by_rule("schema")),
    ] = "holdfast"
    durability: Annotated[
        Literal["full", "normal"],
        Says(
            "`full`: an acknowledged write survives power loss. `normal`: the last moments may be lost, never "
            "consistency.",
            kinds.by_rule("durability"),
        ),
    ] = "full"
    apps: Annotated[
        tuple[str, ...],
        Says(
            "The code to run in worker processes: `package.module:name`, or `path/to/file.py:name`; a path is seen "
            "from the folder of this file.",
            WORDS,
        ),
    ] = ()
    workers: Annotated[int, Says("How many worker processes run that code.", kinds.by_rule("daemon.workers"))] = 1
    concurrency: Annotated[
        int | dict[str, int] | None,
        Says(
            "How many jobs of each queue one worker process runs at once: a number, or a number for each queue by "
            "name. By default as the code says, 10 if it says nothing.",
            SLOTS,
            "10",
        ),
    ] = None
    command_slots: Annotated[
        int | None,
        Says(
            "How many commands run at once. By default as many as the machine has processors.",
            kinds.whole(1, 10_000),
            "4",
        ),
    ] = None
    keep: Annotated[
        float,
        Says(
            "How long ended jobs are kept, with their runs, logs and artifacts.",
            kinds.duration(0, LONGEST_KEPT_S),
        ),
    ] = 7 * 86_400.0
    keep_telemetry: Annotated[
        float,
        Says(
            "How long the calls of handlers and timers of apps are kept.",
            kinds.duration(0, LONGEST_KEPT_S),
        ),
    ] = 7 * 86_400.0
    short: Annotated[float, Says("At a stop: how long running jobs may go on by themselves.", _MOMENTS)] = 5.0
    grace: Annotated[float, Says("At a stop: how long they have after they were asked to stop.", _MOMENTS)] = 5.0
    lease: Annotated[
        float,
        Says(
            "How long a worker may be silent: then one on this machine hangs and is replaced, and one on another "
            "machine counts as gone.",
            kinds.duration(0.5, 3_600),
        ),
    ] = 30.0
    stuck: Annotated[
        float,
        Says(
            "How long a function may take no notice of being cancelled or out of time; then its worker process is "
            "replaced.",
            kinds.duration(0, 86_400),
        ),
    ] = 30.0


class ApiSettings(Struct, frozen=True, kw_only=True):
    """Who can reach the daemon, and how much one may ask of it. The unix socket is always there."""

    port: Annotated[
        int | None,
        Says(
            "Listen on TCP too, on this port; 0 takes a free one. Callers need a token. By default there is no TCP.",
            kinds.by_rule("api.port"),
            "8787",
        ),
    ] = None
    host: Annotated[
        str,
        Says("The address to listen on. One that other machines can reach needs `allow_remote`.", TEXT),
    ] = "127.0.0.1"
    allow_remote: Annotated[
        bool,
        Says(
            "Whether other machines may reach the daemon. Then it needs `tls_cert` and `tls_key`, or a proxy in front "
            "that brings TLS.",
            FLAG,
        ),
    ] = False
    behind_proxy: Annotated[bool, Says("Whether a proxy in front brings TLS.", FLAG)] = False
    tls_cert: Annotated[str | None, Says("The certificate for TLS, a PEM file.", TEXT, '"cert.pem"')] = None
    tls_key: Annotated[str | None, Says("The key of that certificate, a PEM file.", TEXT, '"key.pem"')] = None
    hosts: Annotated[
        tuple[str, ...],
        Says("The names by which callers know this machine, besides `localhost` and the address.", WORDS),
    ] = ()
    max_body: Annotated[
        int,
        Says(
            "The largest request that is read. Those under way have four times that together.",
            kinds.size(1 << 16, 1 << 30),
        ),
    ] = 16 << 20
    long_calls: Annotated[
        int, Says("How many calls that wait (for work, for an end, for changes) may be open.", kinds.whole(1, 100_000))
    ] = 1_000
    require_session_secret: Annotated[
        bool,
        Says(
            "Whether sessions that were opened without a secret are refused: workers of 0.4, and others that speak "
            "protocol 1. They cannot finish the runs that they hold; those go to other workers after `lease`.",
            FLAG,
        ),
    ] = False


class LogSettings(Struct, frozen=True, kw_only=True):
    """What the daemon and its workers log about themselves."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Says("What is worth a line.", kinds.one_of("debug", "info", "warning", "error")),
    ] = "info"
    format: Annotated[
        Literal["auto", "json", "text"],
        Says(
            "`json` for machines, `text` for people; `auto` is `text` on a terminal and `json` elsewhere.",
            kinds.one_of("auto", "json", "text"),
        ),
    ] = "auto"
    max_bytes: Annotated[
        int,
        Says("The size at which the log files of a daemon in the background make room.", kinds.size(1 << 16, 1 << 40)),
    ] = 10 << 20
    files: Annotated[
        int, Says("How many log files are kept besides the one that is written.", kinds.whole(0, 1_000))
    ] = 5


class RunSettings(Struct, frozen=True, kw_only=True):
    """What a run may leave behind."""

    log_bytes: Annotated[
        int, Says("How much of the log of a run is kept; the oldest part makes room.", kinds.size(1 << 16, 1 << 40))
    ] = 64 << 20
    log_segment: Annotated[
        int, Says("The size of the files that such a log consists of.", kinds.size(1 << 12, 1 << 30))
    ] = 8 << 20


class ObserveSettings(Struct, frozen=True, kw_only=True):
    """How the daemon watches itself."""

    canary_every: Annotated[
        float,
        Says(
            "How often a small job goes all the way, so that its latency shows how well the daemon works; 0 for never.",
            kinds.duration(0, 86_400),
        ),
    ] = 60.0
    otlp: Annotated[
        str | None,
        Says(
            "Where to send metrics and traces by OTLP over HTTP; needs `pip install 'holdfast[otlp]'`. Headers come "
            "from the environment variable `OTEL_EXPORTER_OTLP_HEADERS`.",
            URL,
            '"http://localhost:4318"',
        ),
    ] = None
    otlp_every: Annotated[float, Says("How often metrics are sent there.", kinds.duration(1, 3_600))] = 15.0


class SlaSettings(Struct, frozen=True, kw_only=True):
    """How fast the daemon promises to be. A broken promise is a line in the log and a count in the metrics."""

    enqueue: Annotated[float, Says("An enqueue, for 95 of 100.", _PROMISE)] = 0.010
    look: Annotated[float, Says("A look at one job, at the counts or at the health, for 95 of 100.", _PROMISE)] = 0.020
    pop: Annotated[float, Says("An exchange that hands out work, for 95 of 100.", _PROMISE)] = 0.020
    queue_to_run: Annotated[float, Says("From ready to running while nothing else runs, on average.", _PROMISE)] = 0.200
    event_to_job: Annotated[
        float, Says("From a change in a watched folder to its job, with the usual debounce, on average.", _PROMISE)
    ] = 1.0


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """Where webhooks may lead, and how long their receivers may take."""

    allow: Annotated[
        tuple[str, ...],
        Says(
            "Hosts, addresses and networks that webhooks may be sent to besides the public network: "
            '`["intranet.example", "10.1.0.0/16"]`.',
            HOSTS,
        ),
    ] = ()
    timeout: Annotated[
        float,
        Says(
            "How long one delivery may take in all, for webhooks that say nothing else.",
            kinds.by_rule("NewWebhook.timeout_ms"),
        ),
    ] = TIMEOUT_MS / 1000


class WorkspaceSettings(Struct, frozen=True, kw_only=True):
    """Workspaces of this machine: where their homes are, and how many may run."""

    folder: Annotated[
        str | None,
        Says(
            "The folder for their homes. By default the folder `workspaces` in the home folder of the daemon.",
            TEXT,
            '"/srv/homes"',
        ),
    ] = None
    archive: Annotated[
        str | None,
        Says(
            "The folder in which homes are archived; needs `pip install 'holdfast[archive]'`. By default none are.",
            TEXT,
            '"/mnt/archive"',
        ),
    ] = None
    per_user: Annotated[
        int, Says("How many workspaces of one owner are or shall be RUNNING at most.", kinds.whole(0, 100_000))
    ] = WorkspaceLimits().per_user
    in_all: Annotated[int, Says("How many workspaces are or shall be RUNNING at most.", kinds.whole(0, 100_000))] = (
        WorkspaceLimits().in_all
    )


class FileSettings(Struct, frozen=True, kw_only=True):
    """Where the logs and artifacts of runs are kept."""

    shared: Annotated[
        str | None,
        Says(
            "A folder that all machines have which share the database, for the files of that database alone. By "
            "default each machine keeps its own, and they travel through the database where another one asks for them.",
            TEXT,
            '"/mnt/holdfast"',
        ),
    ] = None


class PlannerSettings(Struct, frozen=True, kw_only=True):
    """How watched folders and repositories are looked at; which ones stands in `[[watch]]`, or is added by hand."""

    reconcile: Annotated[
        float,
        Says(
            "How often everything is compared with the disk, to find what was not told.",
            kinds.duration(0.1, 86_400),
        ),
    ] = RECONCILE_S
    debounce: Annotated[
        float,
        Says(
            "How long it must be quiet before changes become jobs, for watches that say nothing else.",
            kinds.by_rule("NewWatch.debounce_ms"),
        ),
    ] = DEBOUNCE_MS / 1000
    max_wait: Annotated[
        float,
        Says(
            "How long changes wait at most while others keep coming, for watches that say nothing else.",
            kinds.by_rule("NewWatch.max_wait_ms"),
        ),
    ] = MAX_WAIT_MS / 1000
    watcher: Annotated[
        bool,
        Says("Whether the system tells of changes; without that, only comparing finds them. For network disks.", FLAG),
    ] = True


class Settings(Struct, frozen=True, kw_only=True):
    """Everything that can be set for a daemon, section by section."""

    daemon: DaemonSettings = DaemonSettings()
    api: ApiSettings = ApiSettings()
    logs: LogSettings = LogSettings()
    runs: RunSettings = RunSettings()
    files: FileSettings = FileSettings()
    observe: ObserveSettings = ObserveSettings()
    sla: SlaSettings = SlaSettings()
    webhooks: WebhookSettings = WebhookSettings()
    workspaces: WorkspaceSettings = WorkspaceSettings()
    machine: MachineSettings = MachineSettings()
    pressure: PressureSettings = PressureSettings()
    tokens: TokenSettings = TokenSettings()
    planner: PlannerSettings = PlannerSettings()


def described(kind: type[Struct]) -> dict[str, Says]:
    """What every setting of a section says about itself."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: next(item for item in hints[name].__metadata__ if isinstance(item, Says))
        for name in kind.__struct_fields__
    }
