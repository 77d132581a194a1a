"""Scripts that let a shell complete the options and passes of `mesh-opt`."""

from __future__ import annotations

from collections.abc import Iterable

from .options import UsageError, option_names

_BASH = """\
_mesh_opt() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "{words}" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F _mesh_opt mesh-opt
"""

_ZSH = """\
autoload -U +X bashcompinit && bashcompinit
"""


def completion_script(shell: str, pass_names: Iterable[str]) -> str:
    """What to `source` in a shell, which is `bash` or `zsh`. Raises UsageError for another."""
    if shell not in ("bash", "zsh"):
        raise UsageError(f"completion is for bash or zsh, not '{shell}'")
    words = " ".join(f"--{name}" for name in (*option_names(), *sorted(pass_names)))
    script = _BASH.format(words=words)
    return _ZSH + script if shell == "zsh" else script
