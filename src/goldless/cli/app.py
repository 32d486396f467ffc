"""The commands, each in a file of its own that is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from goldless.cli.options import Help
from goldless.words import nearest

COMMANDS = (
    *("demo", "inspect", "combine", "select", "ask", "audit", "report", "compare", "formats", "simulate"),
    "completion",
)
_EXAMPLES = """\
  goldless demo                                   the main job from votes to a page, nothing to download
  goldless simulate -o votes.csv                  a file of votes to try the rest with
  goldless inspect votes.csv --truth truth        what to do, how sure, who echoes whom, who is good
  goldless combine votes.csv --truth truth -o labels.csv
  goldless select votes.csv --truth truth -k 5
  goldless report votes.csv --truth truth -o report.html
"""


class Commands(Help, click.Group):
    """The group of all commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"goldless.cli.{cmd_name}").run
        return found

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; of a misspelt one, say which may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


def app() -> Commands:
    """Return the whole command line."""
    import goldless

    return Commands(
        name="goldless",
        help="Combine voters that may echo each other, when there is no gold label.",
        examples=_EXAMPLES,
        invoke_without_command=True,
        callback=_help_alone,
        subcommand_metavar="COMMAND ...",
        params=[
            click.Option(
                ["--version"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_version,
                help=f"show the version, {goldless.__version__}, and exit",
            ),
            click.Option(["--traceback"], is_flag=True, hidden=True, expose_value=False),
        ],
    )


@click.pass_context
def _help_alone(ctx: click.Context) -> None:
    """Without a command, show the help."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import goldless

        click.echo(f"goldless {goldless.__version__}")
        ctx.exit()
