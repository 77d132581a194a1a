"""Scripts that let a shell complete the options and passes of the tools."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.usage_error import UsageError

_BASH = """\
{function}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}"
  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "{words}" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -o filenames -F {function} {tool}
"""

_ZSH = """\
autoload -U +X bashcompinit && bashcompinit
"""


def completion_script(tool: str, shell: str, names: Iterable[str]) -> str:
    """What to `source` in a shell, which is `bash` or `zsh`. Raises UsageError for another.

    `names` are what may stand behind two dashes.
    """
    if shell not in ("bash", "zsh"):
        raise UsageError(f"completion is for bash or zsh, not '{shell}'")
    words = " ".join(f"--{name}" for name in names)
    function = f"_{tool.replace('-', '_')}"
    script = _BASH.format(function=function, tool=tool, words=words)
    return _ZSH + script if shell == "zsh" else script
