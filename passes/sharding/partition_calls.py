"""Calls and returns: values cross as the signatures of the functions say."""

from __future__ import annotations

from xdsl.ir import Operation

from ...ir.tensor_types import ranked
from .local_types import local_type
from .partition_by_rule import copy_with, run_whole
from .partition_registry import partitions
from .partitioner import Partitioner


@partitions("func.call")
def call(partitioner: Partitioner, operation: Operation) -> None:
    """Operands go where the callee wants them, results come as it returns them."""
    callee = partitioner.signatures.callee(operation)
    if callee is None:
        run_whole(partitioner, operation)
        return
    arguments = partitioner.signatures.of(callee).arguments
    results = partitioner.signatures.results_of(callee)
    operands = [
        partitioner.value(operand, sharding)
        for operand, sharding in zip(operation.operands, arguments, strict=True)
    ]
    types = [
        result.type if (value_type := ranked(result)) is None else local_type(value_type, sharding)
        for result, sharding in zip(operation.results, results, strict=True)
    ]
    made = copy_with(partitioner, operation, operands, types)
    partitioner.emitter.add(made)
    for old, new, sharding in zip(operation.results, made.results, results, strict=True):
        partitioner.set_value(old, new, sharding)


@partitions("func.return")
def return_(partitioner: Partitioner, operation: Operation) -> None:
    """The first return decides how results leave the function, if nothing did before."""
    signature = partitioner.signature
    assert signature is not None
    if signature.results is None:
        signature.results = tuple(partitioner.finished(operand) for operand in operation.operands)
    operands = [
        partitioner.value(operand, sharding)
        for operand, sharding in zip(operation.operands, signature.results, strict=True)
    ]
    end = copy_with(partitioner, operation, operands, ())
    partitioner.emitter.add(end)
    partitioner.emitter.end = end
