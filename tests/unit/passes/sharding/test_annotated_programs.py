"""After propagation and completion every tensor of an annotated program is annotated, rightly.

Checked on all sample programs, and on programs with control flow, calls and several grids:

- every tensor operand comes from an annotation for users, every tensor is annotated by its
  producer, and nothing else uses it;
- what an operation's operands and results are annotated with follows from one assignment of
  axes to the factors of its rule;
- a second run changes nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from breadth import sampled
from mesh_opt.ir.diagnostics import OperationError
from mesh_opt.ir.text.parser import parse_module
from mesh_opt.ir.text.source import Source
from mesh_opt.passes.sharding.annotations.access import SHARD, ShardingTable, annotation_of
from mesh_opt.passes.sharding.rules.registry import factor_rule
from mesh_opt.passes.sharding.shard_complete import shard_complete
from mesh_opt.passes.sharding.sharding_propagation import ShardingPropagationPass
from mesh_opt.sharding.cost import known_extents
from mesh_opt.sharding.projection import project
from mesh_opt.sharding.sharding import Axes, Sharding
from mesh_opt.tools.driver import new_context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

SAMPLES = sorted((Path(__file__).parents[3] / "cases" / "shard").glob("*.mlir"))
PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.mlir"))
WRONG = {"70_axis_out_of_range"}
CONTROL_FLOW = ("scf.", "cf.", "func.", "tensor.yield", "linalg.yield")


def annotated(path: Path) -> ModuleOp:
    context = new_context()
    module = parse_module(context, Source(path.read_text(), path.name))
    module.verify()
    ShardingPropagationPass().apply(context, module)
    module.verify()
    shard_complete().apply(context, module)
    module.verify()
    return module


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def functions(module: ModuleOp) -> list[Operation]:
    return [op for op in module.walk() if op.name == "func.func" and op.regions[0].blocks]


def annotated_functions(module: ModuleOp) -> list[Operation]:
    return [f for f in functions(module) if any(op.name == SHARD for op in f.walk())]


def by_users(value: SSAValue) -> Sharding:
    owner = value.owner
    assert isinstance(owner, Operation) and owner.name == SHARD, value
    annotation = annotation_of(owner, ShardingTable())
    assert annotation.for_users
    return annotation.sharding


def by_producer(value: SSAValue) -> Sharding:
    (use,) = value.uses
    assert use.operation.name == SHARD, use.operation
    annotation = annotation_of(use.operation, ShardingTable())
    assert not annotation.for_users
    return annotation.sharding


def check_operation(operation: Operation) -> None:
    operands = [by_users(value) if is_tensor(value) else None for value in operation.operands]
    results = [by_producer(value) if is_tensor(value) else None for value in operation.results]
    rule = factor_rule(operation)
    if rule is None or operation.name.startswith(CONTROL_FLOW):
        return
    by_factor: dict[int, Axes] = {}
    for tensor, sharding in zip(
        (*rule.operands, *rule.results), (*operands, *results), strict=True
    ):
        if sharding is None:
            continue
        extents = known_extents(sharding.grid.shape)
        projection = project(tensor, sharding.dimension_axes, rule, extents)
        assert not projection.overflow, (operation, sharding)
        for factor, axes in enumerate(projection.axes):
            if axes is not None:
                assert by_factor.setdefault(factor, axes) == axes, (operation, factor)
    used = [axis for axes in by_factor.values() for axis in axes]
    assert len(used) == len(set(used)), operation


def computes_on_tensors(function: Operation) -> list[Operation]:
    """The operations of a function that see tensors, without bodies that run on whole ones."""
    found: list[Operation] = []
    for operation in function.walk():
        if operation is function or operation.name.startswith(("shard.", "tensor.yield")):
            continue
        parent = operation.parent_op()
        inside = False
        while parent is not None and parent is not function:
            inside = inside or parent.name.startswith(("linalg.", "tensor.", "scf.forall"))
            parent = parent.parent_op()
        if not inside and any(map(is_tensor, (*operation.operands, *operation.results))):
            found.append(operation)
    return found


@pytest.mark.parametrize("path", [*sampled(SAMPLES, 2), *PROGRAMS], ids=lambda path: path.stem)
def test_everything_is_annotated_and_consistent(path: Path) -> None:
    if path.stem in WRONG:
        pytest.skip("a wrong program, see the lit tests")
    module = annotated(path)
    for function in annotated_functions(module):
        for block in function.regions[0].blocks:
            for argument in block.args:
                if is_tensor(argument):
                    by_producer(argument)
        for operation in computes_on_tensors(function):
            check_operation(operation)
    before = str(module)
    context = new_context()
    ShardingPropagationPass().apply(context, module)
    shard_complete().apply(context, module)
    assert str(module) == before


def test_functions_without_annotations_are_left_alone() -> None:
    (path,) = [path for path in SAMPLES if path.stem.startswith("b4_")]
    module = annotated(path)
    assert len(annotated_functions(module)) == len(functions(module)) - 1


def test_programs_exist() -> None:
    assert len(SAMPLES) > 60
    assert len(PROGRAMS) > 5


@pytest.mark.parametrize(
    ("sharding", "message"),
    [
        ("@g split_axes = [[], [], [0]]", "splits dimension 2 of a tensor of rank 2"),
        ("@g split_axes = [[0]] halo_sizes = [1, %h]", "known only at run time"),
    ],
)
def test_annotations_that_make_no_sense_are_located(sharding: str, message: str) -> None:
    text = f"""
shard.grid @g(shape = 2)
func.func @f(%x: tensor<4x4xf32>, %h: i64) -> tensor<4x4xf32> {{
  %s = shard.sharding {sharding} : !shard.sharding
  %0 = shard.shard %x to %s : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}}
"""
    context = new_context()
    module = parse_module(context, Source(text, "test"))
    with pytest.raises(OperationError, match=message) as caught:
        ShardingPropagationPass().apply(context, module)
    assert caught.value.operation.name == "shard.sharding"
