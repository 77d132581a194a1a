"""What several files of this folder ask of the passes that they run."""

from __future__ import annotations

import pytest
from mesh_opt.codegen.kernels import loop_forms, loop_nests
from mesh_opt.passes.sharding.partition import by_rule


@pytest.fixture
def nothing_left_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where partition chooses the sharding of an operation that propagation has placed."""

    def fail(rule: object, *known: object) -> None:
        raise AssertionError(f"partition chooses a sharding for {rule} from {known}")

    monkeypatch.setattr(by_rule, "choose_op_sharding", fail)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the loops that became kernels."""
    names: list[str] = []
    write = loop_nests.KERNELS["scf.for"]

    def record(writer, operation):
        names.append(operation.name)
        return write(writer, operation)

    for name in loop_forms.LOOPS:
        monkeypatch.setitem(loop_nests.KERNELS, name, record)
    return names
