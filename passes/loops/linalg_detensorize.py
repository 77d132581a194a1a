"""`linalg-detensorize`: compute loop-carried tensors of rank 0 as scalars.

    %r = scf.for ... iter_args(%t = %initial) -> tensor<f32> {      // becomes f32
      %n = linalg.generic ins(%t, %a : tensor<f32>, tensor<f32>) {  // becomes arith.addf
      scf.yield %n
    }

JAX keeps counters and conditions in such tensors, so that each iteration would run kernels of one
element. MLIR's pass of this name does the same for branches of `cf`. Slices of one element, by
which a scan reads its inputs and writes its results, become elements as well:

    %s = tensor.extract_slice %x[%i] [1] [1]                        // becomes tensor.extract %x[%i]
    %u = tensor.insert_slice %s into %y[%i] [1] [1]                 // becomes tensor.insert

Larger slices lose the dimensions of size 1 that only a reshape beside them removes or adds. Equal
scalars are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.builder import Builder
from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    NoneAttr,
    Signedness,
    TensorType,
)
from xdsl.dialects.tensor import ExtractOp, FromElementsOp, InsertOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.common_subexpression_elimination import OperationInfo
from xdsl.transforms.dead_code_elimination import region_dce

from ...dialects.linalg.structured_view import StructuredView, structured_view
from ...ir.attribute_access import (
    attribute,
    element_type,
    integers,
    kept_dimensions,
    operand_groups,
)
from ...ir.host_programs import CONTROL_FLOW, FUNCTIONS
from ...ir.index_lists import INDEX, mixed_list
from ...ir.locations import (
    builder_before,
    erase_if_unused,
    located_builder,
    made_by,
    maker_of,
    rebuilt,
    replace_by,
)
from ...ir.regions import captured, detach_regions, inner_blocks, point_after, walk
from ...ir.tensor_types import ranked
from ...ir.value_flow import forwards
from ..manager.module_pass import module_pass

RESHAPED = ("tensor.collapse_shape", "tensor.insert_slice")
"""A reshape after a slice is read, and the write of a slice that is reshaped before."""

FEW_TERMS = 64
"""The most elements that a reduction in a loop combines to a scalar."""

WIDTHS = frozenset((1, 8, 16, 32, 64))


@module_pass("linalg-detensorize")
def linalg_detensorize(module: ModuleOp) -> None:
    """Turn tensors of rank 0 that loops and branches forward into scalars."""
    for function in module.body.block.ops:
        if function.name in FUNCTIONS and function.regions[0].blocks:
            detensorize(function)
            for operation in tuple(walk(function)):
                if operation.name in RESHAPED:
                    _drop_unit_dimensions(operation)
            for block in function.regions[0].blocks:
                _merge_equal_scalars(block, {})


def detensorize(function: Operation) -> None:
    """Detensorize a function in place."""
    scalars = _Scalars(function)
    if scalars.forwarded or scalars.read:
        for operation in tuple(walk(function)):
            if operation.name in CONTROL_FLOW:
                _forward_scalars(operation, scalars)
        _Computation(function, scalars).run()
        region_dce(function.regions[0])


def _merge_equal_scalars(block: Block, outside: Mapping[OperationInfo, Operation]) -> None:
    """Compute equal scalars once, so that a read and a write at them are seen to be of one place.

    `outside` are the computations of scalars before the operation that contains the block.
    """
    known = dict(outside)
    for operation in tuple(block.ops):
        if operation.name.startswith("arith."):
            if not any(isinstance(each, TensorType) for each in operation.result_types):
                first = known.setdefault(OperationInfo(operation), operation)
                if first is not operation:
                    Rewriter.replace_op(operation, [], first.results)
        elif operation.name in CONTROL_FLOW:
            for inner in inner_blocks(operation):
                _merge_equal_scalars(inner, known)


def _is_rank_0(value: SSAValue) -> bool:
    """Return whether a value is a tensor of rank 0 with elements that are computed on the host."""
    kind = value.type
    if not isinstance(kind, TensorType) or len(kind.get_shape()) != 0:
        return False
    tensor = cast("TensorType[Attribute]", kind)
    element = tensor.get_element_type()
    if not isinstance(tensor.encoding, NoneAttr):
        return False
    if isinstance(element, IntegerType):
        integer = cast("IntegerType[Any, Any]", element)
        return integer.signedness.data == Signedness.SIGNLESS and integer.width.data in WIDTHS
    return isinstance(element, BFloat16Type | Float16Type | Float32Type | Float64Type | IndexType)


class _Scalars:
    """Which tensors of rank 0 become scalars.

    - `forwarded`: arguments and results of structures that become scalars, because everything that
      is forwarded to them is computed from scalars;
    - `read`: the operations on tensors of rank 0 that scalars are computed by.
    """

    def __init__(self, function: Operation) -> None:
        self._entry = function.regions[0].blocks.first
        self._sources = _sources_of(function)
        self.forwarded = self._computable()
        self.read: set[Operation] = set()
        for value in self.forwarded:
            for source in self._sources[value]:
                self._demand(source)
        for operation in walk(function):
            if operation.name == "tensor.extract":
                self._demand(operation.operands[0])

    def _computable(self) -> frozenset[SSAValue]:
        """Assume that all forwarded tensors are scalars; remove wrong ones until none is left."""
        found = {value for value in self._sources if _is_rank_0(value)}
        while True:
            known: dict[SSAValue, bool] = dict.fromkeys(found, True)
            wrong = {
                value
                for value in found
                if not all(self._is_scalar(source, known) for source in self._sources[value])
            }
            if not wrong:
                return frozenset(found)
            found -= wrong

    def _is_scalar(self, value: SSAValue, known: dict[SSAValue, bool]) -> bool:
        """Return whether a value is computed from scalars alone; `known` is extended."""
        pending = [value]
        while pending:
            each = pending[-1]
            if each in known:
                pending.pop()
                continue
            operands = self._operands(each)
            if operands is None:
                known[pending.pop()] = False
                continue
            unknown = [operand for operand in operands if operand not in known]
            pending += unknown
            if not unknown:
                known[pending.pop()] = all(known[operand] for operand in operands)
        return known[value]

    def _operands(self, value: SSAValue) -> Sequence[SSAValue] | None:
        """Return what a scalar is computed from, `None` if it is not computed from scalars."""
        if not _is_rank_0(value):
            return None
        if isinstance(value, BlockArgument):
            return () if value.block is self._entry else None
        maker = maker_of(value)
        if maker.name in ("arith.constant", "tensor.from_elements") or _one_element(value):
            return ()
        if _is_small_reduction(maker):
            return ()
        return _read_tensors(maker)

    def _demand(self, value: SSAValue) -> None:
        pending = [value]
        while pending:
            each = pending.pop()
            if isinstance(each, BlockArgument) or not _is_rank_0(each):
                continue
            maker = maker_of(each)
            operands = _read_tensors(maker)
            if operands is not None and maker not in self.read:
                self.read.add(maker)
                pending += operands


def _sources_of(function: Operation) -> dict[SSAValue, list[SSAValue]]:
    """Return what is forwarded to each argument and result of the structures of a function."""
    sources: dict[SSAValue, list[SSAValue]] = {}
    for operation in walk(function):
        for first, inputs in _forwards(operation):
            for value, target in zip(operation.operands[first:], inputs, strict=False):
                sources.setdefault(target, []).append(value)
    return sources


def _forwards(operation: Operation) -> Iterator[tuple[int, Sequence[SSAValue]]]:
    """Yield what a structure, or a terminator of its regions, forwards."""
    parent = operation.parent_op()
    is_end = parent is not None and parent.name in CONTROL_FLOW and operation.next_op is None
    if operation.name in CONTROL_FLOW or is_end:
        yield from forwards(operation)


def _read_tensors(operation: Operation) -> Sequence[SSAValue] | None:
    """Return the tensors of rank 0 that scalar code reads, `None` if an operation is none."""
    if not operation.results or not all(map(_is_rank_0, operation.results)):
        return None
    if _is_elementwise(operation):
        return operation.operands
    view = structured_view(operation)
    if view is None or view.iterators or captured(operation):
        return None
    steps = [each for each in view.body.ops if each is not view.body.last_op]
    if not all(each.name.startswith(("arith.", "math.")) for each in steps):
        return None
    read = [each for each, _ in _read_operands(view) if isinstance(each.type, TensorType)]
    return read if all(map(_is_rank_0, read)) else None


def _is_small_reduction(operation: Operation) -> bool:
    """Return whether a kernel combines few elements: then the result is read as fast as written.

    A loop that computes little more may become a kernel, if it carries no tensors of rank 0.
    """
    view = structured_view(operation)
    if view is None or not view.reduction_loops:
        return False
    points = view.points()
    return points is not None and points <= FEW_TERMS


def _one_element(tensor: SSAValue) -> Operation | None:
    """Return the slice of one element that a tensor of rank 0 is, `None` for other tensors."""
    reshape = made_by(tensor, "tensor.collapse_shape")
    slice_ = made_by(tensor if reshape is None else reshape.operands[0], "tensor.extract_slice")
    return slice_ if slice_ is not None and _is_one_element(slice_) else None


def _is_one_element(slice_: Operation) -> bool:
    return all(size == 1 for size in integers(slice_, "static_sizes"))


def _indices(slice_: Operation, builder: Builder) -> list[SSAValue]:
    """Emit the indices of a slice of one element; return them."""
    offsets = operand_groups(slice_, slice_.operands)[-3]
    return [
        builder.insert(ConstantOp(IntegerAttr(each, INDEX))).result
        if isinstance(each, int)
        else each
        for each in mixed_list(integers(slice_, "static_offsets"), offsets)
    ]


def _is_carried(tensor: SSAValue) -> bool:
    """Return whether a loop carries a tensor, of which elements may have been inserted before."""
    while insert := made_by(tensor, "tensor.insert"):
        tensor = insert.operands[1]
    return isinstance(tensor, BlockArgument) and maker_of(tensor).name in ("scf.for", "scf.while")


def _is_elementwise(operation: Operation) -> bool:
    return (
        operation.name.startswith(("arith.", "math."))
        and operation.name != "arith.constant"
        and not operation.regions
        and all(map(_is_rank_0, operation.operands))
    )


def _read_operands(view: StructuredView) -> list[tuple[SSAValue, SSAValue]]:
    """Return the operands that a body reads, each with the body's argument."""
    operands = (*view.inputs, *view.outputs)
    pairs = zip(operands, view.body.args, strict=False)
    return [(operand, argument) for operand, argument in pairs if argument.uses]


