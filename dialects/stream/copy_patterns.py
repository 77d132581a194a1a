"""Canonicalization patterns of ops that fill and copy resources, and of sizes and subviews.

Resources are values until later passes let ops write in place. A pattern that lets two values share
storage must not apply to resources that are written in place, or that leave for control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...ir.attribute_access import constant_integer, is_splat
from ...ir.canonicalization import Patterns
from ...ir.host_programs import RETURNS
from ...ir.index import BuilderIndices, known
from ...ir.index_lists import INDEX
from ...ir.locations import rebuilt
from ...ir.syntax.assembly_format import operand_index, values
from ...ir.syntax.resource_directives import UNTIED, ties_of
from ...ir.syntax.rows import SIGNLESS_SCALAR
from ..arith.dialect import BitcastOp
from .async_ops import (
    AsyncAllocaOp,
    AsyncCastOp,
    AsyncCloneOp,
    AsyncConstantOp,
    AsyncCopyOp,
    AsyncDispatchOp,
    AsyncFillOp,
    AsyncLoadOp,
    AsyncSliceOp,
    AsyncSplatOp,
    AsyncStoreOp,
    AsyncTransferOp,
    AsyncUpdateOp,
)
from .commands import CmdCopyOp, CmdDiscardOp, CmdFillOp, CmdFlushOp, CmdInvalidateOp
from .regions import COMMAND_REGIONS, TimepointBarrierOp, TimepointExportOp, TimepointImportOp
from .resources import ResourceAllocaOp, ResourcePackOp, ResourceSizeOp, ResourceSubviewOp
from .storage import ResourceLoadOp, ResourceStoreOp
from .tensor_ops import (
    TensorCloneOp,
    TensorConstantOp,
    TensorEmptyOp,
    TensorExportOp,
    TensorImportOp,
    TensorSizeOfOp,
    TensorSplatOp,
)
from .types import lifetime_of

rewrites = Patterns()

SIZES_OF_RESULTS = ("result_size", "target_size", "storage_size", "resource_size", "size")
"""Names of the operands that are the size of an op's resource; the first that it has counts."""


