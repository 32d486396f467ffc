"""Completion scripts for shells, written from the parser itself."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return a script to be evaluated by the shell.

    For bash, ``eval "$(goldless completion bash)"``; likewise zsh; for fish, ``goldless completion fish | source``.
    """
    commands = _commands(parser)
    if shell == "fish":
        return _fish(commands)
    cases = "\n".join(
        f'        {name}) words="{" ".join(_options(command))}";;' for name, (command, _) in commands.items()
    )
    script = f"""_goldless() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" command="${{COMP_WORDS[1]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current"))
        return
    fi
    case "$command" in
{cases}
    esac
    if [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    elif [ "$command" = completion ]; then
        COMPREPLY=($(compgen -W "{" ".join(SHELLS)}" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -o filenames -F _goldless goldless
"""
    return script if shell == "bash" else "autoload -U +X bashcompinit && bashcompinit\n" + script


def _fish(commands: dict[str, tuple[argparse.ArgumentParser, str]]) -> str:
    lines = []
    for name, (command, help_text) in commands.items():
        text = help_text.replace("'", "\\'")
        lines.append(f"complete -c goldless -n __fish_use_subcommand -f -a {name} -d '{text}'")
        lines += [
            f"complete -c goldless -n '__fish_seen_subcommand_from {name}' -l {option[2:]}"
            for option in _options(command)
            if option.startswith("--")
        ]
    return "\n".join(lines) + "\n"


def _commands(parser: argparse.ArgumentParser) -> dict[str, tuple[argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            return {name: (command, helps.get(name, "")) for name, command in action.choices.items()}
    return {}


def _options(command: argparse.ArgumentParser) -> list[str]:
    return [option for action in command._actions for option in action.option_strings]
