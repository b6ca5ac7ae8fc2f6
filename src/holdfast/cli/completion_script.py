"""`holdfast completion`: what a shell needs to complete the words of `holdfast`."""

from __future__ import annotations

from typing import Annotated

from holdfast.cli.frame.command import command_of
from holdfast.cli.frame.words import Argument
from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits

SHELLS = ("bash", "zsh", "fish")


def print_script(shell: Annotated[str, Argument("bash|zsh|fish", complete=lambda incomplete: list(SHELLS))]) -> None:
    """Print the script that teaches a shell to complete.

    It completes commands, options, and the jobs, tasks, queues and groups that the daemon knows.

    \b
    Examples:
      holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast
      holdfast completion zsh > ~/.zfunc/_holdfast
      holdfast completion fish > ~/.config/fish/completions/holdfast.fish
    """
    from click.shell_completion import get_completion_class

    from holdfast.cli.app import COMPLETE, NAME, app

    found = get_completion_class(shell) if shell in SHELLS else None
    if found is None:
        raise InvalidInput(f"shell {limits.shown(shell)} is not known: use {', '.join(SHELLS)}")
    print(found(app, {}, NAME, COMPLETE).source())


completion = command_of("completion", print_script, has_home=False)
