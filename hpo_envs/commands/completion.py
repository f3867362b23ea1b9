"""Prints the completion of `hpo-envs` for a shell: commands, options, their choices, environment ids and agents.

The script is static, so that the shell never waits for Python; print it again after an update, or after saving a table
of your own.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

EPILOG = """\
examples:
  hpo-envs completion bash      in ~/.bashrc: eval "$(hpo-envs completion bash)"
  hpo-envs completion zsh       in ~/.zshrc, after compinit: eval "$(hpo-envs completion zsh)"
  hpo-envs completion fish      into the file ~/.config/fish/completions/hpo-envs.fish"""

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](commands()))
    return 0


@dataclass(frozen=True)
class Command:
    """What there is to complete after a command.

    Attributes:
        name: The command.
        help: One line.
        options: Option -> words that may follow it; None for an option without a value, empty for files.
        positional: Words that may stand alone; empty for files.
    """

    name: str
    help: str
    options: dict[str, Sequence[str] | None]
    positional: Sequence[str]


def commands() -> list[Command]:
    """All commands, from their own parsers."""
    from hpo_envs.commands.main import COMMANDS, parser_of

    found = []
    for name, (_, summary) in COMMANDS.items():
        parser, _ = parser_of(name)
        chosen = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction)).choices[name]
        options: dict[str, Sequence[str] | None] = {}
        positional: list[str] = []
        for action in chosen._actions:
            words = _words(action)
            if isinstance(action, argparse._SubParsersAction):
                positional += list(action.choices)
                for inner in action.choices.values():
                    options |= {o: _words(a) for a in inner._actions for o in a.option_strings}
            elif action.option_strings:
                options |= dict.fromkeys(action.option_strings, None if action.nargs == 0 else words)
            else:
                positional += words or ()
        found.append(Command(name, summary, options, positional))
    return found


def _words(action: argparse.Action) -> Sequence[str] | None:
    """Values that an argument may have; None if it takes none, empty if anything goes."""
    from hpo_envs import agents
    from hpo_envs.commands.studies.reproduce import PAPERS
    from hpo_envs.registry import SPECS, own
    from hpo_envs.tables import catalogue

    if action.nargs == 0:
        return None
    if action.choices is not None:
        return [str(c) for c in action.choices]
    kinds = {
        "env": lambda: [*SPECS, *(s.id for s in own())],
        "subject": lambda: [*SPECS, *(s.id for s in own()), *agents.names()],
        "agents": agents.names,
        "agent": agents.names,
        "names": catalogue.datasets,
        "paper": lambda: list(PAPERS),
    }
    return kinds.get(action.dest, lambda: [])()


_BASH = """\
_hpo_envs() {
    local word command previous words
    word="${COMP_WORDS[COMP_CWORD]}"
    command="${COMP_WORDS[1]}"
    previous="${COMP_WORDS[COMP_CWORD-1]}"
    words=""
    if ((COMP_CWORD == 1)); then
        words="@COMMANDS@"
    elif [[ "$word" == -* ]]; then
        case "$command" in
@OPTIONS@
        esac
    else
        case "$command $previous" in
@VALUES@
            *) case "$command" in
@POSITIONAL@
            esac ;;
        esac
    fi
    if [[ "$word" == *,* ]]; then
        local before="${word%,*},"
        COMPREPLY=($(compgen -P "$before" -W "$words" -- "${word##*,}"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    fi
}
complete -o default -F _hpo_envs hpo-envs"""


def bash(found: Sequence[Command]) -> str:
    """A completion function for bash; where there is nothing to offer, file names are."""
    options = [f'            {c.name}) words="{" ".join(c.options)}" ;;' for c in found]
    values = [
        f'            "{c.name} {option}") words="{" ".join(words)}" ;;'
        for c in found
        for option, words in c.options.items()
        if words is not None
    ]
    positional = [f'                {c.name}) words="{" ".join(c.positional)}" ;;' for c in found]
    filled = {"COMMANDS": " ".join(c.name for c in found), "OPTIONS": "\n".join(options)}
    filled |= {"VALUES": "\n".join(values), "POSITIONAL": "\n".join(positional)}
    script = _BASH
    for name, text in filled.items():
        script = script.replace(f"@{name}@", text)
    return script


def zsh(found: Sequence[Command]) -> str:
    """The same for zsh, which understands bash's."""
    return "autoload -U +X bashcompinit && bashcompinit\n" + bash(found)


def fish(found: Sequence[Command]) -> str:
    """Completions for fish."""
    lines = [f"complete -c hpo-envs -f -n __fish_use_subcommand -a {c.name} -d {shlex.quote(c.help)}" for c in found]
    for c in found:
        after = f"complete -c hpo-envs -n '__fish_seen_subcommand_from {c.name}'"
        if c.positional:
            lines.append(f"{after} -f -a {shlex.quote(' '.join(c.positional))}")
        for option, words in c.options.items():
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = "" if words is None else f" -x -a {shlex.quote(' '.join(words))}" if words else " -r"
            lines.append(f"{after} {kind}{value}")
    return "\n".join(lines)