def _drop_unit_dimensions(operation: Operation) -> None:
    """Read a slice without the dimensions that are removed from it, write one without those added.

        %s = tensor.extract_slice %x[%i, 0] [1, 64] [1, 1] : tensor<8x64xf32> to tensor<1x64xf32>
        %r = tensor.collapse_shape %s [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>

    become a slice `to tensor<64xf32>`.
    """
    if operation.name == "tensor.insert_slice":
        reshape, slice_ = made_by(operation.operands[0], "tensor.expand_shape"), operation
        if reshape is None or not _is_part(slice_, reshape.operands[0]):
            return
        operation.operands[0] = reshape.operands[0]
        erase_if_unused(reshape)
    else:
        slice_ = made_by(operation.operands[0], "tensor.extract_slice")
        if slice_ is None or not _is_part(slice_, operation.results[0]):
            return
        made = rebuilt(slice_, slice_.operands, operation.result_types)
        replace_by(operation, made)
        erase_if_unused(slice_)


def _is_part(slice_: Operation, part: SSAValue) -> bool:
    """Return whether a static tensor is a slice but for dimensions of size 1."""
    tensor = ranked(part)
    if tensor is None:
        return False
    sizes, shape = integers(slice_, "static_sizes"), tensor.get_shape()
    return min((*sizes, *shape), default=0) >= 0 and kept_dimensions(sizes, shape) is not None


