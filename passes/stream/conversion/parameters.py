"""Convert reads and writes of parameters."""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects.stream.parameters import PARAMETER_OPS, parameter_operands
from ....ir.tensor_types import require_ranked
from .host import Host, conversion, operands_of
from .stored_tensors import PlacedBuilder, StoredTensor


@conversion("flow.parameter.load")
def _load_parameter(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    tensor = require_ranked(operation, operation.results[0].type)
    op_class = PARAMETER_OPS["stream.tensor.parameter.load"]
    dims = operands_of(operation, "result_dims")
    loaded = here.tensor(op_class, parameter_operands(operation, "source"), tensor, dims)
    host.store(operation.results[0], loaded)


@conversion("flow.parameter.write")
def _write_parameter(host: Host, operation: Operation, here: PlacedBuilder) -> None:
    source = operation.operands[0]
    stored = host.transferred(source, operation, here)
    dims = operands_of(operation, "source_dims")
    result = here.make(
        PARAMETER_OPS["stream.tensor.parameter.write"],
        [stored.resource, dims, stored.size, *parameter_operands(operation, "target")],
        source_encoding=source.type,
    )
    host.store(operation.results[0], StoredTensor(result, stored.size, dims))
