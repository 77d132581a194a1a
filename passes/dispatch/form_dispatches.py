"""Form dispatches: outline the computation of tensors into executables and leave a host program.

Operations are fused into groups, and those on the same memory are one. Each group becomes a kernel
of a `flow.executable`, and the function dispatches it. Control flow, scalars, transfers and globals
stay on the host. A `set_encoding` or `unset_encoding` that joins no computation becomes
`flow.tensor.encode`; reshapes and bitcasts become `flow.tensor.reshape` and `flow.tensor.bitcast`,
which cost nothing.

A tensor that is read on another device is transferred there first, with a remark. Programs that
contain `flow.tensor.transfer` themselves choose where to pay for transfers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.dialects.tensor import EmptyOp, ExtractOp, FromElementsOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.flow import dispatches as flow
from ...dialects.flow.dialect import TensorEncodeOp, TensorReshapeOp, TensorTransferOp
from ...dialects.flow.tensors import TensorBitCastOp
from ...dialects.iree_encoding.interfaces import tensor_encoding
from ...dialects.iree_encoding.respelling import spelling_of
from ...dialects.linalg.structured_view import remembered_views, structured_view
from ...dialects.stream.affinity import AFFINITY
from ...ir.diagnostics import OperationError, remark
from ...ir.host_programs import (
    DISPATCH_REGION,
    FUNCTIONS_AND_INITIALIZERS,
    GLOBAL_LOAD,
    GLOBAL_STORE,
    KERNEL_IN_PLACE,
)
from ...ir.locations import builder_before, located_builder, made_by, replace_by
from ...ir.regions import inner_blocks, walk
from ...ir.tensor_types import ranked
from ...ir.value_flow import forwarded_to
from ..sizes.dimension_sizes import DimensionSizes
from ..stream.analysis.device_placement import MOVES, DevicePlacement, boundary_affinity
from .fusion.buffer_groups import group_buffers
from .fusion.computations import is_computation, rematerialized_broadcasts
from .fusion.groups import FusionGroup, Grouping
from .fusion.kernel_outlining import KernelOutliner
from .fusion.operation_kinds import (
    ENCODING_OPS,
    FLOW_VIEWS,
    is_collective,
    is_memory_effect_free,
    is_rematerialized,
)

UNUSED_READS = frozenset({*MOVES, GLOBAL_LOAD})
"""Operations that have no effect if their results are not read."""

CATEGORY = "dispatch"
"""The category of remarks about dispatches."""


class FormDispatchesPass(ModulePass):
    """Turn tensor programs into executables and a host program that dispatches them."""

    name = "form-dispatches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [operation for operation in op.body.block.ops if _is_program(operation)]
        sizes = DimensionSizes()
        outliner = KernelOutliner(op, spelling_of(op))
        region_operations = {function: inline_regions(function) for function in functions}
        for function in functions:
            outline_workgroups(function, outliner)
            remove_unused(function)
            for block in blocks_of(function):
                sizes.resolve(block)
                free_destinations(block, sizes)
                size_collectives(block, sizes)
        placement = DevicePlacement(ctx, op)
        placement.write_down_globals()
        store = partial(_store_number, placement)
        for function, given in region_operations.items():
            groups = group_buffers(blocks_of(function), given, store)
            given.extend(groups)
            if groups:
                placement = DevicePlacement(ctx, op)
        kept = {each for found in region_operations.values() for ops in found for each in ops}
        passed = [return_numbers(function, placement, kept) for function in functions]
        if any(passed):
            placement = DevicePlacement(ctx, op)
        moved = [move_operands(function, placement, sizes) for function in functions]
        if any(moved):
            placement = DevicePlacement(ctx, op)
        for function in functions:
            form_dispatches(function, placement, outliner, sizes, region_operations[function])


def _is_program(operation: Operation) -> bool:
    return operation.name in FUNCTIONS_AND_INITIALIZERS and bool(operation.regions[0].blocks)


def blocks_of(function: Operation) -> list[Block]:
    """Return all blocks of a function's host program, without those inside of computations."""
    found: list[Block] = []
    stack = list(inner_blocks(function))
    while stack:
        block = stack.pop()
        found.append(block)
        for operation in block.ops:
            if operation.regions and not is_computation(operation):
                stack += inner_blocks(operation)
    return found