# Rewriting ------------------------------------------------------------------------------------


def _forward_scalars(operation: Operation, scalars: _Scalars) -> None:
    """Let a structure forward scalars; they are extracted before it, and tensors rebuilt after."""
    ends = [block.last_op for region in operation.regions for block in region.blocks]
    for each in (operation, *(end for end in ends if end is not None)):
        places = {
            first + position
            for first, inputs in _forwards(each)
            for position, target in enumerate(inputs)
            if target in scalars.forwarded
        }
        for place in places:
            extract = _extract(each.operands[place])
            each.operands[place] = builder_before(each).insert(extract).result
    for region in operation.regions:
        for block in region.blocks:
            for argument in tuple(block.args):
                if argument in scalars.forwarded:
                    _replace_argument(block, argument)
    if any(result in scalars.forwarded for result in operation.results):
        _replace_results(operation, scalars)


def _extract(value: SSAValue) -> ExtractOp:
    return ExtractOp(value, (), element_type(value.type))


def _replace_argument(block: Block, argument: BlockArgument) -> None:
    scalar = block.insert_arg(element_type(argument.type), argument.index)
    scalar.name_hint = argument.name_hint
    tensor = FromElementsOp.build(operands=[[scalar]], result_types=[argument.type])
    Builder(InsertPoint.at_start(block)).insert(tensor)
    argument.replace_all_uses_with(tensor.results[0])
    block.erase_arg(argument)


