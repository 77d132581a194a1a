"""What several files of this folder ask of the passes that they run."""

from __future__ import annotations

import pytest
from kernel_records import record_kernels
from mesh_opt.codegen.kernels.sequential import loop_forms
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
    return record_kernels(monkeypatch, loop_forms.LOOPS)
