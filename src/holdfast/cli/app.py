"""`holdfast`: the commands, each loaded when it is called, and what they have in common."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from holdfast.cli.frame.command import SETTINGS, choose_home, command_of
from holdfast.cli.frame.failures import ending

# Every command, in the order of the help, with the module that has it.
SECTIONS: dict[str, dict[str, str]] = {
    "Daemon": {
        "up": "daemon.service",
        "down": "daemon.service",
        "status": "daemon.status",
        "top": "daemon.top",
        "worker": "daemon.worker",
        "sessions": "daemon.sessions",
        "doctor": "daemon.doctor",
        "access": "daemon.access",
        "simulate": "daemon.simulate",
    },
    "Jobs": {
        "run": "jobs.run",
        "enqueue": "jobs.enqueue",
        "tasks": "jobs.tasks",
        "ls": "jobs.listing",
        "show": "jobs.show",
        "why": "jobs.why",
        "logs": "jobs.logs",
        "wait": "jobs.wait",
        "cancel": "jobs.change_jobs",
        "retry": "jobs.change_jobs",
        "move": "jobs.change_jobs",
        "dead": "jobs.dead",
        "group": "jobs.group",
    },
    "Time and events": {
        "schedule": "time.schedule",
        "template": "time.template",
        "emit": "time.events",
        "events": "time.events",
        "watch": "time.watch",
        "webhook": "time.webhook",
    },
    "Apps": {
        "apps": "apps.apps",
        "listeners": "apps.listeners",
        "timers": "apps.timers",
        "errors": "apps.errors",
    },
    "Workspaces": {
        "workspace": "workspaces.workspace",
    },
    "Queues": {
        "queue": "queues.queues",
        "pause": "queues.queues",
        "resume": "queues.queues",
        "tenant": "queues.tenant",
        "activity": "queues.tenant",
        "tokens": "queues.tokens",
        "direct": "queues.direct",
    },
    "Database": {
        "db": "database.db",
        "maintain": "database.maintain",
        "bench": "database.bench",
    },
    "Shell": {
        "completion": "completion_script",
    },
}
WHERE = {name: module for commands in SECTIONS.values() for name, module in commands.items()}
NAME = "holdfast"
COMPLETE = "_HOLDFAST_COMPLETE"  # the variable by which the script of a shell asks for completions
EPILOG = "Try first: holdfast up -d, then holdfast run --wait -- echo hello"


class CommandTable(click.Group):
    """Imports the module of a command when it is called, so that a command loads no others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return list(WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, ready to be called."""
        if cmd_name not in self.commands and cmd_name in WHERE:
            self.commands[cmd_name] = load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words mean, or a guess what they should have been."""
        if args[0] not in WHERE and not args[0].startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(args[0], WHERE, 1)
            hint = f"; did you mean {close[0]}?" if close else "; see holdfast --help"
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands section by section."""
        wide = max(map(len, WHERE))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(wide), load(name).get_short_help_str(80)) for name in names])


def load(name: str) -> click.Command:
    """A command: the group, or the function, of this name in its module."""
    found = getattr(import_module(f"holdfast.cli.{WHERE[name]}"), name)
    return found if isinstance(found, click.Command) else command_of(name, found)


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from holdfast.version import VERSION

        click.echo(f"holdfast {VERSION}")
        context.exit()


@click.pass_context
def _show_help(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


app = CommandTable(
    NAME,
    help="The durable background runtime of this machine.",
    epilog=EPILOG,
    invoke_without_command=True,
    callback=_show_help,
    context_settings=SETTINGS,
    params=[
        click.Option(["--home"], metavar="DIR", help="The daemon's folder.", callback=choose_home, expose_value=False),
        click.Option(
            ["--version", "-V"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Say which version this is.",
        ),
    ],
)


def run(words: Sequence[str]) -> int:
    """Run a command, and return its exit code. What goes wrong is raised."""
    if COMPLETE in os.environ:
        app.main(list(words), NAME, COMPLETE, standalone_mode=False)
    code = 0
    try:
        with app.make_context(NAME, list(words)) as context:
            app.invoke(context)
    except click.exceptions.Exit as end:
        code = end.exit_code
    sys.stdout.flush()
    return code


def main() -> None:
    """Run the command of this process. It exits with 0: well, 1: failed, 2: a mistake in the words, 3: no daemon."""
    try:
        code = run(sys.argv[1:])
    except BaseException as error:
        code = ending(error)
    sys.exit(code)