def _replace_results(operation: Operation, scalars: _Scalars) -> None:
    types = [
        element_type(result.type) if result in scalars.forwarded else result.type
        for result in operation.results
    ]
    regions = detach_regions(operation)
    made = rebuilt(operation, operation.operands, types, regions=regions)
    builder = builder_before(operation)
    builder.insert(made)
    replacements: list[SSAValue] = []
    for old, new in zip(operation.results, made.results, strict=True):
        new.name_hint = old.name_hint
        if new.type == old.type:
            replacements.append(new)
        else:
            tensor = FromElementsOp.build(operands=[[new]], result_types=[old.type])
            replacements.append(builder.insert(tensor).results[0])
    Rewriter.replace_op(operation, [], replacements)


class _Computation:
    """Computes scalars where tensors of rank 0 were computed, in the order of the program."""

    def __init__(self, function: Operation, scalars: _Scalars) -> None:
        self._function = function
        self._read = scalars.read
        self._known: dict[SSAValue, SSAValue] = {}

    def run(self) -> None:
        """Rewrite the function."""
        for operation in tuple(walk(self._function)):
            if operation in self._read:
                self._compute(operation)
            elif operation.name == "tensor.from_elements" and _is_rank_0(operation.results[0]):
                self._known[operation.results[0]] = operation.operands[0]
            elif operation.name == "tensor.extract" and _is_rank_0(operation.operands[0]):
                found = self._scalar(operation.operands[0], operation)
                if found is not operation.results[0]:
                    Rewriter.replace_op(operation, [], [found])
            elif operation.name == "tensor.insert_slice" and _is_carried(operation.operands[1]):
                self._insert(operation)

    def _compute(self, operation: Operation) -> None:
        builder = builder_before(operation)
        view = structured_view(operation)
        values: dict[SSAValue, SSAValue] = {}
        if view is None:
            operands = [self._scalar(each, operation) for each in operation.operands]
            types = [element_type(each.type) for each in operation.results]
            results: Sequence[SSAValue] = builder.insert(
                rebuilt(operation, operands, types)
            ).results
        else:
            for operand, argument in _read_operands(view):
                is_tensor = isinstance(operand.type, TensorType)
                values[argument] = self._scalar(operand, operation) if is_tensor else operand
            *steps, last = view.body.ops
            for step in steps:
                builder.insert(step.clone(values))
            results = [values.get(each, each) for each in last.operands]
        tensors: list[SSAValue] = []
        for scalar, old in zip(results, operation.results, strict=True):
            made = FromElementsOp.build(operands=[[scalar]], result_types=[old.type])
            tensors.append(builder.insert(made).results[0])
            self._known[tensors[-1]] = scalar
        Rewriter.replace_op(operation, [], tensors)

    def _insert(self, operation: Operation) -> None:
        """Insert an element of a carried tensor instead of a slice of one element."""
        source, target = operation.operands[:2]
        fill, reshape = made_by(source, "linalg.fill"), made_by(source, "tensor.expand_shape")
        scalar = None if reshape is None else self._known.get(reshape.operands[0])
        if fill is not None:
            scalar = fill.operands[0]
        if scalar is None or not _is_one_element(operation):
            return
        indices = _indices(operation, builder_before(operation))
        Rewriter.replace_op(operation, InsertOp(scalar, target, indices))

    def _scalar(self, tensor: SSAValue, reader: Operation) -> SSAValue:
        """Return the element of a tensor; an unknown one is read where the tensor is defined."""
        if tensor not in self._known:
            builder = located_builder(point_after(tensor), reader)
            slice_ = _one_element(tensor)
            made = _scalar_constant(tensor)
            if made is None and slice_ is not None:
                indices = _indices(slice_, builder)
                made = ExtractOp(slice_.operands[0], indices, element_type(tensor.type))
            made = made or _extract(tensor)
            builder.insert(made)
            self._known[tensor] = made.results[0]
        return self._known[tensor]


def _scalar_constant(tensor: SSAValue) -> Operation | None:
    maker = tensor.owner
    if isinstance(maker, Block) or maker.name != "arith.constant":
        return None
    value = attribute(maker, "value")
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    elements = cast("DenseIntOrFPElementsAttr[Any]", value)
    return ConstantOp(elements.get_attrs()[0])
