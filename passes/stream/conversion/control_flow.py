"""Convert control flow of host programs whose tensors have become resources.

Where a loop or a condition carried a tensor, it carries the resource, its size in bytes and the
sizes of its dynamic dimensions, all of which may differ between iterations.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, Region, SSAValue

from ....ir.expansions import expand_segments, expand_ties, expand_types
from ....ir.locations import rebuilt
from ....ir.tensor_types import ranked
from .host import CONTROL_FLOW, Host, conversion
from .stored_tensors import PlacedBuilder, carried_types, stored_from


@conversion(*CONTROL_FLOW)
def _convert(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    """Replace an operation by one that carries resources; convert its regions."""
    regions: list[Region] = []
    for region in tuple(operation.regions):
        host.convert_region(region)
        regions.append(operation.detach_region(region))
    expanded = rebuilt(
        operation,
        _values(host, operation.operands, operation),
        expand_types(operation.result_types, host.carried),
        properties=expand_segments(operation, host.carried),
        regions=regions,
    )
    expand_ties(expanded, operation.operand_types, operation.result_types, host.carried)
    here.builder.insert(expanded)
    rest = list(expanded.results)
    for result in operation.results:
        if (tensor := ranked(result)) is not None:
            count = len(carried_types(tensor, with_dims=host.carries_dims))
            host.store(result, stored_from(rest[:count]))
            del rest[:count]
        else:
            result.replace_all_uses_with(rest.pop(0))


def _values(host: Host, values: Sequence[SSAValue], operation: Operation) -> list[SSAValue]:
    """Return the values that are carried in place of tensors."""
    expanded: list[SSAValue] = []
    for value in values:
        if isinstance(value.type, TensorType):
            expanded += host.stored(value, operation).values(with_dims=host.carries_dims)
        else:
            expanded.append(value)
    return expanded
