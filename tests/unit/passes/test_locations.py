"""Whatever a pass makes is where what it is made from is: errors point at what was written."""

from __future__ import annotations

from pathlib import Path

import pytest
from mesh_opt.dialects.registry import register_dialects
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.data_tile import DataTilePass
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Operation

CASES = Path(__file__).parents[2] / "cases"
PROGRAMS = (
    "encoding/c03b_chain_relu",
    "encoding/c06_batch_matmul",
    "encoding/c08_shared_const",
    "encoding/c13_enc_transfer",
    "encoding/c18b_param_two_uses",
    "encoding/seed_demo_2024_spelling",
    "data_tiling/loop_and_condition",
    "data_tiling/widened_weight_on_two_devices",
    "models/transformer_block",
)


def _is_in_structured(operation: Operation) -> bool:
    """Whether an operation is in the body of a named one, which nobody wrote."""
    parent = operation.parent_op()
    return parent is not None and parent.name.startswith("linalg.")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_operation_of_every_stage_has_a_location(name: str) -> None:
    context = Context()
    register_dialects(context)
    text = (CASES / f"{name}.mlir").read_text()
    module = parse_module(context, Source(text, "<test>"))
    for one in DataTilePass().passes():
        one.apply(context, module)
        missing = {
            op.name
            for op in module.walk()
            if op.location is UNKNOWN_LOC and not _is_in_structured(op)
        }
        assert not missing, f"after {one.name}: {sorted(missing)}"
