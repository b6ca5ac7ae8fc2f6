"""What the reference says that cannot be read from the code. generate_reference.py stops where something is missing."""

SETTINGS = {
    "Holdfast": {
        "path_or_url": (
            "The path of a SQLite file (made on first use; its folder must exist), or a `postgresql://` URL."
        ),
        "durability": (
            "`full`: an acknowledged write survives power loss. `normal`: the last moments before a power loss may be "
            "lost, never consistency. See [Durability](../concepts/durability.md)."
        ),
        "concurrency": (
            "How many jobs of each queue run at once in this process: a number, or a number for each queue by name (10 "
            "for those not named). Names add queues that no task of this program has by default; `*` adds all others, "
            "which then share its number."
        ),
        "keep_telemetry": (
            "How long the calls of handlers and timers of apps are kept. Who runs jobs removes older ones, at "
            "its start and every hour."
        ),
        "keep": (
            "How long ended jobs and their runs are kept. They are removed by a program that runs jobs, at its start "
            "and once an hour."
        ),
        "schema": "PostgreSQL only: the schema that holds the tables. It is made on first use.",
        "clock": "Where time comes from; `holdfast.testing.ManualClock` in tests. `None` means the clock of the "
        "machine, or of the PostgreSQL server.",
        "ids": "Where ids come from: a function that returns a new one. UUIDv7 by default.",
        "machine": "A `SimulatedMachine`, to try out what depends on the machine; by default the machine as it is.",
        "commands": (
            "Whether what `hf.command` queues runs here too, from the queue `default` and those that `concurrency` "
            "names. `None`: yes, unless a daemon runs it."
        ),
        "webhook_allow": (
            "Hosts, addresses and networks that webhooks may be sent to besides the public network. `None`: what the "
            "environment variable `HOLDFAST_WEBHOOK_ALLOW` lists, separated by commas. A daemon has a setting for it."
        ),
        "wait_for_room": (
            "How long an enqueue waits in all while its queue is full or the machine has no room for more, before it "
            "raises `QueueFull`, `StoreFull` or `StoreBusy`; 0: not at all."
        ),
        "ca": (
            "A PEM file with the certificates to trust at a daemon's `https://` address, instead of the system's. It "
            "is read for each connection, so that a renewed one counts at once. `None`: the file that the environment "
            "variable `HOLDFAST_CA` names, or else the system's."
        ),
        "token": (
            "The token for a daemon at an address. `None`: that in the environment variable `HOLDFAST_TOKEN`, or else "
            "that of the home folder if it is the daemon of this home that answers at the address."
        ),
    },
    "Retry": {
        "retries": "How many automatic retries may follow the first try. `retry=3` is short for `retry=Retry(3)`.",
        "initial": "The pause before the first retry.",
        "factor": "How much longer each further pause is than the one before it, at least 1.",
        "cap": "The longest pause. A pause is spread by ±10 %, never beyond the cap.",
        "mode": "`requeue`: the same job runs again. `chain`: the job ends as FAILED and a new job continues it.",
        "infra": (
            "How many failures of the machine (a killed process among them) the job survives. 0: a crash ends it as "
            "FAILED."
        ),
        "permanent": "Exception types that fail the job at once. Belongs to a task, not to one job.",
    },
    "stop": {
        "short": "How long running jobs may go on by themselves.",
        "grace": "How long they have after they were asked to stop.",
    },
}

CODES = {
    "ERR_COMMAND_NOT_FOUND": "There is no such command, or the interpreter that its first line names is missing.",
    "ERR_COMMAND_NOT_STARTED": "The command is there but cannot be started: not executable, too many arguments, …",
    "ERR_CPU_LIMIT": "The command used up the CPU time that it was given.",
    "ERR_EXIT_UNKNOWN": "Another part of the worker's program took the exit status of the process.",
    "ERR_OUT_OF_MEMORY": (
        "The command was killed by SIGKILL while the kernel counted a process killed because memory ran out, in its "
        "cgroup or on the machine."
    ),
    "ERR_NO_FOLDER": "The folder that the command should start in cannot be used.",
    "ERR_TASK_NOT_LOADED": "The process of the task could not load its module, or did not find the task there.",
    "ERR_CRASH_RECOVERY": "The process that ran the job is gone; another one settled the run.",
    "ERR_DEADLINE": "The run was stopped at the job's deadline.",
    "ERR_LEFT_OUT": (
        "The member of a group with `on_failure='skip'` that was left out because the one before it failed."
    ),
    "ERR_SHED": (
        "The job waited in a full queue and was ended, never having run, to make room for one of higher priority."
    ),
    "ERR_POISON": (
        "Three processes died with this job alone in them; it is parked and runs only if somebody retries it."
    ),
    "ERR_NOT_STARTED": "The run could not be started, for want of threads, processes, memory or disk.",
    "ERR_REPORT_REFUSED": "The daemon did not take what the worker reported of the run; the message says why.",
    "ERR_STOPPED_ITSELF": "The task cancelled itself although nobody had asked it to stop.",
    "ERR_TIMEOUT": "The run took longer than its time-out.",
    "ERR_BACKEND": "An operation of a workspace did not work; it is tried again.",
    "ERR_COMMAND_REFUSED": "The program of a workspace cannot start as it was given; the message says why.",
    "ERR_OPERATION_OUTDATED": "The operation of a workspace is not wanted any more, or another run does it.",
    "ERR_WEBHOOK_ADDRESS": "The host of a webhook leads to an address that nothing may be sent to; nothing was sent.",
    "ERR_WEBHOOK_ANSWER": "What the receiver of a webhook answered is not HTTP.",
    "ERR_WEBHOOK_DISABLED": "The webhook was paused, disabled or deleted before the delivery was sent.",
    "ERR_WEBHOOK_GONE": "The receiver answered 410 Gone; the webhook is disabled.",
    "ERR_WEBHOOK_REDIRECT": "The receiver answered with a redirect, which is not followed.",
    "ERR_WEBHOOK_STATUS": "The receiver answered with a status that is no success; the message has it.",
    "ERR_WEBHOOK_TIMEOUT": "The receiver did not answer within the time-out.",
    "ERR_WEBHOOK_TLS": "The receiver has no certificate that can be trusted, or speaks no TLS.",
    "ERR_WEBHOOK_UNREACHABLE": "The host of the receiver has no address, or takes no connection.",
}

