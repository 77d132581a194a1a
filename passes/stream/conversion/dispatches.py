"""From `flow.dispatch` to `stream.tensor.dispatch`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.stream.tensor_ops import TensorDispatchOp
from ....dialects.util.types import UnusedType
from ....ir.syntax.resource_directives import UNTIED, ties_of
from ....ir.tensor_types import ranked, require_ranked
from .host import Host, conversion, dynamic_count, operands_of
from .stored_tensors import UNKNOWN, StoredTensor, at, size_of

UNUSED = UnusedType()


@dataclass(frozen=True, slots=True)
class Passed:
    """An operand or result of a dispatch."""

    value: SSAValue
    """What stands for it."""
    encoding: Attribute
    """The tensor that it is, if it is one."""
    size: SSAValue | None = None
    """Its bytes, of a tensor."""
    dims: tuple[SSAValue, ...] = ()


@conversion("flow.dispatch")
def _dispatch(host: Host, operation: Operation, builder: Builder) -> None:
    place = host.placement.runs_on(operation)
    operands = _operands(host, operation, place, builder)
    results = _results(operation, operands, place, builder)
    ties = ties_of(operation, len(operation.results))
    # A kernel that writes to an operand is given it once, as the tensor that it was.
    written = [
        one if tie == UNTIED else operands[tie] for one, tie in zip(results, ties, strict=True)
    ]
    properties: dict[str, Attribute] = {
        "entry_points": operation.properties["entry_points"],
        "operand_encodings": ArrayAttr([one.encoding for one in operands]),
        "result_encodings": ArrayAttr([one.encoding for one in written]),
        **at(place),
    }
    if "tied_operands" in operation.properties:
        properties["tied_operands"] = operation.properties["tied_operands"]
    dispatch = TensorDispatchOp.build(
        operands=[
            operands_of(operation, "workload"),
            [one.value for one in operands],
            [one.size for one in operands if one.size is not None],
            [size for one in operands for size in one.dims],
            [one.size for one in written if one.size is not None],
            [size for one in written for size in one.dims],
        ],
        result_types=[[UNKNOWN] * len(results)],
        properties=properties,
    )
    builder.insert(dispatch)
    for old, new, one, held in zip(
        operation.results, dispatch.results, results, written, strict=True
    ):
        if held.size is not None:
            host.store(old, StoredTensor(new, held.size, one.dims))


def _operands(
    host: Host, operation: Operation, place: Attribute | None, builder: Builder
) -> list[Passed]:
    rest = list(operands_of(operation, "argument_dims"))
    operands: list[Passed] = []
    for value in operands_of(operation, "arguments"):
        if (tensor := ranked(value)) is None:
            operands.append(Passed(value, UNUSED))
            continue
        stored, count = host.brought(value, operation, place, builder), dynamic_count(tensor)
        operands.append(Passed(stored.resource, tensor, stored.size, tuple(rest[:count])))
        del rest[:count]
    return operands


def _results(
    operation: Operation, operands: list[Passed], place: Attribute | None, builder: Builder
) -> list[Passed]:
    """The results; one that lies in an operand has its bytes."""
    rest = list(operands_of(operation, "result_dims"))
    results: list[Passed] = []
    ties = ties_of(operation, len(operation.results))
    for result, tie in zip(operation.results, ties, strict=True):
        tensor = require_ranked(operation, result.type)
        count = dynamic_count(tensor)
        dims = tuple(rest[:count])
        del rest[:count]
        held = None if tie == UNTIED else operands[tie].size
        size = size_of(tensor, dims, place, builder) if held is None else held
        results.append(Passed(result, tensor, size, dims))
    return results
