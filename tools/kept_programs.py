"""Programs that were compiled before, kept as saved programs in the user's cache.

Whoever compiles the same text with the same passes and devices takes the program of the earlier
run, which needs no compiler. The name of a kept file is the hash of all that the program is made
from: the text and its name, the options, and the files of this package and of those it may use. A
program is kept where it is like the one that is compiled in all that can be seen: it has one
function that runs without Python, and nothing that the text does not show, such as parameters or
passes of other packages, is in it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.abi.private_cache import cache_folder, drop_oldest, is_private_file
from .run_options import RunOptions
from .run_saved import SUFFIX, needs_compiler

if TYPE_CHECKING:
    from ..api import Program
    from ..ir.text.source import Source
    from ..saved_programs import LoadedProgram

PROGRAMS = "programs"
"""The folder of the cache that holds programs."""

LARGEST_PROGRAM = 1 << 25
"""Bytes of a program that is kept, and letters of its text: a longer one has large constants."""

LARGEST_FOLDER = 1 << 28
"""Bytes of all that are kept; those that were used longest ago go first."""

_FROM_FILES = ("machine=", "parameters=")
"""Options of passes that name a file, which may change."""


class KeptProgram:
    """Where a program is kept, or would be."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(
        self, compile: Callable[[], Program], workers: int | None = None
    ) -> LoadedProgram | None:
        """The program, if it is there, whole, and for this machine.

        `compile` makes it again for what needs the compiler, such as the text of an error.
        """
        from ..saved_programs import SavedFileError, load

        if not is_private_file(self._path):
            return None
        try:
            program = load(self._path, workers=workers, compile=compile)
            os.utime(self._path)
        except (OSError, SavedFileError):
            return None
        return None if program.saved.differences else program

    def keep(self, program: Program) -> None:
        """Write a program that has been run, if it is to be kept."""
        if len(program.functions) != 1 or _is_extended():
            return
        temporary = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            try:
                program.save(temporary, with_ir=False)
                if _is_wanted(temporary):
                    os.chmod(temporary, 0o600)
                    os.replace(temporary, self._path)
                    drop_oldest(self._path.parent, LARGEST_FOLDER)
            finally:
                temporary.unlink(missing_ok=True)


def _is_wanted(path: Path) -> bool:
    """Whether a saved program is small, and runs without Python."""
    from ..saved_programs import load

    if path.stat().st_size > LARGEST_PROGRAM:
        return False
    functions = load(path, verify=False).saved.functions.values()
    return all(each.needs_compiler_reason is None for each in functions)


def _is_extended() -> bool:
    """Whether another package has dialects, rules or passes for this one."""
    from .plugins import is_extended

    return f"{__name__.partition('.')[0]}.extend" in sys.modules or is_extended()


def kept_run(options: RunOptions, source: Source) -> KeptProgram | None:
    """Where the program of a run is kept; `None` for a run that is to compile its program."""
    is_asked_more = (
        needs_compiler(options)
        or options.watches_passes
        or options.remarks
        or options.parameters
        or options.trace is not None
        or options.device == ("list",)
    )
    if is_asked_more:
        return None
    return kept_program(source.name, source.content, options.pipeline, options.device)


def kept_program(
    name: str, text: str, pipeline: str, devices: Sequence[str] = ()
) -> KeptProgram | None:
    """Where the program of a text and its passes is kept, `None` where there is no place for it."""
    reads_files = any(word in pipeline for word in _FROM_FILES)
    is_watched = any(name in os.environ for name in ("MESH_OPT_GUARD", "MESH_OPT_VERIFY_EACH"))
    is_kept = not reads_files and not is_watched and len(text) <= LARGEST_PROGRAM
    folder = cache_folder(PROGRAMS) if is_kept else None
    if folder is None:
        return None
    made_from = (name, text, pipeline, tuple(devices), _installed())
    digest = sha256(repr(made_from).encode("utf-8", "surrogateescape")).hexdigest()
    return KeptProgram(folder / f"{digest}{SUFFIX}")


@cache
def _installed() -> Sequence[tuple[object, ...]]:
    """The interpreter, the package's files, and when packages were installed last."""
    found: list[tuple[object, ...]] = [(sys.version,)]
    package = Path(__file__).parents[1]
    for room in package.iterdir():
        files = room.rglob("*.py") if (room / "__init__.py").exists() else (room,)
        for file in files:
            if file.suffix == ".py":
                status = file.stat()
                found.append((str(file), status.st_size, status.st_mtime_ns))
    for folder in sys.path:
        with suppress(OSError):
            found.append((folder, os.stat(folder or ".").st_mtime_ns))
    return sorted(found, key=repr)
