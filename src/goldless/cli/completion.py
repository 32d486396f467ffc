"""``goldless completion``: what makes a shell complete commands, options and files."""

from __future__ import annotations

import click

from goldless.cli.options import Options, choice, command

_SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    "print a completion script for a shell",
    """\
  eval "$(goldless completion bash)"
""",
)
@click.argument("shell", type=choice(*_SHELLS), metavar=f"[{'|'.join(_SHELLS)}]")
def run(options: Options) -> None:
    """Print the script."""
    from click.shell_completion import get_completion_class

    from goldless.cli.app import app

    made = get_completion_class(options.shell)
    assert made is not None
    click.echo(made(app(), {}, "goldless", "_GOLDLESS_COMPLETE").source())
