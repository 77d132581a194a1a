"""Generate scripts for shell completion of the tools' options and passes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..ir.usage_error import UsageError
from .command_line import names_of, option_names

_BASH = """\
{function}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" option="${{COMP_WORDS[COMP_CWORD-1]}}"
  local before="" words=""
  if [[ "$word" == -*=* ]]; then
    option="${{word%%=*}}=" before="$option" word="${{word#*=}}"
  elif [[ "$word" == "=" ]]; then
    option="$option=" word=""
  elif [[ "$option" == "=" ]]; then
    option="${{COMP_WORDS[COMP_CWORD-2]}}="
  fi
  case "$option" in
{cases}
  esac
  if [[ -n "$words" ]]; then
    if [[ "$word" == *,* ]]; then
      before="$before${{word%,*}},"
      word="${{word##*,}}"
    fi
    COMPREPLY=($(compgen -P "$before" -W "$words" -- "$word"))
  elif [[ -n "$before" ]]; then
    COMPREPLY=($(compgen -P "$before" -f -- "$word"))
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "{words}" -- "$word"))
  else
    COMPREPLY=()
  fi
}}
complete -o default -F {function} {tool}
"""
"""In bash `=` is a word of its own; in zsh it is not. Without candidates, files are completed."""

_ZSH = """\
autoload -U +X bashcompinit && bashcompinit
"""

_OF_PASSES = ("help-pass", "mlir-print-ir-before", "mlir-print-ir-after", "passes", "p")
"""Options whose values are pass names."""


def completion_script(tool: str, shell: str, table: type[Any], passes: Iterable[str]) -> str:
    """Return a completion script for `bash`, `zsh` or `fish`. Raises UsageError for other shells.

    `table` defines the options. For `mesh-opt` the names of `passes` are options as well.
    """
    if shell not in ("bash", "zsh", "fish"):
        raise UsageError(f"completion is for bash, zsh or fish, not '{shell}'")
    passes, options = sorted(passes), option_names(table)
    if shell == "fish":
        return "".join(f"{line}\n" for line in _fish(tool, table, passes))
    known = {*options, *passes} if tool == "mesh-opt" else options
    script = _BASH.format(
        function=f"_{tool.replace('-', '_')}",
        tool=tool,
        words=" ".join(f"--{name}" for name in sorted(known)),
        cases="\n".join(_cases(table, options, passes)),
    )
    return _ZSH + script if shell == "zsh" else script


def _cases(table: type[Any], options: Iterable[str], passes: Iterable[str]) -> Iterable[str]:
    """Return the shell cases that complete the values of options: pass names or fixed words."""
    of_passes = [name for name in options if name in _OF_PASSES]
    patterns = [f"-{name}|--{name}|-{name}=|--{name}=" for name in of_passes]
    yield f'    {"|".join(patterns)}) words="{" ".join(passes)}" ;;'
    for field in dataclasses.fields(table):
        if field.metadata["kind"] != "choice":
            continue
        # An option with an optional value takes it after `=` only.
        ends = ("=",) if field.metadata["bare"] else ("=", "")
        patterns = [
            f"{dash}{name}{end}" for name in names_of(field) for dash in ("-", "--") for end in ends
        ]
        yield f'    {"|".join(patterns)}) words="{" ".join(field.metadata["choices"])}" ;;'


def _fish(tool: str, table: type[Any], passes: Sequence[str]) -> Iterator[str]:
    """Yield one line per option, with its name, its help and the completions of its value."""
    known = set(option_names(table))
    for field in dataclasses.fields(table):
        kind = field.metadata["kind"]
        if kind in ("positional", "passes"):
            continue
        names = names_of(field)
        options = " ".join(f"-{'s' if len(name) == 1 else 'l'} {name}" for name in names)
        value = ""
        if any(name in _OF_PASSES for name in names):
            value = f" -x -a {_quoted(' '.join(passes))}"
        elif kind == "choice" and not field.metadata["bare"]:
            value = f" -x -a {_quoted(' '.join(field.metadata['choices']))}"
        elif kind not in ("flag", "optional", "choice"):
            value = " -r"
        yield f"complete -c {tool} {options}{value} -d {_quoted(field.metadata['help'])}"
    if tool == "mesh-opt":
        yield from (f"complete -c {tool} -l {name}" for name in passes if name not in known)


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["$\\])', r"\\\1", text) + '"'
