"""Convert `flow.dispatch` to `stream.tensor.dispatch`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.stream.tensor_ops import TensorDispatchOp
from ....dialects.util.types import UnusedType
from ....ir.syntax.resource_directives import UNTIED, ties_of
from ....ir.tensor_types import ranked, require_ranked
from .host import Host, conversion, dynamic_count, operands_of
from .stored_tensors import UNKNOWN, Site, StoredTensor

UNUSED = UnusedType()


@dataclass(frozen=True, slots=True)
class Passed:
    """An operand or result of a dispatch."""

    value: SSAValue
    """The converted value; of a result, the original one."""
    encoding: Attribute
    """The tensor type, or `!util.unused` for a value that is no tensor."""
    size: SSAValue | None = None
    """The size of a tensor in bytes, else `None`."""
    dims: tuple[SSAValue, ...] = ()


@conversion("flow.dispatch")
def _dispatch(host: Host, operation: Operation, site: Site) -> None:
    operands = _operands(host, operation, site)
    results = _results(operation, operands, site)
    ties = ties_of(operation, len(operation.results))
    # An operand that the kernel writes to is passed once, with its original tensor type.
    written = [
        one if tie == UNTIED else operands[tie] for one, tie in zip(results, ties, strict=True)
    ]
    dispatch = site.add(
        TensorDispatchOp,
        [
            operands_of(operation, "workload"),
            [one.value for one in operands],
            [one.size for one in operands if one.size is not None],
            [size for one in operands for size in one.dims],
            [one.size for one in written if one.size is not None],
            [size for one in written for size in one.dims],
        ],
        [[UNKNOWN] * len(results)],
        entry_points=operation.properties["entry_points"],
        operand_encodings=ArrayAttr([one.encoding for one in operands]),
        result_encodings=ArrayAttr([one.encoding for one in written]),
        tied_operands=operation.properties.get("tied_operands"),
    )
    for old, new, one, held in zip(
        operation.results, dispatch.results, results, written, strict=True
    ):
        if held.size is not None:
            host.store(old, StoredTensor(new, held.size, one.dims))


def _operands(host: Host, operation: Operation, site: Site) -> list[Passed]:
    rest = list(operands_of(operation, "argument_dims"))
    operands: list[Passed] = []
    for value in operands_of(operation, "arguments"):
        if (tensor := ranked(value)) is None:
            operands.append(Passed(value, UNUSED))
            continue
        stored, count = host.brought(value, operation, site), dynamic_count(tensor)
        operands.append(Passed(stored.resource, tensor, stored.size, tuple(rest[:count])))
        del rest[:count]
    return operands


def _results(operation: Operation, operands: list[Passed], site: Site) -> list[Passed]:
    """Return the results; one that is tied to an operand has its size."""
    rest = list(operands_of(operation, "result_dims"))
    results: list[Passed] = []
    ties = ties_of(operation, len(operation.results))
    for result, tie in zip(operation.results, ties, strict=True):
        tensor = require_ranked(operation, result.type)
        count = dynamic_count(tensor)
        dims = tuple(rest[:count])
        del rest[:count]
        held = None if tie == UNTIED else operands[tie].size
        size = site.size_of(tensor, dims) if held is None else held
        results.append(Passed(result, tensor, size, dims))
    return results
