"""Files that run a failing pipeline again, in MLIR's form: the input and the pipeline."""

from __future__ import annotations

import os
import re
import tempfile

from .output_files import open_output

_METADATA = re.compile(r"^\{-#(.*?)^#-\}", re.DOTALL | re.MULTILINE)
_PIPELINE = re.compile(r'mlir_reproducer:\s*\{[^}]*?pipeline:\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)


def write_reproducer(program: str, pipeline: str, path: str | None = None) -> str:
    """Write a program and its pipeline to a file, a new temporary one without a path.

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
    with open_output(path) as file:
        file.write(text.encode())
    return path


def stored_pipeline(text: str) -> str | None:
    """The pipeline that a reproducer carries; None if the text carries none."""
    for metadata in _METADATA.finditer(text):
        match = _PIPELINE.search(metadata.group(1))
        if match is not None:
            return re.sub(r"\\(.)", r"\1", match.group(1))
    return None