def free_destinations(block: Block, sizes: DimensionSizes) -> None:
    """Write results to empty tensors if their destination is overwritten without being read.

    Otherwise the operation would wait for the destination's producer.
    """
    for operation in tuple(block.ops):
        view = structured_view(operation)
        if view is None or not operation.results:
            continue
        arguments = view.body.args[len(view.inputs) :]
        for index, (value, argument) in enumerate(zip(view.outputs, arguments, strict=True)):
            tensor, map_ = ranked(value), view.output_maps[index]
            if argument.uses or tensor is None or not map_.is_projected_permutation():
                continue
            if made_by(value, "tensor.empty"):
                continue
            empty = EmptyOp(sizes.dynamic_sizes(value), tensor)
            builder_before(operation).insert(empty)
            operation.operands[len(view.inputs) + index] = empty.tensor


def size_collectives(block: Block, sizes: DimensionSizes) -> None:
    """Compute the sizes of collectives' results before placement: this may emit computations."""
    for operation in tuple(block.ops):
        if is_collective(operation):
            for result in operation.results:
                sizes.dynamic_sizes(result)


def return_numbers(function: Operation, placement: DevicePlacement, kept: set[Operation]) -> bool:
    """Let the host read the numbers that loops in kernels compute; return whether there are any.

        %r = scf.for ... -> f32
        %t = tensor.from_elements %r : tensor<f32>    # becomes part of the loop's kernel
        %n = tensor.extract %t[] : tensor<f32>        # replaces %r

    Operations in `kept` are left as they are.
    """
    found = False
    for block in blocks_of(function):
        for operation in tuple(block.ops):
            if operation.regions and is_computation(operation) and operation not in kept:
                for result in operation.results:
                    if not isinstance(result.type, TensorType) and result.uses:
                        _return_number(result, placement.runs_on(operation))
                        found = True
    return found


def _store_number(placement: DevicePlacement, number: OpResult) -> Operation:
    return _return_number(number, placement.runs_on(number.op))


def _return_number(number: OpResult, affinity: Attribute | None) -> Operation:
    """Let readers of a number read a tensor instead; return the operation that makes the tensor."""
    uses = tuple(number.uses)
    builder = located_builder(InsertPoint.after(number.op), number.op)
    stored = builder.insert(FromElementsOp(number, result_type=TensorType(number.type, ())))
    if affinity is not None:
        stored.attributes[AFFINITY] = affinity
    read = builder.insert(ExtractOp(stored.result, (), number.type))
    for use in uses:
        if (
            isinstance(use.operation, FromElementsOp)
            and use.operation.result.type == stored.result.type
        ):
            Rewriter.replace_op(use.operation, [], [stored.result])
        else:
            use.operation.operands[use.index] = read.result
    return stored


# Placement


def move_operands(function: Operation, placement: DevicePlacement, sizes: DimensionSizes) -> bool:
    """Transfer every tensor to the device of its readers, or copy its producer there.

    Return whether there was such a tensor.
    """
    moved: dict[tuple[SSAValue, Attribute, Block, bool], SSAValue] = {}
    for block in blocks_of(function):
        for operation in tuple(block.ops):
            computes = is_computation(operation)
            for reader, index, affinity in required_tensors(operation, function, placement):
                operand = reader.operands[index]
                key = operand, affinity, block, computes
                if key not in moved:
                    moved[key] = _move(operand, affinity, operation, placement, sizes)
                if moved[key] is not operand:
                    reader.operands[index] = moved[key]
    return any(value is not key[0] for key, value in moved.items())


