"""Completion scripts for shells, written from the parser itself."""

from __future__ import annotations

import argparse
import sys

SHELLS = ("bash", "zsh", "fish")
_PATH = "FILE"


def run(arguments: argparse.Namespace) -> None:
    """Print the script of a shell."""
    from goldless.cli.parser import build_parser

    sys.stdout.write(completion_script(build_parser(), arguments.shell))


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return a script to be evaluated by the shell.

    For bash, ``eval "$(goldless completion bash)"``; likewise zsh; for fish, ``goldless completion fish | source``.
    """
    commands = _commands(parser)
    if shell == "fish":
        return _fish(commands)
    script = _bash(commands)
    if shell == "bash":
        return script
    loaded = "(( $+functions[compdef] )) || { autoload -U +X compinit && compinit; }"
    return f"{loaded}\nautoload -U +X bashcompinit && bashcompinit\n{script}"


def _bash(commands: dict[str, tuple[argparse.ArgumentParser, str]]) -> str:
    """Offer commands, then what fits: values of the option before, options after a dash, words or files."""
    options, values, words = [], [], []
    for name, (command, _) in commands.items():
        options.append(f'        {name}) words="{" ".join(_options(command))}";;')
        for action in command._actions:
            called = "|".join(f"{name}:{option}" for option in action.option_strings)
            if called and action.nargs != 0 and action.metavar != _PATH:
                values.append(f'        {called}) offer="{_choices(action)}"; files=no;;')
            elif not called and action.choices:
                words.append(f'        {name}) offer="{_choices(action)}"; files=no;;')
    lines = "\n".join
    return f"""_goldless() {{
    local IFS=$'\\n' current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" words="" offer="" files=yes
    case "$command" in
{lines(options)}
    esac
    if [ "$COMP_CWORD" -eq 1 ]; then
        offer="{" ".join(commands)} --help --version" files=no
    elif [[ "$current" == -* ]]; then
        offer="$words" files=no
    else
        if [ "$COMP_CWORD" -eq 2 ]; then
        case "$command" in
{lines(words)}
        esac
        fi
        case "$command:$before" in
{lines(values)}
        esac
    fi
    if [ "$files" = yes ]; then
        COMPREPLY=($(compgen -f -- "$current"))
    else
        COMPREPLY=($(compgen -W "${{offer// /$IFS}}" -- "$current"))
    fi
}}
complete -o filenames -F _goldless goldless
"""


def _fish(commands: dict[str, tuple[argparse.ArgumentParser, str]]) -> str:
    lines = [
        "complete -c goldless -n __fish_use_subcommand -f -l help",
        "complete -c goldless -n __fish_use_subcommand -f -l version",
    ]
    for name, (command, help_text) in commands.items():
        lines.append(f"complete -c goldless -n __fish_use_subcommand -f -a {name} -d {_quoted(help_text)}")
        here = f"complete -c goldless -n '__fish_seen_subcommand_from {name}'"
        for action in command._actions:
            named = [
                f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                for option in action.option_strings
            ]
            value = ""
            if action.choices:
                value = f" -x -a {_quoted(_choices(action))}"
            elif action.nargs != 0:
                value = " -r" if action.metavar == _PATH else " -x"
            if named:
                lines.append(f"{here} {' '.join(named)}{value} -d {_quoted(action.help or '')}")
            elif action.choices:
                lines.append(f"{here} -f -a {_quoted(_choices(action))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as one word of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _choices(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (command, helps.get(name, "")) for name, command in action.choices.items()}
    return {}


def _options(command: argparse.ArgumentParser) -> list[str]:
    return [option for action in command._actions for option in action.option_strings]
