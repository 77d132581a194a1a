"""Convert `flow.dispatch` to `stream.tensor.dispatch`, and calls of external functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.stream.functions import AsyncCallOp, AsyncFuncOp
from ....dialects.stream.tensor_ops import TensorDispatchOp
from ....dialects.util.types import UnusedType
from ....ir.locations import replace_by
from ....ir.regions import detach_regions
from ....ir.syntax.assembly_format import values
from ....ir.syntax.resource_directives import UNTIED, sizes_by_type, ties_of
from ....ir.tensor_types import ranked, require_ranked
from .host import Host, conversion
from .stored_tensors import UNKNOWN, PlacedBuilder, StoredTensor

UNUSED = UnusedType()


@dataclass(frozen=True, slots=True)
class DispatchValue:
    """An operand or result of a dispatch or call."""

    value: SSAValue
    """The converted value; of a result, the original one."""
    encoding: Attribute
    """The tensor type, or `!util.unused` for a value that is not a tensor."""
    size: SSAValue | None = None
    """The size of a tensor in bytes, else `None`."""
    dims: tuple[SSAValue, ...] = ()


@conversion("flow.dispatch")
def _dispatch(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    for type_ in operation.result_types:
        require_ranked(operation, type_)
    operands = _operands(host, operation, here)
    results = _results(operation, operands, here)
    ties = ties_of(operation, len(operation.results))
    # An operand that the kernel writes to is passed once, with its original tensor type.
    written = [
        result if tie == UNTIED else operands[tie]
        for result, tie in zip(results, ties, strict=True)
    ]
    dispatch = here.add(
        TensorDispatchOp,
        [
            values(operation, "workload"),
            [operand.value for operand in operands],
            [operand.size for operand in operands if operand.size is not None],
            [size for operand in operands for size in operand.dims],
            [target.size for target in written if target.size is not None],
            [size for target in written for size in target.dims],
        ],
        [[UNKNOWN] * len(results)],
        entry_points=operation.properties["entry_points"],
        operand_encodings=ArrayAttr([operand.encoding for operand in operands]),
        result_encodings=ArrayAttr([target.encoding for target in written]),
        tied_operands=operation.properties.get("tied_operands"),
    )
    for new, result, target in zip(dispatch.results, results, written, strict=True):
        if target.size is not None:
            host.store(result.value, StoredTensor(new, target.size, result.dims))


@conversion("flow.call")
def _call(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    start = here.index(0)
    operands = _operands(host, operation, here)
    results = _results(operation, operands, here)
    sizes = [operand.size for operand in operands if operand.size is not None]
    call = here.add(
        AsyncCallOp,
        [
            [operand.value for operand in operands],
            *(sizes, [start] * len(sizes), sizes, sizes),
            [result.size for result in results if result.size is not None],
        ],
        [list(map(resource_type, operation.result_types))],
        **{k: v for k, v in operation.properties.items() if k != "operandSegmentSizes"},
    )
    for new, result in zip(call.results, results, strict=True):
        if result.size is None:
            result.value.replace_all_uses_with(new)
        else:
            host.store(result.value, StoredTensor(new, result.size, result.dims))


def resource_type(type_: Attribute) -> Attribute:
    """Return the type of a converted value outside of functions that this module defines."""
    return UNKNOWN if isinstance(type_, TensorType) else type_


def _operands(host: Host, operation: Operation, here: PlacedBuilder) -> list[DispatchValue]:
    arguments = values(operation, "arguments")
    types = [argument.type for argument in arguments]
    operands: list[DispatchValue] = []
    for value, dims in zip(
        arguments, sizes_by_type(types, values(operation, "argument_dims")), strict=True
    ):
        if (tensor := ranked(value)) is None:
            operands.append(DispatchValue(value, UNUSED))
        else:
            stored = host.transferred(value, operation, here)
            operands.append(DispatchValue(stored.resource, tensor, stored.size, dims))
    return operands


def _results(
    operation: Operation, operands: list[DispatchValue], here: PlacedBuilder
) -> list[DispatchValue]:
    """Return the results; one that is tied to an operand has its size."""
    listed = sizes_by_type(operation.result_types, values(operation, "result_dims"))
    results: list[DispatchValue] = []
    ties = ties_of(operation, len(operation.results))
    for result, dims, tie in zip(operation.results, listed, ties, strict=True):
        if (tensor := ranked(result)) is None:
            results.append(DispatchValue(result, UNUSED))
            continue
        tied = None if tie == UNTIED else operands[tie].size
        size = here.size_of(tensor, dims) if tied is None else tied
        results.append(DispatchValue(result, tensor, size, dims))
    return results


def convert_declarations(module: ModuleOp) -> None:
    """Convert the declarations of external functions to take and return resources."""
    for function in tuple(module.body.block.ops):
        if function.name == "flow.func":
            converted = AsyncFuncOp.create(
                properties=dict(function.properties),
                attributes=dict(function.attributes),
                regions=detach_regions(function),
            )
            type_ = converted.function_type
            converted.properties["function_type"] = FunctionType.from_lists(
                list(map(resource_type, type_.inputs)), list(map(resource_type, type_.outputs))
            )
            replace_by(function, converted)
