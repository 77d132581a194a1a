"""Pack the constants of a region into host buffers, and upload them to the device.

`stream.resource.constants` becomes ranges of one resource, or of several where one would be too
large. If nothing writes to the constants and the device can map the host buffer, the resource is
the buffer itself (`stream.resource.try_map`). Otherwise a resource is allocated, and the buffer is
read into it like a file. Parameters are loaded, or gathered into a resource that can be written to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from typing import cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    VectorType,
    i1,
    i8,
    i64,
)
from xdsl.dialects.scf import IfOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.stream.parameters import PARAMETER_OPS
from ...dialects.stream.regions import joined
from ...dialects.stream.resources import (
    FileConstantOp,
    FileReadOp,
    ResourceAllocOp,
    ResourceSubviewOp,
    ResourceTryMapOp,
)
from ...dialects.stream.storage import ResourceConstantsOp
from ...dialects.stream.types import TIMEPOINT, FileType, NamedParameter, lifetime_of
from ...dialects.util.dialect import BufferConstantOp, CompositeAttr
from ...dialects.util.types import BufferType
from ...ir.diagnostics import OperationError
from ...ir.host_programs import host_operations_of
from ...ir.index import constant_index, known
from ...ir.index_lists import INDEX
from ...ir.locations import builder_before, located_builder
from ...ir.slice_packing import aligned
from ...ir.tensor_types import element_named
from ..manager.module_pass import module_pass
from .analysis.resource_limits import resource_limits
from .conversion.stored_tensors import PlacedBuilder


@module_pass("iree-stream-pack-constants")
def pack_constants(module: ModuleOp) -> None:
    """Pack constants into buffers of the host, and upload them to their devices."""
    for operation in host_operations_of(module, ResourceConstantsOp):
        ConstantPacker(operation).replace()


@dataclass(frozen=True, slots=True)
class Constant:
    """One of the constants of an operation.

    `size` is its size in bytes as a value, `length` the same as a number, and `room` is this number
    rounded up to the alignment of constants.
    """

    result: SSAValue
    size: SSAValue
    length: int
    room: int
    value: Attribute


class ConstantPacker:
    """Builds the buffers, resources and parameter loads for the constants of one operation."""

    def __init__(self, operation: Operation) -> None:
        self._operation = operation
        self._builder = builder_before(operation)
        self._here = PlacedBuilder(self._builder, operation.properties.get("affinity"))
        self._limits = resource_limits(operation)

    def replace(self) -> None:
        """Replace the operation.

        Raises OperationError if the size or the bytes of a constant are not known, or if its bytes
        do not fit.
        """
        *results, done = self._operation.results
        values = cast("ArrayAttr[Attribute]", self._operation.properties["values"])
        all_constants: list[Constant] = []
        for result, size, value in zip(results, self._operation.operands, values, strict=True):
            length = _known_size(self._operation, size)
            room = aligned(length, self._limits.alignment)
            all_constants.append(Constant(result, size, length, room, value))
        known = [c for c in all_constants if not isinstance(c.value, NamedParameter)]
        ready = [self._pack(chunk) for chunk in self._chunks(known)]
        scopes: dict[Attribute, list[Constant]] = {}
        for constant in all_constants:
            if isinstance(constant.value, NamedParameter):
                scopes.setdefault(constant.value.scope, []).append(constant)
        for parameters in scopes.values():
            writable = any(_is_written(constant) for constant in parameters)
            for chunk in self._chunks(parameters) if writable else (parameters,):
                ready.append(self._gather(chunk) if writable else self._load(chunk))
        done.replace_all_uses_with(joined(ready, self._builder))
        Rewriter.erase_op(self._operation)

    def _chunks(self, constants: Sequence[Constant]) -> Iterator[list[Constant]]:
        """Yield the constants of each resource, as many as fit into its largest size."""
        largest = self._limits.largest
        chunk: list[Constant] = []
        total = 0
        for constant in constants:
            total += constant.room
            if chunk and largest is not None and total > largest:
                yield chunk
                chunk, total = [], constant.room
            chunk.append(constant)
        if chunk:
            yield chunk

    def _offsets(self, constants: Sequence[Constant]) -> list[SSAValue]:
        starts = accumulate((constant.room for constant in constants[:-1]), initial=0)
        return [constant_index(start, self._builder) for start in starts]

    def _pack(self, constants: Sequence[Constant]) -> SSAValue:
        """Upload constants of the program; return the timepoint when they are available."""
        value = _composite(self._operation, constants)
        alignment = IntegerAttr(self._limits.alignment, INDEX)
        start = joined((), self._builder)
        buffer = self._builder.insert(
            BufferConstantOp.build(
                result_types=[BufferType()],
                properties={"value": value, "alignment": alignment},
            )
        ).results[0]
        total = constant_index(_total(constants), self._builder)
        type_ = constants[0].result.type
        if any(map(_is_written, constants)):
            resource, ready = _read(buffer, total, type_, start, self._here)
        else:
            resource, ready = self._map(buffer, total, type_, start)
        self._part(resource, total, constants, self._offsets(constants))
        return ready

    def _part(
        self,
        resource: SSAValue,
        total: SSAValue,
        constants: Sequence[Constant],
        offsets: Sequence[SSAValue],
    ) -> None:
        """Replace constants by ranges of a resource."""
        for constant, offset in zip(constants, offsets, strict=True):
            part = ResourceSubviewOp.build(
                operands=[resource, total, offset, constant.size],
                result_types=[constant.result.type],
            )
            constant.result.replace_all_uses_with(self._builder.insert(part).results[0])

    def _map(
        self, buffer: SSAValue, total: SSAValue, type_: Attribute, start: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """Emit the mapped buffer, or a resource it is read into; return it with its timepoint."""
        operands = [buffer, constant_index(0, self._builder), total]
        did_map, mapped = self._here.add(ResourceTryMapOp, operands, [i1, type_]).results
        then, otherwise = Block([YieldOp(start, mapped)]), Block()
        inner = located_builder(InsertPoint.at_end(otherwise), self._operation)
        resource, timepoint = _read(buffer, total, type_, start, replace(self._here, builder=inner))
        inner.insert(YieldOp(timepoint, resource))
        choice = IfOp(did_map, [TIMEPOINT, type_], [then], [otherwise])
        ready, resource = self._builder.insert(choice).results
        return resource, ready

    def _load(self, constants: Sequence[Constant]) -> SSAValue:
        """Load parameters of one scope; return the timepoint when they are available."""
        sizes = [constant.size for constant in constants]
        types = [[constant.result.type for constant in constants], TIMEPOINT]
        *loaded, ready = self._parameters("load", constants, [sizes, []], types)
        for constant, resource in zip(constants, loaded, strict=True):
            constant.result.replace_all_uses_with(resource)
        return ready

    def _gather(self, constants: Sequence[Constant]) -> SSAValue:
        """Gather parameters of one scope into a writable resource; return the timepoint."""
        total = constant_index(_total(constants), self._builder)
        resource = _allocate(total, constants[0].result.type, self._here)
        offsets, sizes = self._offsets(constants), [constant.size for constant in constants]
        operands = [resource, total, offsets, sizes, []]
        (ready,) = self._parameters("gather", constants, operands, [TIMEPOINT])
        self._part(resource, total, constants, offsets)
        return ready

    def _parameters(
        self,
        kind: str,
        constants: Sequence[Constant],
        operands: Sequence[SSAValue | Sequence[SSAValue]],
        results: Sequence[Attribute | Sequence[Attribute]],
    ) -> Sequence[SSAValue]:
        """Emit an operation on parameters of one scope; return its results."""
        parameters = [cast(NamedParameter, constant.value) for constant in constants]
        scope = parameters[0].scope
        scopes = [self._host(scope)] if isinstance(scope, StringAttr) else []
        keys = [self._host(parameter.key) for parameter in parameters]
        offsets = [self._builder.insert(ConstantOp(_offset(p))).result for p in parameters]
        op_class = PARAMETER_OPS[f"stream.cmd.parameter.{kind}"]
        return self._here.add(op_class, [scopes, keys, offsets, *operands], results).results

    def _host(self, text: StringAttr) -> SSAValue:
        """Emit a text in host memory."""
        buffer = BufferConstantOp.build(result_types=[BufferType()], properties={"value": text})
        return self._builder.insert(buffer).results[0]


def _read(
    buffer: SSAValue, total: SSAValue, type_: Attribute, start: SSAValue, here: PlacedBuilder
) -> tuple[SSAValue, SSAValue]:
    """Allocate a resource and read a buffer into it; return it with its timepoint."""
    resource = _allocate(total, type_, here)
    zero = constant_index(0, here.builder)
    first = here.builder.insert(ConstantOp(IntegerAttr(0, i64))).result
    file = here.make(FileConstantOp, [buffer, total, zero, total], FileType())
    operands = [file, first, resource, total, zero, total, [start]]
    return resource, here.make(FileReadOp, operands, TIMEPOINT)


def _allocate(size: SSAValue, type_: Attribute, here: PlacedBuilder) -> SSAValue:
    return here.make(ResourceAllocOp, [size], type_, uninitialized=UnitAttr())


def _is_written(constant: Constant) -> bool:
    """Return whether a constant may be written: a variable only starts with its contents."""
    return lifetime_of(constant.result.type) != "constant"


def _offset(parameter: NamedParameter) -> IntegerAttr:
    """Return the byte offset of a parameter in its file entry."""
    config = parameter.config
    offset = config.data.get("offset") if isinstance(config, DictionaryAttr) else None
    return IntegerAttr(offset.value.data if isinstance(offset, IntegerAttr) else 0, i64)


def _known_size(operation: Operation, size: SSAValue) -> int:
    number = known(size)
    if not isinstance(number, int):
        raise OperationError(operation, "stores a constant in a resource of unknown size")
    return number


def _total(constants: Sequence[Constant]) -> int:
    return sum(constant.room for constant in constants)


def _composite(operation: Operation, constants: Sequence[Constant]) -> CompositeAttr:
    """Return the constants in sequence, each padded with zeros to the alignment."""
    parts: list[Attribute] = []
    for constant in constants:
        parts.append(constant.value)
        stored = _stored_bytes(operation, constant.value)
        if stored > constant.length:
            raise OperationError(
                operation, f"stores a constant of {stored} bytes in a resource of {constant.length}"
            )
        if padding := constant.room - stored:
            type_ = VectorType(i8, [padding])
            parts.append(DenseIntOrFPElementsAttr.from_list(type_, [0]))
    return CompositeAttr(VectorType(i8, [_total(constants)]), ArrayAttr(parts))


def _stored_bytes(operation: Operation, value: Attribute) -> int:
    """Return the size in bytes of constant contents."""
    type_ = getattr(value, "type", None)
    if not isinstance(type_, TensorType | VectorType):
        raise OperationError(operation, f"stores {value}, whose size in bytes is unknown")
    tensor = cast("TensorType[Attribute]", type_)
    bits = element_named(tensor.element_type).storage_bits
    return -(-prod(tensor.get_shape()) * bits // 8)