def required_tensors(
    operation: Operation, function: Operation, placement: DevicePlacement
) -> Iterator[tuple[Operation, int, Attribute]]:
    """Yield the tensors that an operation reads as (reading operation, operand index, device).

    Tensors that are read inside of the body of a computation are included.
    """
    affinities = required_affinities(operation, function, placement)
    for index, (operand, affinity) in enumerate(zip(operation.operands, affinities, strict=True)):
        if affinity is not None and isinstance(operand.type, TensorType):
            yield operation, index, affinity
    affinity = placement.runs_on(operation) if is_computation(operation) else None
    if affinity is None:
        return
    for inner in walk(operation):
        if inner is operation:
            continue
        for index, operand in enumerate(inner.operands):
            if ranked(operand) is not None and not operation.is_ancestor(operand.owner):
                yield inner, index, affinity


def required_affinities(
    operation: Operation, function: Operation, placement: DevicePlacement
) -> list[Attribute | None]:
    """Return the device that an operation needs each operand on; `None` where any will do."""
    count = len(operation.operands)
    if operation.name.endswith(".return") and operation.parent_op() is function:
        return [
            boundary_affinity(function, "res_attrs", index) or placement.of(operand)
            for index, operand in enumerate(operation.operands)
        ]
    if operation.name == GLOBAL_STORE:
        return [placement.of_global(operation)]
    carried = [forwarded_to(operation, index) for index in range(count)]
    if any(carried):
        return [placement.of(values[0]) if values else None for values in carried]
    if operation.name == "flow.dispatch" or (
        is_computation(operation) and not is_rematerialized(operation)
    ):
        return [placement.runs_on(operation)] * count
    return [None] * count


def _move(
    value: SSAValue,
    affinity: Attribute,
    reader: Operation,
    placement: DevicePlacement,
    sizes: DimensionSizes,
) -> SSAValue:
    """Return a tensor on its reader's device: itself, a transfer, or a copy of its producer."""
    if placement.is_flexible(value):
        owner = cast(OpResult, value).op
        # A kernel repeats a rematerialized operation itself.
        is_repeated = is_computation(reader) and is_rematerialized(owner)
        runs_there = not is_computation(reader) and placement.runs_on(owner) == affinity
        if is_repeated or runs_there:
            return value
        copy = owner.clone()
        copy.attributes[AFFINITY] = affinity
        Builder(InsertPoint.after(owner)).insert(copy)
        return copy.results[0]
    source = placement.of(value)
    if source is None or source == affinity:
        return value
    remark(CATEGORY, reader, f"reads a tensor of {source}, which is moved to {affinity} for it")
    transfer = TensorTransferOp.build(
        operands=[value, sizes.dynamic_sizes(value)],
        result_types=[value.type],
        properties={"target": affinity},
    )
    return builder_before(reader).insert(transfer).results[0]


# Dispatches


def form_dispatches(
    function: Operation,
    placement: DevicePlacement,
    outliner: KernelOutliner,
    sizes: DimensionSizes,
    region_operations: Sequence[Sequence[Operation]],
) -> None:
    """Replace the tensor computations of a function by dispatches.

    `region_operations` are the operations of each dispatch region of the input program, which
    becomes one dispatch.
    """
    for block in blocks_of(function):
        for operation in tuple(block.ops):
            for value in (*operation.operands, *operation.results):
                sizes.dynamic_sizes(value)
    for operations in region_operations:
        # Operations that only computed sizes may be gone, and the outliner repeats the
        # rematerialized ones.
        left = [op for op in operations if op.parent is not None and not is_rematerialized(op)]
        if (first := next(filter(is_computation, left), None)) is not None:
            group = FusionGroup(left, placement.runs_on(first))
            outliner.outline(group, function, sizes, set())
    # Without those of loops that are in the kernels of regions now.
    blocks = blocks_of(function)
    with remembered_views():
        rematerialized = rematerialized_broadcasts(blocks, placement)
    for block in blocks:
        with remembered_views():
            groups = Grouping(block, placement, rematerialized).arrange()
        for group in groups:
            if len(group.operations) == 1 and group.operations[0].name in ENCODING_OPS:
                _encode(group.operations[0], group.affinity, sizes)
            else:
                outliner.outline(group, function, sizes, rematerialized)
    for block in blocks_of(function):
        for operation in tuple(block.ops):
            if operation.name in FLOW_VIEWS:
                _view(operation, sizes)
    remove_unused(function)


