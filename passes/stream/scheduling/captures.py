"""Enclose operations in a region: find captured resources, results and ties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ....dialects.stream.regions import YieldOp
from ....ir.regions import values_read
from ....ir.syntax.resource_directives import UNTIED, tied_operands
from ..analysis.storage import is_resource, resources_in, result_sizes, stored_in


@dataclass(frozen=True, slots=True)
class Captures:
    """The resources that a region captures and those that leave it, each with its size."""

    operands: dict[SSAValue, SSAValue]
    results: dict[SSAValue, SSAValue]
    properties: dict[str, Attribute]
    """The ties of results to captured resources."""
    body: Region

    def replace_outside_uses(self, replacements: Iterable[SSAValue]) -> None:
        """Replace uses outside of the region by the results of the operation that holds it."""
        for value, result in zip(tuple(self.results), replacements, strict=True):
            result.name_hint = value.name_hint
            value.replace_uses_with_if(result, lambda use: not self.body.is_ancestor(use.operation))


def enclose(operations: Sequence[Operation]) -> Captures:
    """Move operations to a region. `replace_outside_uses` then replaces uses outside of it."""
    inside = set(operations)
    operands: dict[SSAValue, SSAValue] = {}
    sizes: dict[SSAValue, SSAValue] = {}
    results: dict[SSAValue, SSAValue] = {}
    for operation in operations:
        sizes |= dict(resources_in(operation))
        for value in values_read(operation):
            if is_resource(value) and value.owner not in inside:
                operands.setdefault(value, sizes[value])
        resources = [result for result in operation.results if is_resource(result)]
        for result, size in zip(resources, result_sizes(operation), strict=True):
            if any(use.operation not in inside for use in result.uses):
                results[result] = size
    positions = {value: position for position, value in enumerate(operands)}
    ties = [_tie(value, positions, inside) for value in results]
    body = Block(arg_types=[value.type for value in operands])
    for argument, value in zip(body.args, operands, strict=True):
        argument.name_hint = value.name_hint
        value.replace_uses_with_if(argument, lambda use: use.operation in inside)
    for operation in operations:
        operation.detach()
        body.add_op(operation)
    body.add_op(YieldOp.build(operands=[list(results), list(results.values())]))
    properties: dict[str, Attribute] = {"tied_operands": tied_operands(ties)} if ties else {}
    return Captures(operands, results, properties, Region(body))


def _tie(value: SSAValue, positions: Mapping[SSAValue, int], inside: set[Operation]) -> int:
    """Return the index of the captured resource that a value is stored in, or `UNTIED`."""
    while isinstance(value, OpResult) and value.op in inside:
        target = stored_in(value.op, value.index)
        if target is None:
            return UNTIED
        value = target
    return positions[value]
