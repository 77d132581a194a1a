"""Replace tensors by bytes in host programs: sizes become arithmetic, tensor operations async ones.

If a device may be one of several targets, a tensor gets the largest of their sizes. Static sizes
become constants. Operations that access elements by position need tensors in row-major order.
`stream.tensor.import`, `export`, `encode` and `trace` stay, with sizes in bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.iree_encoding.interfaces import (
    Tensor,
    is_row_major,
    storage_formulas,
    tensor_encoding,
)
from ...dialects.iree_encoding.layouts import is_bit_packed, stored_bits
from ...dialects.stream.async_ops import (
    AsyncAllocaOp,
    AsyncCloneOp,
    AsyncConstantOp,
    AsyncDispatchOp,
    AsyncFillOp,
    AsyncSliceOp,
    AsyncSplatOp,
    AsyncUpdateOp,
)
from ...dialects.stream.parameters import PARAMETER_OPS, parameter_operands
from ...dialects.stream.regions import awaited
from ...dialects.stream.tensor_ops import (
    TensorCloneOp,
    TensorConstantOp,
    TensorDispatchOp,
    TensorFillOp,
    TensorLoadOp,
    TensorSizeOfOp,
    TensorSliceOp,
    TensorSplatOp,
    TensorStoreOp,
    TensorUpdateOp,
)
from ...dialects.stream.types import TIMEPOINT
from ...ir.diagnostics import OperationError
from ...ir.garbage_collection import without_garbage_collection
from ...ir.host_programs import host_operations
from ...ir.index import (
    BuilderIndices,
    IndexList,
    IndexOrInt,
    emit_largest,
    emit_size,
    is_contiguous,
    is_multiple,
    known,
    reaches_end,
)
from ...ir.rules import Rules
from ...ir.syntax.assembly_format import values
from ...ir.tensor_types import require_ranked, shape_of
from ..manager.module_pass import module_pass
from .analysis.integer_facts import KnownIntegers
from .analysis.storage import is_resource
from .stored_elements import Elements, packed_constant, pattern, stored_constant


@module_pass("iree-stream-encode-host-tensors")
def encode_host_tensors(module: ModuleOp) -> None:
    """Turn tensor sizes and tensor operations of the host into bytes."""
    with without_garbage_collection():
        operations = tuple(host_operations(module))
        for operation in operations:
            if isinstance(operation, TensorDispatchOp):
                _verify_resolved(operation)
        encode_operations(operations)


def _verify_resolved(dispatch: TensorDispatchOp) -> None:
    """Raise OperationError if a dispatch has a tensor whose layout is open."""
    for type_ in (*dispatch.operand_encodings, *dispatch.result_encodings):
        encoding = tensor_encoding(type_)
        if encoding is not None and encoding.is_open:
            raise OperationError(dispatch, f"the layout of {type_} is not resolved")


def encode_operations(operations: Sequence[Operation]) -> None:
    """Replace those operations that work on tensors by operations on bytes.

    Raises OperationError, and leaves the program unchanged, if one of them cannot be replaced.
    """
    replacements = Replacements()
    try:
        for operation in operations:
            if (rule := lowering.get(operation.name)) is not None:
                replacements.add(operation, rule)
    except OperationError:
        replacements.undo()
        raise
    replacements.apply()


class Replacements:
    """The replacements of operations.

    They are inserted beside the originals, which are only erased when all replacements have been
    made, so that an error leaves the program unchanged.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        """The operations that replace others."""
        self.values: dict[SSAValue, SSAValue] = {}
        """For each replaced value, the value that replaces it."""
        self.constants = defaultdict[Block, dict[int, SSAValue]](dict)
        """For each block, the index constants that replacements use."""
        self.integers = KnownIntegers()
        self._results: dict[Operation, Sequence[SSAValue]] = {}

    def add(self, operation: Operation, rule: Rule) -> None:
        """Build the replacement of an operation. Raises OperationError if there is none."""
        builder = HostBuilder(operation, self)
        first = len(self.operations)
        try:
            results = rule(operation, builder)
        except ValueError as error:
            # An unresolved encoding, a size that overflows, or an unknown element type.
            raise OperationError(operation, str(error)) from error
        for new in self.operations[first:]:
            new.location = operation.location
        # The result may be that of an earlier load, which is replaced as well.
        results = [self.values.get(result, result) for result in results]
        self._results[operation] = results
        self.values.update(zip(operation.results, results, strict=True))

    def undo(self) -> None:
        for operation in reversed(self.operations):
            Rewriter.erase_op(operation)

    def apply(self) -> None:
        for operation, results in self._results.items():
            Rewriter.replace_op(operation, [], results)


