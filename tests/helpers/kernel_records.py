"""Which operations become kernels."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from mesh_opt.codegen.kernels import loop_nests


def record_kernels(monkeypatch: pytest.MonkeyPatch, operations: Iterable[str]) -> list[str]:
    """A list to which the names of these operations are added when their kernels are written."""
    names: list[str] = []
    for name in operations:
        write = loop_nests.KERNELS[name]

        def record(writer, operation, write=write):
            names.append(operation.name)
            return write(writer, operation)

        monkeypatch.setitem(loop_nests.KERNELS, name, record)
    return names
