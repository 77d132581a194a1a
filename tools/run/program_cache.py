"""A cache of compiled programs, stored as saved programs in the user's cache folder.

Compiling the same text again with the same passes and devices loads the earlier program, without
the compiler. The file name is a hash of all inputs: the text and its name, the options, the files
of this package and the state of the installed packages.

A program is cached only if the loaded one behaves the same:

- it has one function, which runs without Python;
- all of it comes from the text: it has no parameters, and no passes of other packages.
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

from ...runtime.abi.private_cache import cache_folder, drop_oldest, is_private_file
from .options import RunOptions
from .saved import SUFFIX, needs_compiler

if TYPE_CHECKING:
    from ...api import Program
    from ...ir.text.source import Source
    from ...saved_programs import LoadedProgram

PROGRAMS = "programs"
"""The subfolder of the cache for programs."""

MAX_PROGRAM = 1 << 25
"""The maximum size of a cached program in bytes, and of its text in characters.

A longer program has large constants.
"""

MAX_FOLDER = 1 << 28
"""The maximum size of all cached programs in bytes; the least recently used are removed first."""

_FROM_FILES = ("machine=", "parameters=")
"""Pass options that name a file, whose contents may change."""


class CachedProgram:
    """The location of one program in the cache."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(
        self, compile: Callable[[], Program], workers: int | None = None
    ) -> LoadedProgram | None:
        """Return the cached program; `None` if it is absent, damaged, or for another machine.

        `compile` compiles the program again for what needs the compiler, such as error messages.
        """
        from ...saved_programs import SavedFileError, load

        if not is_private_file(self._path):
            return None
        try:
            program = load(self._path, workers=workers, compile=compile)
            os.utime(self._path)
        except (OSError, SavedFileError):
            return None
        return None if program.saved.differences else program

    def store(self, program: Program) -> None:
        """Store a program after it has run, if it is eligible."""
        if len(program.functions) != 1 or _is_extended():
            return
        temporary = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            try:
                program.save(temporary, with_ir=False)
                if _is_eligible(temporary):
                    os.chmod(temporary, 0o600)
                    os.replace(temporary, self._path)
                    drop_oldest(self._path.parent, MAX_FOLDER)
            finally:
                temporary.unlink(missing_ok=True)


def _is_eligible(path: Path) -> bool:
    """Return whether a saved program is small and runs without Python."""
    from ...saved_programs import load

    if path.stat().st_size > MAX_PROGRAM:
        return False
    functions = load(path, verify=False).saved.functions.values()
    return all(each.needs_compiler_reason is None for each in functions)


def _is_extended() -> bool:
    """Return whether another package adds dialects, rules or passes."""
    from ..plugins import is_extended

    return f"{__name__.partition('.')[0]}.extend" in sys.modules or is_extended()


def cached_run(options: RunOptions, source: Source) -> CachedProgram | None:
    """Return where the program of a run is cached; `None` if the run must compile its program."""
    needs_compilation = (
        needs_compiler(options)
        or options.watches_passes
        or options.remarks
        or options.parameters
        or options.trace is not None
        or options.device == ("list",)
    )
    if needs_compilation:
        return None
    return cached_program(source.name, source.content, options.pipeline, options.device)


def cached_program(
    name: str, text: str, pipeline: str, devices: Sequence[str] = ()
) -> CachedProgram | None:
    """Return where the program of a text and a pipeline is cached; `None` if nowhere."""
    reads_files = any(word in pipeline for word in _FROM_FILES)
    is_checked = any(name in os.environ for name in ("MESH_OPT_GUARD", "MESH_OPT_VERIFY_EACH"))
    is_cached = not reads_files and not is_checked and len(text) <= MAX_PROGRAM
    folder = cache_folder(PROGRAMS) if is_cached else None
    if folder is None:
        return None
    inputs = (name, text, pipeline, tuple(devices), _installed())
    digest = sha256(repr(inputs).encode("utf-8", "surrogateescape")).hexdigest()
    return CachedProgram(folder / f"{digest}{SUFFIX}")


@cache
def _installed() -> Sequence[tuple[object, ...]]:
    """Return the Python version, this package's files and the modification times of `sys.path`."""
    found: list[tuple[object, ...]] = [(sys.version,)]
    package = Path(__file__).parents[2]
    for room in package.iterdir():
        files = room.rglob("*.py") if (room / "__init__.py").exists() else (room,)
        for file in files:
            # A link of an editor may lead nowhere.
            with suppress(FileNotFoundError):
                if file.suffix == ".py":
                    status = file.stat()
                    found.append((str(file), status.st_size, status.st_mtime_ns))
    for folder in sys.path:
        with suppress(OSError):
            found.append((folder, os.stat(folder or ".").st_mtime_ns))
    return sorted(found, key=repr)
