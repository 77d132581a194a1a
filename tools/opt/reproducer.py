"""Reproducers in MLIR's format: an input program with the pipeline to run on it."""

from __future__ import annotations

import os
import re
import tempfile

from ..output_files import write_output

_METADATA = re.compile(r"^\{-#(.*?)^#-\}", re.DOTALL | re.MULTILINE)
_PIPELINE = re.compile(r'mlir_reproducer:\s*\{[^}]*?pipeline:\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)


def write_reproducer(program: str, pipeline: str, path: str | None = None) -> str:
    """Write a program and its pipeline to a file; without a path to a new temporary file.

    Returns the path. Raises UsageError if the file cannot be written.
    """
    escaped = pipeline.replace("\\", "\\\\").replace('"', '\\"')
    text = (
        f"{program.rstrip()}\n\n"
        "{-#\n"
        "  external_resources: {\n"
        "    mlir_reproducer: {\n"
        f'      pipeline: "{escaped}",\n'
        "      disable_threading: true,\n"
        "      verify_each: true\n"
        "    }\n"
        "  }\n"
        "#-}\n"
    )
    if path is None:
        handle, path = tempfile.mkstemp(prefix="mesh-opt-reproducer-", suffix=".mlir")
        os.close(handle)
    write_output(path, text)
    return path


def stored_pipeline(text: str) -> str | None:
    """Return the pipeline stored in a reproducer; `None` if the text has none."""
    for metadata in _METADATA.finditer(text):
        match = _PIPELINE.search(metadata.group(1))
        if match is not None:
            return re.sub(r"\\(.)", r"\1", match.group(1))
    return None
