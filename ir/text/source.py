"""Source text with fast conversion of offsets to lines and columns."""

from __future__ import annotations

import os
import stat
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import BinaryIO, TextIO

from ..nesting_limits import MAXIMUM_STREAM
from ..usage_error import UsageError
from .portable_artifact import is_portable_artifact, text_of_artifact
from .xdsl_compat.text_classes import TextInput


@dataclass(frozen=True)
class Source(TextInput):
    """A text to parse, with its name in diagnostics.

    `first_line` is the line number of its first line; it exceeds 1 if the text is a part of a file.
    """

    first_line: int = 1

    @cached_property
    def line_starts(self) -> list[int]:
        """Return the offset of the first character of every line, in order."""
        lengths = (len(line) + 1 for line in self.content.split("\n"))
        return [0, *accumulate(lengths)][:-1]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line number in the file and the 1-based column of an offset."""
        index = bisect_right(self.line_starts, offset) - 1
        return self.first_line + index, offset - self.line_starts[index] + 1

    def line_text(self, line: int) -> str | None:
        """Return the line of that number in the file; `None` if it is not in this source."""
        index = line - self.first_line
        if not 0 <= index < len(self.line_starts):
            return None
        start = self.line_starts[index]
        end = self.content.find("\n", start)
        return self.content[start : end if end >= 0 else len(self.content)].rstrip("\r")


def read_source(path: str, stdin: TextIO | None = None) -> Source:
    """Read a file; `-` reads standard input if `stdin` is given.

    Raises UsageError if the file cannot be read, is not text, or is an endless stream.
    """
    try:
        if path == "-" and stdin is not None:
            binary: BinaryIO | None = getattr(stdin, "buffer", None)
            if binary is None:
                return Source(stdin.read(), "<stdin>")
            # The lexer rejects invalid bytes where they matter. They may occur in comments.
            return decoded_source(binary.read(), "<stdin>", "surrogateescape")
        with open(path, "rb") as file:
            is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(-1 if is_regular else MAXIMUM_STREAM + 1)
        if not is_regular and len(data) > MAXIMUM_STREAM:
            raise UsageError(f"cannot read '{path}': it has more than {MAXIMUM_STREAM} bytes")
        return decoded_source(data, path)
    except OSError as problem:
        raise UsageError(f"cannot read '{path}': {problem.strerror}") from problem


def decoded_source(data: bytes, name: str, errors: str = "strict") -> Source:
    """Decode a file; portable artifacts of StableHLO are read by jaxlib.

    Raises UsageError for other bytecode, saved programs and invalid UTF-8.
    """
    file = "FILE" if name == "<stdin>" else name
    if data.startswith(_BYTECODE):
        if is_portable_artifact(data):
            tool = f"`stablehlo-translate --deserialize {file} -o program.mlir` writes it as text"
            return Source(text_of_artifact(data, name, tool), name)
        raise UsageError(
            f"'{name}' is MLIR bytecode, expected text: `mlir-opt {file} -o program.mlir` writes it"
            " as text"
        )
    if data.startswith(_SAVED_PROGRAM):
        raise UsageError(
            f"'{name}' is a saved program, expected text: `mesh-run {file}` runs it, and"
            " `mesh_opt.load` in Python"
        )
    try:
        return Source(data.decode("utf-8", errors), name)
    except UnicodeDecodeError as problem:
        before = problem.object[: problem.start]
        line = before.count(b"\n") + 1
        column = problem.start - before.rfind(b"\n")
        raise UsageError(
            f"'{name}' is not UTF-8: byte 0x{problem.object[problem.start]:02x}"
            f" at line {line}, column {column}"
        ) from problem


_BYTECODE = b"ML\xefR"
_SAVED_PROGRAM = b"MESHPROG"  # `MAGIC` of runtime/saved/file_format.py, which `ir` cannot import.


def split_source(name: str, text: str, marker: str = "// -----") -> list[Source]:
    """Split a file at marker lines into pieces that know their line numbers in the file.

    A marker must be alone on its line, as for `mlir-opt --split-input-file`.
    """
    pieces: list[Source] = []
    lines: list[str] = []
    first_line = 1
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() == marker:
            pieces.append(Source("\n".join([*lines, ""]), name, first_line))
            lines = []
            first_line = number + 1
        else:
            lines.append(line)
    pieces.append(Source("\n".join(lines), name, first_line))
    return pieces