def _encode(operation: Operation, affinity: Attribute | None, sizes: DimensionSizes) -> None:
    source, result = operation.operands[0], operation.results[0]
    encode = TensorEncodeOp.build(
        operands=[source, sizes.dynamic_sizes(source), sizes.dynamic_sizes(result)],
        result_types=[result.type],
        attributes={} if affinity is None else {AFFINITY: affinity},
    )
    replace_by(operation, encode)


def _view(operation: Operation, sizes: DimensionSizes) -> None:
    source, result = operation.operands[0], operation.results[0]
    for value in (source, result):
        if tensor_encoding(value.type) is not None:
            raise OperationError(
                operation, f"gives the encoded tensor {value.type} another type: decode it first"
            )
    op_class = TensorBitCastOp if operation.name == "tensor.bitcast" else TensorReshapeOp
    view = op_class.build(
        operands=[source, sizes.dynamic_sizes(source), sizes.dynamic_sizes(result)],
        result_types=[result.type],
    )
    replace_by(operation, view)


def remove_unused(function: Operation) -> None:
    """Erase operations of a function whose results are not read and that have no other effect."""
    for region in function.regions:
        for block in reversed(tuple(region.blocks)):
            for operation in reversed(tuple(block.ops)):
                if operation.regions:
                    remove_unused(operation)
                if (
                    operation.results
                    and not any(result.uses for result in operation.results)
                    and (operation.name in UNUSED_READS or is_memory_effect_free(operation))
                ):
                    Rewriter.erase_op(operation)


def inline_regions(function: Operation) -> list[list[Operation]]:
    """Inline all `flow.dispatch.region`; return the operations of each.

    Raises OperationError if a region contains another dispatch or has more than one block.
    """
    regions = [operation for operation in walk(function) if operation.name == DISPATCH_REGION]
    for region in regions:
        nested = (inner for inner in region.walk() if inner is not region)
        if any(inner.name in (DISPATCH_REGION, KERNEL_IN_PLACE) for inner in nested):
            raise OperationError(region, "is a dispatch and contains another one")
    return [_inline(region) for region in regions]


def _inline(region: Operation) -> list[Operation]:
    blocks = tuple(region.regions[0].blocks)
    if len(blocks) != 1 or (end := blocks[0].last_op) is None:
        raise OperationError(region, f"is a dispatch, expected one block, found {len(blocks)}")
    operations = [operation for operation in blocks[0].ops if operation is not end]
    affinity = region.attributes.get(AFFINITY)
    for operation in operations:
        if affinity is not None:
            operation.attributes.setdefault(AFFINITY, affinity)
        operation.detach()
    results = tuple(end.operands)
    Rewriter.insert_op(operations, InsertPoint.before(region))
    Rewriter.replace_op(region, [], results)
    return operations


def outline_workgroups(function: Operation, outliner: KernelOutliner) -> None:
    """Move the kernels of `flow.dispatch.workgroups` to executables."""
    for operation in tuple(walk(function)):
        if isinstance(operation, flow.DispatchWorkgroupsOp):
            _outline(operation, function, outliner)


def _outline(
    operation: flow.DispatchWorkgroupsOp, function: Operation, outliner: KernelOutliner
) -> None:
    body, count = operation.workgroup_body, operation.workgroup_count
    for end in tuple(body.walk()):
        if end.name == "flow.return" and end.parent_op() is operation:
            replace_by(end, ReturnOp())
    types = [argument.type for argument in body.blocks[0].args]
    kernel = FuncOp("kernel", (types, []), operation.detach_region(body))
    workgroups = operation.detach_region(count) if count.blocks else None
    entry = outliner.add_kernel(kernel, function, len(operation.workload), workgroups)
    dispatch = flow.DispatchOp.create(
        operands=operation.operands,
        result_types=operation.result_types,
        properties={**operation.properties, "entry_points": ArrayAttr([entry])},
        attributes=operation.attributes,
    )
    replace_by(operation, dispatch)