TABLES = {
    "jobs": "One row for each job. Its runs are in `job_runs`.",
    "job_runs": "One row for each try. `status` is NULL while the run is open; once written it never changes.",
    "job_conditions": (
        "What a SCHEDULED job waits for besides its time: `after:<job>`, `group:<job>`, `event`, `event.<attribute>`."
    ),
    "dead_letters": "Jobs that failed for good, by what they failed of, and who has dealt with them.",
    "events": "What was emitted, kept for a day.",
    "event_patterns": "Which events somebody waits for: jobs, webhooks and apps.",
    "machines": "What the probe of each machine last saw: whether it is idle and charging.",
    "workspaces": (
        "Programs with homes: what a person wants of each, what was seen of it, and what is being done with it. Who "
        "writes which column stands in the statements."
    ),
    "workspace_changes": "Who wanted what of a workspace, and when.",
    "controllers": "The session that looks after the workspaces of each machine.",
    "file_requests": "Bytes of logs and artifacts that one machine asks of another; removed once they are read.",
    "nodes": "The machines that share the database: the id that each keeps in its home, and its name for people.",
    "node_tokens": "What each machine has of cpu, gpu and io, who said so, and how long smaller jobs pass others.",
    "watches": "Rules that turn changes of files and repositories into jobs.",
    "watch_files": "The files that a watch knows, each with a fingerprint.",
    "watch_changes": "Changes that belong to a job of a watch that is still to be made.",
    "changed_files": "The files that a job of a watch is about, if they are many.",
    "changed_file_lists": "The jobs that have `changed_files`: the folder, how many there were, whether all were kept.",
    "job_groups": "Groups of jobs.",
    "subjects": "The newest generation of each task and subject. Kept when the jobs themselves are removed.",
    "queues": "Queues with settings of their own, or paused. `opens_at` is when a queue with a rate may start more.",
    "queue_clocks": "The virtual time of each queue that several tenants share: whoever comes back starts there.",
    "queue_pressure": "Queues whose jobs wait for too long, or are mostly superseded before they end, and since when.",
    "queue_starts": "What queues with a rate have started, as far back as their window reaches.",
    "clock_steps": "Each time the wall clock was set while somebody ran, and how far waiting jobs were moved along.",
    "maintenance": "When each chore of the database is due, and the job that did it last.",
    "queue_breakers": (
        "Queues whose last runs failed by the fault of the machine: how many in a row and, once nothing of them "
        "starts, since when, until when, and which job tries."
    ),
    "queue_counts": "How many jobs each queue has in each state, kept by triggers on `jobs`.",
    "sessions": "One row for each life of a process that runs jobs. Kept for ever.",
    "users": "Who may call by TCP, with which role. Of each token only the hash is here.",
    "workers": "What each living session offers to run.",
    "task_versions": (
        "What workers have declared of their tasks: options, arguments, source and doc line of each version. Forgotten "
        "when nobody has offered it for 30 days."
    ),
    "task_offers": "Which living worker offers which version of a task.",
    "tenants": "Who shares a queue: weights, virtual times and starts. The row without a queue holds for all of them.",
    "job_templates": "Requests that are kept by name, to make jobs from. Archived, never deleted.",
    "schedules": "When to make jobs from which template.",
    "schedule_skips": "How many ticks of a schedule did not fire, by reason.",
    "webhooks": "Who is told about which events over HTTP, and the secrets that sign it.",
    "webhook_deliveries": "What was sent to a webhook: one row for each delivery; how it went is in its job.",
    "apps": "Apps, each with the session that calls its handlers, and what a person wants of it.",
    "listeners": "The handlers of events that apps have registered. What is no longer registered is retired.",
    "scheduled_jobs": "The timers that apps have registered. What is no longer registered is retired.",
    "handler_invocations": "One row for each call of a handler of events. Kept for a week.",
    "job_executions": "One row for each call of a timer. Kept for a week.",
    "direct_reservations": "Who keeps a queue, or everything, free of new runs.",
}