class HostBuilder(Builder):
    """Builds the replacement of one operation."""

    def __init__(self, operation: Operation, replacements: Replacements) -> None:
        point = InsertPoint.before(operation)
        super().__init__(point, operation_insertion_handler=[replacements.operations.append])
        self._operation = operation
        self._replacements = replacements
        self.indices = BuilderIndices(self, replacements.constants[point.block])

    def known(self, value: SSAValue) -> IndexOrInt:
        """Return the constant that a value is or is replaced by, else the value."""
        amount = known(self._replacements.values.get(value, value))
        return amount if isinstance(amount, int) else value

    def divisor(self, index: IndexOrInt) -> int:
        """Return a number that is known to divide an index; 0 if the index is 0."""
        is_value = isinstance(index, SSAValue)
        return self._replacements.integers.facts(index).divisor if is_value else index

    def on_bytes(
        self, op_class: type[IRDLOperation], *operands: IndexOrInt | None, **properties: Attribute
    ) -> Results:
        """Insert an operation on bytes with the results and affinity of the one on tensors.

        `None` is an optional operand that is not there.
        """
        new = op_class.build(
            operands=[
                None if operand is None else self.indices.index(operand) for operand in operands
            ],
            result_types=self._operation.result_types,
            properties={"affinity": self._operation.properties.get("affinity"), **properties},
        )
        return self.insert(new).results

    # Sizes and ranges

    def storage_size(self, tensor: Tensor, dims: Sequence[SSAValue]) -> SSAValue:
        """Emit the size in bytes of a tensor: the largest that any of its targets needs.

        Raises ValueError if the encoding is not resolved.
        """
        formulas = storage_formulas(tensor)
        if all(formula.is_static for formula in formulas):
            return self.indices.index(max(formula.evaluate() for formula in formulas))
        has_layout = tensor_encoding(tensor) is not None
        sizes = [emit_size(formula, dims, self, has_layout=has_layout) for formula in formulas]
        return emit_largest(sizes, self)

    def sizes_of(self, tensor: Tensor, dims: Sequence[SSAValue]) -> list[IndexOrInt]:
        """Return all sizes of a tensor, given those of its dynamic dimensions."""
        rest = iter(dims)
        return [self.known(next(rest)) if size is None else size for size in shape_of(tensor)]

    def position_of(
        self, tensor: Tensor, dims: Sequence[SSAValue], indices: Sequence[SSAValue]
    ) -> IndexOrInt:
        """Return the linear index in a row-major tensor of the element at `indices`."""
        return self.indices.linear(list(map(self.known, indices)), self.sizes_of(tensor, dims))

    def run_of_bytes(
        self,
        operation: TensorFillOp | TensorSliceOp | TensorUpdateOp,
        tensor: Tensor,
        dims: Sequence[SSAValue],
        lengths: IndexList,
    ) -> tuple[IndexOrInt, IndexOrInt]:
        """Return the offset and the length in bytes of the slice that an operation accesses.

        Raises OperationError unless the slice is contiguous and begins with a whole byte. If it is
        written, it must also end with a whole byte; if it is read, its last byte may contain
        further elements.
        """
        sizes = self.sizes_of(tensor, dims)
        if len(lengths) != len(sizes) or not is_contiguous(lengths, sizes):
            raise OperationError(
                operation, f"accesses a slice of {tensor} that may not be contiguous"
            )
        first = [self.known(start) for start in operation.start_indices]
        bits = stored_bits(tensor)
        in_byte = max(8 // bits, 1)
        begins = is_multiple(first, sizes, in_byte, self.divisor)
        ends = (
            isinstance(operation, TensorSliceOp)
            or prod(map(self.divisor, lengths)) % in_byte == 0
            or reaches_end(first, lengths, sizes)
        )
        if not begins or not ends:
            raise OperationError(
                operation,
                f"accesses a slice of {tensor} that may not {'end' if begins else 'begin'} at a "
                f"byte boundary: {in_byte} elements share a byte, and only kernels can access them "
                "separately",
            )
        elements = reduce(self.indices.multiply, lengths, 1)
        position = self.indices.linear(first, sizes)
        return (
            self.indices.bytes_of(position, bits, round_up=False),
            self.indices.bytes_of(elements, bits, round_up=True),
        )


def plain_tensor(operation: Operation, type_: Attribute) -> Tensor:
    """Return a tensor type in row-major order. Raises OperationError for any other layout."""
    tensor = require_ranked(operation, type_)
    if not is_row_major(tensor):
        raise OperationError(
            operation, f"cannot address single elements of a tensor with encoding {tensor.encoding}"
        )
    return tensor


def _row_major_parts(operation: Operation, whole: Attribute, part: Attribute) -> Tensor:
    """Return the type of a tensor of which another one is a part, both in row-major order.

    Elements of both, or of neither, are stored without gaps. Raises OperationError otherwise.
    """
    tensors = require_ranked(operation, whole), require_ranked(operation, part)
    if all(map(is_bit_packed, tensors)):
        return tensors[0]
    plain_tensor(operation, part)
    return plain_tensor(operation, whole)


def elements_of(operation: Operation, tensor: Tensor) -> Elements:
    """Return how the elements of a tensor are stored.

    Raises OperationError if its layouts differ in the number of bits.
    """
    bits = {formula.element_bits for formula in storage_formulas(tensor)}
    if len(bits) > 1:
        raise OperationError(
            operation,
            f"writes elements of {tensor}, whose layouts have elements of different bit widths",
        )
    return Elements(tensor.element_type, bits.pop())


# Operations

Results = Sequence[SSAValue]
Rule = Callable[[Any, HostBuilder], Results]

lowering = Rules[Rule]()
"""Rules that replace tensor operations by operations on bytes, by name."""


@lowering("stream.tensor.sizeof")
def _size_of(op: TensorSizeOfOp, builder: HostBuilder) -> Results:
    return [builder.storage_size(require_ranked(op, op.encoding), op.encoding_dims)]


@lowering("stream.tensor.empty")
def _empty(op: Operation, builder: HostBuilder) -> Results:
    return builder.on_bytes(AsyncAllocaOp, op.operands[-1])


@lowering("stream.tensor.constant")
def _constant(op: TensorConstantOp, builder: HostBuilder) -> Results:
    tensor = require_ranked(op, op.result_encoding)
    if is_bit_packed(tensor):
        value = packed_constant(op, op.value, tensor)
    else:
        value = stored_constant(op.value)
        plain_tensor(op, tensor)
    size = builder.storage_size(tensor, op.result_encoding_dims)
    return builder.on_bytes(AsyncConstantOp, None, size, value=value)


@lowering("stream.tensor.parameter.load")
def _load_parameter(op: Operation, builder: HostBuilder) -> Results:
    tensor = require_ranked(op, op.properties["result_encoding"])
    size = builder.storage_size(tensor, values(op, "result_encoding_dims"))
    return _on_parameter(op, [(), *parameter_operands(op, "source"), size], size, builder)


@lowering("stream.tensor.parameter.write")
def _write_parameter(op: Operation, builder: HostBuilder) -> Results:
    storage_formulas(require_ranked(op, op.properties["source_encoding"]))  # is resolved
    (source,), (size,) = values(op, "source"), values(op, "source_size")
    whole = [source, size, builder.indices.index(0), size, size]
    return _on_parameter(op, [*whole, *parameter_operands(op, "target"), ()], size, builder)


def _on_parameter(
    operation: Operation,
    operands: Sequence[SSAValue | Sequence[SSAValue]],
    size: SSAValue,
    builder: HostBuilder,
) -> Results:
    """Insert an operation on the bytes of a parameter, and wait for it."""
    op_class = PARAMETER_OPS[operation.name.replace("tensor", "async")]
    type_ = operation.results[0].type
    properties = {"affinity": operation.properties.get("affinity")}
    new = op_class.build(operands=operands, result_types=[type_, TIMEPOINT], properties=properties)
    resource, timepoint = builder.insert(new).results
    return [awaited(resource, size, timepoint, builder)]


@lowering("stream.tensor.splat")
def _splat(op: TensorSplatOp, builder: HostBuilder) -> Results:
    elements = elements_of(op, require_ranked(op, op.result_encoding))
    value = pattern(op.value, elements.stored_bits, op, builder)
    return builder.on_bytes(AsyncSplatOp, None, value, op.result_size)


@lowering("stream.tensor.clone")
def _clone(op: TensorCloneOp, builder: HostBuilder) -> Results:
    """A copy; none where the bytes stay where they are, since operations do not change operands."""
    owner = op.source.owner
    affinity = owner.properties.get("affinity") if isinstance(owner, Operation) else None
    if op.source.type == op.result.type and op.affinity in (None, affinity):
        return (op.source,)
    return builder.on_bytes(AsyncCloneOp, op.source, op.source_size, op.result_size)


@lowering("stream.tensor.slice")
def _slice(op: TensorSliceOp, builder: HostBuilder) -> Results:
    tensor = _row_major_parts(op, op.source_encoding, op.result_encoding)
    lengths = list(map(builder.known, op.lengths))
    start, _ = builder.run_of_bytes(op, tensor, op.source_encoding_dims, lengths)
    end = builder.indices.add(start, builder.known(op.result_size))
    return builder.on_bytes(AsyncSliceOp, op.source, op.source_size, start, end, op.result_size)


@lowering("stream.tensor.fill")
def _fill(op: TensorFillOp, builder: HostBuilder) -> Results:
    tensor = require_ranked(op, op.target_encoding)
    start, length = 0, builder.known(op.target_size)
    if op.lengths:
        lengths, dims = list(map(builder.known, op.lengths)), op.target_encoding_dims
        start, length = builder.run_of_bytes(op, plain_tensor(op, tensor), dims, lengths)
    index = builder.indices.index
    range_ = index(start), index(builder.indices.add(start, length)), index(length)
    value = pattern(op.value, elements_of(op, tensor).stored_bits, op, builder)
    return builder.on_bytes(AsyncFillOp, op.target, op.target_size, *range_, value)


@lowering("stream.tensor.update")
def _update(op: TensorUpdateOp, builder: HostBuilder) -> Results:
    tensor = _row_major_parts(op, op.target_encoding, op.update_encoding)
    update = require_ranked(op, op.update_encoding)
    lengths = builder.sizes_of(update, op.update_encoding_dims)
    start, _ = builder.run_of_bytes(op, tensor, op.target_encoding_dims, lengths)
    end = builder.indices.add(start, builder.known(op.update_size))
    operands = (op.target, op.target_size, start, end, op.update, op.update_size)
    return builder.on_bytes(AsyncUpdateOp, *operands)


@lowering("stream.tensor.load")
def _load(op: TensorLoadOp, builder: HostBuilder) -> Results:
    tensor = plain_tensor(op, op.source_encoding)
    index = builder.position_of(tensor, op.source_encoding_dims, op.indices)
    return [elements_of(op, tensor).load(op, index, builder)]


@lowering("stream.tensor.store")
def _store(op: TensorStoreOp, builder: HostBuilder) -> Results:
    tensor = plain_tensor(op, op.target_encoding)
    index = builder.position_of(tensor, op.target_encoding_dims, op.indices)
    return [elements_of(op, tensor).store(op, index, builder)]


@lowering("stream.tensor.dispatch")
def _dispatch(op: TensorDispatchOp, builder: HostBuilder) -> Results:
    """Pass the whole range of each resource to the kernel."""
    operands, sizes = tuple(op.mixed_operands), tuple(op.operand_sizes)
    resources = sum(map(is_resource, operands))
    ranges = [builder.indices.index(0)] * resources, sizes, sizes
    new = AsyncDispatchOp.build(
        operands=[op.workload, operands, sizes, *ranges, op.result_sizes],
        result_types=[tuple(result.type for result in op.results_)],
        properties={
            "affinity": op.affinity,
            "entry_points": op.entry_points,
            "tied_operands": op.tied_operands,
        },
        attributes=op.attributes,
    )
    return builder.insert(new).results