@rewrites(ResourceSizeOp)
def fold_size_of_resource(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold the size of a resource to the one that the op that defines it was given."""
    owner = op.operands[0].owner
    if not isinstance(owner, Operation) or not owner.name.startswith("stream."):
        return
    resources = [each for each in owner.results if each.type == op.operands[0].type]
    sizes = [size for name in SIZES_OF_RESULTS for size in values(owner, name)]
    if sizes and len(resources) == 1:
        rewriter.replace(op, (), sizes[:1])


@rewrites("stream.channel.rank", "stream.channel.count")
def fold_place_in_channel(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold the rank or count of a channel to the one that it is created with."""
    owner = op.operands[0].owner
    if not isinstance(owner, Operation) or owner.name != "stream.channel.create":
        return
    if given := values(owner, op.name.removeprefix("stream.channel.")):
        rewriter.replace(op, (), given)


@rewrites(ResourcePackOp)
def fold_pack(op: ResourcePackOp, rewriter: PatternRewriter) -> None:
    """Add the base offset of a pack to its results, and fold a pack of at most one slice."""
    sizes = list(op.dynamic_slice_sizes)
    builder = Builder(InsertPoint.before(op))
    indices = BuilderIndices(builder)
    packed: Sequence[SSAValue]
    if len(sizes) < 2:
        packed = [indices.index(value) for value in (*(sizes or [0]), *(0 for _ in sizes))]
    elif op.offset is not None:
        types = [result.type for result in op.results]
        sizes_only = ResourcePackOp.build(
            operands=[[], sizes],
            properties={
                "lifetime_intervals": op.lifetime_intervals,
                **({"affinity": op.affinity} if op.affinity else {}),
            },
            result_types=[types[0], types[1:]],
        )
        packed = builder.insert(sizes_only).results
    else:
        return
    base = known(op.offset) if op.offset is not None else 0
    results = [indices.index(indices.add(base, known(value))) for value in packed]
    rewriter.replace(op, (), results)


@rewrites(ResourceSubviewOp)
def fold_subview(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a subview of a subview, and a subview of a whole resource."""
    source, source_size, offset, size = op.operands
    inner = source.owner
    if isinstance(inner, ResourceSubviewOp):
        resource, resource_size, start, _ = inner.operands
        total = sum_outside_commands(op, start, offset, rewriter)
        op.operands = [resource, resource_size, total, size]
        rewriter.notify_op_modified(op)
    elif known(offset) == 0 and known(size) == known(source_size):
        rewriter.replace(op, (), (source,))


@rewrites(
    CmdCopyOp, CmdDiscardOp, CmdFillOp, CmdFlushOp, CmdInvalidateOp, ResourceLoadOp, ResourceStoreOp
)
def fold_range_of_subview(op: Operation, rewriter: PatternRewriter) -> None:
    """Let an op on a range of a subview access the resource of the subview."""
    for name in ("source", "target"):
        accessed = (
            *values(op, name),
            *values(op, f"{name}_size"),
            *values(op, f"{name}_offset"),
        )
        if len(accessed) != 3 or not isinstance(accessed[0].owner, ResourceSubviewOp):
            continue
        resource, size, start, _ = accessed[0].owner.operands
        offset = sum_outside_commands(op, start, accessed[2], rewriter)
        for part, new in (("", resource), ("_size", size), ("_offset", offset)):
            op.operands[operand_index(op, name + part)] = new
        rewriter.notify_op_modified(op)


def sum_outside_commands(
    op: Operation, left: SSAValue, right: SSAValue, rewriter: PatternRewriter
) -> SSAValue:
    """Emit the sum of two offsets for `op`, in front of the region of commands that it may be in.

    Such a region computes no numbers, so that what its commands use is available in front of it.
    """
    outermost = op
    while (parent := outermost.parent_op()) is not None and parent.name in COMMAND_REGIONS:
        outermost = parent
    before = rewriter.insertion_point
    rewriter.insertion_point = InsertPoint.before(outermost)
    total = BuilderIndices(rewriter).sum(left, right)
    rewriter.insertion_point = before
    return total


READERS = (
    AsyncCastOp,
    AsyncCloneOp,
    AsyncDispatchOp,
    AsyncSliceOp,
    AsyncTransferOp,
    TensorExportOp,
)


def only_read(resource: SSAValue) -> bool:
    """Return whether no user of a resource may write to it in place."""
    return all(_reads(use.operation, use.index) for use in resource.uses)


def _reads(user: Operation, index: int) -> bool:
    if isinstance(user, AsyncUpdateOp | AsyncCopyOp):
        # The target is the first operand; what is read from is another one.
        return index > 0
    if user.name in RETURNS:
        return True
    ties = ties_of(user, len(user.results))
    return isinstance(user, READERS) and all(tie == UNTIED for tie in ties)


def _affinity(op: Operation) -> Attribute | None:
    return op.properties.get("affinity")


def _replace(
    op: Operation,
    op_class: type[IRDLOperation],
    operands: Sequence[SSAValue | Sequence[SSAValue]],
    rewriter: PatternRewriter,
    **properties: Attribute | None,
) -> None:
    """Replace an op by one of another class on the same device, with its types and attributes."""
    new = op_class.build(
        operands=operands,
        result_types=op.result_types,
        properties={"affinity": _affinity(op), **properties},
        attributes=op.attributes,
    )
    new.location = op.location
    rewriter.replace(op, new)


@rewrites(
    AsyncAllocaOp,
    AsyncCastOp,
    AsyncCloneOp,
    AsyncConstantOp,
    AsyncCopyOp,
    AsyncDispatchOp,
    AsyncFillOp,
    AsyncSliceOp,
    AsyncSplatOp,
    AsyncTransferOp,
    AsyncUpdateOp,
    ResourceAllocaOp,
    TensorCloneOp,
    TensorConstantOp,
    TensorEmptyOp,
    TensorExportOp,
    TensorImportOp,
    TensorSplatOp,
    TimepointBarrierOp,
    TimepointExportOp,
    TimepointImportOp,
    "stream.async.parameter.load",
)
def drop_unused(op: Operation, rewriter: PatternRewriter) -> None:
    """Drop an op none of whose results is used."""
    if op.results and not any(result.uses for result in op.results):
        rewriter.erase(op)


def narrow_fill(op: Operation, builder: Builder) -> bool:
    """Fill with the shortest pattern that repeats to a constant one. Returns whether it is another.

    `op` is a splat or fill, and the builder inserts in front of it.
    """
    (value,) = values(op, "value")
    number, type_ = constant_integer(value), value.type
    if number is None or not isinstance(type_, IntegerType):
        return False
    width = type_.bitwidth
    number %= 1 << width
    while width > 8 and number >> width // 2 == number % (1 << width // 2):
        width //= 2
        number %= 1 << width
    if width == type_.bitwidth:
        return False
    narrow = builder.insert(ConstantOp(IntegerAttr(number, IntegerType(width), truncate_bits=True)))
    op.operands[operand_index(op, "value")] = narrow.result
    return True


@rewrites(AsyncFillOp, AsyncSplatOp)
def narrow_pattern(op: Operation, rewriter: PatternRewriter) -> None:
    """Fill with the shortest pattern that repeats to a constant one."""
    if narrow_fill(op, rewriter):
        rewriter.notify_op_modified(op)


@rewrites(AsyncConstantOp)
def fold_constant_of_one_number(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a constant that repeats one integer to a splat."""
    dense = _repeated(op.properties["value"])
    element = None if dense is None else cast("Attribute", dense.get_element_type())
    width = element.bitwidth if isinstance(element, IntegerType) else 0
    if dense is None or width not in (8, 16, 32, 64):
        return
    pattern = _constant(dense, IntegerType(width), rewriter)
    operands = [values(op, "await_timepoint"), pattern, *values(op, "result_size")]
    _replace(op, AsyncSplatOp, operands, rewriter)


@rewrites(TensorConstantOp)
def fold_tensor_constant_of_one_number(op: TensorConstantOp, rewriter: PatternRewriter) -> None:
    """Fold a constant tensor that repeats one number to a splat."""
    dense, encoding = _repeated(op.value), op.result_encoding
    if dense is None or not isinstance(encoding, TensorType):
        return
    encoding = cast("TensorType[Attribute]", encoding)
    element = cast("Attribute", dense.get_element_type())
    if element != encoding.element_type or not SIGNLESS_SCALAR.verifies(element):
        return
    number = _constant(dense, element, rewriter)
    size = rewriter.insert(
        TensorSizeOfOp.build(
            operands=[op.result_encoding_dims],
            result_types=[INDEX],
            properties={"encoding": encoding, "affinity": op.affinity},
        )
    )
    operands = [number, op.result_encoding_dims, size.storage_size]
    _replace(op, TensorSplatOp, operands, rewriter, result_encoding=encoding)


def _repeated(value: Attribute) -> DenseIntOrFPElementsAttr[Any] | None:
    """Return a dense constant if all of its elements are equal."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[Any]", value)
    return dense if is_splat(dense) else None


def _constant(
    dense: DenseIntOrFPElementsAttr[Any], element: Attribute, rewriter: PatternRewriter
) -> SSAValue:
    """Insert the number that a constant repeats, as a number of another type of its width."""
    number = next(iter(dense.iter_attrs()))
    if isinstance(number, IntegerAttr):
        number = IntegerAttr(number.value.data, cast("IntegerType", element))
    return rewriter.insert(ConstantOp(cast("IntegerAttr | FloatAttr", number), element)).result


@rewrites(AsyncCloneOp, AsyncSliceOp)
def fold_part_of_splat(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a clone of a splat, or a slice that starts at a repetition, to a splat."""
    splat = op.operands[0].owner
    if not isinstance(splat, AsyncSplatOp):
        return
    (pattern,) = values(splat, "value")
    width = cast("IntegerType", pattern.type).bitwidth // 8
    start = constant_integer(op.operands[2]) if isinstance(op, AsyncSliceOp) else 0
    if width > 1 and (start is None or start % width):
        return
    operands = [values(splat, "await_timepoint"), pattern, *values(op, "result_size")]
    _replace(op, AsyncSplatOp, operands, rewriter)


@rewrites(AsyncSliceOp)
def fold_whole_slice(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a slice that is a whole resource to the resource."""
    source, source_size, start, _, size = op.operands
    if known(start) != 0 or known(size) != known(source_size):
        return
    if source.type != op.results[0].type or _affinity(op) is not None:
        return
    if only_read(source) and only_read(op.results[0]):
        rewriter.replace(op, (), (source,))


@rewrites(AsyncFillOp)
def fold_fill_of_allocation(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a fill of all of a new resource to a splat."""
    target, size, start, _, length, pattern = op.operands
    is_whole = known(start) == 0 and known(length) == known(size)
    if isinstance(target.owner, AsyncAllocaOp) and target.has_one_use() and is_whole:
        _replace(op, AsyncSplatOp, [[], pattern, size], rewriter)


@rewrites(AsyncUpdateOp)
def fold_update_of_splat(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold an update with a splat to a fill."""
    target, target_size, start, end, update, size = op.operands
    if isinstance(update.owner, AsyncSplatOp):
        operands = [target, target_size, start, end, size, *values(update.owner, "value")]
        _replace(op, AsyncFillOp, operands, rewriter)


@rewrites(AsyncUpdateOp)
def fold_update_of_slice(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold an update with a slice to a copy."""
    target, target_size, start, end, update, size = op.operands
    part = update.owner
    if not isinstance(part, AsyncSliceOp) or _affinity(part) != _affinity(op):
        return
    source, source_size, source_start, source_end, _ = part.operands
    if source is target or not only_read(source):
        return
    operands = [target, target_size, start, end, source, source_size]
    operands += [source_start, source_end, size]
    _replace(op, AsyncCopyOp, operands, rewriter)


@rewrites(AsyncCopyOp)
def fold_copy_of_whole(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a copy of a whole resource to an update."""
    target, target_size, start, end, source, source_size, source_start, _, length = op.operands
    if known(source_start) == 0 and known(length) == known(source_size):
        operands = [target, target_size, start, end, source, source_size]
        _replace(op, AsyncUpdateOp, operands, rewriter)


@rewrites(AsyncCastOp)
def fold_cast_to_same_type(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold a cast that keeps the lifetime to the resource."""
    if op.operands[0].type == op.results[0].type and _affinity(op) is None:
        rewriter.replace(op, (), op.operands[:1])


@rewrites(AsyncTransferOp)
def fold_transfer(op: AsyncTransferOp, rewriter: PatternRewriter) -> None:
    """Transfer directly instead of twice; clone instead of transferring to the same device."""
    first = op.source.owner
    if (
        isinstance(first, AsyncTransferOp)
        and (first.target_affinity, first.execution_affinity)
        == (op.source_affinity, op.execution_affinity)
        and only_read(first.source)
    ):
        op.operands = [first.source, first.source_size, op.result_size]
        op.properties.pop("source_affinity", None)
        if first.source_affinity is not None:
            op.properties["source_affinity"] = first.source_affinity
        rewriter.notify_op_modified(op)
    elif op.source_affinity == op.target_affinity and not _is_staged(op):
        _replace(op, AsyncCloneOp, op.operands, rewriter, affinity=op.target_affinity)


def _is_staged(op: AsyncTransferOp) -> bool:
    """Return whether one side of a transfer is memory of the host."""
    return "staging" in map(lifetime_of, (op.source.type, op.result.type))


@rewrites(AsyncLoadOp)
def fold_bitcast_of_load(op: Operation, rewriter: PatternRewriter) -> None:
    """Load a number as the type to which its only user casts its bits."""
    cast_ = op.results[0].get_user_of_unique_use()
    if isinstance(cast_, BitcastOp):
        new = rebuilt(op, op.operands, [cast_.result.type])
        new.location = op.location
        rewriter.replace(op, new)
        rewriter.replace(cast_, (), new.results)


@rewrites(AsyncStoreOp)
def fold_store_of_bitcast(op: Operation, rewriter: PatternRewriter) -> None:
    """Store a number whose bits are cast as it was before."""
    (number,) = values(op, "value")
    if isinstance(number.owner, BitcastOp):
        op.operands[operand_index(op, "value")] = number.owner.input
        rewriter.notify_op_modified(op)


@rewrites(TensorImportOp, TensorExportOp)
def fold_tensor_import(op: Operation, rewriter: PatternRewriter) -> None:
    """Fold the import of an exported tensor, and the export of an imported one, to the original."""
    other = op.operands[0].owner
    kinds = {type(op), type(other)}
    if kinds != {TensorImportOp, TensorExportOp} or _affinity(op) is not None:
        return
    (original, *_) = cast("Operation", other).operands
    encodings = {
        each.properties.get("result_encoding", each.properties.get("source_encoding"))
        for each in (op, cast("Operation", other))
    }
    if original.type == op.results[0].type and len(encodings) == 1:
        rewriter.replace(op, (), (original,))


@rewrites(TensorCloneOp)
def fold_tensor_clone(op: TensorCloneOp, rewriter: PatternRewriter) -> None:
    """Fold a clone of a tensor with the same type and place to the tensor."""
    same_type = op.source.type == op.result.type
    same_encoding = op.source_encoding == op.result_encoding
    same_sizes = op.source_encoding_dims == op.result_encoding_dims
    if same_type and same_encoding and same_sizes and op.affinity is None:
        rewriter.replace(op, (), (op.source,))
