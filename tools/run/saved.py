"""Saved programs on the command line of `mesh-run`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO

from ...ir.usage_error import UsageError
from ...programs.backends import NATIVE
from ..remarks import wants
from .options import RunOptions
from .ranks import MPI

if TYPE_CHECKING:
    from ...saved_programs import LoadedProgram

SUFFIX = ".meshprog"


def is_saved(path: str) -> bool:
    """Return whether a file is a saved program, by its suffix or its first bytes."""
    if path == "-" or path.endswith(SUFFIX):
        return path != "-"
    if not os.path.isfile(path):
        # What is read from a pipe is not there for the parser.
        return False
    from ...runtime.saved.file_format import MAGIC

    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def load_program(options: RunOptions, stderr: TextIO) -> LoadedProgram:
    """Load a saved program.

    Raises UsageError for options that it does not support, and SavedFileError for a damaged file.
    """
    from ...saved_programs import load

    if options.pipeline:
        raise UsageError(f"'{options.file}' is compiled: passes cannot be run on it")
    if options.watches_passes:
        raise UsageError(f"'{options.file}' is compiled: there are no passes to watch")
    if options.device:
        raise UsageError(f"'{options.file}' was saved for its devices: --device cannot be given")
    if options.parameters:
        raise UsageError(f"'{options.file}' has its parameters: --parameters cannot be given")

    def remark(text: str) -> None:
        stderr.write(f"remark: {text}\n")

    try:
        backend = MPI if options.backend == MPI else NATIVE
        loaded = load(options.file, workers=options.workers, backend=backend, remark=remark)
    except OSError as problem:
        raise UsageError(f"cannot read '{options.file}': {problem.strerror}") from problem
    loaded.inputs_per_rank = options.inputs_per_rank
    loaded.devices_per_rank = options.devices_per_rank
    if wants(options.remarks, "backend"):
        for each in loaded.saved.functions.values():
            if each.needs_compiler_reason is not None:
                remark(each.needs_compiler_reason)
    return loaded


def needs_compiler(options: RunOptions) -> bool:
    """Return whether the options need more than the saved native code."""
    return bool(
        options.backend not in (NATIVE, MPI)
        or options.check is not None
        or options.grid_shape is not None
        or options.guard
        or options.per_device
        or options.report is not None
        or options.require_native
        or options.simulate
        or options.trace_host
    )
